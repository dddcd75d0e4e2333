// What `stint replay` runs again: a History's jobs, a trace on a fleet, or a workload file, and what is to be said about it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "cli/period_options.h"
#include "sim/workload.h"

namespace stint {

/// Exactly one of `history`, `jobs` and `workload` is set.
struct ReplayInputOptions {
  std::string history;
  std::string jobs;         ///< a trace, or a workload file
  std::string jobs_format;  ///< of the trace; empty = by its header
  std::string workload;
  std::string fleet;         ///< for a trace, and instead of the machines of the others: in words, or an openb node list
  std::string provisioning;  ///< of its pools; empty = the usual time
  PeriodOptions period;
  /// Of a History: its recorded jobs alone, as a workload file can hold them, and not the work that its telemetry shows.
  bool only_recorded_jobs = false;
};

struct ReplayInput {
  sim::Workload workload;
  std::string source;                     ///< in words
  std::vector<std::string> notes;         ///< what was left out or assumed
  Catalog catalog = Catalog::built_in();  ///< with the History's own prices, where it has any
  /// What the History makes believe of spot interruptions, by machine; empty = nothing is known.
  std::map<std::string, Duration> spot_between_of = {};
  std::map<std::string, std::string> left_out = {};  ///< machine of the History → why no replay shows what happens to it
  std::vector<sim::SimNode> left_out_nodes = {};     ///< the same machines
};

Result<ReplayInput> read_replay_input(const ReplayInputOptions& options);

}  // namespace stint
