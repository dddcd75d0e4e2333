#include "collect/gpu_profile.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <numeric>

#include "codec/testing_sink.h"
#include "collect/gpu_sampler.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Distribution, NearestRank) {
  std::vector<double> values(100);
  std::iota(values.begin(), values.end(), 1.0);
  const auto d = distribution_of(values);
  EXPECT_EQ(d->mean, 50.5);
  EXPECT_EQ(d->p50, 50);
  EXPECT_EQ(d->p95, 95);
  EXPECT_EQ(d->max, 100);
  EXPECT_EQ(distribution_of({7})->p95, 7);
  EXPECT_FALSE(distribution_of({}).has_value());
}

TEST(GpuProfile, SummarisesWhatWasToldAndNothingElse) {
  GpuProfile profile({{0, "A100", "GPU-a"}, {1, "A100", "GPU-b"}});
  for (int i = 0; i < 10; ++i) {
    GpuReading told;
    told.utilization_pct = i < 5 ? 0 : 100;
    told.memory_used = Bytes::gibi(int64_t{i});
    profile.add(Instant::from_seconds(1'760'000'000 + i), {told, {}});
  }
  const auto summaries = profile.summaries();
  ASSERT_THAT(summaries, SizeIs(2));
  EXPECT_EQ(summaries[0].samples, 10U);
  EXPECT_EQ(summaries[0].utilization_pct->mean, 50);
  EXPECT_EQ(summaries[0].memory_used_bytes->max, static_cast<double>(Bytes::gibi(int64_t{9}).count()));
  EXPECT_FALSE(summaries[0].power_w.has_value());
  EXPECT_EQ(summaries[1].samples, 0U);
  EXPECT_FALSE(summaries[1].utilization_pct.has_value()) << "no telemetry is not 0 %";

  TestingSink sink;
  profile.write("n1", sink);
  ASSERT_THAT(sink.keys, SizeIs(2));
  EXPECT_EQ(sink.keys[0].device.uuid, "GPU-a");
  EXPECT_EQ(sink.sample_count(), 20U);
}

TEST(SmiLine, ReadsUnitsAndWhatIsNotTold) {
  const auto line = parse_smi_line("3, NVIDIA L4, GPU-1-2, 37, 5, 1024, 23034, 31.52, 72.00, 45, 2040, [N/A]");
  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_EQ(line->gpu.index, 3);
  EXPECT_EQ(line->gpu.uuid, "GPU-1-2");
  EXPECT_EQ(line->reading.utilization_pct, 37);
  EXPECT_EQ(line->reading.memory_used, Bytes::gibi(int64_t{1}));
  EXPECT_EQ(line->reading.power_w, 31.52);
  EXPECT_FALSE(line->reading.memory_clock_mhz.has_value());
  EXPECT_THAT(parse_smi_line("NVIDIA-SMI has failed").error().message, HasSubstr("NVIDIA-SMI has failed"));
}

TEST(GpuSampler, ALookBringsProcessesTooAndOneFailureHidesNoGpu) {
  const ScratchDir dir;
  const std::string program = dir / "nvidia-smi";
  std::ofstream(program) << "#!/bin/sh\ncase \"$1\" in\n"
                            "*query-gpu*) echo '0, NVIDIA L4, GPU-x, 12, 5, 1024, 23034, 31.52, 72.00, 45, 2040, 6251';;\n"
                            "*) echo 'GPU-x, 4711, 512'; echo 'GPU-x, 4712, [N/A]';;\nesac\n";
  chmod(program.c_str(), 0755);
  auto sampler = GpuSampler::open({.nvml_library = "libno-such-thing.so", .nvidia_smi = program});
  ASSERT_TRUE(sampler.ok()) << sampler.error().message;
  const auto looks = (*sampler)->look();
  ASSERT_TRUE(looks.ok()) << looks.error().message;
  ASSERT_THAT(*looks, SizeIs(1));
  ASSERT_THAT(*(*looks)[0].processes, SizeIs(2));
  EXPECT_EQ((*looks)[0].processes->at(0).pid, 4711);
  EXPECT_EQ((*looks)[0].processes->at(0).memory_used, Bytes::mebi(512));
  EXPECT_FALSE((*looks)[0].processes->at(1).memory_used);
  EXPECT_FALSE(parse_smi_process("No running processes found").ok());
}

TEST(GpuSampler, FallsBackToNvidiaSmiAndSaysWhenThereIsNeither) {
  const ScratchDir dir;
  const std::string program = dir / "nvidia-smi";
  std::ofstream(program) << "#!/bin/sh\necho '0, NVIDIA L4, GPU-x, 12, 5, 1024, 23034, 31.52, 72.00, 45, 2040, 6251'\n";
  chmod(program.c_str(), 0755);
  auto sampler = GpuSampler::open({.nvml_library = "libno-such-thing.so", .nvidia_smi = program});
  ASSERT_TRUE(sampler.ok()) << sampler.error().message;
  EXPECT_EQ((*sampler)->source(), "nvidia-smi");
  const auto readings = (*sampler)->read();
  ASSERT_TRUE(readings.ok());
  ASSERT_THAT(*readings, SizeIs(1));
  EXPECT_EQ((*readings)[0].utilization_pct, 12);
  const auto neither = GpuSampler::open({.nvml_library = "libno-such-thing.so", .nvidia_smi = dir / "absent"});
  ASSERT_FALSE(neither.ok());
  EXPECT_THAT(neither.error().message, HasSubstr("install the NVIDIA driver"));
  EXPECT_THAT(neither.error().message, HasSubstr("absent"));
}

}  // namespace
}  // namespace stint
