// What Stint carries out of a change by itself: the daemon's machines that the change gives up take no new work, for good or in the hours of a weekly
// schedule, and what runs there ends by itself. The rest is named with the commands to run by hand.
#pragma once

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
  std::string state;  ///< as the daemon calls it; "" = it is no machine of the daemon
  size_t jobs = 0;    ///< that run there
  WeekHours off;      ///< in which it rests; none = always
  [[nodiscard]] bool is_known() const { return !state.empty(); }
  [[nodiscard]] bool is_to_do() const { return state == "up"; }
};

struct ExecutionPlan {
  std::vector<MachineStep> machines;  ///< which the changes give up; ascending
  std::vector<std::string> by_hand;   ///< changes that give none up, or more than that: a line each
};

/// What the daemon would do, by what its machines are now. Changes nothing.
Result<ExecutionPlan> plan_execution(DaemonClient& daemon, const Proposal& proposal, const FleetPlan& fleet);
/// A line for each machine and each change that is left.
std::string execution_text(const ExecutionPlan& plan);
nlohmann::ordered_json execution_json(const std::string& key, const ExecutionPlan& plan);

/// Carries it out. The same again does only what is not done yet. @return when it was begun; error when the daemon has none of the machines.
Result<Instant> execute(DaemonClient& daemon, const Proposal& proposal, const ExecutionPlan& plan);
/// Takes it back: what it drained takes work again. @return when.
Result<Instant> take_back(DaemonClient& daemon, const Proposal& proposal);

}  // namespace stint
