// Recorded spot capacity, tick by tick, and the stretches of it that are replayed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stint {

struct SpotTrace {
  std::string name;
  int64_t tick_s = 0;
  std::vector<uint8_t> available;  ///< per tick: 1 = at least one instance
};

struct SpotWindow {
  uint32_t trace = 0;  ///< index into the traces
  int64_t sample = 0;  ///< its number within the trace
  uint32_t start_tick = 0;
  uint32_t length_ticks = 0;
};

}  // namespace stint
