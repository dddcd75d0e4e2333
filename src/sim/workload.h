// Workload: everything a replay needs to know, as plain data: machines, queues, jobs with how long they truly run, prices,
// and what goes wrong when. Readers of traces and histories fill it; generators and the fault models fill it; the explorer
// shrinks it. Ids in it are indexes into its own tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/fleet.h"
#include "model/machine.h"
#include "sched/decision.h"
#include "sched/job.h"
#include "sched/place/cluster.h"
#include "sched/queues/queue.h"
#include "sched/request.h"
#include "sched/scaling.h"
#include "sched/time_price.h"
#include "sched/trials.h"

namespace stint::sim {

/// The price of a whole node over time.
struct PriceSeries {
  std::string name;               ///< say "aws/us-east-1/p4d.24xlarge/spot"
  std::vector<RatePoint> points;  ///< ascending
};

/// A machine of a replay. `rate` holds where `prices` is −1, and before the series' first point.
struct SimNode : Machine {
  int32_t prices = -1;                    ///< into Workload::prices
  Instant present_from;                   ///< paid for and usable from here …
  Instant present_until = sched::kNever;  ///< … to here; the past = from the beginning
  int32_t pool = -1;                      ///< into Workload::pools; −1 = always there
};

enum class OutageCause : uint8_t { kNodeFailure, kGpuFailure, kSpotInterruption, kMaintenance };
std::string_view name_of(OutageCause c);  // "node-failure", "gpu-failure", "spot-interruption", "maintenance"

/// A node goes away and comes back. Outages of one node do not overlap. While it is away an owned or reserved node is
/// paid for, any other is not.
struct Outage {
  NodeId node;
  OutageCause cause = OutageCause::kNodeFailure;
  Instant notice;  ///< spot: told at this instant; maintenance: drained from here; failures: the same as `down`
  Instant down;
  Instant up = sched::kNever;  ///< usable again: repaired, or its replacement has been provisioned
  bool operator==(const Outage&) const = default;
};

struct SimJob {
  std::string name;
  /// `queue`, `request`, `gang`, `after`, `study`, `array` and `makes` index this Workload. Gang tasks' requests too. `submitted` says when it is
  /// submitted; `expected` is only what the scheduler may know.
  sched::JobSpec spec;
  /// Useful running time with all spec.tasks; restart and checkpoint time come on top. With n of N tasks it runs at n/N of
  /// the speed. > 0.
  Duration run_time;
  int32_t failures = 0;               ///< fails by itself that many times before it runs through …
  Duration fails_after;               ///< … each time after this much useful running time
  std::vector<int64_t> losses_micro;  ///< a trial: what it reports at each rung of its study; fewer = silent from there on
  Instant cancelled = sched::kNever;  ///< its owner takes it back then, if it has not ended
  /// Names of the nodes it lay on when it was recorded, where that is known; decides nothing, says which jobs a Change means.
  std::vector<std::string> ran_on;
};

/// `count` instances of a type paid for around the clock, used or not; they cover on-demand nodes of that provider, region and type,
/// those with the lowest ids that are paid for.
struct Commitment {
  std::string provider, region, instance_type;
  int64_t count = 0;
  Rate rate;  ///< of one instance
};

/// A savings plan: `per_hour` is paid all the time, used or not, for on-demand nodes of that provider at its rates, the greatest discount
/// first, then the lowest id; commitments to instances cover before it. Nodes with a price that changes stay as they are.
struct SpendPlan {
  struct TypeRate {
    std::string region;  ///< empty = everywhere
    std::string instance_type;
    Rate rate;  ///< of an instance, out of the commitment
  };
  std::string provider;
  Rate committed;
  std::vector<TypeRate> rates;  ///< the first that fits counts
};
/// What the plan asks for an hour of the node; none when it does not pay for it, or it costs no less.
std::optional<Rate> plan_rate(const SpendPlan& plan, const SimNode& node);

/// Nodes that are switched on and off by demand; those with the lowest index are on from the beginning, up to the minimum.
struct NodePool {
  std::string name;
  sched::ScalingRules rules;                     ///< max_nodes = how many nodes name the pool
  Duration provisioning = Duration::minutes(3);  ///< from switching on, paid for, to usable
};

/// Trials of one search. A trial reaches a rung after that part of its run time: resource / most.
struct Study {
  std::string name;
  sched::TrialRules rules;
};

struct Workload {
  std::string name;
  std::vector<sched::QueueSpec> queues;  ///< parents before children
  std::vector<sched::Request> requests;
  std::vector<sched::Gang> gangs;
  std::vector<std::string> arrays;    ///< names
  std::vector<std::string> products;  ///< names
  std::vector<Study> studies;
  std::vector<NodePool> pools;
  std::vector<SimNode> nodes;
  std::vector<PriceSeries> prices;
  std::vector<SimJob> jobs;  ///< ascending by spec.submitted: a job's index is its age
  std::vector<Outage> outages;
  std::vector<Commitment> commitments;
  std::vector<SpendPlan> spend_plans = {};
};

/// Whether a commitment may cover it: on demand, or not said otherwise.
inline bool is_on_demand(Market m) { return m == Market::kOnDemand || m == Market::kUnknown; }
/// First and last instant at which anything is submitted; empty for no jobs.
Interval submissions_of(const Workload& workload);
/// GPUs of all tasks of a job together, in milli-GPU: whole ones, shares, and MIG instances by their compute slices of 7.
/// A share given as memory counts with the memory of the workload's first GPU node.
int64_t gpu_milli_of(const Workload& workload, const SimJob& job);
/// What GPU-hours cost on its nodes, for a scheduler that may know it ahead: nodes with the same price are one market.
std::vector<sched::MarketPrices> market_prices(const Workload& workload);
/// Of all its rates and budgets.
Currency currency_of(const Workload& workload);
/// Has any queue a budget: do prices matter to decisions?
bool has_budgets(const Workload& workload);
/// Indexes in range, times in order, numbers positive, outages not
/// overlapping, one currency. @return error naming the entry.
Status check_workload(const Workload& workload);

}  // namespace stint::sim
