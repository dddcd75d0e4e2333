#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "codec/importer.h"
#include "codec/testing_sink.h"
#include "tests/needs_shared.h"

namespace stint {
namespace {

Status import(std::string_view text, TestingSink& sink, std::string source = "pod_gpu_duty_cycle_anon.csv",
              size_t piece = 1 << 16) {
  const auto importer = make_genai_importer({.source = std::move(source)}, sink);
  for (size_t at = 0; at < text.size(); at += piece)
    TRY(importer->feed(text.substr(at, piece)));
  return importer->finish();
}

constexpr std::string_view kDuty =
    "value,timestamp_anon,container_ip\n12.0,1662858720.0,23b8eba99c14e73d454503a55ae96989\n0.0,1662858777.0,"
    "23b8eba99c14e73d454503a55ae96989\n";
constexpr std::string_view kMemory =
    "timestamp_anon,value,container_ip\n1662858720.0,33879490560.0,23b8eba99c14e73d454503a55ae96989\n";

TEST(Genai, EachContainerIsADevice) {
  TestingSink sink;
  ASSERT_TRUE(import(kDuty, sink).ok());
  ASSERT_EQ(sink.keys.size(), 1U);
  EXPECT_EQ(sink.keys[0].device.node, "pod-23b8eba9");
  EXPECT_EQ(sink.keys[0].holder.pod, "23b8eba99c14e73d454503a55ae96989");
  EXPECT_EQ(sink.keys[0].metric, Metric::kUtilization);
  ASSERT_EQ(sink.points[0].size(), 2U);
  EXPECT_EQ(sink.points[0][0].at, Instant::from_seconds(1'662'858'720));
}

TEST(Genai, TheNameOrElseTheValuesTellTheMetric) {
  const auto metric = [](std::string_view text, std::string source) {
    TestingSink sink;
    EXPECT_TRUE(import(text, sink, std::move(source)).ok());
    return sink.keys.at(0).metric;
  };
  EXPECT_EQ(metric(kMemory, "pod_gpu_memory_used_bytes_anon.csv"), Metric::kMemoryUsed);
  EXPECT_EQ(metric(kMemory, "x.csv"), Metric::kMemoryUsed);
  EXPECT_EQ(metric(kDuty, "x.csv"), Metric::kUtilization);
}

TEST(Genai, BadRowsAreRejected) {
  TestingSink sink;
  ASSERT_TRUE(import("value,timestamp_anon,container_ip\nx,1,a\n1,x,a\n1,1,\n1,2\n1.0,1662858720.0,a\n", sink).ok());
  EXPECT_EQ(sink.sample_count(), 1U);
  EXPECT_EQ(sink.rejected.size(), 4U);
}

TEST(Genai, AFileWithoutItsColumnsIsRefused) {
  TestingSink sink;
  EXPECT_FALSE(import("a,b\n", sink).ok());
}

/// The file in an archive of one.
std::string unpacked(const std::filesystem::path& path) {
  std::string out;
  FILE* const pipe = popen(fmt::format("tar -xzO --exclude='._*' -f '{}'", path.string()).c_str(), "r");
  if (pipe == nullptr) return out;
  std::string piece(1 << 16, '\0');
  for (size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    out.append(piece, 0, n);
  pclose(pipe);
  return out;
}

// The figures stand in the data's README: 157,417 rows, 143 pods, mean duty 7.0 %, 161,413 rows of memory.
TEST(Genai, TheRealTraceSaysWhatItsReadmeSays) {
  const std::filesystem::path dir = std::filesystem::path(STINT_SHARED_DIR) / "data/alibaba-genai2026";
  STINT_NEEDS_SHARED(dir / "pod_gpu_duty_cycle_anon.tar.gz");
  TestingSink duty;
  ASSERT_TRUE(import(unpacked(dir / "pod_gpu_duty_cycle_anon.tar.gz"), duty, "pod_gpu_duty_cycle_anon.tar.gz").ok());
  EXPECT_EQ(duty.sample_count(), 157'417U);
  EXPECT_EQ(duty.keys.size(), 143U);
  double sum = 0;
  size_t zeros = 0;
  for (const auto& series : duty.points)
    for (const Sample& s : series) {
      sum += s.value;
      zeros += s.value == 0 ? 1 : 0;
    }
  EXPECT_NEAR(sum / 157'417, 7.0, 0.05);
  EXPECT_NEAR(static_cast<double>(zeros) / 157'417, 0.67, 0.01);
  TestingSink memory;
  ASSERT_TRUE(
      import(unpacked(dir / "pod_gpu_memory_used_bytes_anon.tar.gz"), memory, "pod_gpu_memory_used_bytes_anon.tar.gz").ok());
  EXPECT_EQ(memory.sample_count(), 161'413U);
  double bytes = 0;
  for (const auto& series : memory.points)
    for (const Sample& s : series)
      bytes += s.value;
  EXPECT_NEAR(bytes / 161'413, 24.8e9, 0.1e9);
  EXPECT_TRUE(duty.rejected.empty() && memory.rejected.empty());
}

}  // namespace
}  // namespace stint
