#include "catalog/sizing.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

const GpuFacts& gpu(std::string_view name) { return *Catalog::built_in().find_gpu(name); }
const ModelFacts& model(std::string_view name) { return *find_model(name); }
constexpr double kGb = 1e9;

TEST(Sizing, MixedPrecisionAdamTakesSixteenBytesAParameter) {  // ZeRO paper: 7.5 B parameters take 120 GB
  const MemoryNeed n = training_memory(decoder_of_size(7.5e9), Precision::k16Bit, Tuning::kFull, 0);
  EXPECT_NEAR((n.weights + n.gradients + n.optimizer) / kGb, 120, 0.01);
}

TEST(Sizing, LoraTrainsSevenBillionOnOne24GbGpu) {
  const MemoryNeed n = training_memory(model("llama-2-7b"), Precision::k16Bit, Tuning::kLora, 1);
  EXPECT_LT(n.per_gpu(1), usable_bytes(Bytes::gibi(int64_t{24})));
  EXPECT_GT(training_memory(model("llama-2-7b"), Precision::k16Bit, Tuning::kFull, 1).per_gpu(1),
            usable_bytes(Bytes::gibi(int64_t{80})));
}

TEST(Sizing, KvCacheOfKnownModels) {
  EXPECT_EQ(kv_bytes_per_token(model("llama-2-7b"), Precision::k16Bit), 2.0 * 32 * 4096 * 2);  // 512 KiB
  EXPECT_EQ(kv_bytes_per_token(model("mistral-7b"), Precision::k16Bit), 2.0 * 32 * 1024 * 2);  // 128 KiB: 8 of 32 heads
}

TEST(Sizing, BertBaseForwardIsAbout22GigaflopsAt128Tokens) {  // 22.5 GFLOP in the literature (ELECTRA, appendix)
  EXPECT_NEAR(forward_flops(model("bert-base")) / 1e9, 22.5, 0.5);
}

TEST(Sizing, DecodersOfASizeHaveTheUsualShape) {
  const ModelFacts m = decoder_of_size(7e9);
  EXPECT_NEAR(m.layers, 32, 1);
  EXPECT_NEAR(m.hidden, 4096, 160);
}

// NVIDIA DeepLearningExamples, ResNet-50 v1.5 with AMP: about 1,200 images/s on a V100 and 2,500 on an A100.
TEST(Sizing, ResNet50TrainingRateIsNearWhatIsPublished) {
  EXPECT_NEAR(training_rate(model("resnet50"), gpu("V100-16GB"), Precision::k16Bit), 1250, 250);
  EXPECT_NEAR(training_rate(model("resnet50"), gpu("A100-40GB"), Precision::k16Bit), 2500, 400);
}

TEST(Sizing, DecodingReadsTheWeightsOncePerStep) {  // 13.5 GB at 0.8 × 300 GB/s are 56 ms
  EXPECT_NEAR(decode_step_seconds(model("llama-2-7b"), gpu("L4"), Precision::k16Bit, 1, 0), 0.0562, 0.0005);
  EXPECT_NEAR(decode_step_seconds(model("llama-2-7b"), gpu("A10G"), Precision::k16Bit, 1, 0), 0.0281, 0.0005);
}

TEST(Sizing, MissingFormatFallsBackToAWiderOne) {
  EXPECT_EQ(peak_flops(gpu("V100-16GB"), Precision::k16Bit), 125e12);
  EXPECT_EQ(peak_flops(gpu("A100-80GB"), Precision::kFp8), 312e12);
  EXPECT_EQ(peak_flops(gpu("K80"), Precision::k16Bit), 4.37e12);
}

TEST(Sizing, MoreGpusWhenDemandOrHeadroomAsks) {
  EXPECT_EQ(gpus_for_demand(500, 200, 0), 3);
  EXPECT_EQ(gpus_for_demand(500, 200, 0.2), 4);
  EXPECT_EQ(gpus_for_demand(399, 200, 0), 2);
  EXPECT_EQ(gpus_for_demand(400, 200, 0), 3);  // at full load the queue grows
  EXPECT_EQ(gpus_for_demand(0, 200, 0.2), 1);
  EXPECT_EQ(gpus_for_demand(500, 1200, 0.2), 1);
}

TEST(Sizing, PrecisionsByName) {
  EXPECT_EQ(*parse_precision("BF16"), Precision::k16Bit);
  EXPECT_FALSE(parse_precision("fp12").ok());
}

}  // namespace
}  // namespace stint
