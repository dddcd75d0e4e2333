#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/metrics/prometheus_series.h"
#include "codec/testing_sink.h"

namespace stint {
namespace {

const Instant kAt = Instant::from_seconds(1'760'000'000);
const ImportOptions kOptions{.source = "scrape.txt", .node = "", .zoneless = {}, .at = kAt};

Status import(std::string_view text, TestingSink& sink, const ImportOptions& options = kOptions, size_t piece = 1 << 20) {
  const auto importer = make_prometheus_text_importer(options, sink);
  for (size_t at = 0; at < text.size(); at += piece)
    TRY(importer->feed(text.substr(at, piece)));
  return importer->finish();
}

std::vector<double> values(const TestingSink& sink, size_t series = 0) {
  std::vector<double> out;
  if (series < sink.points.size())
    for (const Sample& s : sink.points[series])
      out.push_back(s.value);
  return out;
}

constexpr std::string_view kUtil = R"(DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",Hostname="n"})";

TEST(PrometheusText, ReadsAScrape) {
  TestingSink sink;
  const std::string text = fmt::format(
      "# HELP DCGM_FI_DEV_GPU_UTIL busy (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n{} 42\n"
      "DCGM_FI_DEV_FB_USED{{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n\"}} 1024\ngo_goroutines 7\n\n",
      kUtil);
  ASSERT_TRUE(import(text, sink).ok());
  ASSERT_EQ(sink.keys.size(), 2U);
  EXPECT_EQ(values(sink, 0), std::vector<double>{42});
  EXPECT_EQ(values(sink, 1), std::vector<double>{1073741824.0});
  EXPECT_EQ(sink.points[0][0].at, kAt);
  EXPECT_TRUE(sink.rejected.empty());
}

TEST(PrometheusText, RepeatedScrapesAreReadAlikeHoweverCut) {
  std::string text;
  for (int scrape = 0; scrape < 5; ++scrape)
    for (int gpu = 0; gpu < 4; ++gpu) {
      if (scrape == 2 && gpu == 1) continue;  // the order breaks and mends
      text += fmt::format("# TYPE x gauge\r\nDCGM_FI_DEV_POWER_USAGE{{gpu=\"{}\",Hostname=\"n\"}} {}.{} {}\r\n", gpu,
                          100 + scrape, gpu, 1'760'000'000'000 + scrape * 60'000);
    }
  TestingSink whole;
  ASSERT_TRUE(import(text, whole).ok());
  EXPECT_EQ(whole.sample_count(), 19U);
  EXPECT_EQ(values(whole, 3), (std::vector<double>{100.3, 101.3, 102.3, 103.3, 104.3}));
  EXPECT_EQ(whole.points[0][1].at, kAt + Duration::seconds(60));
  for (const size_t piece : {1U, 2U, 3U, 7U, 50U, 1000U}) {
    TestingSink cut;
    ASSERT_TRUE(import(text, cut, kOptions, piece).ok());
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(values(cut, i), values(whole, i)) << piece;
  }
}

TEST(PrometheusText, OpenMetricsHasSeconds) {
  TestingSink sink;
  ASSERT_TRUE(import(fmt::format("{0} 1 1760000000.5\n{0} 2 1760000060\n# EOF\n", kUtil), sink, {.source = "x"}).ok());
  ASSERT_EQ(sink.sample_count(), 2U);
  EXPECT_EQ(sink.points[0][0].at, kAt + Duration::milliseconds(500));
  EXPECT_EQ(sink.points[0][1].at, kAt + Duration::seconds(60));
}

TEST(PrometheusText, WithoutAnyTimeTheOptionIsNamed) {
  TestingSink sink;
  const Status status = import(fmt::format("up 1\n{} 1\n", kUtil), sink, {.source = "scrape.txt"});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::AllOf(testing::HasSubstr("--at"), testing::HasSubstr("scrape.txt:2")));
}

TEST(PrometheusText, NumbersAsPrometheusWritesThem) {
  constexpr std::string_view kTemperature = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n\"}";
  TestingSink sink;
  ASSERT_TRUE(
      import(fmt::format("{0} 1e1\n{0} +2\n{0} -0.5\n{0} 0.30000000000000004\n{0} 1.5E+01 1760000000000\n", kTemperature), sink)
          .ok());
  EXPECT_EQ(values(sink), (std::vector<double>{10, 2, -0.5, 0.30000000000000004, 15}));
}

TEST(PrometheusText, ImpossibleValuesAreRefused) {
  TestingSink sink;
  ASSERT_TRUE(import(fmt::format("{0} -0.5\n{0} 101\n{0} 102\n", kUtil), sink).ok());
  EXPECT_EQ(values(sink), std::vector<double>{101});
  ASSERT_EQ(sink.rejected.size(), 2U);
  EXPECT_EQ(sink.rejected[0].first, 1U);
  EXPECT_EQ(sink.rejected[1].first, 3U);
}

TEST(PrometheusText, BlanksAndNanAreNoSamples) {
  TestingSink sink;
  const std::string text =
      fmt::format("{0} 9223372036854775794\n{0} 5\n{0} 9.223372036854776e+18\n{0} NaN\n{0} +Inf\n{0} 2147483632\n", kUtil);
  ASSERT_TRUE(import(text, sink).ok());
  EXPECT_EQ(values(sink), std::vector<double>{5});
  EXPECT_EQ(sink.stale_marks.size(), 4U);
  EXPECT_TRUE(sink.rejected.empty());
  TestingSink only_blanks;
  ASSERT_TRUE(import(fmt::format("{} 9223372036854775794\n", kUtil), only_blanks).ok());
  EXPECT_TRUE(only_blanks.keys.empty());
}

// dcgm-exporter#587, #582: with virtual GPUs the device's series stands beside one per pod.
TEST(PrometheusText, DeviceAndPodSeriesStayApart) {
  TestingSink sink;
  const std::string_view text =
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n\"} 30\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n\",pod=\"a\",namespace=\"x\",vgpu=\"0\"} 30\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n\",pod=\"b\",namespace=\"x\",vgpu=\"1\"} 30\n";
  ASSERT_TRUE(import(text, sink).ok());
  ASSERT_EQ(sink.keys.size(), 3U);
  EXPECT_TRUE(sink.keys[0].holder.empty());
  EXPECT_EQ(sink.keys[1].holder.pod, "a");
  EXPECT_EQ(sink.keys[2].holder.pod, "b");
  EXPECT_EQ(sink.keys[0].device, sink.keys[1].device);
}

TEST(PrometheusText, BadLinesAreRejectedWithTheirNumber) {
  TestingSink sink;
  const std::string text = fmt::format(
      "{0} 1\n{0} abc\n{0} 1 2 3\n{0}\nDCGM_FI_DEV_GPU_UTIL{{gpu=\"0\" 1\n{{}} 4\n{0} 7 99999999999999\n"
      "DCGM_FI_DEV_GPU_UTIL{{Hostname=\"n\"}} 1\n{0} 2\n",
      kUtil);
  ASSERT_TRUE(import(text, sink).ok());
  EXPECT_EQ(values(sink), (std::vector<double>{1, 2}));
  std::vector<uint64_t> lines;
  for (const auto& [line, reason] : sink.rejected)
    lines.push_back(line);
  EXPECT_EQ(lines, (std::vector<uint64_t>{2, 3, 4, 5, 6, 7, 8}));
  EXPECT_THAT(sink.rejected.back().second, testing::HasSubstr("names no GPU"));
}

TEST(PrometheusText, ALastLineWithoutNewlineIsNotTrusted) {
  TestingSink sink;
  ASSERT_TRUE(import(fmt::format("{0} 1\n{0} 12", kUtil), sink).ok());
  EXPECT_EQ(sink.sample_count(), 1U);
  ASSERT_EQ(sink.rejected.size(), 1U);
  EXPECT_EQ(sink.rejected[0].first, 2U);
  TestingSink sound;
  ASSERT_TRUE(import(fmt::format("{0} 1\n# EOF", kUtil), sound).ok());
  EXPECT_TRUE(sound.rejected.empty());
}

TEST(PrometheusText, BracesBlanksAndEscapesInLabels) {
  TestingSink sink;
  ASSERT_TRUE(import("DCGM_FI_DEV_GPU_UTIL { gpu=\"0\" , modelName=\"A } \\\"x\\\" 3\", Hostname=\"n\\\\1\", } 4\n"
                     "x_bucket{le=\"1\"} 5 # {trace=\"abc\"} 0.5\nx_bucket{le=\"1\"} 6 # {trace=\"abd\"} 0.5\n"
                     "{\"DCGM_FI_DEV_GPU_TEMP\",gpu=\"0\",Hostname=\"n\"} 50\n",
                     sink)
                  .ok());
  EXPECT_TRUE(sink.rejected.empty());
  ASSERT_EQ(sink.keys.size(), 2U);
  EXPECT_EQ(sink.keys[0].device.model, "A } \"x\" 3");
  EXPECT_EQ(sink.keys[0].device.node, "n\\1");
  EXPECT_EQ(sink.keys[1].metric, Metric::kTemperature);
}

TEST(PrometheusSeriesText, RefusesWhatIsNoSeries) {
  PrometheusSeriesText parts;
  for (const char* text : {"", "{}", "1x", "a{", "a{b", "a{b=", "a{b=c}", "a{b=\"c}", "a{b=\"c\"", "a{b=\"c\" d=\"e\"}",
                           "a{=\"c\"}", "a{\"x\"}", "a{b=\"\\"})
    EXPECT_FALSE(parts.parse(text).ok()) << text;
  EXPECT_EQ(parts.parse("up 1").value(), 2U);
  EXPECT_EQ(parts.parse("a{} 1").value(), 3U);
}

}  // namespace
}  // namespace stint
