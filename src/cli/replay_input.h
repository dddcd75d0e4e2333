// What `stint replay` runs again: a History's jobs, a trace on a fleet, or a workload file, and what is to be said about it.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "cli/period_options.h"
#include "sim/workload.h"

namespace stint {

/// Exactly one of `history`, `jobs` and `workload` is set.
struct ReplayInputOptions {
  std::string history;
  std::string jobs;
  std::string workload;
  std::string fleet;  ///< for `jobs`, and instead of the machines of the others
  PeriodOptions period;
};

struct ReplayInput {
  sim::Workload workload;
  std::string source;                     ///< in words
  std::vector<std::string> notes;         ///< what was left out or assumed
  Catalog catalog = Catalog::built_in();  ///< with the History's own prices, where it has any
};

Result<ReplayInput> read_replay_input(const ReplayInputOptions& options);

}  // namespace stint
