// Predicted against realised savings as people see them.
#pragma once

#include <span>
#include <string>

#include "advise/track_savings.h"
#include "report/table.h"

namespace stint {

/// @param applied  those `tracked` speaks of; for their titles.
std::string savings_text(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied, Screen screen);
std::string savings_json(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied);

}  // namespace stint
