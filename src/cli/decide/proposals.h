// Files of changes, and what they say is to be done.
#pragma once

#include <string>
#include <vector>

#include "advise/apply/apply_text.h"
#include "base/result.h"
#include "model/fleet_plan.h"
#include "model/proposal.h"

namespace stint {

/// @param from  a file (stint-changes/1, an audit's JSON, …), or a change in words.
Result<std::vector<Proposal>> load_proposals(const std::string& from);

/// How each change of the proposal is carried out on what the ones before it leave. What stands against it is another matter:
/// a change that cannot be written down is passed over.
std::vector<Instruction> all_instructions(const Proposal& proposal, FleetPlan fleet);

}  // namespace stint
