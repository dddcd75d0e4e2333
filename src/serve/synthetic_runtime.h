// A runtime without a network: it takes the time and claims the memory it is told to, and repeats its input. For tests, for the
// server's own cost (a model that does nothing), and in place of a device that is not there.
#pragma once

#include <memory>

#include "codec/serving/served_model_file.h"
#include "serve/runtime.h"

namespace stint::serve {

/// Value j of an output is value j mod size of the item's first input, so that an answer tells whose it is. A run waits until its
/// time is over; it does not compute.
std::unique_ptr<Runtime> make_synthetic(SyntheticModel model);

}  // namespace stint::serve
