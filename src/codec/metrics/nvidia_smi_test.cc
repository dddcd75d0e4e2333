#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_sink.h"

namespace stint {
namespace {

const ImportOptions kOptions{.source = "smi.csv", .node = "box", .zoneless = {}, .at = {}};

Status import(std::string_view text, TestingSink& sink, const ImportOptions& options = kOptions, size_t piece = 1 << 20) {
  const auto importer = make_nvidia_smi_importer(options, sink);
  for (size_t at = 0; at < text.size(); at += piece)
    TRY(importer->feed(text.substr(at, piece)));
  return importer->finish();
}

std::string problem(std::string_view text, const ImportOptions& options = kOptions) {
  TestingSink sink;
  const Status status = import(text, sink, options);
  return status.ok() ? "" : status.error().message;
}

std::vector<double> values(const TestingSink& sink, Metric metric, std::string_view uuid = "GPU-a") {
  std::vector<double> out;
  for (size_t i = 0; i < sink.keys.size(); ++i)
    if (sink.keys[i].metric == metric && sink.keys[i].device.uuid == uuid)
      for (const Sample& s : sink.points[i])
        out.push_back(s.value);
  return out;
}

constexpr std::string_view kLog =
    "timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB], power.draw [W], temperature.gpu\n"
    "2020/11/12 13:48:11.412, 0, GPU-a, NVIDIA A100-SXM4-80GB, 99 %, 32480 MiB, 250.12 W, 61\n"
    "2020/11/12 13:48:11.415, 1, GPU-b, NVIDIA A100-SXM4-80GB, [N/A], 0 MiB, [Not Supported], 30\n"
    "2020/11/12 13:48:12.413, 0, GPU-a, NVIDIA A100-SXM4-80GB, 1 %, 32480 MiB, 99.00 W, 60\n";

TEST(NvidiaSmi, ReadsALog) {
  TestingSink sink;
  ASSERT_TRUE(import(kLog, sink).ok());
  EXPECT_TRUE(sink.rejected.empty());
  EXPECT_EQ(sink.keys[0].device,
            (DeviceKey{.node = "box", .uuid = "GPU-a", .index = 0, .model = "NVIDIA A100-SXM4-80GB", .mig_profile = {}}));
  EXPECT_EQ(values(sink, Metric::kUtilization), (std::vector<double>{99, 1}));
  EXPECT_EQ(values(sink, Metric::kMemoryUsed), (std::vector<double>{32480.0 * 1048576, 32480.0 * 1048576}));
  EXPECT_EQ(values(sink, Metric::kPower), (std::vector<double>{250.12, 99}));
  EXPECT_EQ(sink.points[0][0].at, parse_instant("2020-11-12T13:48:11.412Z").value());
  EXPECT_EQ(sink.points[0][1].at, parse_instant("2020-11-12T13:48:12.413Z").value());
}

TEST(NvidiaSmi, AbsentIsNoSampleAndNotZero) {
  TestingSink sink;
  ASSERT_TRUE(import(kLog, sink).ok());
  EXPECT_TRUE(values(sink, Metric::kUtilization, "GPU-b").empty());
  EXPECT_TRUE(values(sink, Metric::kPower, "GPU-b").empty());
  EXPECT_EQ(values(sink, Metric::kMemoryUsed, "GPU-b"), std::vector<double>{0});
  TestingSink lost;
  ASSERT_TRUE(import("timestamp, uuid, utilization.gpu [%]\n2020/11/12 13:48:11.412, GPU-a, 5 %\n2020/11/12 13:49:11.412, GPU-a, "
                     "[Unknown Error]\n"
                     "2020/11/12 13:50:11.412, GPU-a, N/A\n",
                     lost)
                  .ok());
  EXPECT_EQ(lost.sample_count(), 1U);
  EXPECT_EQ(lost.stale_marks.size(), 2U);
  EXPECT_TRUE(lost.rejected.empty());
}

TEST(NvidiaSmi, WhereItIsCutDoesNotMatter) {
  TestingSink whole;
  ASSERT_TRUE(import(kLog, whole).ok());
  for (size_t piece = 1; piece < 50; ++piece) {
    TestingSink cut;
    ASSERT_TRUE(import(kLog, cut, kOptions, piece).ok());
    EXPECT_EQ(cut.keys, whole.keys);
    EXPECT_EQ(cut.sample_count(), whole.sample_count());
  }
}

TEST(NvidiaSmi, LocalTimesFollowTheOption) {
  TestingSink sink;
  ImportOptions options = kOptions;
  options.zoneless = Duration::hours(2);
  ASSERT_TRUE(import(kLog, sink, options).ok());
  EXPECT_EQ(sink.points[0][1].at, parse_instant("2020-11-12T11:48:12.413Z").value());
}

TEST(NvidiaSmi, NounitsAndAnyOrder) {
  TestingSink sink;
  ASSERT_TRUE(import("memory.used [MiB], utilization.gpu [%], index, timestamp\n2, 50, 3, 2020/11/12 13:48:11\n", sink).ok());
  ASSERT_EQ(sink.sample_count(), 2U);
  EXPECT_EQ(sink.keys[0].device.index, 3);
  EXPECT_EQ(values(sink, Metric::kMemoryUsed, ""), std::vector<double>{2097152});
}

TEST(NvidiaSmi, HeadersMayComeAgainAndDiffer) {
  TestingSink sink;
  ASSERT_TRUE(import("timestamp, uuid, utilization.gpu [%]\n2020/11/12 13:48:11, GPU-a, 1 %\n"
                     "timestamp, uuid, utilization.gpu [%]\n2020/11/12 13:48:12, GPU-a, 2 %\n"
                     "timestamp, uuid, utilization.gpu [%], power.draw [W]\n2020/11/12 13:48:13, GPU-a, 3 %, 70.00 W\n"
                     "timestamp, uuid, power.draw [W], utilization.gpu [%]\n2020/11/12 13:48:14, GPU-a, 71.00 W, 4 %\n",
                     sink)
                  .ok());
  EXPECT_TRUE(sink.rejected.empty());
  EXPECT_EQ(values(sink, Metric::kUtilization), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(values(sink, Metric::kPower), (std::vector<double>{70, 71}));
}

TEST(NvidiaSmi, ThrottleReasonsUnderBothNames) {
  TestingSink sink;
  ASSERT_TRUE(
      import(
          "timestamp, uuid, clocks_throttle_reasons.active\n2020/11/12 13:48:11, GPU-a, 0x0000000000000004\n"
          "timestamp, uuid, clocks_event_reasons.active, clocks_event_reasons.gpu_idle\n2020/11/12 13:48:12, GPU-a, 0x1F, "
          "Active\n"
          "timestamp, uuid, clocks_event_reasons.gpu_idle, clocks_throttle_reasons.hw_slowdown, clocks_event_reasons.sync_boost\n"
          "2020/11/12 13:48:13, GPU-a, Active, Active, Not Active\n2020/11/12 13:48:14, GPU-a, Not Active, Not Active, [N/A]\n",
          sink)
          .ok());
  EXPECT_TRUE(sink.rejected.empty());
  EXPECT_EQ(values(sink, Metric::kThrottleReasons), (std::vector<double>{4, 0x1f, 0x9, 0}));
}

TEST(NvidiaSmi, BadRowsAreRejectedWithTheirLine) {
  TestingSink sink;
  ASSERT_TRUE(
      import("timestamp, index, utilization.gpu [%], memory.used [MiB]\n2020/11/12 13:48:11, 0, abc, 1 MiB\n2020/11/12 13:48, 0\n"
             "yesterday, 0, 1 %, 1 MiB\n2020/11/12 13:48:11, x, 1 %, 1 MiB\n2020/11/12 13:48:11, 0, 1 %, 1 GiB\n2020/11/12 "
             "13:48:11, 0, 1 %, 1 MiB\n",
             sink)
          .ok());
  EXPECT_EQ(sink.sample_count(), 2U);
  std::vector<uint64_t> lines;
  for (const auto& [line, reason] : sink.rejected)
    lines.push_back(line);
  EXPECT_EQ(lines, (std::vector<uint64_t>{2, 3, 4, 5, 6}));
  EXPECT_THAT(sink.rejected[0].second, testing::HasSubstr("'abc' is no value of utilization.gpu in %"));
}

TEST(NvidiaSmi, WithoutTimestampsTheOptionServes) {
  constexpr std::string_view kOnce = "index, utilization.gpu [%]\n0, 5 %\n";
  EXPECT_THAT(problem(kOnce), testing::HasSubstr("--at"));
  ImportOptions options = kOptions;
  options.at = Instant::from_seconds(1'760'000'000);
  TestingSink sink;
  ASSERT_TRUE(import(kOnce, sink, options).ok());
  EXPECT_EQ(sink.points[0][0].at, *options.at);
}

TEST(NvidiaSmi, ARowWithAnImpossibleValueIsRefused) {
  TestingSink sink;
  ASSERT_TRUE(import("timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
                     "2026/10/01 00:00:00, 0, 500 %, 10 MiB\n"
                     "2026/10/01 00:01:00, 0, 5 %, -1 MiB\n"
                     "2026/10/01 00:02:00, 0, 100 %, 10 MiB\n",
                     sink)
                  .ok());
  EXPECT_EQ(sink.sample_count(), 2U);
  ASSERT_EQ(sink.rejected.size(), 2U);
  EXPECT_THAT(sink.rejected[0].second, testing::HasSubstr("utilization of 500 %"));
  EXPECT_EQ(sink.rejected[1].first, 3U);
}

TEST(NvidiaSmi, OtherFilesAreRefused) {
  EXPECT_THAT(problem(""), testing::HasSubstr("empty"));
  EXPECT_THAT(problem("a,b\n1,2\n"), testing::HasSubstr("a header such as"));
  EXPECT_THAT(problem("2020/11/12 13:48:11.412, 0, 99 %\n"), testing::HasSubstr("noheader"));
  EXPECT_THAT(problem("timestamp, utilization.gpu [%]\n"), testing::HasSubstr("add uuid or index"));
  EXPECT_THAT(problem("timestamp, index, memory.used [GB]\n"), testing::HasSubstr("MiB is expected"));
  EXPECT_THAT(problem("timestamp, index, utilization.gpu [%]\n", {.source = "smi.csv"}), testing::HasSubstr("--node"));
}

}  // namespace
}  // namespace stint
