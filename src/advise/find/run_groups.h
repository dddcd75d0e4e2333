// Groups of like runs in a History: one client, name and kind of work on one type of machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "model/history.h"

namespace stint {

struct RunGroup {
  std::string client, name;
  WorkloadKind kind = WorkloadKind::kUnknown;
  const NodeFacts* node = nullptr;     ///< the first it ran on; it speaks for the others
  std::vector<std::string> nodes;      ///< ascending
  std::vector<Interval> when;          ///< of each run, within the period, ascending
  bool recorded = true;                ///< false: a machine's hours stand for a run
  int64_t machines = 1;                ///< of the run with most
  int64_t gpus_per_machine = 1;        ///< of the run with most
  std::optional<bool> checkpointable;  ///< false when one of them cannot resume, true when all can

  [[nodiscard]] double mean_hours() const;
  /// Runs there at the same time, at most.
  [[nodiscard]] int64_t at_once() const;
};

/// Work that no person waits for: it may be put off, interrupted and moved. An unknown kind may not.
bool is_deferrable(WorkloadKind kind);

/// Runs that began, by client, name, kind and type; then machines without job records, by client, category and type.
/// Runs on machines the History does not have are left out.
std::vector<RunGroup> run_groups(const History& history, const FleetFacts& facts);

}  // namespace stint
