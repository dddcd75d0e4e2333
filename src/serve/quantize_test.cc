#include "serve/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "base/prng.h"
#include "serve/example_models.h"
#include "serve/half_precision.h"
#include "serve/model_judge.h"
#include "serve/onnx_writer.h"
#include "serve/protobuf.h"

namespace stint::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// y = Gemm(Relu(Conv(x))) on 1×4×4.
std::string small_model() {
  OnnxWriter writer("small");
  writer.input("x", std::array<int64_t, 3>{1, 4, 4});
  writer.output("y", std::array<int64_t, 1>{3});
  Prng prng(5);
  const auto random = [&](size_t n) {
    std::vector<float> values(n);
    for (float& value : values)
      value = static_cast<float>(prng.normal());
    return values;
  };
  writer.constant("k", std::array<int64_t, 4>{2, 1, 3, 3}, random(18));
  writer.constant("w", std::array<int64_t, 2>{8, 3}, random(24));
  writer.constant("b", std::array<int64_t, 1>{3}, random(3));
  const std::array attributes = {OnnxWriter::Ints{"kernel_shape", {3, 3}}};
  writer.node("Conv", std::array<std::string, 2>{"x", "k"}, "c", attributes);
  writer.node("Relu", std::array<std::string, 1>{"c"}, "r");
  writer.node("Flatten", std::array<std::string, 1>{"r"}, "f");
  writer.node("Gemm", std::array<std::string, 3>{"f", "w", "b"}, "y");
  return writer.finish();
}

std::vector<std::string> ops_of(const OnnxGraph& graph) {
  std::vector<std::string> ops;
  for (const OnnxNode& node : graph.nodes)
    ops.push_back(node.op);
  return ops;
}

TEST(OnnxGraph, IsPutTogetherAsItWasTakenApart) {
  const OnnxGraph graph = OnnxGraph::parse(small_model(), "small").value();
  EXPECT_EQ(graph.opset, 13);
  EXPECT_THAT(graph.inputs, ElementsAre("x"));
  EXPECT_THAT(graph.outputs, ElementsAre("y"));
  EXPECT_THAT(ops_of(graph), ElementsAre("Conv", "Relu", "Flatten", "Gemm"));
  EXPECT_EQ(graph.constants.at("w").floats().size(), 24U);
  const std::string again = graph.encode();
  EXPECT_EQ(OnnxGraph::parse(again, "small").value().encode(), again);
}

TEST(OnnxGraph, WhatIsCutOffIsRefusedOrSmallerButNeverRead) {
  const std::string file = small_model();
  for (size_t length = 0; length < file.size(); ++length)
    static_cast<void>(OnnxGraph::parse(std::string_view(file).substr(0, length), "cut"));
  EXPECT_FALSE(OnnxGraph::parse("not a model", "text").ok());
  EXPECT_FALSE(OnnxGraph::parse("", "empty").ok());
}

TEST(Quantize, AsksForTheRangesOfLayersAndOfConvolutionsBehindTheirRelu) {
  EXPECT_THAT(tensors_to_calibrate(OnnxGraph::parse(small_model(), "m").value()), ElementsAre("f", "r", "x"));
}

TEST(Quantize, WeightsAreRoundedByTheLargestOfTheirChannel) {
  OnnxWriter writer("m");
  writer.input("x", std::array<int64_t, 1>{2});
  writer.output("y", std::array<int64_t, 1>{2});
  // Columns are channels: the largest are 12.7 and 0.254, so the scales are 0.1 and 0.002.
  writer.constant("w", std::array<int64_t, 2>{2, 2}, std::array{12.7F, 0.1F, -1.0F, -0.254F});
  writer.node("MatMul", std::array<std::string, 2>{"x", "w"}, "y");
  const OnnxGraph graph = OnnxGraph::parse(writer.finish(), "m").value();
  for (const OnnxGraph& quantized : {quantize_dynamic(graph).value(), quantize_static(graph, {{"x", {-1, 1}}}).value()}) {
    const auto& values = quantized.constants.at("stint/y.weight.values");
    EXPECT_EQ(values.type, OnnxType::kInt8);
    const auto* bytes = reinterpret_cast<const int8_t*>(values.raw.data());
    EXPECT_THAT(std::vector<int>(bytes, bytes + 4), ElementsAre(127, 50, -10, -127));
    const std::vector<float> scales = quantized.constants.at("stint/y.weight.scales").floats();
    EXPECT_NEAR(scales[0], 0.1, 1e-6);
    EXPECT_NEAR(scales[1], 0.002, 1e-8);
    EXPECT_FALSE(quantized.constants.contains("w"));
  }
}

TEST(Quantize, SaysWhatItCannot) {
  OnnxWriter writer("m");
  writer.input("x", std::array<int64_t, 1>{2});
  writer.output("y", std::array<int64_t, 1>{2});
  writer.node("Relu", std::array<std::string, 1>{"x"}, "y");
  const OnnxGraph graph = OnnxGraph::parse(writer.finish(), "m").value();
  EXPECT_THAT(quantize_dynamic(graph).error().message, HasSubstr("nothing can be quantised"));
  OnnxGraph old = OnnxGraph::parse(small_model(), "m").value();
  old.opset = 11;
  EXPECT_THAT(quantize_static(old, {}).error().message, HasSubstr("opset 11"));
  old.opset = 13;
  EXPECT_THAT(quantize_static(old, {}).error().message, HasSubstr("no range"));
}

class QuantizeRunning : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<OnnxRuntime> loaded = load_onnxruntime("");
    if (!loaded.ok()) GTEST_SKIP() << loaded.error().message;
    onnx_ = std::make_unique<OnnxRuntime>(std::move(*loaded));
  }
  /// The outputs of all rows, one after the other.
  [[nodiscard]] std::vector<float> outputs(const std::string& model, const std::vector<NpyArray>& rows) const {
    auto opened = onnx_->open(model, "m");
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    std::vector<float> all;
    const Status ran = run_rows(**opened, rows, [&](int64_t, const std::vector<std::vector<float>>& out) {
      all.insert(all.end(), out[0].begin(), out[0].end());
    });
    EXPECT_TRUE(ran.ok()) << ran.error().message;
    return all;
  }
  std::unique_ptr<OnnxRuntime> onnx_;
};

TEST_F(QuantizeRunning, AnswersStayWithinARoundingOfWhatTheyWere) {
  const std::string model = small_model();
  const OnnxGraph graph = OnnxGraph::parse(model, "m").value();
  std::vector<NpyArray> rows = {{{64, 1, 4, 4}, {}}};
  Prng prng(3);
  for (int i = 0; i < 64 * 16; ++i)
    rows[0].values.push_back(static_cast<float>(prng.normal()));
  const auto ranges = ranges_of(*onnx_, graph, tensors_to_calibrate(graph), rows);
  ASSERT_TRUE(ranges.ok()) << ranges.error().message;
  EXPECT_GE(ranges->at("r").least, 0);  // behind a Relu
  const std::vector<float> exact = outputs(model, rows);
  float largest = 0;
  for (const float value : exact)
    largest = std::max(largest, std::abs(value));
  for (const std::string& quantized :
       {quantize_dynamic(graph).value().encode(), quantize_static(graph, *ranges).value().encode()}) {
    const std::vector<float> rounded = outputs(quantized, rows);
    ASSERT_EQ(rounded.size(), exact.size());
    for (size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(rounded[i], exact[i], largest * 0.04);  // a few steps of 1 in 255 on the way
  }
}

TEST_F(QuantizeRunning, TheTrainedExampleLearnsAndItsVariantsForgetLittle) {
  const LabelledData data = example_points(400, 32, 4, 9);
  const auto trained = train_last_layer(*onnx_, example_mlp({32, 64, 4}, 2), data.part(0, 200));
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const LabelledData held_out = data.part(200, 400);
  const auto accuracy = [&](const std::string& model) {
    const auto opened = onnx_->open(model, "m");
    return agreement(classes_of(**opened, held_out.rows).value(), held_out.labels);
  };
  const double before = accuracy(*trained);
  EXPECT_GT(before, 0.5);  // twice what a guess among four would be
  const OnnxGraph graph = OnnxGraph::parse(*trained, "m").value();
  EXPECT_GT(accuracy(quantize_dynamic(graph).value().encode()), before - 0.05);
  const auto ranges = ranges_of(*onnx_, graph, tensors_to_calibrate(graph), data.part(0, 200).rows).value();
  EXPECT_GT(accuracy(quantize_static(graph, ranges).value().encode()), before - 0.05);
}

/// y = (rows of a table) · w: an embedding of 2,000 × 64 before a layer; one column of the table is much larger than the others.
std::string embedding_model(std::span<const float> table) {
  OnnxWriter writer("embedding");
  writer.input("token", std::array<int64_t, 1>{3}, OnnxType::kInt64);
  writer.output("y", std::array<int64_t, 2>{3, 4});
  Prng prng(3);
  std::vector<float> w(size_t{64} * 4);
  for (float& value : w)
    value = static_cast<float>(prng.normal());
  writer.constant("table", std::array<int64_t, 2>{2000, 64}, table);
  writer.constant("w", std::array<int64_t, 2>{64, 4}, w);
  writer.node("Gather", std::array<std::string, 2>{"table", "token"}, "rows");
  writer.node("MatMul", std::array<std::string, 2>{"rows", "w"}, "y");
  return writer.finish();
}
std::vector<float> embedding_table() {
  Prng prng(4);
  std::vector<float> table(size_t{2000} * 64);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<float>(prng.normal()) * (i % 64 == 7 ? 50 : 1);
  return table;
}

TEST_F(QuantizeRunning, EmbeddingsAreLookedUpInIntegers) {
  const std::string model = embedding_model(embedding_table());
  const OnnxGraph graph = OnnxGraph::parse(model, "m").value();
  const std::vector<NpyArray> rows = {{{2, 3}, {0, 1999, 7, 7, 1000, 3}}};
  const std::vector<float> exact = outputs(model, rows);
  const auto ranges = ranges_of(*onnx_, graph, tensors_to_calibrate(graph), rows).value();
  const OnnxGraph dynamic = quantize_dynamic(graph).value(), fixed = quantize_static(graph, ranges).value();
  EXPECT_EQ(ops_of(fixed).front(), "Gather");
  for (const OnnxGraph& made : {dynamic, fixed}) {
    EXPECT_FALSE(made.constants.contains("table"));
    const std::string small = made.encode();
    EXPECT_GT(static_cast<double>(model.size()) / static_cast<double>(small.size()), 3.8);
    const std::vector<float> rounded = outputs(small, rows);
    ASSERT_EQ(rounded.size(), exact.size());
    const auto [least, most] = std::ranges::minmax(exact);
    for (size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(rounded[i], exact[i], (most - least) * 0.03) << i;
  }
}

/// Three inputs of one length, as a BERT has them: rows of two tables, those that count by a third, their mean, two layers.
std::string masked_model() {
  OnnxWriter writer("masked");
  for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
    writer.input(name, std::array<int64_t, 1>{-1}, OnnxType::kInt64);
  writer.output("y", std::array<int64_t, 1>{4});
  Prng prng(6);
  const auto constant = [&](const char* name, int64_t rows, int64_t columns) {
    std::vector<float> values(static_cast<size_t>(rows * columns));
    for (float& value : values)
      value = static_cast<float>(prng.normal());
    writer.constant(name, std::array<int64_t, 2>{rows, columns}, values);
  };
  constant("words", 50, 16);
  constant("types", 2, 16);
  constant("w1", 16, 16);
  constant("w2", 16, 4);
  std::vector<float> counts(32);  // a row of zeros, a row of ones
  std::fill(counts.begin() + 16, counts.end(), 1.0F);
  writer.constant("counts", std::array<int64_t, 2>{2, 16}, counts);
  const auto node = [&](const char* op, const std::vector<std::string>& in, const char* out) { writer.node(op, in, out); };
  node("Gather", {"words", "input_ids"}, "word");
  node("Gather", {"types", "token_type_ids"}, "type");
  node("Gather", {"counts", "attention_mask"}, "mask");
  node("Add", {"word", "type"}, "x");
  node("MatMul", {"x", "w1"}, "h");
  node("Mul", {"h", "mask"}, "m");
  const std::array axes = {OnnxWriter::Ints{"axes", {1}}};
  writer.node("ReduceMean", std::array<std::string, 1>{"m"}, "mean", axes);
  node("Flatten", {"mean"}, "f");
  node("Gemm", {"f", "w2"}, "y");
  return writer.finish();
}
/// `length` tokens each, of which the last ones count the less, the further the row.
std::vector<NpyArray> masked_rows(int64_t rows, int64_t length) {
  std::vector<NpyArray> all(3, NpyArray{{rows, length}, {}});
  Prng prng(7);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t at = 0; at < length; ++at) {
      all[0].values.push_back(static_cast<float>(prng.below(50)));
      all[1].values.push_back(at < length - row % length ? 1 : 0);
      all[2].values.push_back(at % 2 == 0 ? 0 : 1);
    }
  return all;
}

TEST_F(QuantizeRunning, SeveralInputsWithFreeLengthsAreCalibratedTogether) {
  const std::string model = masked_model();
  const OnnxGraph graph = OnnxGraph::parse(model, "m").value();
  const std::vector<NpyArray> rows = masked_rows(40, 6);
  const auto ranges = ranges_of(*onnx_, graph, tensors_to_calibrate(graph), rows);
  ASSERT_TRUE(ranges.ok()) << ranges.error().message;
  EXPECT_LT(ranges->at("x").least, -1);  // two normal numbers, added
  EXPECT_GT(ranges->at("x").most, 1);
  const std::vector<float> exact = outputs(model, rows);
  EXPECT_EQ(exact.size(), 40U * 4);
  const auto [least, most] = std::ranges::minmax(exact);
  for (const std::string& made : {quantize_dynamic(graph).value().encode(), quantize_static(graph, *ranges).value().encode()}) {
    const std::vector<float> rounded = outputs(made, rows);
    ASSERT_EQ(rounded.size(), exact.size());
    for (size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(rounded[i], exact[i], (most - least) * 0.04) << i;
    EXPECT_EQ(outputs(made, masked_rows(3, 9)).size(), 3U * 4) << "another length";
  }
}

TEST_F(QuantizeRunning, RowsThatDoNotFitAreNamed) {
  const auto model = onnx_->open(masked_model(), "m").value();
  std::vector<NpyArray> rows = masked_rows(4, 6);
  EXPECT_EQ(sizes_of_rows(*model, rows).value(), (Sizes{{OnnxWriter::kFree, 6}}));
  const auto refusal = [&] { return classes_of(*model, rows).error().message; };
  rows[1] = masked_rows(4, 5)[1];
  EXPECT_THAT(refusal(), HasSubstr("input attention_mask: its dimension length is 5, that of another input is 6"));
  rows[1] = masked_rows(3, 6)[1];
  EXPECT_THAT(refusal(), HasSubstr("3 rows for input attention_mask, 4 for input_ids"));
  rows[1] = {{4, 6, 1}, std::vector<float>(24)};
  EXPECT_THAT(refusal(), HasSubstr("data of the shape [4,6,1]; the model's input attention_mask is [N,-1]"));
  rows.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("the model has 3 inputs; data of 2 is given"));
}

TEST(Quantize, TablesThatHoldNoNumbersAreNamed) {
  std::vector<float> table = embedding_table();
  table.back() = NAN;
  const OnnxGraph graph = OnnxGraph::parse(embedding_model(table), "m").value();
  EXPECT_THAT(quantize_dynamic(graph).error().message, HasSubstr("weights table hold NaN"));
}

TEST(HalfPrecision, SaysWhatItCannot) {
  OnnxGraph graph = OnnxGraph::parse(small_model(), "m").value();
  graph.nodes.push_back({"Resize", {"y"}, {"z"}, {}, {}});
  EXPECT_THAT(in_half_precision(graph).error().message, HasSubstr("operator Resize"));
  graph.nodes.pop_back();
  graph.inputs.emplace_back("w");
  EXPECT_THAT(in_half_precision(graph).error().message, HasSubstr("w is an input and a constant"));
  EXPECT_THAT(quantize_dynamic(graph).error().message, HasSubstr("w is an input and a constant"));
  OnnxWriter writer("m");
  writer.input("x", std::array<int64_t, 1>{2});
  writer.output("y", std::array<int64_t, 1>{2});
  writer.node("Relu", std::array<std::string, 1>{"x"}, "y");
  EXPECT_THAT(in_half_precision(OnnxGraph::parse(writer.finish(), "m").value()).error().message,
              HasSubstr("nothing would be smaller"));
}

TEST(HalfPrecision, ConstantsAreRoundedAndThoseBeyondItsRangeBecomeItsLargest) {
  OnnxWriter writer("m");
  writer.input("x", std::array<int64_t, 1>{4});
  writer.output("y", std::array<int64_t, 1>{4});
  writer.constant("c", std::array<int64_t, 1>{4}, std::array{2049.0F, -1e9F, INFINITY, 0.5F});
  writer.node("Add", std::array<std::string, 2>{"x", "c"}, "y");
  const OnnxGraph graph = in_half_precision(OnnxGraph::parse(writer.finish(), "m").value()).value();
  const OnnxTensor& constant = graph.constants.at("c");
  EXPECT_EQ(constant.type, OnnxType::kHalf);
  EXPECT_THAT(floats_of(DataType::kFp16, std::as_bytes(std::span(constant.raw))), ElementsAre(2048, -65504, INFINITY, 0.5F));
  EXPECT_THAT(ops_of(graph), ElementsAre("Cast", "Add", "Cast"));
}

TEST_F(QuantizeRunning, HalfPrecisionIsHalfTheSizeAndAnswersAlmostTheSame) {
  const auto compare = [&](const std::string& untrained, const LabelledData& data) {
    const int64_t half = data.count() / 2;
    const std::string model = train_last_layer(*onnx_, untrained, data.part(0, half)).value();
    const LabelledData held_out = data.part(half, data.count());
    const std::string small = in_half_precision(OnnxGraph::parse(model, "m").value()).value().encode();
    EXPECT_NEAR(static_cast<double>(small.size()) / static_cast<double>(model.size()), 0.5, 0.01);
    const auto given = onnx_->open(model, "m").value(), made = onnx_->open(small, "m").value();
    EXPECT_EQ(made->inputs(), given->inputs());
    EXPECT_EQ(made->outputs(), given->outputs());
    const auto accuracy = [&](Runtime& runtime) {
      return agreement(classes_of(runtime, held_out.rows).value(), held_out.labels);
    };
    EXPECT_GT(accuracy(*given), 0.5);
    EXPECT_GE(accuracy(*made), accuracy(*given) - 0.01);
    const std::vector<float> exact = outputs(model, held_out.rows), rounded = outputs(small, held_out.rows);
    ASSERT_EQ(rounded.size(), exact.size());
    const auto [least, most] = std::ranges::minmax(exact);
    // A half has 11 significant bits; a few of their roundings add up.
    for (size_t i = 0; i < exact.size(); ++i)
      ASSERT_NEAR(rounded[i], exact[i], (most - least) * 4 / 2048) << i;
    EXPECT_NE(rounded, exact);
  };
  compare(example_mlp({512, 256, 32}, 1), example_points(1200, 512, 32, 1));
  compare(example_cnn(1), example_stripes(400, 1));
}

/// What exporters leave: a Constant node, a Cast to float, a tensor that is an output and goes on inside, types of inner tensors, tokens.
std::string exported_model() {
  OnnxWriter writer("exported");
  writer.input("token", std::array<int64_t, 1>{2}, OnnxType::kInt64);
  writer.output("row", std::array<int64_t, 2>{2, 2});
  writer.output("y", std::array<int64_t, 2>{2, 2});
  writer.constant("table", std::array<int64_t, 2>{2, 2}, std::array{1.0F, 2.0F, 3.0F, 4.0F});
  writer.node("Gather", std::array<std::string, 2>{"table", "token"}, "row");
  OnnxGraph graph = OnnxGraph::parse(writer.finish(), "m").value();
  std::string value;
  protobuf::put_bytes(value, 1, "value_float");
  protobuf::put_number(value, 20, 1);
  value += std::string("\x15\x00\x00\x20\x41", 5);  // field 2, fixed 32 bits: 10
  const auto to_float = onnx_integer_attribute("to", static_cast<int64_t>(OnnxType::kFloat));
  graph.nodes.push_back({"Constant", {}, {"ten"}, {value}, {}});
  graph.nodes.push_back({"Cast", {"token"}, {"number"}, {to_float}, {}});
  graph.nodes.push_back({"Unsqueeze", {"number", "axis"}, {"column"}, {}, {}});
  graph.nodes.push_back({"Mul", {"row", "ten"}, {"tenfold"}, {}, {}});
  graph.nodes.push_back({"Add", {"tenfold", "column"}, {"y"}, {}, {}});
  const std::array<int64_t, 1> last = {-1};
  std::string axis;
  protobuf::put_number(axis, 1, 1);
  protobuf::put_number(axis, 2, static_cast<int64_t>(OnnxType::kInt64));
  protobuf::put_bytes(axis, 8, "axis");
  protobuf::put_bytes(axis, 9, {reinterpret_cast<const char*>(last.data()), sizeof last});
  protobuf::put_bytes(graph.rest, 5, axis);
  OnnxGraph inner;  // an output's description serves for a tensor inside as well
  inner.expose("tenfold");
  protobuf::Reader reader(inner.rest);
  protobuf::put_bytes(graph.rest, 13, reader.next().value()->bytes);
  return graph.encode();
}

TEST_F(QuantizeRunning, HalfPrecisionTakesWhatExportersLeave) {
  const std::string model = exported_model();
  const std::vector<NpyArray> rows = {{{1, 2}, {1, 0}}};
  // Rows 1 and 0 are (3, 4) and (1, 2); ten times them, and the token.
  const std::vector<float> expected = {31, 41, 10, 20};
  const auto last_output = [&](const std::string& file) {
    const auto opened = onnx_->open(file, "m");
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ((*opened)->inputs()[0].type, DataType::kInt64);
    EXPECT_EQ((*opened)->outputs()[0].type, DataType::kFp32);
    std::vector<float> last;
    EXPECT_TRUE(run_rows(**opened, rows, [&](int64_t, const auto& out) { last = out[1]; }).ok());
    return last;
  };
  EXPECT_EQ(last_output(model), expected);
  const auto made = in_half_precision(OnnxGraph::parse(model, "m").value());
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(last_output(made->encode()), expected);
  EXPECT_EQ(made->constants.at("ten").type, OnnxType::kHalf);
}

}  // namespace
}  // namespace stint::serve
