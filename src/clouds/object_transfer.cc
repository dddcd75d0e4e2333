#include "clouds/object_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "host/descriptor.h"
#include "host/sha256.h"

namespace stint {
namespace {

constexpr int64_t kMostParts = 9'000;
constexpr int64_t kPartUnit = int64_t{256} << 10;

Error file_error(const std::string& path, const char* what) {
  return make_error(ErrorCode::kUnavailable, "{}: {}: {}", path, what, std::strerror(errno));
}

/// As many bytes as there are, up to `most`.
Result<std::string> read_piece(int from, int64_t most, const std::string& path) {
  std::string bytes(static_cast<size_t>(most), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(from, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error(path, "cannot be read");
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

Status write_at(int to, std::string_view bytes, int64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(to, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error(path, "cannot be written");
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  return {};
}

/// Runs `work` on some threads until each of them says that there is no more; the first error stops all.
class Crew {
 public:
  /// @param work  one piece; false = there is no more.
  Status run(int workers, const std::function<Result<bool>()>& work) {
    std::vector<std::thread> threads;
    for (int i = 1; i < workers; ++i)
      threads.emplace_back([&] { work_on(work); });
    work_on(work);
    for (std::thread& thread : threads)
      thread.join();
    return failure_ ? Status(*failure_) : Status();
  }

 private:
  void work_on(const std::function<Result<bool>()>& work) {
    while (!stopped_) {
      const auto more = work();
      if (!more.ok()) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = more.error();
        stopped_ = true;
      } else if (!*more) {
        return;
      }
    }
  }
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::optional<Error> failure_;
};

/// A file on its way up. Parts are read and hashed one after another and sent side by side.
class Sending {
 public:
  Sending(ObjectStore& store, const std::string& path, const std::string& key, const FileContent& content, int file,
          int64_t part_bytes)
      : store_(store), path_(path), key_(key), content_(content), file_(file), part_bytes_(part_bytes) {}

  Result<std::vector<ObjectPart>> run(const std::string& upload, int streams) {
    if (const auto held = store_.parts_of(key_, upload); held.ok())
      for (const ObjectPart& part : *held)
        held_[part.number] = part;
    TRY(Crew().run(streams, [&] { return send_next(upload); }));
    if (hash_.digest() != content_.sha256) return changed();
    return std::move(parts_);
  }

 private:
  [[nodiscard]] Error changed() const { return invalid("{}: changed while it was sent to {}", path_, store_.name()); }

  Result<bool> send_next(const std::string& upload) {
    std::string bytes;
    ObjectStore::PartPlace place;
    {
      const std::scoped_lock lock(mutex_);
      if (offset_ >= content_.size) return false;
      const int64_t wanted = std::min(part_bytes_, content_.size - offset_);
      TRY_ASSIGN(bytes, read_piece(file_, wanted, path_));
      if (static_cast<int64_t>(bytes.size()) != wanted) return changed();
      hash_.update(bytes);
      parts_.emplace_back();
      place = {.number = static_cast<int>(parts_.size()), .offset = offset_, .total = content_.size};
      offset_ += wanted;
    }
    ObjectPart done;
    if (const auto held = held_.find(place.number); held != held_.end() && is(held->second, bytes)) {
      done = held->second;
    } else {
      TRY_ASSIGN(done, store_.put_part(key_, upload, place, std::move(bytes)));
    }
    const std::scoped_lock lock(mutex_);
    parts_[static_cast<size_t>(place.number - 1)] = std::move(done);
    return true;
  }

  [[nodiscard]] bool is(const ObjectPart& held, std::string_view bytes) const {
    return held.size == static_cast<int64_t>(bytes.size()) && !held.digest.empty() && held.digest == store_.digest_of_part(bytes);
  }

  ObjectStore& store_;
  const std::string& path_;
  const std::string& key_;
  const FileContent& content_;
  int file_;
  int64_t part_bytes_;
  std::map<int, ObjectPart> held_;  // read only once the sending begins
  std::mutex mutex_;
  int64_t offset_ = 0;
  Sha256 hash_;
  std::vector<ObjectPart> parts_;
};

int streams_for(const ObjectStore& store, int64_t size, int64_t part_bytes, const TransferOptions& options) {
  if (store.parts() == ObjectStore::Parts::kInOrder) return 1;
  return static_cast<int>(std::clamp<int64_t>((size + part_bytes - 1) / part_bytes, 1, std::max(1, options.streams)));
}

Status fetch_bytes(ObjectStore& store, const std::string& key, const std::string& path, int64_t size,
                   const TransferOptions& options) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return file_error(path, "cannot be written");
  std::atomic<int64_t> next = 0;
  const auto fetch_next = [&]() -> Result<bool> {
    const int64_t offset = next.fetch_add(options.part_bytes);
    if (offset >= size) return false;
    const int64_t wanted = std::min(options.part_bytes, size - offset);
    TRY_ASSIGN(const std::string bytes, store.get(key, offset, wanted));
    if (static_cast<int64_t>(bytes.size()) != wanted)
      return invalid("{}{}: is cut off: it is to have {} bytes", store.name(), key, size);
    TRY(write_at(file.get(), bytes, offset, path));
    return true;
  };
  TRY(Crew().run(streams_for(store, size, options.part_bytes, options), fetch_next));
  return ::fsync(file.get()) == 0 ? Status() : Status(file_error(path, "cannot be synced"));
}

Status fetch_proven(ObjectStore& store, const std::string& key, const std::string& path, const FileContent& content,
                    const TransferOptions& options) {
  TRY(fetch_bytes(store, key, path, content.size, options));
  TRY_ASSIGN(const std::string sha256, sha256_of_file(path));
  if (sha256 != content.sha256)
    return invalid("{}{}: its bytes are not those that were saved (SHA-256 {}… instead of {}…)", store.name(), key,
                   sha256.substr(0, 12), content.sha256.substr(0, 12));
  return {};
}

}  // namespace

int64_t part_bytes_for(int64_t size, const TransferOptions& options) {
  const int64_t least = std::max(options.part_bytes, (size + kMostParts - 1) / kMostParts);
  return (least + kPartUnit - 1) / kPartUnit * kPartUnit;
}

Status send_file(ObjectStore& store, const std::string& path, const std::string& key, const FileContent& content,
                 IfThere if_there, const TransferOptions& options) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return file_error(path, "cannot be read");
  if (status.st_size != content.size) return invalid("{}: changed while it was sent to {}", path, store.name());
  const PutOptions put{.if_there = if_there, .sha256 = content.sha256};
  const int64_t part_bytes = part_bytes_for(content.size, options);
  if (content.size <= part_bytes) {
    TRY_ASSIGN(std::string bytes, read_piece(file.get(), content.size, path));
    Sha256 hash;
    hash.update(bytes);
    if (hash.digest() != content.sha256) return invalid("{}: changed while it was sent to {}", path, store.name());
    return store.put(key, std::move(bytes), put);
  }
  TRY_ASSIGN(const std::string upload, store.begin_upload(key, put));
  Sending sending(store, path, key, content, file.get(), part_bytes);
  const auto parts = sending.run(upload, streams_for(store, content.size, part_bytes, options));
  if (!parts.ok()) {
    // What could not be sent may be gone on with; what is wrong may not.
    if (parts.error().code == ErrorCode::kInvalidInput) store.abort_upload(key, upload);
    return parts.error();
  }
  return store.complete_upload(key, upload, *parts, put);
}

Status fetch_file(ObjectStore& store, const std::string& key, const std::string& path, const FileContent& content,
                  const TransferOptions& options) {
  const Status fetched = fetch_proven(store, key, path, content, options);
  if (!fetched.ok()) ::unlink(path.c_str());
  return fetched;
}

Status fetch_listed(ObjectStore& store, const ObjectInfo& info, const std::string& path, const TransferOptions& options) {
  const Status fetched = fetch_bytes(store, info.key, path, info.size, options);
  const auto now = store.head(info.key);
  if (now.ok() && (now->tag != info.tag || now->size != info.size))
    return make_error(ErrorCode::kConflict, "{}{}: another one took its place while it was fetched: try again", store.name(),
                      info.key);
  TRY(fetched);
  return now.ok() ? Status() : Status(now.error());
}

}  // namespace stint
