#include "daemon/live/live_telemetry.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kStart = Instant::from_seconds(1'800'000'000);  // a whole minute

Instant after(int64_t seconds) { return kStart + Duration::seconds(seconds); }

TEST(LiveTelemetry, AMinuteIsTheMeanAndTheLargestOfItsSamplesOnceItIsOver) {
  LiveTelemetry live;
  const size_t source = live.add_source(LiveSourceKind::kNvml, "NVML");
  const size_t gpu = *live.gpu({.node = "n0", .uuid = "GPU-1", .index = 0});
  for (int s = 0; s < 60; ++s)
    live.put(source, gpu, Metric::kUtilization, after(s), s < 30 ? 20 : 80);
  EXPECT_THAT(live.minutes_of(gpu, kStart, after(59)), IsEmpty());
  const auto minutes = live.minutes_of(gpu, kStart, after(60));
  ASSERT_THAT(minutes, SizeIs(1));
  EXPECT_EQ(minutes[0].gpu, gpu);
  EXPECT_EQ(minutes[0].begin, kStart);
  EXPECT_DOUBLE_EQ(minutes[0].mean, 50);
  EXPECT_DOUBLE_EQ(minutes[0].max, 80);
  EXPECT_EQ(minutes[0].samples, 60u);
  EXPECT_EQ(live.snapshot().gpus[gpu].value(Metric::kUtilization), 80);
}

TEST(LiveTelemetry, AMinuteWithoutSamplesIsNotThere) {
  LiveTelemetry live;
  const size_t source = live.add_source(LiveSourceKind::kNvml, "NVML");
  const size_t gpu = *live.gpu({.node = "n0", .index = 0});
  live.put(source, gpu, Metric::kPower, after(5), 100);
  live.put(source, gpu, Metric::kPower, after(125), 300);
  const auto minutes = live.minutes_of(gpu, kStart, after(600));
  ASSERT_THAT(minutes, SizeIs(2));
  EXPECT_EQ(minutes[0].begin, kStart);
  EXPECT_EQ(minutes[1].begin, after(120));
  EXPECT_THAT(live.minutes_of(gpu, after(1), after(600)), SizeIs(1));
  EXPECT_THAT(live.minutes_of(gpu + 1, kStart, after(600)), IsEmpty());
}

TEST(LiveTelemetry, OneGpuNamedByPlaceByUuidAndByBothIsOneGpu) {
  LiveTelemetry live;
  const size_t by_place = *live.gpu({.node = "n0", .index = 3});
  EXPECT_EQ(live.gpu({.node = "n0", .uuid = "GPU-7", .index = 3}), by_place);
  EXPECT_EQ(live.gpu({.node = "elsewhere-named", .uuid = "GPU-7"}), by_place);
  EXPECT_NE(live.gpu({.node = "n0", .uuid = "GPU-8", .index = 3}), by_place) << "another board in its place";
  EXPECT_NE(live.gpu({.node = "n0", .uuid = "GPU-7", .index = 3, .mig_instance = 2}), by_place) << "a slice of it";
  EXPECT_EQ(id_of(live.snapshot().gpus[by_place].device), "n0:3");
}

TEST(LiveTelemetry, TheBetterSourceCountsWhileItHasNews) {
  LiveTelemetry live;
  const size_t nvml = live.add_source(LiveSourceKind::kNvml, "NVML");
  const size_t exporter = live.add_source(LiveSourceKind::kExporter, "http://n0:9400/metrics");
  const size_t gpu = *live.gpu({.node = "n0", .index = 0});
  EXPECT_TRUE(live.put(exporter, gpu, Metric::kUtilization, after(0), 10));
  EXPECT_TRUE(live.put(nvml, gpu, Metric::kUtilization, after(1), 20));
  EXPECT_FALSE(live.put(exporter, gpu, Metric::kUtilization, after(2), 99));
  EXPECT_TRUE(live.put(exporter, gpu, Metric::kSmOccupancy, after(2), 40)) << "what NVML does not tell";
  EXPECT_EQ(live.snapshot().gpus[gpu].value(Metric::kUtilization), 20);
  EXPECT_TRUE(live.put(exporter, gpu, Metric::kUtilization, after(62), 30)) << "NVML has been silent for a minute";
}

TEST(LiveTelemetry, AClockThatIsSetBackStopsNothing) {
  LiveTelemetry live;
  const size_t source = live.add_source(LiveSourceKind::kNvml, "NVML");
  const size_t gpu = *live.gpu({.node = "n0", .index = 0});
  EXPECT_TRUE(live.put(source, gpu, Metric::kPower, after(7200), 100));
  EXPECT_FALSE(live.put(source, gpu, Metric::kPower, after(7200 - 60), 100)) << "late: that minute is over";
  EXPECT_TRUE(live.put(source, gpu, Metric::kPower, after(0), 200));
  EXPECT_TRUE(live.put(source, gpu, Metric::kPower, after(60), 300));
  EXPECT_THAT(live.minutes_of(gpu, kStart, after(120)), SizeIs(2));
}

TEST(LiveTelemetry, WhatIsKeptIsBounded) {
  LiveTelemetry live({.minutes_kept = 5, .most_gpus = 1});
  const size_t source = live.add_source(LiveSourceKind::kNvml, "NVML");
  const size_t gpu = *live.gpu({.node = "n0", .index = 0});
  EXPECT_FALSE(live.gpu({.node = "n0", .index = 1}));
  for (int m = 0; m < 100; ++m)
    live.put(source, gpu, Metric::kPower, after(m * 60), m);
  const auto minutes = live.minutes_of(gpu, kStart, after(100 * 60));
  ASSERT_THAT(minutes, SizeIs(6));  // five closed ones and the last
  EXPECT_DOUBLE_EQ(minutes.front().mean, 94);
  EXPECT_DOUBLE_EQ(minutes.back().mean, 99);
}

TEST(LiveTelemetry, HoldersAreTheTasksOnTheGpu) {
  LiveTelemetry live;
  NodeView node;
  node.name = "n0";
  node.gpus = 2;
  node.gpu_model = "A100-80GB";
  JobView job;
  job.id = 7;
  job.name = "resnet";
  job.queue = "acme/vision";
  job.client = "acme";
  job.tags = {{"kind", "training"}};
  job.placed = {{.task = 0, .attempt = 2, .node = "n0", .gpus = {1}, .started = kStart}};
  live.put_work({.nodes = {node}, .running = {job}});
  LiveSnapshot seen = live.snapshot();
  ASSERT_THAT(seen.gpus, SizeIs(2));
  EXPECT_THAT(seen.gpus[0].holders, IsEmpty());
  ASSERT_THAT(seen.gpus[1].holders, SizeIs(1));
  EXPECT_EQ(seen.gpus[1].holders[0].job, 7);
  EXPECT_EQ(seen.gpus[1].holders[0].kind, WorkloadKind::kTraining);
  EXPECT_EQ(seen.gpus[1].device.model, "A100-80GB");
  EXPECT_FALSE(seen.gpus[1].seen) << "nothing has measured it";
  live.put_work({.nodes = {node}});
  EXPECT_THAT(live.snapshot().gpus[1].holders, IsEmpty());
}

TEST(LiveTelemetry, AServiceIsAllItsServersThatTellOfItNow) {
  LiveTelemetry live;
  const size_t one = live.add_source(LiveSourceKind::kExporter, "a"), other = live.add_source(LiveSourceKind::kExporter, "b");
  live.put_service(one, after(0), {.service = "chat", .p99_ms = 40, .headroom = 0.5, .per_second = 100});
  live.put_service(other, after(10), {.service = "chat", .p99_ms = 60, .headroom = 0.25, .per_second = 20});
  auto services = live.snapshot().services;
  ASSERT_THAT(services, SizeIs(1));
  EXPECT_EQ(services[0].servers, 2U);
  EXPECT_EQ(services[0].seen, after(10));
  EXPECT_EQ(services[0].figures.p99_ms, 60);
  EXPECT_EQ(services[0].figures.headroom, 0.25);
  EXPECT_EQ(services[0].figures.per_second, 120);
  // The other one is gone, and this one has not answered anything lately.
  live.put_service(one, after(120), {.service = "chat", .p99_ms = {}, .headroom = 0.75, .per_second = 0});
  services = live.snapshot().services;
  EXPECT_EQ(services[0].servers, 1U);
  EXPECT_EQ(services[0].figures.headroom, 0.75);
  EXPECT_FALSE(services[0].figures.p99_ms);
}

TEST(LiveTelemetry, ASourceThatFailedIsShownWithItsErrorUntilItRecovers) {
  LiveTelemetry live;
  const size_t source = live.add_source(LiveSourceKind::kExporter, "http://n0:9400/metrics");
  EXPECT_FALSE(live.snapshot().sources[source].ok());
  live.source_succeeded(source, after(0));
  EXPECT_TRUE(live.snapshot().sources[source].ok());
  live.source_failed(source, after(15), "connection refused");
  const LiveSource failed = live.snapshot().sources[source];
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.error, "connection refused");
  EXPECT_EQ(failed.succeeded, after(0));
  live.source_succeeded(source, after(30));
  EXPECT_TRUE(live.snapshot().sources[source].ok());
}

}  // namespace
}  // namespace stint
