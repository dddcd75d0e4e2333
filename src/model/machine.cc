#include "model/machine.h"

namespace stint {

Rate gpu_rate_of(const NodeSpec& node, Rate whole) {
  return node.gpus > 0 ? Rate::per_hour(scale(whole.per_hour(), 1, node.gpus))
                       : Rate::per_hour(Money::nanos(0, whole.per_hour().currency()));
}

bool is_same_but_price(const Machine& a, Machine b) {
  b.rate = a.rate;
  b.node.gpu_rate = a.node.gpu_rate;
  return a == b;
}

}  // namespace stint
