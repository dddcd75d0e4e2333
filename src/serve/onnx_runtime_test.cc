// Needs ONNX Runtime: scripts/setup-onnxruntime fetches it; STINT_ONNXRUNTIME names the library.
#include "serve/onnx_runtime.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "codec/serving/tensor_texts.h"
#include "host/memory_use.h"
#include "serve/example_models.h"
#include "serve/measure.h"
#include "serve/onnx_writer.h"
#include "serve/ort_abi.h"

namespace stint::serve {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Values floats(const std::vector<float>& values) { return *values_from(DataType::kFp32, values); }
std::vector<float> floats_in(const Values& values) { return floats_of(DataType::kFp32, values); }

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
  const auto y = model->run(2, std::array{floats({1, 2, 4, 3})});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_THAT(floats_in((*y)[0]), ElementsAre(0, 10.5F, 3, 20.5F));
}

TEST_F(OnnxRuntimeTest, AnItemsAnswerDoesNotDependOnItsCompany) {
  for (const std::string& file : {example_mlp({16, 32, 8}, 1), example_cnn(1)}) {
    const auto model = open(file);
    ASSERT_NE(model, nullptr);
    const auto size = static_cast<size_t>(model->inputs()[0].item_size());
    const auto out_size = static_cast<size_t>(model->outputs()[0].item_size());
    std::vector<float> batch(3 * size);
    for (size_t i = 0; i < batch.size(); ++i)
      batch[i] = static_cast<float>(i % 7) - 3;
    const auto together = model->run(3, std::array{floats(batch)});
    ASSERT_TRUE(together.ok()) << together.error().message;
    for (size_t item = 0; item < 3; ++item) {
      const std::vector<float> one(batch.begin() + static_cast<std::ptrdiff_t>(item * size),
                                   batch.begin() + static_cast<std::ptrdiff_t>((item + 1) * size));
      const auto alone = model->run(1, std::array{floats(one)});
      ASSERT_TRUE(alone.ok());
      const std::vector<float> all = floats_in((*together)[0]);
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(item * out_size);
      EXPECT_THAT(floats_in((*alone)[0]),
                  Pointwise(FloatNear(1e-3F), std::vector<float>(from, from + static_cast<std::ptrdiff_t>(out_size))));
    }
  }
}

Bytes resident() {
  malloc_trim(0);
  const auto use = memory_use({});
  return use.ok() ? use->own : Bytes();
}

TEST_F(OnnxRuntimeTest, SmallerBatchesBeforeTheLargestLeaveNothingBeside) {
  const auto taken = [&](std::initializer_list<int64_t> sizes) {
    const auto model = open(example_mlp({512, 1024, 1024, 128}, 1));
    const Bytes before = resident();
    for (const int64_t size : sizes)
      for (int n = 0; n < 3; ++n)
        EXPECT_TRUE(model->run(size, std::array{floats(std::vector<float>(static_cast<size_t>(512 * size), 0.5F))}).ok());
    return static_cast<double>((resident() - before).count());
  };
  taken({8192});  // what operators keep for this thread is there then
  const double largest_first = taken({8192, 1}), ascending = taken({1, 512, 1024, 2048, 4096, 8192}),
               mixed = taken({3000, 500, 7000, 8192, 20});
  EXPECT_GT(largest_first, 30e6);
  EXPECT_LT(ascending, 1.1 * largest_first);
  EXPECT_LT(mixed, 1.1 * largest_first);
}

TEST_F(OnnxRuntimeTest, ATrimmedModelHandsMemoryBackAndAnswersAsBefore) {
  const auto model = open(example_mlp({512, 1024, 1024, 128}, 1));
  ASSERT_NE(model, nullptr);
  const Values many = floats(std::vector<float>(size_t{512} * 8192, 0.5F)), one = floats(std::vector<float>(512, 0.5F));
  for (int n = 0; n < 2; ++n)  // the first batch of its size hands back what it took in pieces
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
  EXPECT_THAT(model->run(2, std::array{floats({1, 2, 3})}).error().message, HasSubstr("input x has 3 values; 2 items of 2"));
  EXPECT_FALSE(model->run(0, std::array{Values{}}).ok());
  EXPECT_FALSE(model->run(1, std::vector<Values>{}).ok());
}

std::string identity(OnnxType type) {
  OnnxWriter writer("identity");
  writer.input("x", std::array<int64_t, 1>{3}, type);
  writer.output("y", std::array<int64_t, 1>{3}, type);
  writer.node("Identity", std::array<std::string, 1>{"x"}, "y");
  return writer.finish();
}

Values texts(const std::vector<std::string>& all) {
  Values values;
  for (const std::string& text : all)
    append_text(values, text);
  return values;
}

TEST_F(OnnxRuntimeTest, TakesAndGivesEveryType) {
  for (size_t t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    const auto model = open(identity(onnx_type_of(type)));
    ASSERT_NE(model, nullptr) << name_of(type);
    EXPECT_EQ(model->inputs()[0].type, type);
    EXPECT_EQ(model->outputs()[0].type, type);
    EXPECT_EQ(model->inputs()[0].item_bytes(), 3 * size_of(type));
    const Values x = type == DataType::kBytes ? texts({"", "a", std::string("b\0c", 3), "\xff", std::string(100'000, 'd'), "ä"})
                                              : *values_from(type, std::array{0.0F, 1.0F, 1.0F, 1.0F, 0.0F, 1.0F});
    const auto y = model->run(2, std::array{x});
    ASSERT_TRUE(y.ok()) << y.error().message;
    EXPECT_EQ((*y)[0], x) << name_of(type);
    EXPECT_TRUE(measure_latencies(*model, {.most_batch = 2, .warm_up = 1, .runs = 2}).ok()) << name_of(type);
  }
}

/// Rows of a table by token; beside them which of their values are above 0, as BOOL, and the values as FP16 and FP64.
std::string token_model() {
  OnnxWriter writer("tokens");
  writer.input("token", std::array<int64_t, 1>{2}, OnnxType::kInt64);
  writer.output("row", std::array<int64_t, 2>{2, 2});
  writer.output("half", std::array<int64_t, 2>{2, 2}, OnnxType::kHalf);
  writer.output("double", std::array<int64_t, 2>{2, 2}, OnnxType::kDouble);
  writer.output("positive", std::array<int64_t, 2>{2, 2}, OnnxType::kBool);
  writer.constant("table", std::array<int64_t, 2>{3, 2}, std::array{1.0F, -2.0F, 0.1F, 4.0F, -5.0F, 70000.0F});
  writer.constant("zero", std::array<int64_t, 1>{1}, std::array{0.0F});
  writer.node("Gather", std::array<std::string, 2>{"table", "token"}, "row");
  writer.node("Greater", std::array<std::string, 2>{"row", "zero"}, "positive");
  OnnxGraph graph = *OnnxGraph::parse(writer.finish(), "tokens");
  const auto cast = [&](const std::string& to, OnnxType type) {
    graph.nodes.push_back({"Cast", {"row"}, {to}, {onnx_integer_attribute("to", static_cast<int64_t>(type))}, {}});
  };
  cast("half", OnnxType::kHalf);
  cast("double", OnnxType::kDouble);
  return graph.encode();
}

TEST_F(OnnxRuntimeTest, TokensGoInAndSeveralTypesComeOut) {
  const auto model = open(token_model());
  ASSERT_NE(model, nullptr);
  const std::array<int64_t, 2> tokens = {2, 1};
  const auto bytes = std::as_bytes(std::span(tokens));
  const auto out = model->run(1, std::array{Values(bytes.begin(), bytes.end())});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_THAT(floats_in((*out)[0]), ElementsAre(-5, 70000, 0.1F, 4));
  // 0.1 as a half is 0x2e66, 1638 · 2^-14; 70000 is beyond what it holds.
  EXPECT_THAT(floats_of(DataType::kFp16, (*out)[1]), ElementsAre(-5, INFINITY, 1638 / 16384.0F, 4));
  EXPECT_THAT(floats_of(DataType::kFp64, (*out)[2]), ElementsAre(-5, 70000, 0.1F, 4));
  EXPECT_THAT(floats_of(DataType::kBool, (*out)[3]), ElementsAre(0, 1, 1, 1));
  // The judges' border: rows of an .npy are numbers of whatever type, and must be whole here.
  std::vector<float> seen;
  const NpyArray rows{{2, 2}, {0, 1, 2, 0}};
  ASSERT_TRUE(run_rows(*model, {rows}, [&](int64_t, const auto& outputs) { seen = outputs[3]; }).ok());
  EXPECT_THAT(seen, ElementsAre(1, 0, 1, 1, 0, 1, 1, 0));
  const Status halved = run_rows(*model, std::vector{NpyArray{{1, 2}, {0.5F, 1}}}, [](int64_t, const auto&) {});
  EXPECT_THAT(halved.error().message, HasSubstr("data for input token: 0.5 is no INT64"));
}

TEST_F(OnnxRuntimeTest, TextsThatAreCutOffAreNamedAndNoNumbers) {
  const auto model = open(identity(OnnxType::kString));
  ASSERT_NE(model, nullptr);
  Values cut = texts({"a", "b", "c"});
  EXPECT_TRUE(model->run(1, std::array{cut}).ok());
  EXPECT_THAT(model->run(2, std::array{cut}).error().message, HasSubstr("input x: 3 values of BYTES; its shape says 6"));
  cut.pop_back();
  EXPECT_THAT(model->run(1, std::array{cut}).error().message, HasSubstr("input x: value 3 of 3"));
  const Status rows = run_rows(*model, std::vector{NpyArray{{1, 3}, {0, 1, 2}}}, [](int64_t, const auto&) {});
  EXPECT_THAT(rows.error().message, HasSubstr("x holds texts (BYTES)"));
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

TEST_F(OnnxRuntimeTest, AGpuIsRefusedWithWhatToDoWhereTheLibraryHasNone) {
  const auto providers = runtime_->providers();
  ASSERT_TRUE(providers.ok()) << providers.error().message;
  EXPECT_THAT(*providers, Contains("CPUExecutionProvider"));
  if (std::ranges::find(*providers, "CUDAExecutionProvider") != providers->end()) GTEST_SKIP() << "this one has CUDA";
  const auto on_gpu = runtime_->on_gpu({.number = 2, .most = Bytes::mebi(100)});
  ASSERT_FALSE(on_gpu.ok());
  EXPECT_EQ(on_gpu.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(on_gpu.error().message, HasSubstr("cuda:2: this ONNX Runtime (1."));
  EXPECT_THAT(on_gpu.error().message, HasSubstr("built without CUDA (it has "));
  EXPECT_THAT(on_gpu.error().message, HasSubstr("--onnxruntime"));
}

/// Without CUDA each says so; what stands elsewhere in the table would say something else.
TEST(OrtAbi, CudaStandsWhereItIsLookedFor) {
  const char* named = std::getenv("STINT_ONNXRUNTIME");
  void* library = dlopen(named != nullptr ? named : OnnxRuntime::kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << dlerror();
  const auto get_base = reinterpret_cast<ort::GetApiBase>(dlsym(library, "OrtGetApiBase"));
  const void* const* api = get_base()->get_api(ort::kApiVersion);
  const auto said = [api](ort::Status* status) {
    if (status == nullptr) return std::string("nothing");
    std::string message = ort::at(api, ort::kGetErrorMessage)(status);
    ort::at(api, ort::kReleaseStatus)(status);
    return message;
  };
  ort::CudaOptions* options = nullptr;
  const std::string created = said(ort::at(api, ort::kCreateCudaOptions)(&options));
  if (created == "nothing") {
    ort::at(api, ort::kReleaseCudaOptions)(options);
    GTEST_SKIP() << "this one has CUDA";
  }
  EXPECT_THAT(created, HasSubstr("CUDA execution provider is not enabled"));
  EXPECT_THAT(said(ort::at(api, ort::kUpdateCudaOptions)(options, nullptr, nullptr, 0)),
              HasSubstr("CUDA execution provider is not enabled"));
  ort::at(api, ort::kReleaseCudaOptions)(options);
  ort::SessionOptions* session = nullptr;
  ASSERT_EQ(said(ort::at(api, ort::kCreateSessionOptions)(&session)), "nothing");
  EXPECT_THAT(said(ort::at(api, ort::kAppendCuda)(session, options)), HasSubstr("rovider"));
  ort::at(api, ort::kReleaseSessionOptions)(session);
}

TEST(OnnxRuntime, MissingLibraryIsSaidWithWhatToDo) {
  const auto loaded = OnnxRuntime::load("/nowhere/libonnxruntime.so");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(loaded.error().message, HasSubstr("scripts/setup-onnxruntime"));
}

}  // namespace
}  // namespace stint::serve
