// Recorded spot capacity of many zones over the same ticks, what the zones cost, and what transfers between regions cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/money.h"

namespace stint {

struct ZoneTrace {
  std::string zone;
  std::vector<uint8_t> available;  ///< per tick: 1 = at least one instance
};

struct ZonesTrace {
  int64_t tick_s = 0;
  std::vector<ZoneTrace> zones;  ///< in the order of the file, all equally long
};

struct ZonePrice {
  std::string zone;
  std::string region;
  Rate spot;
  Rate on_demand;
};

/// Per GB, by the names of the two regions.
using TransferPrices = std::map<std::pair<std::string, std::string>, Money>;

}  // namespace stint
