#include "advise/share/share_plan.h"

#include <gmock/gmock.h>

#include <set>

#include "advise/testing_fleet.h"
#include "base/prng.h"

namespace stint {
namespace {

using Use = TestFleet::Use;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

FleetSharePlan plan_of(const TestFleet& fleet, const Usage& usage = {}) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  return plan_sharing({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, usage);
}

/// Some legal layout holds the instances of that GPU, those that exist included, wherever they begin.
bool fits_together(const MigGeometry& geometry, const SharedGpu& gpu) {
  std::multiset<int> wanted;
  for (const SharedSeat& seat : gpu.seats)
    if (!seat.mig_profile.empty()) wanted.insert(geometry.index_of(*geometry.find_profile(seat.mig_profile)));
  const std::vector<MigLayout> all = all_layouts(geometry);
  return std::any_of(all.begin(), all.end(), [&](const MigLayout& layout) {
    std::multiset<int> has;
    for (const MigPlacement& p : layout)
      has.insert(p.profile);
    return has == wanted;
  });
}

/// No layout is illegal, no user is lost or there twice, and what shares without MIG has one client.
void check(const TestFleet& fleet, const SharePool& pool, size_t services) {
  std::set<std::pair<std::string, int>> seated;
  const MigGeometry* geometry = find_mig_geometry(pool.gpu_model);
  int64_t used = 0;
  for (const SharedGpu& gpu : pool.gpus) {
    MigLayout layout;
    std::set<std::string> clients;
    used += gpu.seats.empty() ? 0 : 1;
    for (const SharedSeat& seat : gpu.seats) {
      clients.insert(seat.client);
      if (seat.workload != "in use") {
        EXPECT_TRUE(seated.insert({seat.from_node, seat.from_gpu}).second);
      }
      if (seat.memory_start >= 0)
        layout.push_back({seat.memory_start, geometry->index_of(*geometry->find_profile(seat.mig_profile))});
    }
    if (geometry != nullptr) {
      EXPECT_TRUE(check_layout(*geometry, layout).ok()) << gpu.node << " " << gpu.gpu;
      EXPECT_TRUE(fits_together(*geometry, gpu)) << gpu.node << " " << gpu.gpu;
    }
    if (gpu.seats.size() > 1 && gpu.seats[0].mig_profile.empty()) {
      EXPECT_THAT(clients, SizeIs(1));
    }
  }
  EXPECT_EQ(seated.size(), services);
  EXPECT_EQ(used, pool.needed);
  EXPECT_FALSE(fleet.facts.nodes.empty());
}

// 40 services of a 3g.20gb each: two on a GPU, so 20 GPUs; machines of eight: two of five become free.
TEST(SharePlan, MigHalvesTheGpusOfLightServicesAndFreesWholeMachines) {
  TestFleet fleet;
  for (int n = 1; n <= 5; ++n)
    fleet.add(fmt::format("serve-{}", n), "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, std::vector<Use>(8));
  const FleetSharePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.pools, SizeIs(1));
  const SharePool& pool = plan.pools[0];
  EXPECT_EQ(pool.mode, SharingMode::kMig);
  EXPECT_EQ(pool.in_use, 40);
  EXPECT_EQ(pool.needed, 20);
  EXPECT_EQ(pool.restarts, 40);
  EXPECT_THAT(pool.freed_nodes, ElementsAre("serve-4", "serve-5"));
  EXPECT_EQ(pool.saving_per_month, usd("31680"));  // 2 × 22 × 720
  check(fleet, pool, 40);
}

// No MIG on a V100: one client's services go side by side up to 70 % busy, another's do not join them.
TEST(SharePlan, WithoutMigOnlyOneClientSharesAGpu) {
  TestFleet fleet;
  for (int i = 0; i < 6; ++i) {
    NodeFacts& node = fleet.add(fmt::format("serve-{}", i), "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
                                {Use{.mean = 10, .p95 = 20, .idle = 10, .memory_gib = 4}});
    node.gpus[0].client = i < 3 ? "acme" : "beta";
  }
  const FleetSharePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.pools, SizeIs(1));
  EXPECT_EQ(plan.pools[0].mode, SharingMode::kMps);
  EXPECT_EQ(plan.pools[0].needed, 2);
  check(fleet, plan.pools[0], 6);
  for (NodeFacts& node : fleet.facts.nodes)
    node.gpus[0].mixed_clients = true;
  EXPECT_THAT(plan_of(fleet).pools, IsEmpty());
}

TEST(SharePlan, WhatSpansGpusOrWasNotMeasuredStaysAlone) {
  TestFleet fleet;
  for (int n = 0; n < 2; ++n) {
    NodeFacts& node =
        fleet.add(fmt::format("serve-{}", n), "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, std::vector<Use>(8));
    for (GpuLoad& gpu : node.gpus)
      gpu.in_gang = gpu.index < 4;
    node.gpus[7].memory_peak.reset();
  }
  const FleetSharePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.pools, SizeIs(1));
  EXPECT_THAT(plan.pools[0].alone, SizeIs(4));  // by machine and reason: 4 that span, 1 unmeasured, twice
  EXPECT_EQ(plan.pools[0].needed, 10 + 3);      // six of 3g.20gb on three GPUs
  check(fleet, plan.pools[0], 16);
}

/// Telemetry of an instance: held when `used`.
DeviceUsage instance_usage(bool used) {
  DeviceUsage usage;
  HourlySeries& memory = usage.metrics[Metric::kMemoryUsed];
  memory.max = used ? 5e9 : 0;
  memory.count = 1;
  return usage;
}

// serve-0's GPU is cut into 3g.20gb (in use), 3g.20gb (idle): the service of serve-1 that wants a 3g.20gb takes the idle one.
TEST(SharePlan, InstancesThatExistAreKeptAndUsedFirst) {
  TestFleet fleet;
  Usage usage;
  for (int n = 0; n < 2; ++n)
    fleet.add(fmt::format("serve-{}", n), "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {Use{}});
  GpuLoad& cut = fleet.facts.nodes[0].gpus[0];
  cut.cut_by_mig = true;
  for (const bool used : {true, false}) {
    Device device;
    device.mig = MigInstance{"3g.20gb", static_cast<int>(fleet.history.devices.size()) + 1};
    cut.devices.push_back(static_cast<uint32_t>(fleet.history.devices.size()));
    fleet.history.devices.push_back(device);
    usage.devices.push_back(instance_usage(used));
  }
  const FleetSharePlan plan = plan_of(fleet, usage);
  ASSERT_THAT(plan.pools, SizeIs(1));
  const SharePool& pool = plan.pools[0];
  EXPECT_EQ(pool.in_use, 2);
  EXPECT_EQ(pool.needed, 1);
  EXPECT_EQ(pool.restarts, 1);
  EXPECT_EQ(pool.gpus[0].step, SharedGpu::Step::kAsItIs);
  ASSERT_THAT(pool.gpus[0].seats, SizeIs(2));
  EXPECT_TRUE(pool.gpus[0].seats[1].exists);
  EXPECT_EQ(pool.gpus[0].seats[1].from_node, "serve-1");
  EXPECT_THAT(pool.freed_nodes, ElementsAre("serve-1"));
}

TEST(SharePlan, RoomBesideInstancesInUseIsFilledWithoutMovingThem) {
  TestFleet fleet;
  Usage usage;
  for (int n = 0; n < 2; ++n)
    fleet.add(fmt::format("serve-{}", n), "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {Use{}});
  GpuLoad& cut = fleet.facts.nodes[0].gpus[0];
  cut.cut_by_mig = true;
  Device device;
  device.mig = MigInstance{"3g.20gb", 1};
  cut.devices = {0};
  fleet.history.devices.push_back(device);
  usage.devices.push_back(instance_usage(true));
  const FleetSharePlan plan = plan_of(fleet, usage);
  ASSERT_THAT(plan.pools, SizeIs(1));
  EXPECT_EQ(plan.pools[0].needed, 1);
  EXPECT_EQ(plan.pools[0].gpus[0].step, SharedGpu::Step::kFill);
  EXPECT_EQ(plan.pools[0].restarts, 1);
}

// Twelve GPUs, a third of them cut at random with some instances in use, services of random needs on the others.
TEST(SharePlan, RandomFleetsGetLegalLayoutsAndLoseNoUser) {
  Prng prng(11);  // seed 11
  const MigGeometry& geometry = *find_mig_geometry("A100-40GB");
  const std::vector<MigLayout> layouts = maximal_layouts(geometry);
  for (int round = 0; round < 40; ++round) {
    TestFleet fleet;
    Usage usage;
    size_t services = 0;
    size_t in_use = 0;
    for (int n = 0; n < 12; ++n) {
      NodeFacts& node =
          fleet.add(fmt::format("n-{:02}", n), "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference,
                    {Use{.mean = 10, .p95 = 5 + prng.uniform() * 60, .idle = 5, .memory_gib = 2 + prng.uniform() * 20}});
      if (prng.below(3) > 0) {
        ++services;
        continue;
      }
      GpuLoad& gpu = node.gpus[0];
      gpu.cut_by_mig = true;
      for (const MigPlacement& p : layouts[prng.below(layouts.size())]) {
        const bool used = prng.below(2) == 0;
        in_use += used ? 1U : 0U;
        Device device;
        device.mig = MigInstance{geometry.profiles[static_cast<size_t>(p.profile)].name,
                                 static_cast<int>(fleet.history.devices.size()) + 1};
        gpu.devices.push_back(static_cast<uint32_t>(fleet.history.devices.size()));
        fleet.history.devices.push_back(device);
        usage.devices.push_back(instance_usage(used));
      }
    }
    for (const SharePool& pool : plan_of(fleet, usage).pools) {
      check(fleet, pool, services);
      size_t kept = 0;
      for (const SharedGpu& gpu : pool.gpus)
        for (const SharedSeat& seat : gpu.seats)
          kept += seat.workload == "in use" ? 1U : 0U;
      EXPECT_EQ(kept, in_use) << "seed 11, round " << round;
    }
  }
}

}  // namespace
}  // namespace stint
