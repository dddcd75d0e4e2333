// A whole file in memory, unpacked when it is gzip.
#pragma once

#include <string>

#include "host/file.h"

namespace stint {

/// For what has to be seen as a whole to be read: at most 1 GiB.
inline Result<std::string> read_all(const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 30;
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  std::string bytes;
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) return bytes;
    bytes += piece;
    if (bytes.size() > kMostBytes) return invalid("{}: more than {} bytes", path, kMostBytes);
  }
}

}  // namespace stint
