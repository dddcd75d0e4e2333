#include "model/machine.h"

namespace stint {

Rate gpu_rate_of(const NodeSpec& node, Rate whole) {
  return node.gpus > 0 ? Rate::per_hour(scale(whole.per_hour(), 1, node.gpus))
                       : Rate::per_hour(Money::nanos(0, whole.per_hour().currency()));
}

}  // namespace stint
