// What a job request asks of machines and neighbours, in the scheduler's terms.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/engine/governance.h"

namespace stint {

class JobAsks {
 public:
  struct View {
    const FleetConfig& fleet;
    const std::vector<NodeBook>& nodes;
    const bool& machines_come;
    const Governance& governance;
  };
  JobAsks(const View& view, std::map<std::string, int64_t, std::less<>>& products) : s_(view), products_(products) {}

  /// What its tasks ask for, and in which groups and domains.
  void put_tasks(std::string_view client, const JobRequest& request, sched::Scheduler& scheduler, sched::JobSpec& spec) const;
  /// A domain by a label that no machine has would be waited for in vain.
  [[nodiscard]] Status check_domains(const JobRequest& request) const;
  /// Numbered when it is first heard of.
  [[nodiscard]] sched::ProductId product_of(std::string_view client, const std::string& makes);

 private:
  [[nodiscard]] sched::Request request_of(std::string_view client, const JobRequest& request, const JobRequest& needs) const;
  [[nodiscard]] sched::TopologyWish topology_of(const JobRequest& request) const;
  void put_neighbours(std::string_view client, const JobRequest& request, sched::Request& each) const;

  View s_;
  std::map<std::string, int64_t, std::less<>>& products_;  // EngineBooks::products
};

}  // namespace stint
