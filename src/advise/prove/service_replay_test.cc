// Services replayed: against requests drawn one by one, and against arithmetic.
#include "advise/prove/service_replay.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "advise/prove/proof_weeks.h"
#include "advise/prove/prove.h"
#include "advise/share/share_fit.h"
#include "advise/testing_fleet.h"
#include "base/prng.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Use = TestFleet::Use;

/// Machines of eight A100s, services on the first `used` GPUs.
NodeFacts& add_server(TestFleet& fleet, const std::string& name, std::vector<double> busy_pct) {
  std::vector<Use> uses;
  for (size_t g = 0; g < 8; ++g)
    uses.push_back(g < busy_pct.size() ? Use{.mean = busy_pct[g], .p95 = busy_pct[g], .idle = 10}
                                       : Use{.mean = 0, .p95 = 0, .idle = 100});
  NodeFacts& node = fleet.add(name, "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, uses);
  for (GpuLoad& gpu : node.gpus)
    gpu.workload = fmt::format("{}-{}", name, gpu.index);
  return node;
}

ShareGpus share(SharingMode mode, const std::vector<std::pair<std::string, int>>& from, const char* profile = "") {
  ShareGpus change{mode, {"a", "b"}, {"a"}, {}};
  for (const auto& [node, gpu] : from)
    change.placements.push_back({fmt::format("{}-{}", node, gpu), node, gpu, "a", 0, profile, 0, kWholeDevice / 2});
  return change;
}

ServiceOutlook outlook_of(const TestFleet& fleet, const Change& change) {
  const std::vector<Instant> marks = week_marks(kJune);
  return replay_services(change, fleet.facts, fleet.catalog, {.marks = marks}).value();
}

enum class Work : uint8_t { kEqual, kExponential };

/// p99 of requests that come by themselves and are served one after another.
double simulated_p99(double busy, double service_time, Work work) {
  Prng prng(5);
  std::vector<double> times;
  const auto draw = [&](double mean) { return -mean * std::log(1 - prng.uniform()); };
  double wait = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double served = work == Work::kEqual ? service_time : draw(service_time);
    times.push_back(wait + served);
    wait = std::max(0.0, wait + served - draw(service_time / busy));  // Lindley
  }
  const auto at = times.begin() + static_cast<ptrdiff_t>(times.size() * 99 / 100);
  std::ranges::nth_element(times, at);
  return *at;
}

/// p99 then over p99 now, of requests of equal times or of exponential ones, whichever suffer more.
double simulated_ratio(double busy_now, double busy_then, double stretch) {
  double most = 0;
  for (const Work work : {Work::kEqual, Work::kExponential})
    most = std::max(most, simulated_p99(busy_then, stretch, work) / simulated_p99(busy_now, 1, work));
  return most;
}

// 3g.20gb holds 3/7 of the SMs. Requests that keep 9/14 of them busy take 1.5 times as long there, and the queue grows from 0.3 to 0.45.
TEST(ServiceReplay, AgreesWithRequestsDrawnOneByOne) {
  TestFleet fleet;
  for (const char* name : {"a", "b"}) {
    NodeFacts& node = add_server(fleet, name, {30, 30});
    for (GpuLoad& gpu : node.gpus) {
      gpu.sm_while_busy = 9.0 / 14;
      gpu.memory_while_busy = 0.2;
    }
  }
  const ServiceOutlook out = outlook_of(fleet, share(SharingMode::kMig, {{"a", 0}, {"b", 0}}, "3g.20gb"));
  EXPECT_EQ(out.seats, 2);
  EXPECT_TRUE(out.measured);
  EXPECT_NEAR(out.p99_pct.mean / 100 / simulated_ratio(0.3, 0.45, 1.5), 1, 0.06);
  EXPECT_DOUBLE_EQ(out.in_time_pct.mean, 100);
}

// By day twice as busy as by night: the busiest hours are what p99 is of.
TEST(ServiceReplay, TheBusiestHoursDecide) {
  TestFleet fleet;
  for (const char* name : {"a", "b"}) {
    NodeFacts& node = add_server(fleet, name, {45});
    for (GpuLoad& gpu : node.gpus) {
      gpu.sm_while_busy = 3.0 / 7 * 1.2;
      gpu.memory_while_busy = 0.2;
      gpu.hourly_pct.resize(kJuneHours);
      for (size_t h = 0; h < kJuneHours; ++h)
        gpu.hourly_pct[h] = h % 24 < 12 ? 60.0F : 30.0F;
    }
  }
  const ServiceOutlook out = outlook_of(fleet, share(SharingMode::kMig, {{"a", 0}, {"b", 0}}, "3g.20gb"));
  EXPECT_NEAR(out.p99_pct.mean / 100 / simulated_ratio(0.6, 0.72, 1.2), 1, 0.06);
}

// Four replicas, each on a GPU of its own now and on half of one then, are one pool still: a request that finds its instance busy goes to another.
// Each by itself would make one in three wait.
TEST(ServiceReplay, ReplicasOnSlicesAreOnePool) {
  TestFleet fleet;
  for (const char* name : {"a", "b"})
    for (GpuLoad& gpu : add_server(fleet, name, {30, 30}).gpus) {
      gpu.workload = "search";
      gpu.sm_while_busy = gpu.memory_while_busy = 0.2;
    }
  const ServiceOutlook pool = outlook_of(fleet, share(SharingMode::kMig, {{"a", 0}, {"a", 1}, {"b", 0}, {"b", 1}}, "3g.20gb"));
  EXPECT_TRUE(pool.pooled);
  EXPECT_EQ(pool.seats, 4);
  ASSERT_EQ(pool.each.size(), 1U);
  EXPECT_NEAR(pool.p99_pct.mean, 100, 1e-9) << "as many replicas, as fast as before";
  for (NodeFacts& node : fleet.facts.nodes)
    for (GpuLoad& gpu : node.gpus)
      gpu.sm_while_busy = 3.0 / 7 * 1.5;
  // 1.2 of four busy, then 1.8: M/M/4 and M/D/4 are far better than four queues of their own, at 191 % and more.
  const double slower =
      outlook_of(fleet, share(SharingMode::kMig, {{"a", 0}, {"a", 1}, {"b", 0}, {"b", 1}}, "3g.20gb")).p99_pct.mean;
  EXPECT_GT(slower, 150);
  EXPECT_LT(slower, 190);
}

// Two replicas on one GPU in turns are one GPU, not two: 0.4 of it busy, in place of 0.4 of two.
TEST(ServiceReplay, ReplicasThatTakeTurnsAreAsManyAsTheirGpus) {
  TestFleet fleet;
  for (const char* name : {"a", "b"})
    for (GpuLoad& gpu : add_server(fleet, name, {20}).gpus)
      gpu.workload = "search";
  const ServiceOutlook out = outlook_of(fleet, share(SharingMode::kTimeSlice, {{"a", 0}, {"b", 0}}));
  EXPECT_GT(out.p99_pct.mean, 100 * simulated_ratio(0.2, 0.4, 1)) << "two that help each other are better than each by itself";
  EXPECT_LT(out.p99_pct.mean, 100 * simulated_p99(0.4, 1, Work::kEqual));
}

// 20 % and 30 % on one GPU: a request of the first meets a GPU that is half busy in place of one that is a fifth busy.
TEST(ServiceReplay, SidesOfATimeSlicedGpuWaitForEachOther) {
  TestFleet fleet;
  add_server(fleet, "a", {20});
  add_server(fleet, "b", {30});
  const ServiceOutlook slices = outlook_of(fleet, share(SharingMode::kTimeSlice, {{"a", 0}, {"b", 0}}));
  EXPECT_EQ(slices.worst, "a-0");
  EXPECT_NEAR(slices.p99_pct.mean / 100 / simulated_ratio(0.2, 0.5, 1), 1, 0.06);
  EXPECT_NEAR(slices.p99_least_pct, slices.p99_pct.mean, 1e-9);
  const ServiceOutlook mps = outlook_of(fleet, share(SharingMode::kMps, {{"a", 0}, {"b", 0}}));
  EXPECT_NEAR(mps.p99_least_pct, 100, 1e-9) << "kernels may run side by side";
  EXPECT_EQ(mps.p99_pct.mean, kCannotKeepUpPct) << "or one takes 7.2 times as long beside the other, and 0.2 × 7.2 > 1";
  EXPECT_FALSE(mps.measured);
  EXPECT_TRUE(mps.beside_others);
}

// 4 % and 4 %: an hour's requests fit into it whatever the neighbour does, but may take 7.2 times as long.
TEST(ServiceReplay, UnderMpsANeighbourMaySlowRequestsMoreThanTurnsWould) {
  TestFleet fleet;
  add_server(fleet, "a", {4});
  add_server(fleet, "b", {4});
  const ServiceOutlook mps = outlook_of(fleet, share(SharingMode::kMps, {{"a", 0}, {"b", 0}}));
  EXPECT_NEAR(mps.p99_pct.mean / 100 / simulated_ratio(0.04, 0.04 * 7.2, 7.2), 1, 0.06);
  EXPECT_NEAR(mps.p99_least_pct, 100, 1e-9);
}

// What `stint bench share` measured on this GPU takes the place of what others' pairs say.
TEST(ServiceReplay, MeasuredPairsDecideUnderMps) {
  TestFleet fleet;
  add_server(fleet, "a", {4});
  add_server(fleet, "b", {4});
  const auto row = [&](const char* workload, const char* neighbour, double slowed) {
    return PairMeasurement{
        fleet.facts.nodes[0].gpu_model, SharingMode::kMps, workload, neighbour, slowed, slowed, slowed, 3, "t", {}};
  };
  const std::vector<PairMeasurement> one = {row("a-0", "b-0", 1.5)};
  fleet.facts.pairs = MeasuredPairs(one);
  EXPECT_FALSE(outlook_of(fleet, share(SharingMode::kMps, {{"a", 0}, {"b", 0}})).measured) << "b beside a was not";
  const std::vector<PairMeasurement> both = {row("a-0", "b-0", 1.5), row("b-0", "a-0", 1)};
  fleet.facts.pairs = MeasuredPairs(both);
  const ServiceOutlook out = outlook_of(fleet, share(SharingMode::kMps, {{"a", 0}, {"b", 0}}));
  EXPECT_TRUE(out.measured);
  EXPECT_FALSE(out.beside_others);
  EXPECT_EQ(out.worst, "a-0");
  EXPECT_NEAR(out.p99_pct.mean / 100 / simulated_ratio(0.04, 0.06, 1.5), 1, 0.06);
  EXPECT_NEAR(out.p99_least_pct, out.p99_pct.mean, 1e-9);
}

TEST(ServiceReplay, WhatCannotKeepUpIsLate) {
  TestFleet fleet;
  for (const char* name : {"a", "b"}) {
    NodeFacts& node = add_server(fleet, name, {60});
    node.gpus[0].sm_while_busy = 6.0 / 7;
    node.gpus[0].memory_while_busy = 0.2;
  }
  const ServiceOutlook out = outlook_of(fleet, share(SharingMode::kMig, {{"a", 0}, {"b", 0}}, "3g.20gb"));
  EXPECT_EQ(out.p99_pct.mean, kCannotKeepUpPct) << "0.6 × 2 is more than an hour an hour";
  EXPECT_EQ(out.in_time_pct.mean, 0);
}

// Two V100s at 30 % onto one A100: 1.728 times as fast by memory bandwidth, 2.496 by arithmetic. 0.6 / 1.728 = 0.347 busy.
TEST(ServiceReplay, AnotherTypeServesAsFastAsItsRoofsSay) {
  TestFleet fleet;
  const Catalog catalog = fleet.catalog;
  for (const char* name : {"a", "b"})
    fleet.add(name, "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {{.mean = 30, .p95 = 30, .idle = 10}}).gpu_model =
        "V100-16GB";
  const ServiceOutlook out = outlook_of(fleet, ResizeNodes{{"a", "b"}, "a2-highgpu-1g", "", 1});
  const auto ratio = [](double speed) { return 100 / speed * 0.7 / (1 - 0.6 / speed); };
  EXPECT_NEAR(out.p99_pct.mean, ratio(1555.0 / 900), 2);
  EXPECT_NEAR(out.p99_least_pct, ratio(312.0 / 125), 2);
  EXPECT_FALSE(replay_services(ResizeNodes{{"a"}, "unheard-of", "", 1}, fleet.facts, fleet.catalog, {.marks = {}}).ok());
}

// Off for a quarter of the hours, at even load.
TEST(ServiceReplay, RequestsOfHoursOffFindNoServer) {
  TestFleet fleet;
  add_server(fleet, "a", {20});
  WeekHours off;
  for (size_t h = 0; h < off.size(); ++h)
    off[h] = h % 24 < 6;
  const ServiceOutlook out = outlook_of(fleet, ScheduleOff{{"a"}, off});
  EXPECT_NEAR(out.in_time_pct.mean, 75, 0.01);
  const std::vector<Instant> marks = week_marks(kJune);
  EXPECT_THAT(replay_services(StopNodes{{"a"}}, fleet.facts, fleet.catalog, {.marks = marks}).error().message,
              HasSubstr("something ran for a-0"));
}

/// Two machines with services at 10 % on the first `used` GPUs of each, known by telemetry alone.
TestFleet served_fleet(double sm_while_busy, size_t used = 4) {
  TestFleet fleet;
  fleet.history.period = kJune;
  for (const char* name : {"a", "b"}) {
    NodeFacts& node = add_server(fleet, name, std::vector<double>(used, 10));
    for (GpuLoad& gpu : node.gpus) {
      if (sm_while_busy > 0) gpu.sm_while_busy = gpu.memory_while_busy = sm_while_busy;
    }
    Node machine;
    machine.name = name;
    machine.provider = "aws";
    machine.region = "us-east-1";
    machine.instance_type = "p4d.24xlarge";
    machine.gpu_model = node.gpu_model;
    machine.gpu_count = 8;
    machine.market = Market::kOnDemand;
    machine.kind = WorkloadKind::kRealtimeInference;
    fleet.history.nodes.push_back(machine);
  }
  return fleet;
}

Proof prove(const TestFleet& fleet, const Change& change) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  return Prover::create(fleet.history, fleet.facts, fleet.catalog, {}).value().try_change(change, books);
}

TEST(ServiceReplay, ProofsOfServicesSurviveAreRejectedOrSayWhatIsNotKnown) {
  const auto proof_at = [](double sm_while_busy) {
    ShareGpus change = share(SharingMode::kMig, {{"a", 0}, {"b", 0}}, "3g.20gb");
    return prove(served_fleet(sm_while_busy), change);
  };
  const Proof narrow = proof_at(0.4);
  EXPECT_EQ(narrow.verdict, ProofVerdict::kSurvives) << narrow.reason;
  EXPECT_EQ(narrow.method, ProofMethod::kRequests);
  EXPECT_EQ(narrow.saving_per_month, usd("15840")) << "a machine at 22 an hour is given back";
  EXPECT_NEAR(narrow.latency_pct.mean, 100, 1e-9);
  EXPECT_EQ(narrow.services, 2);
  const Proof wide = proof_at(0.9);
  EXPECT_EQ(wide.verdict, ProofVerdict::kRejected);
  EXPECT_THAT(wide.reason, HasSubstr("p99 of"));
  const Proof unknown = proof_at(0);
  EXPECT_EQ(unknown.verdict, ProofVerdict::kArithmetic);
  EXPECT_THAT(unknown.reason, HasSubstr("was not measured"));
  const Proof beside = prove(served_fleet(0.4), share(SharingMode::kMps, {{"a", 0}, {"b", 0}}));
  EXPECT_EQ(beside.verdict, ProofVerdict::kRejected) << "without walls no measurement of one service tells what two do";
  EXPECT_THAT(beside.reason, HasSubstr("7.2 × as long"));
}

// The finder cuts slices that hold p99, so that what it advises survives.
TEST(ServiceReplay, SharesAreCutSoThatRequestsStayQuick) {
  for (const double width : {0.2, 0.4, 0.5}) {
    const TestFleet fleet = served_fleet(width);
    const Proposals found = fleet.propose(find_share);
    ASSERT_EQ(found.advised.size(), 1U) << width;
    const Proof proof = prove(fleet, found.advised[0].change);
    EXPECT_EQ(proof.verdict, ProofVerdict::kSurvives) << width << ": " << proof.reason;
    EXPECT_LE(proof.latency_pct.mean, kTodaysP99Pct + 0.5) << width;
  }
}

// Sixteen GPUs of as many clients: requests that keep 70 % of one busy need it. What would free a machine is listed with the reason.
TEST(ServiceReplay, SharesThatWouldBeTooSlowAreNamed) {
  TestFleet fleet = served_fleet(0.7, 8);
  for (NodeFacts& node : fleet.facts.nodes)
    for (GpuLoad& gpu : node.gpus)
      gpu.client = fmt::format("{}-{}", node.name, gpu.index);
  const Proposals found = fleet.propose(find_share);
  EXPECT_TRUE(found.advised.empty());
  ASSERT_EQ(found.rejected.size(), 1U);
  EXPECT_THAT(found.rejected[0].caveats.front(), HasSubstr("as long by itself"));
  EXPECT_EQ(found.rejected[0].alone_per_month, usd("15840"));
  EXPECT_EQ(prove(fleet, found.rejected[0].change).verdict, ProofVerdict::kRejected);
}

}  // namespace
}  // namespace stint
