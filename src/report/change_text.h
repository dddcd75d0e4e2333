// Changes as people see them: proposals and applied changes as tables, and what to run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "advise/apply/apply_text.h"
#include "model/change_check.h"
#include "model/proposal.h"
#include "report/table.h"

namespace stint {

/// Numbered from 1, as `stint change apply` takes them.
std::string proposals_text(std::span<const Proposal> proposals, Screen screen);
std::string proposals_json(std::span<const Proposal> proposals);

std::string applied_text(std::span<const AppliedChange> changes, Screen screen);
std::string applied_json(std::span<const AppliedChange> changes);
nlohmann::ordered_json to_json(const AppliedChange& change);

/// Every line that is not to be run or pasted begins with #.
std::string instructions_text(std::span<const Instruction> instructions);
nlohmann::ordered_json instructions_json(std::span<const Instruction> instructions);
nlohmann::ordered_json objections_json(std::span<const Objection> objections);

}  // namespace stint
