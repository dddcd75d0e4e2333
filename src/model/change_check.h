// Can this change be made on this fleet, and may it? Every objection says what is wrong and what to do about it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/change.h"
#include "model/fleet_plan.h"

namespace stint {

struct ChangeRules {
  std::vector<std::string> allowed_regions;  ///< globs of regions work may move to; empty = the one it is in
};

struct Objection {
  std::string what;    ///< "no node 'nod-7' in the fleet"
  std::string remedy;  ///< "did you mean 'node-7'?"
};

/// @return every objection, in the order of what the change names; empty = it can be made.
std::vector<Objection> check_change(const Change& change, const FleetPlan& fleet, const ChangeRules& rules);

/// Each on what the ones before leave, and each against those before it (contradictions()).
/// @return objections beside the index of the change they are to, ascending; a change that meets with one is left out for those after it.
std::vector<std::pair<size_t, Objection>> check_changes(std::span<const Change> changes, FleetPlan fleet,
                                                        const ChangeRules& rules);

/// One line each: "what: remedy".
std::string to_text(std::span<const Objection> objections);

}  // namespace stint
