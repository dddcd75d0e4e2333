// A file system for SQLite that fails when a test says so: the disk full, an error, half a write, a sync that fails.
//
// It passes everything on to the usual one. Source: https://www.sqlite.org/vfs.html and https://www.sqlite.org/c3ref/io_methods.html
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstring>
#include <string>

#include "base/check.h"

namespace stint {

enum class Fault { kNone, kDiskFull, kWriteError, kShortWrite, kSyncError };

class FaultyVfs {
 public:
  /// Its SQLite name. One for the whole program: registered at the first call.
  static const char* name() {
    (void)instance();
    return kName;
  }
  /// From the `after`-th write (kSyncError: sync) on, counted from now, all fail; `after` 0 = the next.
  static void fail(Fault fault, int after = 0) {
    instance().fault_ = fault;
    instance().left_ = after;
  }
  static void heal() { instance().fault_ = Fault::kNone; }
  /// Files opened meanwhile without naming a file system are on this one, too.
  struct AsUsual {
    AsUsual() { sqlite3_vfs_register(&instance().vfs_, 1); }
    ~AsUsual() { sqlite3_vfs_register(instance().root_, 1); }
    AsUsual(const AsUsual&) = delete;
    AsUsual& operator=(const AsUsual&) = delete;
  };

 private:
  static constexpr const char* kName = "stint-faulty";
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
  };

  static FaultyVfs& instance() {
    static FaultyVfs vfs;
    return vfs;
  }

  FaultyVfs() {
    root_ = sqlite3_vfs_find(nullptr);
    CHECK(root_ != nullptr, "SQLite has no file system");
    vfs_ = *root_;
    vfs_.zName = kName;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + root_->szOsFile;
    vfs_.xOpen = &FaultyVfs::open;
    CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK, "cannot register a file system");
  }

  /// @return true when this call is to fail.
  bool strikes() {
    if (left_ > 0) {
      --left_;
      return false;
    }
    return true;
  }

  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

  static int open(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out_flags) {
    FaultyVfs& self = instance();
    auto* const mine = reinterpret_cast<File*>(file);
    mine->real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
    mine->base.pMethods = nullptr;
    const int code = self.root_->xOpen(self.root_, path, mine->real, flags, out_flags);
    if (code == SQLITE_OK) mine->base.pMethods = &self.methods_;
    return code;
  }

  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    FaultyVfs& self = instance();
    sqlite3_file* const to = real(file);
    const bool writes_fail = self.fault_ != Fault::kNone && self.fault_ != Fault::kSyncError;
    if (!writes_fail || !self.strikes()) return to->pMethods->xWrite(to, bytes, size, offset);
    if (self.fault_ == Fault::kShortWrite) (void)to->pMethods->xWrite(to, bytes, size / 2, offset);
    return self.fault_ == Fault::kWriteError ? SQLITE_IOERR_WRITE : SQLITE_FULL;
  }

  static int sync(sqlite3_file* file, int flags) {
    FaultyVfs& self = instance();
    if (self.fault_ == Fault::kSyncError && self.strikes()) return SQLITE_IOERR_FSYNC;
    return real(file)->pMethods->xSync(real(file), flags);
  }

  sqlite3_vfs* root_ = nullptr;
  sqlite3_vfs vfs_ = {};
  Fault fault_ = Fault::kNone;
  int left_ = 0;
  sqlite3_io_methods methods_ = {
      .iVersion = 2,
      .xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
      .xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) { return real(f)->pMethods->xRead(real(f), to, n, at); },
      .xWrite = &FaultyVfs::write,
      .xTruncate = [](sqlite3_file* f, sqlite3_int64 size) { return real(f)->pMethods->xTruncate(real(f), size); },
      .xSync = &FaultyVfs::sync,
      .xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); },
      .xLock = [](sqlite3_file* f, int lock) { return real(f)->pMethods->xLock(real(f), lock); },
      .xUnlock = [](sqlite3_file* f, int lock) { return real(f)->pMethods->xUnlock(real(f), lock); },
      .xCheckReservedLock = [](sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
      .xFileControl = [](sqlite3_file* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); },
      .xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
      .xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
      .xShmMap = [](sqlite3_file* f, int page, int size, int extend,
                    void volatile** out) { return real(f)->pMethods->xShmMap(real(f), page, size, extend, out); },
      .xShmLock = [](sqlite3_file* f, int offset, int n,
                     int flags) { return real(f)->pMethods->xShmLock(real(f), offset, n, flags); },
      .xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
      .xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };
};

}  // namespace stint
