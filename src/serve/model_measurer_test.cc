// Measuring in another process; what that process is, the tests say. Models need ONNX Runtime (STINT_ONNXRUNTIME).
#include "serve/model_measurer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "serve/example_models.h"

namespace stint::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Measurement some_measurement() {
  Measurement told;
  told.inputs = {{"ids \"x\"", DataType::kInt64, {-1, 2}, {"s"}}};
  told.outputs = {{"y", DataType::kFp32, {}}};
  told.weights = Bytes::mebi(41);
  told.loading = Bytes::mebi(7);
  told.reload = Duration::milliseconds(12);
  told.largest = {{"s", 64}};
  told.output_shapes = {{}};
  told.front = Duration::nanoseconds(12'345);
  told.masked = {"s"};
  told.peaks = {{1, Bytes::of(100)}, {2, Bytes::of(250)}};
  told.batches = {{1, {Duration::nanoseconds(5)}}, {2, {Duration::nanoseconds(7)}}};
  return told;
}

TEST(Measurement, IsReadAsItWasWritten) {
  const Measurement told = some_measurement();
  const Result<Measurement> read = read_measurement(write_measurement(told), "m.onnx");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->inputs, told.inputs);
  EXPECT_EQ(read->outputs, told.outputs);
  EXPECT_EQ(read->weights, told.weights);
  EXPECT_EQ(read->loading, told.loading);
  EXPECT_EQ(read->reload, told.reload);
  EXPECT_EQ(read->front, told.front);
  EXPECT_EQ(read->largest, told.largest);
  EXPECT_EQ(read->output_shapes, told.output_shapes);
  EXPECT_EQ(read->masked, told.masked);
  EXPECT_EQ(read->peaks, told.peaks);
  ASSERT_EQ(read->batches.size(), 2U);
  EXPECT_EQ(read->batches[1].batch, 2);
  EXPECT_THAT(read->batches[1].times, ElementsAre(Duration::nanoseconds(7)));
}

TEST(Measurement, ErrorsKeepTheirCodeAndNonsenseIsOne) {
  const auto missing = read_measurement(write_measurement(make_error(ErrorCode::kNotFound, "no file")), "m.onnx");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "no file");
  for (const char* text : {"", "{", "[]", "{\"weights\": \"many\"}", "7"})
    EXPECT_THAT(read_measurement(text, "m.onnx").error().message, HasSubstr("m.onnx: the process that measures it")) << text;
}

class ModelMeasurerTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<OnnxRuntime> loaded = load_onnxruntime("");
    if (!loaded.ok()) GTEST_SKIP() << loaded.error().message;
    onnx_ = std::make_shared<const OnnxRuntime>(std::move(*loaded));
  }
  /// In a folder of its own.
  [[nodiscard]] ModelSource model(const std::string& folder, uint64_t seed) const {
    std::filesystem::create_directories(dir_ / folder);
    put_file(dir_ / (folder + "/model.onnx"), example_mlp({8, 8}, seed));
    return *ModelSource::find(dir_ / folder, onnx_);
  }
  /// A process that notes that it was started and runs `script`.
  [[nodiscard]] std::vector<std::string> command(const std::string& script) const {
    return {"/bin/sh", "-c", "echo started >> '" + (dir_ / "log") + "'; " + script, "sh"};
  }
  [[nodiscard]] int64_t starts() const {
    const Result<std::string> log = read_all(dir_ / "log");
    return log.ok() ? std::ranges::count(*log, '\n') : 0;
  }
  ScratchDir dir_;
  std::shared_ptr<const OnnxRuntime> onnx_;
  ServedModelConfig config_{.max_batch = 2};
};

TEST_F(ModelMeasurerTest, EachContentIsMeasuredOnce) {
  put_file(dir_ / "answer", write_measurement(some_measurement()));
  ModelMeasurer measurer(command("cat '" + (dir_ / "answer") + "'"));
  for (const ModelSource& source : {model("a", 1), model("b", 1)}) {
    const auto facts = measurer.measure(source, config_);
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_EQ(facts->memory.weights, Bytes::mebi(41));
    EXPECT_THAT(facts->memory.activation, ElementsAre(Bytes::of(100), Bytes::of(250)));
  }
  EXPECT_EQ(starts(), 1);
  EXPECT_TRUE(measurer.measure(model("c", 2), config_).ok());
  EXPECT_EQ(starts(), 2) << "another content";
  config_.max_batch = 1;
  EXPECT_TRUE(measurer.measure(model("a", 1), config_).ok());
  EXPECT_EQ(starts(), 3) << "other batches";
}

TEST_F(ModelMeasurerTest, AProcessThatIsKilledIsAnErrorOfItsModelAlone) {
  ModelMeasurer measurer(command("kill -9 $$"));
  const auto killed = measurer.measure(model("a", 1), config_);
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(killed.error().message, HasSubstr("model.onnx: signal 9 ended the process"));
  EXPECT_FALSE(measurer.measure(model("a", 1), config_).ok());
  EXPECT_EQ(starts(), 2) << "what failed is tried again";
}

/// Weights of 4 MiB and more: a page here and there does not matter.
TEST_F(ModelMeasurerTest, WeightsAreTheModelsSize) {
  std::filesystem::create_directories(dir_ / "m");
  put_file(dir_ / "m/model.onnx", example_mlp({64, 1024, 1024, 1024, 8}, 1));
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(dir_ / "m/model.onnx"));
  const auto told = run_and_measure(*ModelSource::find(dir_ / "m", onnx_), 4);
  ASSERT_TRUE(told.ok()) << told.error().message;
  EXPECT_GE(told->weights, Bytes::of(bytes));
  EXPECT_THAT(told->peaks, ElementsAre(Pair(1, testing::_), Pair(2, testing::_), Pair(4, testing::_)));
}

}  // namespace
}  // namespace stint::serve
