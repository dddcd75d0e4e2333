// Predicted against realised savings as people see them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "advise/track/track_savings.h"
#include "report/table.h"

namespace stint {

/// @param applied  those `tracked` speaks of; for their titles.
std::string savings_text(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied, Screen screen);
/// Those of savings_json(), as a list.
nlohmann::ordered_json savings_list(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied);
std::string savings_json(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied);

}  // namespace stint
