#include "catalog/measured.h"

#include <gmock/gmock.h>

#include "catalog/selection.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const Instant kJune = *parse_instant("2026-06-01T00:00:00Z");
const Instant kJuly = *parse_instant("2026-07-01T00:00:00Z");

GpuMeasurement measured(GpuRate rate, double median, Instant as_of = kJune, std::string model = "A100-80GB") {
  return {std::move(model), rate, median, median * 0.9, median * 1.1, 9, "stint bench on a test", as_of};
}

const GpuFacts& a100(const Catalog& catalog) { return *catalog.find_gpu("A100-80GB"); }

TEST(Measured, WhatIsWrittenIsRead) {
  std::vector<GpuMeasurement> rows = {measured(GpuRate::k16Bit, 250), measured(GpuRate::kMemory, 1700.5, kJuly)};
  rows[0].source = "a,b\"c\nd";
  const auto read = parse_measurements("rates.csv", write_measurements(rows));
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].source, "a b c d");
  EXPECT_EQ((*read)[1].rate, GpuRate::kMemory);
  EXPECT_EQ((*read)[1].median, 1700.5);
  EXPECT_EQ((*read)[1].as_of, kJuly);
}

TEST(Measured, NonsenseIsRefusedWithItsLine) {
  const std::string head = write_measurements({});
  EXPECT_THAT(parse_measurements("f", head + "L4,fp64,1,1,1,9,s,2026-06-01\n").error().message,
              HasSubstr("f:2: 'fp64' is no rate"));
  EXPECT_THAT(parse_measurements("f", head + "L4,fp32_tflops,3,4,5,9,s,2026-06-01\n").error().message,
              HasSubstr("not in this order"));
  EXPECT_THAT(parse_measurements("f", head + "L4,fp32_tflops,0,0,5,9,s,2026-06-01\n").error().message, HasSubstr("above zero"));
  EXPECT_THAT(parse_measurements("f", "").error().message, HasSubstr("header is missing"));
}

TEST(Measured, TheNewestCountsWhateverTheOrder) {
  const std::vector<GpuMeasurement> rows = {measured(GpuRate::k16Bit, 250, kJuly), measured(GpuRate::k16Bit, 200, kJune)};
  const auto catalog = Catalog::built_in().with_measurements(rows);
  ASSERT_TRUE(catalog.ok());
  EXPECT_EQ(a100(*catalog).measured.half_tflops, 250);
  EXPECT_FALSE(Catalog::built_in().find_gpu("A100-80GB")->measured.half_tflops.has_value()) << "a copy was changed";
  const std::vector<GpuMeasurement> unknown = {measured(GpuRate::k16Bit, 250, kJune, "Voodoo2")};
  EXPECT_THAT(Catalog::built_in().with_measurements(unknown).error().message, HasSubstr("Voodoo2"));
}

// A prompt of 10,000 tokens through 7e9 parameters is bound by arithmetic: 1.4e14 operations, at half the rate of
// matrix products. Decoding one token for one reader is bound by memory: the weights, 1.4e10 bytes, are read once.
TEST(Measured, TakesThePlaceOfTheDataSheet) {
  ModelFacts model;
  model.parameters = model.matmul_parameters = 7e9;
  const GpuFacts sheet = a100(Catalog::built_in());  // 312 TFLOPS, 2,039 GB/s
  EXPECT_NEAR(prefill_seconds(model, sheet, Precision::k16Bit, 10'000), 1.4e14 / (312e12 * 0.7 * 0.5), 1e-9);
  const std::vector<GpuMeasurement> rows = {measured(GpuRate::k16Bit, 250), measured(GpuRate::kMemory, 1700)};
  const auto catalog = Catalog::built_in().with_measurements(rows);
  const GpuFacts& gpu = a100(*catalog);
  EXPECT_NEAR(prefill_seconds(model, gpu, Precision::k16Bit, 10'000), 1.4e14 / (250e12 * 0.5), 1e-9);
  EXPECT_NEAR(decode_step_seconds(model, gpu, Precision::k16Bit, 1, 0), 1.4e10 / 1700e9, 1e-9);
  EXPECT_NEAR(decode_step_seconds(model, sheet, Precision::k16Bit, 1, 0), 1.4e10 / (2039e9 * 0.8), 1e-9);
}

TEST(Measured, CountsOnlyForWhatItMeasured) {
  const std::vector<GpuMeasurement> rows = {measured(GpuRate::kFp32, 19)};
  const auto plain = Catalog::built_in().with_measurements(rows);
  EXPECT_EQ(basis_of(a100(*plain), Precision::kFp32), "estimated") << "FP32 products go through TF32 units there";
  const std::vector<GpuMeasurement> both = {measured(GpuRate::k16Bit, 250), measured(GpuRate::kMemory, 1700)};
  const auto catalog = Catalog::built_in().with_measurements(both);
  EXPECT_EQ(basis_of(a100(*catalog), Precision::k16Bit), "measured");
  EXPECT_EQ(basis_of(a100(*catalog), Precision::kFp8), "measured") << "an A100 has no FP8: 16-bit units do it";
  EXPECT_EQ(basis_of(a100(*catalog), Precision::kInt8), "partly measured");
  EXPECT_EQ(basis_of(*catalog->find_gpu("L4"), Precision::k16Bit), "estimated");
}

TEST(Measured, ASlowGpuIsNotPickedAsAFastOne) {
  Work work = default_work(WorkloadKind::kTraining, *find_model("resnet50"));
  Limits limits;
  limits.gpu_models = {"A100-80GB"};
  const auto before = select_instances(Catalog::built_in(), work, limits);
  const std::vector<GpuMeasurement> rows = {measured(GpuRate::k16Bit, 1), measured(GpuRate::kMemory, 10)};
  const auto catalog = Catalog::built_in().with_measurements(rows);
  const auto after = select_instances(*catalog, work, limits);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->choices.front().basis, "estimated");
  EXPECT_EQ(after->choices.front().basis, "measured");
  EXPECT_GT(*after->choices.front().total, *before->choices.front().total);
}

}  // namespace
}  // namespace stint
