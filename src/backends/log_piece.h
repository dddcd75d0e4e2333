// A piece of what a task printed.
#pragma once

#include <cstdint>
#include <string>

namespace stint {

struct LogPiece {
  std::string bytes;
  int64_t offset = 0;  ///< of the first byte
  int64_t size = 0;    ///< of all that there is now
};

}  // namespace stint
