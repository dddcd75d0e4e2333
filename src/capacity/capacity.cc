#include "capacity/capacity.h"

namespace stint {

std::string_view name_of(CapacityOutcome outcome) {
  switch (outcome) {
    case CapacityOutcome::kReady: return "ready";
    case CapacityOutcome::kMade: return "made";
    case CapacityOutcome::kGone: return "gone";
    case CapacityOutcome::kStockout: return "out of stock";
    case CapacityOutcome::kQuota: return "quota";
    case CapacityOutcome::kThrottled: return "throttled";
    case CapacityOutcome::kCredentials: return "credentials";
    case CapacityOutcome::kRefused: return "refused";
    case CapacityOutcome::kUnknown: return "unknown";
  }
  return "unknown";
}

}  // namespace stint
