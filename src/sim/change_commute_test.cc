// Where commute() says yes, a replay's workload comes out the same in either order: machines, prices, jobs and commitments. Which
// interruptions are drawn is chance, and no part of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "model/change_algebra.h"
#include "model/testing_changes.h"
#include "sim/apply_change.h"
#include "sim/fleet_text.h"

namespace stint::sim {
namespace {

const std::vector<std::string> kNames = {"n0", "n1", "n2", "n3"};

/// Each machine ran a job on one GPU and one on all; one machine more is never changed.
Workload small_workload() {
  Workload w;
  w.nodes = parse_fleet("5xp4d.24xlarge@us-east-1", Catalog::built_in()).value();
  w.queues.emplace_back().name = "q";
  w.requests.emplace_back().gpus = 1;
  w.requests.emplace_back().gpus = 8;
  for (size_t n = 0; n < w.nodes.size(); ++n) {
    w.nodes[n].node.name = n < kNames.size() ? kNames[n] : "other";
    for (uint32_t request : {0U, 1U}) {
      SimJob& job = w.jobs.emplace_back();
      job.name = n % 2 == 0 ? "nightly" : "eval";
      job.run_time = Duration::hours(30);
      job.spec.queue = sched::QueueId(0);
      job.spec.request = sched::RequestId(request);
      job.ran_on = {w.nodes[n].node.name};
    }
  }
  return w;
}

/// What must be equal, whatever the order of its tables.
struct Summary {
  std::vector<std::tuple<std::string, std::string, std::string, Market, Rate>> nodes;
  std::vector<std::tuple<std::string, Duration, Duration, sched::Request, std::vector<std::string>>> jobs;
  std::vector<std::tuple<std::string, std::string, std::string, int64_t, Rate>> commitments;
  std::vector<std::tuple<std::string, Rate, std::string, std::string, Rate>> savings_plans;
  bool operator==(const Summary&) const = default;
};

std::optional<Summary> after(Workload w, const std::vector<Change>& changes) {
  for (const Change& change : changes)
    if (!apply_change(w, change, {.catalog = &Catalog::built_in(), .spot_mean_between = sched::kUnlimited}).ok())
      return std::nullopt;
  Summary s;
  for (const SimNode& n : w.nodes)
    s.nodes.emplace_back(n.node.name, n.instance_type, n.region, n.market, n.rate);
  std::ranges::sort(s.nodes);
  for (const SimJob& j : w.jobs)
    s.jobs.emplace_back(j.name, j.run_time, j.spec.time_limit, w.requests[j.spec.request.index()], j.ran_on);
  for (const Commitment& c : w.commitments)
    s.commitments.emplace_back(c.provider, c.region, c.instance_type, c.count, c.rate);
  std::ranges::sort(s.commitments);
  for (const SpendPlan& p : w.spend_plans)
    for (const SpendPlan::TypeRate& type : p.rates)
      s.savings_plans.emplace_back(p.provider, p.committed, type.region, type.instance_type, type.rate);
  return s;
}

TEST(ChangesOnAWorkload, WhatCommutesGivesTheSameInEitherOrder) {
  const Workload start = small_workload();
  int made = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Prng prng(seed);
    const Change a = testing::random_change(prng, prng.below(testing::kChangeKinds), kNames);
    const Change b = testing::random_change(prng, prng.below(testing::kChangeKinds), kNames);
    if (!commute(a, b)) continue;
    const auto one = after(start, {a, b});
    ASSERT_EQ(one, after(start, {b, a})) << describe(a) << " | " << describe(b);
    made += one ? 1 : 0;
  }
  EXPECT_GT(made, 200);  // else nearly all pairs were refused
}

}  // namespace
}  // namespace stint::sim
