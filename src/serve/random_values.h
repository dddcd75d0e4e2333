// Values to try a model with that any model can take.
#pragma once

#include "base/prng.h"
#include "codec/serving/tensor_values.h"

namespace stint::serve {

/// Floating ones are normal (mean 0, deviation 1); integers and BOOL are 0 or 1, which any table's index and any mask may be; texts are
/// those two in sixteen digits, which can be read as numbers, too.
std::vector<std::byte> random_values(DataType type, size_t count, Prng& prng);

}  // namespace stint::serve
