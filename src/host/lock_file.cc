#include "host/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace stint {

Result<LockFile> LockFile::take(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return make_error(ErrorCode::kUnavailable, "{}: cannot be opened: {}", path, std::strerror(errno));
  LockFile lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 32> holder{};
    const ssize_t size = ::pread(fd, holder.data(), holder.size() - 1, 0);
    return make_error(ErrorCode::kConflict, "{}: in use by process {}: stop that one first", path,
                      size > 0 ? holder.data() : "unknown");
  }
  const std::string id = std::to_string(::getpid());
  // The number is for people; the lock holds without it.
  if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, id.data(), id.size(), 0);
  return lock;
}

LockFile::~LockFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace stint
