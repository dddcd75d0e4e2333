// Can this change be made on this fleet, and may it? Every objection says what is wrong and what to do about it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/change.h"
#include "model/fleet_plan.h"
#include "model/proposal.h"

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

/// A proposal beside what was applied to the fleet before and is not undone.
/// @param inventory  the fleet as recorded, which may or may not show those changes yet.
std::vector<Objection> check_proposal(const Proposal& proposal, std::span<const AppliedChange> applied, FleetPlan inventory,
                                      const ChangeRules& rules);

/// The fleet with what was applied and is not undone, as far as the inventory does not show it yet.
FleetPlan with_applied(FleetPlan inventory, std::span<const AppliedChange> applied);

/// One line each: "what: remedy".
std::string to_text(std::span<const Objection> objections);

}  // namespace stint
