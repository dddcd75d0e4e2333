// What Stint carries out of a change by itself: the daemon's machines that the change gives up take no new work, for good or in the hours of a weekly
// schedule, what runs there ends by itself, where the daemon switches machines they are off then, and a Slurm that it drives has them drained; its services have the fewer replicas, and jobs
// their limits. The rest is named with what to do instead.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/change.h"
#include "model/proposal.h"

namespace stint {

class DaemonClient;

/// Names a proposal to the daemon, always the same way: its id, else its changes.
std::string change_key(const Proposal& proposal);

/// One machine of the change.
struct MachineStep {
  std::string name;
  std::string state;         ///< as the daemon calls it; "" = it is no machine of the daemon
  size_t jobs = 0;           ///< that run there
  WeekHours off;             ///< in which it rests; none = always
  bool is_switched = false;  ///< by the daemon: it is off while it rests
  [[nodiscard]] bool is_known() const { return !state.empty(); }
  [[nodiscard]] bool is_to_do() const { return state == "up"; }
};

/// A service of the daemon whose replicas are on machines that are given up.
struct ReplicaStep {
  std::string service;
  int64_t now = 0, most = 0;  ///< there may be
};

struct ExecutionPlan {
  std::vector<MachineStep> machines;            ///< which the changes give up; ascending
  std::vector<ReplicaStep> replicas;            ///< ascending
  std::map<std::string, Duration> time_limits;  ///< of jobs that are submitted under that name
  std::string cluster;                          ///< that places work itself and is told, too: "slurm"; "" = none
  std::vector<std::string> by_hand;             ///< changes that give none up, or more than that: a line each
};

/// What the daemon would do, by what its machines are now. Changes nothing.
Result<ExecutionPlan> plan_execution(DaemonClient& daemon, const Proposal& proposal, const FleetPlan& fleet);
/// A line for each machine and each change that is left.
std::string execution_text(const ExecutionPlan& plan);
nlohmann::ordered_json execution_json(const std::string& key, const ExecutionPlan& plan);

/// Carries it out. The same again does only what is not done yet. @return when it was begun; error when there is nothing that the daemon can do.
Result<Instant> execute(DaemonClient& daemon, const Proposal& proposal, const ExecutionPlan& plan);
/// Takes it back: what it drained takes work again. @return when.
Result<Instant> take_back(DaemonClient& daemon, const Proposal& proposal);

}  // namespace stint
