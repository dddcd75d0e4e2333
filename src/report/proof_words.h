// Proof in words: what was replayed, what came out, and what could not be.
#pragma once

#include <string>
#include <vector>

#include "advise/audit_report.h"

namespace stint {

/// "replayed", "billed again", "arithmetic"; "–" where no replay was asked for.
std::string shown_proof(const Finding& f);
/// A finding's proof, a sentence a line: verdict, money with its interval, jobs before and after, assumptions.
std::vector<std::string> proof_lines(const Proof& proof);
/// The plan's proof: how much of the saving was proven and how, and what the replayed changes do together.
std::vector<std::string> plan_proof_lines(const AuditReport& report);

}  // namespace stint
