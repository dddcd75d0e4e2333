// The collector on a running service: jobs are followed, and what was seen is a History that an audit can read.
#include "daemon/live/live_collector.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "daemon/live/live_history.h"
#include "daemon/live/live_runs.h"
#include "daemon/testing_daemon.h"
#include "host/clock.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(LiveRuns, EachAttemptIsARunWithItsGpusAndItsTenant) {
  JobView job;
  job.id = 9;
  job.name = "resnet";
  job.queue = "acme/vision";
  job.client = "acme";
  job.user = "ada";
  job.tags = {{"project", "eyes"}, {"kind", "training"}};
  job.state = JobState::kRunning;
  job.tasks = 2;
  job.gpus_per_task = 1;
  job.submitted = kDaemonStart;
  job.ends = {
      {.task = 0, .attempt = 0, .node = "n0", .started = kDaemonStart, .ended = kDaemonStart + kHour, .signal = 15, .gpus = 0b1},
      {.task = 1,
       .attempt = 0,
       .node = "n1",
       .started = kDaemonStart,
       .ended = kDaemonStart + kHour * 2,
       .signal = 15,
       .gpus = 0b100}};
  job.placed = {{.task = 0, .attempt = 1, .node = "n0", .gpus = {3}, .started = kDaemonStart + kHour * 3}};
  const std::vector<stint::Run> runs = runs_of(job);
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].id, "9");
  EXPECT_EQ(runs[0].restart, 0);
  EXPECT_EQ(runs[0].started, kDaemonStart);
  EXPECT_EQ(runs[0].ended, kDaemonStart + kHour * 2);
  EXPECT_EQ(runs[0].state, RunState::kPreempted);
  EXPECT_EQ(runs[0].tenant.client, "acme");
  EXPECT_EQ(runs[0].tenant.project, "eyes");
  EXPECT_EQ(runs[0].kind, WorkloadKind::kTraining);
  ASSERT_THAT(runs[0].allocations, SizeIs(2));
  EXPECT_EQ(runs[0].allocations[1].node, "n1");
  EXPECT_EQ(runs[0].allocations[1].gpu_indexes, std::vector<int>{2});
  EXPECT_EQ(runs[1].restart, 1);
  EXPECT_EQ(runs[1].state, RunState::kRunning);
  EXPECT_FALSE(runs[1].ended);
}

TEST(LiveHistory, WritesAddUpAndAFailureLosesNothing) {
  const ScratchDir dir;
  const Instant start = kDaemonStart.hour_start();
  LiveHistory history({.path = dir / "missing/history.db", .source = "test"});
  const size_t power =
      history.series({.device = {.node = "n0", .uuid = "GPU-1", .index = 0}, .holder = {}, .metric = Metric::kPower});
  for (int s = 0; s < 300; ++s)
    history.put(power, {start + Duration::seconds(s), 100});
  history.write({}, {}, start + Duration::seconds(300));
  EXPECT_TRUE(history.state().failed) << "there is no such folder";
  EXPECT_EQ(history.state().waiting, 300u);
  std::filesystem::create_directory(dir / "missing");
  for (int s = 300; s < 600; ++s)
    history.put(power, {start + Duration::seconds(s), 200});
  history.write({}, {}, start + Duration::seconds(600));
  for (int s = 600; s < 660; ++s)
    history.put(power, {start + Duration::seconds(s), 300});
  history.write({}, {}, start + Duration::seconds(660));
  EXPECT_EQ(history.state().waiting, 0u);
  HistoryFile file = HistoryFile::open(dir / "missing/history.db", OpenMode::kReadOnly).value();
  const History all = file.load().value();
  EXPECT_THAT(all.imports, SizeIs(1)) << "one a day";
  const Usage usage = file.load_usage(all).value();
  ASSERT_THAT(usage.devices, SizeIs(1));
  const HourlySeries& series = usage.devices[0].metrics.at(Metric::kPower);
  EXPECT_EQ(series.count, 660u);
  EXPECT_EQ(series.hours[0].covered_s, 660);
  EXPECT_NEAR(series.hours[0].mean, (300 * 100 + 300 * 200 + 60 * 300) / 660.0, 0.01);
  EXPECT_THAT(file.check().value(), IsEmpty());
}

TEST(LiveHistory, WhatWaitsIsBounded) {
  LiveHistory history({.path = "/dev/null/no", .source = "test", .most_waiting = 100});
  const size_t power = history.series({.device = {.node = "n0", .index = 0}, .holder = {}, .metric = Metric::kPower});
  for (int round = 0; round < 3; ++round) {
    for (int s = 0; s < 80; ++s)
      history.put(power, {kDaemonStart + Duration::seconds(round * 80 + s), 1});
    history.write({}, {}, kDaemonStart + Duration::seconds(round * 80 + 80));
  }
  EXPECT_LE(history.state().waiting, 100u);
  EXPECT_EQ(history.state().waiting + history.state().dropped, 240u);
}

TEST(LiveCollector, FollowsJobsAndLeavesAHistory) {
  const ScratchDir dir;
  SimulatedBackend backend;
  std::optional<EventLog> log;
  const std::unique_ptr<Service> running = testing_service(log, dir / "events.db", backend);
  Service& service = *running;
  LiveTelemetry live;
  LiveCollectorOptions options;
  options.config.local = false;
  options.simulated = true;
  options.history_path = dir / "history.db";
  options.nodes = {"n0", "n1"};
  options.clock = [] { return now(); };
  std::optional<LiveCollector> collector;
  collector.emplace(service, live, options);
  EXPECT_THAT(live.snapshot().gpus, SizeIs(16)) << "from the first moment on";
  std::promise<int64_t> submitted;
  JobRequest request = testing_job(8, kHour);
  request.tags = {{"project", "eyes"}};
  service.submit(request, {.actor = "ada", .idempotency_key = ""},
                 [&](const Result<JobView>& job) { submitted.set_value(job->id); });
  const int64_t id = submitted.get_future().get();
  const auto held = [&] {
    size_t gpus = 0;
    for (const LiveGpu& gpu : live.snapshot().gpus)
      if (!gpu.holders.empty() && gpu.holders[0].job == id) ++gpus;
    return gpus;
  };
  for (int i = 0; i < 500 && held() == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(held(), 8u);
  EXPECT_EQ(live.snapshot().waits.at("acme/vision").jobs, 1);
  collector.reset();
  service.stop();
  HistoryFile file = HistoryFile::open(dir / "history.db", OpenMode::kReadOnly).value();
  const History all = file.load().value();
  ASSERT_THAT(all.nodes, SizeIs(2));
  EXPECT_EQ(all.nodes[0].rate->per_hour().to_decimal(), "16");
  ASSERT_THAT(all.runs, SizeIs(1));
  EXPECT_EQ(all.runs[0].tenant.client, "acme");
  EXPECT_EQ(all.runs[0].tenant.project, "eyes");
  ASSERT_THAT(all.runs[0].allocations, SizeIs(1));
  EXPECT_EQ(all.runs[0].allocations[0].gpu_count, 8);
  ASSERT_THAT(all.imports, SizeIs(1));
  EXPECT_THAT(all.imports[0].source, HasSubstr("simulated"));
  EXPECT_THAT(file.check().value(), IsEmpty());
}

}  // namespace
}  // namespace stint
