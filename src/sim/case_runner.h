// Runs conformance cases (sched/sched_case.h) and says what differs from what they expect.
//
// `strict` is what must hold; `tie_break` is what
// the case's source happened to choose among equals. Tasks of one job that are alike in everything but their node are
// interchangeable: how many of them end in each state is strict, which is tie-break.
#pragma once

#include <string>
#include <vector>

#include "sched/policy.h"
#include "sched/sched_case.h"

namespace stint {

struct CaseVerdict {
  /// What the case speaks of that the scheduler has no notion of; empty = the case applies. Then nothing else is judged.
  std::string not_applicable;
  std::string strict;  ///< what differs; empty = it holds
  bool has_tie_break = false;
  std::string tie_break;  ///< what differs; empty = the same choice
};

/// By the scheduler that runs live.
/// @param victims  who gives way first; cases assume kPriorityYoungest.
CaseVerdict run_case(const sched::SchedCase& c, sched::VictimOrder victims);

}  // namespace stint
