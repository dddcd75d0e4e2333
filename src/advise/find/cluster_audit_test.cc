#include "advise/find/cluster_audit.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kGib = 1024.0 * 1024 * 1024;

/// Two machines of eight A100 (22 an hour each, so a GPU costs 2.75) in partition "big", a cheaper one of four V100 (12.24: 3.06 a
/// GPU) in "small", and jobs as a test adds them.
struct Cluster {
  TestFleet fleet;
  QueueHistory queues;
  Usage usage;

  Cluster() {
    fleet.history.period = usage.period = kJune;
    machine("a1", "p4d.24xlarge", "big");
    machine("a2", "p4d.24xlarge", "big");
    machine("v1", "p3.8xlarge", "small");
  }

  void machine(const std::string& name, const std::string& type, const std::string& partition) {
    const NodeFacts& facts = fleet.add(name, "aws", type, WorkloadKind::kTraining, {});
    Node node;
    node.name = name;
    node.gpu_count = facts.gpu_count;
    node.gpu_model = facts.gpu_model;
    fleet.history.nodes.push_back(node);
    queues.partitions.push_back({partition, name});
  }

  static Instant at(double hours) { return kJune.begin + Duration::from_seconds(hours * 3600); }

  /// On the first GPUs of each machine named.
  Run& job(const std::string& id, const std::string& account, std::vector<std::string> nodes, int gpus, double submitted,
           double started, double ended) {
    Run run;
    run.id = run.holder.job = id;
    run.name = "train";
    run.holder.account = account;
    run.holder.user = account + "-user";
    run.state = RunState::kCompleted;
    run.submitted = at(submitted);
    run.started = at(started);
    run.ended = at(ended);
    run.gpus_requested = gpus * static_cast<int64_t>(nodes.size());
    for (const std::string& node : nodes) {
      RunAllocation& held = run.allocations.emplace_back();
      held.node = node;
      held.gpu_count = gpus;
      for (int i = 0; i < gpus; ++i)
        held.gpu_indexes.push_back(i);
    }
    fleet.history.runs.push_back(run);
    queues.records.push_back({.run_id = id,
                              .restart = 0,
                              .partition = nodes.front()[0] == 'a' ? "big" : "small",
                              .qos = {},
                              .reason = {},
                              .eligible = {}});
    return fleet.history.runs.back();
  }

  QueueRecord& queue() { return queues.records.back(); }

  /// Whole hours of one GPU as seen.
  void seen(uint32_t node, int gpu, size_t from, size_t to, double pct, double memory_gib) {
    Device device;
    device.node = NodeId(node);
    device.index = gpu;
    device.model = fleet.history.nodes[node].gpu_model;
    fleet.history.devices.push_back(device);
    DeviceUsage& use = usage.devices.emplace_back();
    const auto put = [&](Metric metric, double value) {
      HourlySeries& series = use.metrics[metric];
      series.hours.resize(kJuneHours);
      for (size_t h = from; h < to; ++h)
        series.hours[h] = {.mean = static_cast<float>(value),
                           .max = static_cast<float>(value),
                           .covered_s = 3600,
                           .idle_permille = static_cast<uint16_t>(value < 1 ? 1000 : 0)};
      series.max = value;
      series.count = to - from;
    };
    put(Metric::kUtilization, pct);
    put(Metric::kMemoryUsed, memory_gib * kGib);
  }

  ClusterAudit audit() const {
    auto result = audit_cluster(fleet.history, queues, usage, fleet.facts, fleet.catalog);
    EXPECT_TRUE(result.has_value());
    return result.value_or(ClusterAudit{});
  }
};

TEST(ClusterAudit, IsNoneWithoutABatchSystem) {
  const Cluster cluster;
  EXPECT_FALSE(audit_cluster(cluster.fleet.history, cluster.queues, cluster.usage, cluster.fleet.facts, cluster.fleet.catalog)
                   .has_value());
}

TEST(ClusterAudit, ShowsWhatWasUsedOfWhatWasAskedForAndWhatItCost) {
  Cluster cluster;
  cluster.job("1", "acme", {"a1"}, 2, 0, 1, 5);
  cluster.seen(0, 0, 1, 5, 50, 10);
  cluster.seen(0, 1, 1, 5, 0, 1);
  const ClusterAudit audit = cluster.audit();
  ASSERT_THAT(audit.accounts, SizeIs(1));
  const ClusterUse& use = audit.accounts.front();
  EXPECT_EQ(use.account, "acme");
  EXPECT_EQ(use.runs, 1);
  EXPECT_DOUBLE_EQ(use.gpu_hours, 8);
  EXPECT_DOUBLE_EQ(use.watched_gpu_hours, 8);
  EXPECT_DOUBLE_EQ(use.used_gpu_hours, 2);
  EXPECT_DOUBLE_EQ(use.idle_gpu_hours, 4);
  EXPECT_EQ(use.mean_wait, kHour);
  ASSERT_TRUE(use.cost.has_value());
  EXPECT_EQ(*use.cost, Money::units(22)) << "2 of 8 GPUs for 4 hours at 22 an hour";
  ASSERT_THAT(audit.idle, SizeIs(1));
  EXPECT_EQ(audit.idle.front().gpus, 2);
  EXPECT_EQ(audit.idle.front().gpus_idle, 1);
  EXPECT_EQ(audit.idle.front().idle_cost, Money::units(11));
  EXPECT_EQ(audit.users.front().user, "acme-user");
}

TEST(ClusterAudit, TellsWhyJobsWaited) {
  Cluster cluster;
  cluster.job("1", "acme", {"a1"}, 6, 0, 0, 10);
  cluster.job("2", "acme", {"a2"}, 6, 0, 0, 4);
  // Four GPUs are free until hour 4, but two by two; then there is room, and it begins an hour later.
  cluster.job("3", "zoo", {"a2"}, 4, 2, 5, 6);
  // Sixteen are never free before hour 10.
  cluster.job("4", "zoo", {"a1", "a2"}, 8, 7, 10, 12);
  cluster.job("5", "zoo", {"v1"}, 1, 0, 3, 4);
  cluster.queue().reason = "QOSMaxGRESPerUser";
  cluster.job("6", "zoo", {"v1"}, 1, 0, 2, 3);
  cluster.queue().reason = "Dependency";
  cluster.queue().eligible = Cluster::at(2);
  std::map<WaitKind, Duration> waited;
  for (const WaitCause& cause : cluster.audit().waits)
    waited[cause.kind] = cause.waited;
  EXPECT_EQ(waited[WaitKind::kFragmented], kHour * 2);
  EXPECT_EQ(waited[WaitKind::kRank], kHour);
  EXPECT_EQ(waited[WaitKind::kNoGpus], kHour * 3);
  EXPECT_EQ(waited[WaitKind::kLimit], kHour * 3);
  EXPECT_EQ(waited[WaitKind::kNotEligible], kHour * 2);
}

TEST(ClusterAudit, NamesLimitsThatNoJobNeeds) {
  Cluster cluster;
  cluster.job("1", "acme", {"a1"}, 8, 0, 0, 2).time_limit = kHour * 24;
  cluster.job("2", "acme", {"a2"}, 8, 0, 0, 4).time_limit = kHour * 24;
  cluster.job("3", "zoo", {"v1"}, 4, 0, 0, 4).time_limit = kHour * 6;
  const ClusterAudit audit = cluster.audit();
  ASSERT_THAT(audit.limits, SizeIs(1));
  EXPECT_EQ(audit.limits.front().account, "acme");
  EXPECT_EQ(audit.limits.front().longest, kHour * 4);
  EXPECT_EQ(audit.limits.front().enough, kHour * 5) << "4 h and a quarter";
  EXPECT_DOUBLE_EQ(audit.limits.front().gpu_hours_unneeded, (22 + 20) * 8);
}

TEST(ClusterAudit, NamesWorkThatFitsASlice) {
  Cluster cluster;
  cluster.job("1", "acme", {"a1"}, 1, 0, 0, 4);
  cluster.seen(0, 0, 0, 4, 10, 3);
  // An A100-40GB is cut in sevenths of 5 GB: 3 GiB and a tenth fit one, 10 % and a fifth of compute, too.
  const ClusterAudit audit = cluster.audit();
  ASSERT_THAT(audit.small, SizeIs(1));
  EXPECT_EQ(audit.small.front().fits, "MIG 1g.5gb");
  EXPECT_DOUBLE_EQ(audit.small.front().gpu_hours, 4);
}

TEST(ClusterAudit, NamesBusyWorkAsNothingSmaller) {
  Cluster cluster;
  cluster.job("1", "acme", {"a1"}, 1, 0, 0, 4);
  cluster.seen(0, 0, 0, 4, 95, 30);
  EXPECT_THAT(cluster.audit().small, IsEmpty());
}

TEST(ClusterAudit, NamesJobsInAPartitionThatDoesNotFitThem) {
  Cluster cluster;
  cluster.machine("c1", "c7i.2xlarge", "cpu");
  cluster.job("1", "acme", {"a1"}, 0, 0, 0, 1);
  // The same A100 stand free in another partition while this one waits.
  cluster.queues.partitions.push_back({"spare", "a2"});
  cluster.queues.partitions.erase(cluster.queues.partitions.begin() + 1);
  cluster.job("2", "acme", {"a1"}, 8, 0, 0, 4);
  cluster.job("3", "zoo", {"a1"}, 8, 1, 4, 5);
  const ClusterAudit audit = cluster.audit();
  ASSERT_THAT(audit.misplaced, SizeIs(2));
  EXPECT_EQ(audit.misplaced.front().why, Misplaced::Why::kRoomAtOnce);
  EXPECT_EQ(audit.misplaced.front().better, "spare");
  EXPECT_EQ(audit.misplaced.front().waited, kHour * 3);
  EXPECT_EQ(audit.misplaced.back().why, Misplaced::Why::kNoGpuAsked);
  EXPECT_EQ(audit.misplaced.back().better, "cpu");
}

TEST(ClusterAudit, NamesWorkForCheaperGpus) {
  Cluster cluster;
  cluster.machine("l1", "g6.xlarge", "lean");  // one L4 at 0.80
  cluster.job("1", "acme", {"a1"}, 1, 0, 0, 10);
  cluster.seen(0, 0, 0, 10, 5, 8);
  const ClusterAudit audit = cluster.audit();
  ASSERT_THAT(audit.misplaced, SizeIs(1));
  EXPECT_EQ(audit.misplaced.front().why, Misplaced::Why::kCheaperGpu);
  EXPECT_EQ(audit.misplaced.front().better, "lean");
  EXPECT_EQ(audit.misplaced.front().saving, *Money::parse("19.50")) << "ten hours at 2.75 less 0.80";
}

}  // namespace
}  // namespace stint
