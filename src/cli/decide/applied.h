// The changes that were applied to a fleet, and what each saved since.
#pragma once

#include <string>
#include <vector>

#include "advise/track/track_savings.h"
#include "base/result.h"
#include "model/proposal.h"

namespace stint {

struct AppliedSavings {
  std::vector<AppliedChange> applied;
  std::vector<TrackedSaving> tracked;
};
/// Over all that the History holds, at effective cost. @param path  of the History.
Result<AppliedSavings> applied_savings(const std::string& path);

}  // namespace stint
