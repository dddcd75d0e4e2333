#include "codec/slurm/tres.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(Tres, CountsGpusOnceWhereTypeAndTotalStandTogether) {
  const Tres tres = parse_tres("billing=8,cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=512G,node=1").value();
  EXPECT_EQ(tres.gpus, 8);
  EXPECT_EQ(tres.cpus, 64);
  EXPECT_EQ(tres.memory, Bytes::gibi(int64_t{512}));
  EXPECT_FALSE(tres.mig.has_value());
}

TEST(Tres, SumsTypesWithoutTotal) { EXPECT_EQ(parse_tres("gres/gpu:a100=2,gres/gpu:v100=1").value().gpus, 3); }

TEST(Tres, MigProfilesAreSharesOfADevice) {
  const Tres tres = parse_tres("gres/gpu:1g.10gb=2,gres/gpu=2").value();
  EXPECT_EQ(tres.gpus, 2);
  EXPECT_EQ(tres.mig, GpuShare::of(1, 7));
  EXPECT_EQ(parse_tres("gres/gpu:2g.12gb=1").value().mig, GpuShare::of(2, 4));  // A30
  EXPECT_FALSE(parse_tres("gres/gpu:1g.10gb=1,gres/gpu:3g.40gb=1").value().mig.has_value());
  EXPECT_FALSE(parse_tres("gres/gpu:1g.10gb=1,gres/gpu=2").value().mig.has_value());
}

TEST(Tres, EmptyIsNothingAndNonsenseIsRefused) {
  EXPECT_EQ(parse_tres("").value().gpus, 0);
  for (const char* text : {"cpu", "cpu=x", "gres/gpu=-1", "mem=5Q", "gres/gpu:a100="})
    EXPECT_FALSE(parse_tres(text).ok()) << text;
}

TEST(Slurm, Memory) {
  EXPECT_EQ(parse_slurm_memory("4000M"), Bytes::mebi(4000));
  EXPECT_EQ(parse_slurm_memory("1.5T"), Bytes::gibi(int64_t{1536}));
  EXPECT_EQ(parse_slurm_memory("64"), Bytes::mebi(64));
  EXPECT_EQ(parse_slurm_memory("2K"), Bytes::of(2048));
  EXPECT_FALSE(parse_slurm_memory("").has_value());
  EXPECT_FALSE(parse_slurm_memory("-1G").has_value());
}

TEST(Slurm, Durations) {
  EXPECT_EQ(parse_slurm_duration("1-02:03:04"), Duration::seconds(86400 + 2 * 3600 + 3 * 60 + 4));
  EXPECT_EQ(parse_slurm_duration("08:00:00"), Duration::hours(8));
  EXPECT_EQ(parse_slurm_duration("05:30.250"), Duration::seconds(330));
  for (const char* text : {"UNLIMITED", "Partition_Limit", "", "5", "1:2:3:4", "x:y"})
    EXPECT_FALSE(parse_slurm_duration(text).has_value()) << text;
}

}  // namespace
}  // namespace stint
