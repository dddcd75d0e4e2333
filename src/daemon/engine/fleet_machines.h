// Machines in the books: those of the configuration, and those that the backend has found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/engine/governance.h"
#include "daemon/engine/job_runs.h"

namespace stint {

class FleetMachines {
 public:
  struct View {
    const FleetConfig& fleet;
    const Instant& now;
    std::optional<sched::Scheduler>& scheduler;
    std::vector<NodeBook>& nodes;
    std::map<std::string, NodeId, std::less<>>& node_ids;
    bool& machines_come;
    std::vector<sched::Event>& events;  ///< of the step being applied
    FleetPrices& prices;
    RunCosts& costs;
    Governance& governance;
    JobRuns& runs;
    EventTrail& trail;
  };
  explicit FleetMachines(const View& view) : s_(view) {}

  /// A configuration names these; others of earlier ones take no new work.
  void configure(const std::vector<Machine>& named);
  Status apply_machine(const std::string& json);
  Status apply_node(const Record& record);

 private:
  /// A new machine, or one that is there already and may have another price.
  NodeBook& put(const Machine& machine);
  void note_machine(std::string_view kind, const NodeBook& node, std::string_view cause);

  View s_;
};

}  // namespace stint
