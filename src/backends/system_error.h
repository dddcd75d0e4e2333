// What the operating system says of a call on a file or a process that failed, as an Error.
#pragma once

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/result.h"

namespace stint {

/// Reads errno: called right after what failed. "PATH: WHAT: No such file or directory".
inline Error system_error(std::string_view path, std::string_view what) {
  return make_error(ErrorCode::kUnavailable, "{}: {}: {}", path, what, std::strerror(errno));
}

}  // namespace stint
