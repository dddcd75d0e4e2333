// What runs cost, and what of that has been posted.
#pragma once

#include <vector>

#include "daemon/engine/fleet_prices.h"
#include "daemon/engine/record.h"
#include "daemon/engine/spend_accounts.h"

namespace stint {

class RunCosts {
 public:
  struct View {
    const FleetConfig& fleet;
    const std::vector<NodeBook>& nodes;
    const std::map<std::string, NodeId, std::less<>>& node_ids;
    const std::optional<sched::Scheduler>& scheduler;
    const Instant& now;
    const FleetPrices& prices;
    // Where postings go.
    std::vector<JobBook>& jobs;
    std::vector<QueueBook>& queues;
    SpendAccounts& accounts;
  };
  explicit RunCosts(const View& view) : s_(view) {}

  /// Thousandths of GPUs that are held there. Of MIG devices that stay as they are the place tells nothing, the request does.
  [[nodiscard]] int64_t gpu_milli(const JobBook& job, const PlacedTask& placed) const;
  /// At the prices of the time.
  [[nodiscard]] Money cost_over(const JobBook& job, const PlacedTask& placed, Interval when) const;
  [[nodiscard]] Money cost_of_hour(const JobBook& job, const PlacedTask& placed) const;
  [[nodiscard]] Rate burn_of(sched::JobId id) const;
  [[nodiscard]] RunPosting posting_of(sched::JobId id, const PlacedTask& placed, Instant until) const;
  // What has been posted and what runs on unposted until `at`, which is not before the last step.
  [[nodiscard]] Money cost_of(const JobBook& job, sched::JobId id, Instant at) const;
  [[nodiscard]] int64_t micro_gpu_hours_of(const JobBook& job, Instant at) const;

  void post(sched::JobId id, PlacedTask& placed, Instant until);
  void post_all_on(NodeId node);
  /// What post() will be called with when these records are applied: written with them, before they are.
  [[nodiscard]] std::vector<RunPosting> postings_of(const std::vector<Record>& records, Instant at) const;

 private:
  [[nodiscard]] Money cost_at(Rate rate, const JobBook& job, const PlacedTask& placed, Duration length) const;

  View s_;
};

}  // namespace stint
