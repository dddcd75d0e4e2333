// What is filled up to what, and by which models that is refused. Trying the mask needs ONNX Runtime (STINT_ONNXRUNTIME).
#include "serve/padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "codec/serving/tensor_texts.h"
#include "serve/onnx_runtime.h"
#include "serve/onnx_writer.h"

namespace stint::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const std::vector<TensorSpec> kInputs = {{"ids", DataType::kInt64, {-1}, {"s"}}, {kMaskInput, DataType::kInt64, {-1}, {"s"}}};
const std::vector<TensorSpec> kOutputs = {{"hidden", DataType::kFp32, {-1, 4}, {"s"}}, {"class", DataType::kFp32, {2}}};

Result<Padding> padding_of(const std::string& name, const ServedDimension& said,
                           const std::vector<TensorSpec>& outputs = kOutputs, const std::vector<std::string>& masked = {}) {
  ServedModelConfig config;
  if (!name.empty()) config.dimensions[name] = said;
  return Padding::create(kInputs, outputs, {{"s", 100}}, masked, config);
}

TEST(Padding, FillsUpToTheNextSize) {
  const auto by_powers = padding_of("s", {.pad = {{{"ids", 7}}}});
  ASSERT_TRUE(by_powers.ok()) << by_powers.error().message;
  for (const auto& [own, filled] : {std::pair(1, 16), {16, 16}, {17, 32}, {64, 64}, {65, 100}, {100, 100}})
    EXPECT_THAT(by_powers->filled_up({{"s", own}, {"other", 3}}), ElementsAre(Pair("other", 3), Pair("s", filled)));
  EXPECT_EQ(by_powers->value(0), *values_from(DataType::kInt64, std::array{7.0F}));
  EXPECT_EQ(by_powers->value(1), *values_from(DataType::kInt64, std::array{0.0F}));
  const auto as_said = padding_of("s", {.pad = {{}}, .sizes = {50, 200}});
  EXPECT_THAT(as_said->filled_up({{"s", 20}}), ElementsAre(Pair("s", 50)));
  EXPECT_THAT(as_said->filled_up({{"s", 51}}), ElementsAre(Pair("s", 100)));
}

TEST(Padding, OnlyWhereItIsRight) {
  EXPECT_TRUE(padding_of("", {})->none());
  EXPECT_FALSE(padding_of("", {}, kOutputs, {"s"})->none()) << "the mask was tried";
  EXPECT_TRUE(padding_of("s", {.never_padded = true}, kOutputs, {"s"})->none());
  const std::vector<TensorSpec> own_free = {{"found", DataType::kFp32, {-1}, {"boxes"}}};
  EXPECT_THAT(padding_of("s", {.pad = {{}}}, own_free).error().message, HasSubstr("cannot be cut back"));
  EXPECT_THAT(padding_of("s", {.pad = {{}}, .pad_texts = {{"ids", "x"}}}).error().message, HasSubstr("input ids holds numbers"));
  EXPECT_THAT(padding_of("t", {}).error().message, HasSubstr("no such free dimension (they have: s)"));
  EXPECT_THAT(padding_of("s", {.pad = {{{"x", 0}}}}).error().message, HasSubstr("no input x"));
  EXPECT_THAT(padding_of("s", {.pad = {{{"ids", 0.5}}}}).error().message, HasSubstr("input ids: 0.5"));
}

TEST(Padding, TheCornerIsWhatBothHave) {
  const std::array<uint8_t, 4> square = {1, 2, 3, 4};
  std::array<uint8_t, 6> wide = {};
  copy_corner(std::as_bytes(std::span(square)), Shape{2, 2}, std::as_writable_bytes(std::span(wide)), Shape{2, 3});
  EXPECT_THAT(wide, ElementsAre(1, 2, 0, 3, 4, 0));
  std::array<uint8_t, 2> row = {};
  copy_corner(std::as_bytes(std::span(wide)), Shape{2, 3}, std::as_writable_bytes(std::span(row)), Shape{1, 2});
  EXPECT_THAT(row, ElementsAre(1, 2));
  std::array<uint16_t, 2> filled = {};
  const std::array<uint16_t, 1> value = {513};
  fill_with(std::as_writable_bytes(std::span(filled)), std::as_bytes(std::span(value)));
  EXPECT_THAT(filled, ElementsAre(513, 513));
}

std::vector<std::string> texts_in(std::span<const std::byte> values) {
  std::vector<std::string> texts;
  while (const auto text = take_text(values))
    texts.emplace_back(*text);
  return texts;
}

Values texts_of(std::initializer_list<std::string_view> texts) {
  Values values;
  for (const std::string_view text : texts)
    append_text(values, text);
  return values;
}

TEST(Padding, TextsAreFilledUpAndCutBackItemByItem) {
  Values filled, cut;
  append_corner({texts_of({"a", "", "ccc", "d"}), 2}, {2, 1}, {3, 2}, "-", filled);
  EXPECT_THAT(texts_in(filled), ElementsAre("a", "-", "", "-", "-", "-", "ccc", "-", "d", "-", "-", "-"));
  append_corner({filled, 2}, {3, 2}, {2, 1}, "", cut);
  EXPECT_THAT(texts_in(cut), ElementsAre("a", "", "ccc", "d"));
  Values labels;  // an item is one text
  append_corner({texts_of({"x", "y"}), 2}, {}, {}, "", labels);
  EXPECT_THAT(texts_in(labels), ElementsAre("x", "y"));
}

TEST(Padding, TextsAreFilledUpWithATextOfTheirOwn) {
  const std::vector<TensorSpec> inputs = {{"words", DataType::kBytes, {-1}, {"s"}}};
  ServedModelConfig config;
  config.dimensions["s"] = {.pad = {{}}, .pad_texts = {{"words", "[PAD]"}}};
  const auto padding = Padding::create(inputs, kOutputs, {{"s", 100}}, {}, config);
  ASSERT_TRUE(padding.ok()) << padding.error().message;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(padding->value(0).data()), padding->value(0).size()), "[PAD]");
  config.dimensions["s"].pad_texts.clear();
  EXPECT_THAT(Padding::create(inputs, kOutputs, {{"s", 100}}, {}, config)->value(0), IsEmpty()) << "the empty text";
  config.dimensions["s"].pad = {{{"words", 1}}};
  EXPECT_THAT(Padding::create(inputs, kOutputs, {{"s", 100}}, {}, config).error().message, HasSubstr("give a text"));
}

/// x × mask, and then `last`: Relu minds each place alone, Softmax all of them, what was filled in too.
std::string masked_model(const char* last) {
  OnnxWriter writer("masked");
  writer.input("x", std::array<int64_t, 1>{-1});
  writer.input(kMaskInput, std::array<int64_t, 1>{-1});
  writer.output("y", std::array<int64_t, 1>{-1});
  writer.node("Mul", std::array<std::string, 2>{"x", kMaskInput}, "z");
  writer.node(last, std::array<std::string, 1>{"z"}, "y");
  return writer.finish();
}

TEST(Padding, AMaskIsTriedBeforeItIsTrusted) {
  const auto onnx = load_onnxruntime("");
  if (!onnx.ok()) GTEST_SKIP() << onnx.error().message;
  const auto relu = onnx->open(masked_model("Relu"), "relu"), softmax = onnx->open(masked_model("Softmax"), "softmax");
  ASSERT_TRUE(relu.ok() && softmax.ok());
  EXPECT_EQ((*relu)->inputs()[0].free, std::vector<std::string>{OnnxWriter::kFree});
  EXPECT_THAT(*try_mask(**relu, {{OnnxWriter::kFree, 8}}), ElementsAre(OnnxWriter::kFree));
  EXPECT_THAT(*try_mask(**softmax, {{OnnxWriter::kFree, 8}}), IsEmpty());
  EXPECT_FALSE((*relu)->run(1, std::vector<Values>(2)).ok()) << "without sizes";
}

}  // namespace
}  // namespace stint::serve
