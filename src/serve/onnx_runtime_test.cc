// Needs ONNX Runtime: scripts/setup-onnxruntime fetches it; STINT_ONNXRUNTIME names the library.
#include "serve/onnx_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <cstdlib>

#include "host/memory_use.h"
#include "serve/example_models.h"
#include "serve/measure.h"
#include "serve/onnx_writer.h"

namespace stint::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class OnnxRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* library = std::getenv("STINT_ONNXRUNTIME");
    Result<OnnxRuntime> loaded = OnnxRuntime::load(library != nullptr ? library : OnnxRuntime::kLibrary);
    if (!loaded.ok()) GTEST_SKIP() << loaded.error().message;
    runtime_ = std::make_unique<OnnxRuntime>(std::move(*loaded));
  }
  [[nodiscard]] std::unique_ptr<Runtime> open(const std::string& model) const {
    Result<std::unique_ptr<Runtime>> opened = runtime_->open(model, "test.onnx");
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  std::unique_ptr<OnnxRuntime> runtime_;
};

std::string small_network() {
  OnnxWriter writer("small");
  writer.input("x", std::array<int64_t, 1>{2});
  writer.output("y", std::array<int64_t, 1>{2});
  writer.constant("w", std::array<int64_t, 2>{2, 2}, std::array{1.0F, 2.0F, 3.0F, 4.0F});
  writer.constant("b", std::array<int64_t, 1>{2}, std::array{-10.0F, 0.5F});
  writer.node("Gemm", std::array<std::string, 3>{"x", "w", "b"}, "sum");
  writer.node("Relu", std::array<std::string, 1>{"sum"}, "y");
  return writer.finish();
}

TEST_F(OnnxRuntimeTest, ComputesWhatTheNetworkSays) {
  const auto model = open(small_network());
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_THAT(model->inputs()[0].item_shape, ElementsAre(2));
  // (1, 2)·w + b = (7 − 10, 10 + 0.5); (4, 3)·w + b = (13 − 10, 20 + 0.5)
  const Values x = {1, 2, 4, 3};
  const auto y = model->run(2, std::array{x});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_THAT((*y)[0], ElementsAre(0, 10.5F, 3, 20.5F));
}

TEST_F(OnnxRuntimeTest, AnItemsAnswerDoesNotDependOnItsCompany) {
  for (const std::string& file : {example_mlp({16, 32, 8}, 1), example_cnn(1)}) {
    const auto model = open(file);
    ASSERT_NE(model, nullptr);
    const auto size = static_cast<size_t>(model->inputs()[0].item_size());
    const auto out_size = static_cast<size_t>(model->outputs()[0].item_size());
    Values batch(3 * size);
    for (size_t i = 0; i < batch.size(); ++i)
      batch[i] = static_cast<float>(i % 7) - 3;
    const auto together = model->run(3, std::array{batch});
    ASSERT_TRUE(together.ok()) << together.error().message;
    for (size_t item = 0; item < 3; ++item) {
      const Values one(batch.begin() + static_cast<std::ptrdiff_t>(item * size),
                       batch.begin() + static_cast<std::ptrdiff_t>((item + 1) * size));
      const auto alone = model->run(1, std::array{one});
      ASSERT_TRUE(alone.ok());
      const auto from = (*together)[0].begin() + static_cast<std::ptrdiff_t>(item * out_size);
      EXPECT_THAT((*alone)[0], Pointwise(FloatNear(1e-3F), Values(from, from + static_cast<std::ptrdiff_t>(out_size))));
    }
  }
}

TEST_F(OnnxRuntimeTest, ATrimmedModelHandsMemoryBackAndAnswersAsBefore) {
  const auto model = open(example_mlp({512, 1024, 1024, 128}, 1));
  ASSERT_NE(model, nullptr);
  const Values many(size_t{512} * 8192, 0.5F), one(512, 0.5F);
  const auto resident = [] {
    malloc_trim(0);
    const auto use = memory_use({});
    return use.ok() ? use->own : Bytes();
  };
  ASSERT_TRUE(model->run(8192, std::array{many}).ok());
  const Bytes full = resident();
  const auto before = model->run(1, std::array{one});
  model->trim();
  const auto after = model->run(1, std::array{one});
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
  // Two layers of 1024 floats for 8192 items are 64 MiB.
  EXPECT_GT(full - resident(), Bytes::mebi(30));
}

TEST_F(OnnxRuntimeTest, WrongModelsAndInputsAreErrors) {
  const auto nonsense = runtime_->open("this is no protobuf", "bad.onnx");
  ASSERT_FALSE(nonsense.ok());
  EXPECT_THAT(nonsense.error().message, HasSubstr("bad.onnx: "));
  const auto model = open(small_network());
  ASSERT_NE(model, nullptr);
  EXPECT_THAT(model->run(2, std::array{Values{1, 2, 3}}).error().message, HasSubstr("input x has 3 values; 2 items of 2"));
  EXPECT_FALSE(model->run(0, std::array{Values{}}).ok());
  EXPECT_FALSE(model->run(1, std::vector<Values>{}).ok());
}

TEST_F(OnnxRuntimeTest, MeasuresEachSize) {
  const auto model = open(example_mlp({8, 8}, 1));
  ASSERT_NE(model, nullptr);
  const auto measured = measure_latencies(*model, {.most_batch = 6, .warm_up = 1, .runs = 20});
  ASSERT_TRUE(measured.ok());
  std::vector<int64_t> sizes;
  for (const auto& point : *measured) {
    sizes.push_back(point.batch);
    EXPECT_GE(point.times.size(), 10U);
  }
  EXPECT_THAT(sizes, ElementsAre(1, 2, 4, 6));
  EXPECT_TRUE(batching::LatencyProfile::create(*measured).ok());
}

TEST(OnnxRuntime, MissingLibraryIsSaidWithWhatToDo) {
  const auto loaded = OnnxRuntime::load("/nowhere/libonnxruntime.so");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(loaded.error().message, HasSubstr("scripts/setup-onnxruntime"));
}

}  // namespace
}  // namespace stint::serve
