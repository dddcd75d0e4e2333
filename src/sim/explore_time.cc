// Scenarios in which the hour, the price and the demand matter: deferrable jobs, queues with hours, trials of searches, pools
// of nodes. Each part draws for itself, so that what it adds changes nothing else of a seed's scenario.
#include <fmt/format.h>

#include <algorithm>

#include "base/prng.h"
#include "sim/explore_time.h"

namespace stint::sim {
namespace {

/// Uniform in low … high.
int64_t between(Prng& prng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(prng.below(static_cast<uint64_t>(high - low + 1)));
}

void put_off_some(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0xa0761d6478bd642fULL);
  if (prng.below(4) != 0) return;
  for (SimJob& job : scenario.workload.jobs) {
    if (prng.below(3) != 0) continue;
    job.spec.deferrable = true;
    job.spec.expected = job.run_time;
    job.spec.deadline = job.spec.submitted + job.run_time * between(prng, 1, 8) + Duration::minutes(between(prng, 0, 1'440));
  }
}

/// Closed at night, by day, at the weekend, or at hours drawn one by one.
WeekHours draw_closed(Prng& prng) {
  WeekHours closed;
  const uint64_t kind = prng.below(4);
  const auto from = static_cast<size_t>(prng.below(24));
  const auto length = static_cast<size_t>(1 + prng.below(16));
  for (size_t hour = 0; hour < closed.size(); ++hour) {
    if (kind < 2) closed[hour] = (hour % 24 + 24 - from) % 24 < length;
    if (kind == 2) closed[hour] = hour / 24 >= 5;
    if (kind == 3) closed[hour] = prng.below(3) == 0;
  }
  return closed;
}

void close_some(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0xe7037ed1a0b428dbULL);
  if (prng.below(5) != 0) return;
  for (sched::QueueSpec& queue : scenario.workload.queues)
    if (prng.below(2) == 0) queue.closed = draw_closed(prng);
}

void search_with_some(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x8ebc6af09c88c6e3ULL);
  if (prng.below(5) != 0) return;
  Workload& w = scenario.workload;
  for (int64_t s = between(prng, 1, 3); s > 0; --s)
    w.studies.push_back(
        {.name = fmt::format("s{}", w.studies.size()),
         .rules = {.first_rung = between(prng, 1, 3), .most = between(prng, 3, 100), .reduction = between(prng, 2, 4)}});
  for (SimJob& job : w.jobs) {
    if (prng.below(3) != 0) continue;
    job.spec.study = sched::StudyId(static_cast<uint32_t>(prng.below(w.studies.size())));
    // Few different values, so that some tie.
    for (int64_t rungs = between(prng, 0, 6); rungs > 0; --rungs)
      job.losses_micro.push_back(between(prng, 0, 30) * 10'000);
  }
}

void switch_some(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x589965cc75374cc3ULL);
  if (prng.below(5) != 0) return;
  Workload& w = scenario.workload;
  for (int64_t p = between(prng, 1, 2); p > 0; --p) {
    NodePool& pool = w.pools.emplace_back();
    pool.name = fmt::format("p{}", w.pools.size());
    pool.rules.max_nodes = 0;
    pool.rules.waiting_gpus_per_node = static_cast<double>(between(prng, 1, 16));
    pool.rules.idle_grace = Duration::minutes(between(prng, 1, 60));
    pool.provisioning = Duration::seconds(between(prng, 0, 600));
  }
  for (SimNode& node : w.nodes) {
    if (prng.below(3) == 0 || node.present_from > Instant() || node.present_until < sched::kNever) continue;
    node.pool = static_cast<int32_t>(prng.below(w.pools.size()));
    ++w.pools[static_cast<size_t>(node.pool)].rules.max_nodes;
  }
  for (NodePool& pool : w.pools)
    pool.rules.min_nodes = static_cast<int32_t>(between(prng, 0, pool.rules.max_nodes));
  std::erase_if(w.outages, [&](const Outage& o) { return w.nodes[o.node.index()].pool >= 0 && prng.below(2) == 0; });
}

}  // namespace

void draw_time_and_demand(Scenario& scenario) {
  put_off_some(scenario);
  close_some(scenario);
  search_with_some(scenario);
  switch_some(scenario);
}

}  // namespace stint::sim
