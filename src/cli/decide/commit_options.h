// --longest-term, --savings-plan and --owned: what may be committed to, and what was before.
#pragma once

#include <string>
#include <vector>

#include "advise/audit_input.h"

namespace stint {

class Command;

struct CommitOptions {
  std::string longest_term = "1y";
  double on_days = kDaysToCommit;
  std::vector<std::string> savings_plans;  ///< "aws=1y,27%", "aws=3y,all-upfront,p4d.24xlarge@us-east-1:13.4"
  std::vector<std::string> owned;          ///< "20xp3.2xlarge@us-east-1=2027-03-01"
};

void add_commit_options(Command& command, CommitOptions& options);
/// Puts them into `input`.
Status use_commit_options(const CommitOptions& options, AuditInput& input);

}  // namespace stint
