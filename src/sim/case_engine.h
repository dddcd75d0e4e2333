// Whatever runs a cluster case round by round: the scheduler that runs live, or, in the tests, an independent cycle scheduler.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/place/cluster.h"
#include "sched/policy.h"
#include "sched/sched_case.h"
#include "sim/case_world.h"

namespace stint {

class CaseEngine {
 public:
  virtual ~CaseEngine() = default;
  /// One round of the case's steps.
  virtual void round() = 0;
  /// What time brings after a round: promises lapse, those who were told to leave have left.
  virtual void settle() = 0;
  /// As they stand, by TaskId. Places count where a task is on a node.
  [[nodiscard]] virtual std::vector<sched::Task> tasks() const = 0;
  [[nodiscard]] virtual const sched::Cluster& cluster() const = 0;
  /// Does a step other than `allocate` start at once what fits on free room, where a case speaks of a promise?
  [[nodiscard]] virtual bool starts_in_any_step() const = 0;
};

Result<std::unique_ptr<CaseEngine>> live_engine(const sched::ClusterCase& c, const CaseSeats& seats, sched::VictimOrder victims);

/// What of the case the live scheduler has no notion of; empty = all of it applies.
std::string foreign_to_live(const sched::ClusterCase& c, const CaseSeats& seats);

}  // namespace stint
