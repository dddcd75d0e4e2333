// What somebody proposes to change, and what was done about it: advice held to account needs both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/change.h"
#include "model/fleet_plan.h"

namespace stint {

/// Changes that belong together, and what is promised of them where the source says so.
struct Proposal {
  std::string id;     ///< as the source calls it, "F-1a2b3c4d"; "" = it gives none
  std::string title;  ///< one line for people
  std::vector<Change> changes;
  std::optional<Money> saving_per_month;
  /// Between these the saving is to lie; both or none.
  std::optional<Money> saving_low, saving_high;
  bool operator==(const Proposal&) const = default;
};

/// A proposal that took effect.
struct AppliedChange {
  int64_t number = 0;  ///< in its History, from 1; never used again
  Proposal proposal;
  std::string source;  ///< the file it came from
  Instant applied_at;
  std::optional<Instant> undone_at;
  FleetUndo undo;
  std::optional<Money> cost;  ///< paid once to carry it out, where somebody said
  bool operator==(const AppliedChange&) const = default;
};

}  // namespace stint
