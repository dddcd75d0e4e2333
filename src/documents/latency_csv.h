// Measured batch latencies as CSV, one row per run (or one per size, where only a mean is known):
//
//   batch,ms                                          required: items of the batch, milliseconds it took
//   device,price_per_hour,instances                   optional: where, at what price, beside how many instances in all
//
// Rows of one device and number of instances make one profile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "batching/tuner.h"

namespace stint {

/// @param source  file name, for messages. @return in the order in which devices come first; each has a batch of 1.
Result<std::vector<batching::DeviceProfile>> read_latencies(std::string_view bytes, const std::string& source);

}  // namespace stint
