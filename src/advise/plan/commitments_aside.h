// Commitments that rest on fewer days of use than are asked for: what they would take off the plan, beside it and in none of its sums.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/audit_report.h"
#include "advise/books.h"

namespace stint {

class Prover;

/// @param findings  in order of application. @param plan  the books after the plan. @param prover  null = no replay.
/// @param rejected  gets every finding, with why it is not in the plan.
/// @return days_asked and plan_per_month are left to the caller; none when no commitment would save anything.
std::optional<CommitmentsAside> set_aside(std::vector<Finding> findings, Books plan, Instant now, Prover* prover,
                                          std::vector<Finding>& rejected);

/// One sentence for people.
std::string aside_note(const CommitmentsAside& aside);

}  // namespace stint
