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

  [[nodiscard]] sched::Request request_of(std::string_view client, const JobRequest& request) const;
  /// A domain by a label that no machine has would be waited for in vain.
  [[nodiscard]] Status check_domains(const JobRequest& request) const;
  /// The levels of the configuration where they are meant, else the labels that are named.
  [[nodiscard]] std::optional<sched::Gang> gang_of(const JobRequest& request) const;
  /// Numbered when it is first heard of.
  [[nodiscard]] sched::ProductId product_of(std::string_view client, const std::string& makes);

 private:
  void put_neighbours(std::string_view client, const JobRequest& request, sched::Request& each) const;

  View s_;
  std::map<std::string, int64_t, std::less<>>& products_;  // EngineBooks::products
};

}  // namespace stint
