#include "codec/infer_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(std::string_view body, std::optional<size_t> head = {}) {
  const auto read = InferParser().parse(body, head);
  return read.ok() ? "accepted" : read.error().message;
}

std::vector<float> values_of(const InferTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.count()));
  tensor.copy_to(values);
  return values;
}

std::string input(const std::string& rest) { return R"({"inputs":[{"name":"x","datatype":"FP32",)" + rest + "}]}"; }

TEST(InferWire, ReadsNestedAndFlatJson) {
  InferParser parser;
  for (const char* data : {"[[1,2],[3,4.5]]", "[1,2,3,4.5]"}) {
    const std::string body = input(std::string(R"("shape":[2,2],"data":)") + data);
    const auto read = parser.parse(body, {});
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_THAT(read->inputs[0].shape, ElementsAre(2, 2));
    EXPECT_THAT(values_of(read->inputs[0]), ElementsAre(1, 2, 3, 4.5F));
  }
}

TEST(InferWire, ReadsTensorsBehindTheHead) {
  // The layout of the binary extension: the head, then the inputs' bytes in order.
  std::string body = R"({"id":"a","parameters":{"binary_data_output":true,"timeout":2500,"priority":1},"inputs":[)"
                     R"({"name":"x","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}},)"
                     R"({"name":"y","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]})";
  const size_t head = body.size();
  const std::array<float, 3> values = {1.5F, -2, 8};
  body.append(reinterpret_cast<const char*>(values.data()), sizeof values);
  const auto read = InferParser().parse(body, head);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->id, "a");
  EXPECT_EQ(read->timeout, Duration::nanoseconds(2'500'000));
  EXPECT_EQ(read->priority, 1);
  EXPECT_TRUE(read->binary_output);
  EXPECT_THAT(values_of(read->inputs[0]), ElementsAre(1.5F, -2));
  EXPECT_THAT(values_of(read->inputs[1]), ElementsAre(8));
  EXPECT_THAT(error_of(body, head + 1), HasSubstr("JSON"));
  EXPECT_THAT(error_of(body + "x", head), HasSubstr("1 bytes behind"));
  EXPECT_THAT(error_of(body.substr(0, body.size() - 1), head), HasSubstr("ends before"));
  EXPECT_THAT(error_of(body, body.size() + 1), HasSubstr("head of"));
}

TEST(InferWire, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("inputs"));
  EXPECT_THAT(error_of(R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT64","data":[1]}]})"), HasSubstr("INT64"));
  EXPECT_THAT(error_of(input(R"("shape":[2],"data":[1])")), HasSubstr("1 values; its shape says 2"));
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":[1,2])")), HasSubstr("more data"));
  EXPECT_THAT(error_of(input(R"("shape":[-1],"data":[1])")), HasSubstr("none below 0"));
  EXPECT_THAT(error_of(input(R"("shape":[4294967296,4294967296],"data":[1])")), HasSubstr("too many values"));
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":["a"])")), HasSubstr("no number"));
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":[NaN])")), HasSubstr("JSON"));
  EXPECT_THAT(error_of(input(R"("shape":[1])")), HasSubstr("neither"));
  const std::string deep = std::string(40, '[') + "1" + std::string(40, ']');
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":)" + deep)), HasSubstr("nested deeper"));
}

TEST(InferWire, WritesWhatItReads) {
  const std::array<int64_t, 2> shape = {2, 2};
  const std::array<float, 4> values = {1, 0.1F, -3, 1e-30F};
  for (const bool binary : {false, true}) {
    const std::array parts = {InferPart{"x", shape, values, binary}};
    const auto message = write_infer_request(parts, Duration::milliseconds(5));
    ASSERT_TRUE(message.ok()) << message.error().message;
    const auto read = InferParser().parse(message->body, message->head_bytes);
    ASSERT_TRUE(read.ok()) << read.error().message << message->body;
    EXPECT_THAT(values_of(read->inputs[0]), ElementsAre(1, 0.1F, -3, 1e-30F));
    EXPECT_EQ(read->timeout, Duration::milliseconds(5));
    EXPECT_EQ(read->binary_output, binary);
  }
}

TEST(InferWire, AnswersAreJsonAndNotANumberIsNot) {
  const std::array<int64_t, 1> shape = {1};
  const std::array<float, 1> one = {1}, broken = {NAN};
  const auto answer = write_infer_answer("m", 3, "a\"\xff", std::array{InferPart{"y", shape, one, false}});
  ASSERT_TRUE(answer.ok());
  const auto json = nlohmann::json::parse(answer->body);
  EXPECT_EQ(json["model_version"], "3");
  EXPECT_EQ(json["outputs"][0]["data"][0], 1.0);
  EXPECT_FALSE(write_infer_answer("m", 1, "", std::array{InferPart{"y", shape, broken, false}}).ok());
  EXPECT_TRUE(write_infer_answer("m", 1, "", std::array{InferPart{"y", shape, broken, true}}).ok());
}

}  // namespace
}  // namespace stint
