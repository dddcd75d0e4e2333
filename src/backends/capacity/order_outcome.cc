#include "backends/capacity/order_outcome.h"

namespace stint {

CapacityOutcome outcome_of(const OrderFailure& failure) {
  // A try without an answer may have done it, whatever the next one was told.
  if (failure.may_be_done) return CapacityOutcome::kUnknown;
  switch (failure.failure) {
    case CloudFailure::kStockout: return CapacityOutcome::kStockout;
    case CloudFailure::kQuota: return CapacityOutcome::kQuota;
    case CloudFailure::kThrottled: return CapacityOutcome::kThrottled;
    case CloudFailure::kCredential:
    case CloudFailure::kClock:
    case CloudFailure::kForbidden: return CapacityOutcome::kCredentials;
    // Its token was used before: the machine may be there.
    case CloudFailure::kConflict:
    case CloudFailure::kServer:
    case CloudFailure::kNetwork: return CapacityOutcome::kUnknown;
    case CloudFailure::kPlace:
    case CloudFailure::kNotFound:
    case CloudFailure::kRequest: return CapacityOutcome::kRefused;
  }
  return CapacityOutcome::kUnknown;
}

}  // namespace stint
