#include "host/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace stint {

Result<TemporaryFile> TemporaryFile::create() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/stint-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);  // 0600
  if (file < 0)
    return make_error(ErrorCode::kUnavailable, "{}: no temporary file can be made: {}; TMPDIR names another folder", path,
                      std::strerror(errno));
  ::close(file);
  return TemporaryFile(std::move(path));
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace stint
