// What the backend tells of machines, and what of that becomes a record.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/engine/engine_books.h"
#include "daemon/engine/record.h"

namespace stint {

class MachineReports {
 public:
  struct View {
    const FleetConfig& fleet;
    const std::vector<NodeBook>& nodes;
    const std::map<std::string, NodeId, std::less<>>& node_ids;
    const std::vector<JobBook>& jobs;
    Backend* const& backend;
    std::vector<Record>& staged;
  };
  explicit MachineReports(const View& view) : s_(view) {}

  /// @param first  since this engine opened: what the backend does not name then is gone, or is as the configuration says.
  void hear(Instant at, std::vector<MachineReport> news, bool first);
  /// What is news to the books becomes a record; what would depend on one of this step waits for the next.
  void stage(MachineReport report);
  /// See Engine::keep_machines.
  void keep(std::set<std::string> names) { kept_ = std::move(names); }
  /// It is kept if it is there.
  void keep(const std::string& name, bool is_there) {
    if (is_there)
      kept_.insert(name);
    else
      kept_.erase(name);
  }

 private:
  [[nodiscard]] bool is_used(NodeId node) const;
  [[nodiscard]] bool is_staged(RecordKind kind, std::string_view node) const;
  void stage_node(RecordKind kind, std::string_view node, const MachineReport& report);
  void clear_those_that_go(Instant at);
  void retire_unnamed();

  View s_;
  std::set<std::string> kept_;
  std::vector<MachineReport> heard_later_;  // of machines whose names others bear until the step is over
};

}  // namespace stint
