// A file that one process at a time holds: the mark that a folder is in use. It is let go when the process ends, however.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace stint {

class LockFile {
 public:
  /// Made where it is missing. @return kConflict when another process holds it, with that process's id.
  static Result<LockFile> take(const std::string& path);
  LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

 private:
  explicit LockFile(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace stint
