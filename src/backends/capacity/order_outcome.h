// What a cloud's refusal means for an order of a Capacity.
#pragma once

#include "capacity/capacity.h"
#include "clouds/order_failure.h"

namespace stint {

/// What is to become of an order that failed so.
CapacityOutcome outcome_of(const OrderFailure& failure);

}  // namespace stint
