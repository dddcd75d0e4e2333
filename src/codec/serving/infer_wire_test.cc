#include "codec/serving/infer_wire.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "codec/serving/tensor_texts.h"

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
  std::ranges::copy(tensor.values(), std::as_writable_bytes(std::span(values)).begin());
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
  EXPECT_THAT(error_of(R"({"inputs":[{"name":"x","shape":[1],"datatype":"STRING","data":["a"]}]})"),
              HasSubstr("STRING: served are BOOL"));
  EXPECT_THAT(error_of(R"({"inputs":[{"name":"x","shape":[1],"data":[1]}]})"), HasSubstr("missing"));
  EXPECT_THAT(error_of(input(R"("shape":[2],"data":[1])")), HasSubstr("1 values; its shape says 2"));
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":[1,2])")), HasSubstr("more data"));
  EXPECT_THAT(error_of(input(R"("shape":[-1],"data":[1])")), HasSubstr("none below 0"));
  EXPECT_THAT(error_of(input(R"("shape":[4294967296,4294967296],"data":[1])")), HasSubstr("too many values"));
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":["a"])")), HasSubstr("no number"));
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":[NaM])")), HasSubstr("JSON"));
  EXPECT_THAT(error_of(input(R"("shape":NaN,"data":[1])")), HasSubstr("no \"shape\""));
  EXPECT_THAT(error_of(input(R"("shape":[1])")), HasSubstr("neither"));
  const std::string deep = std::string(40, '[') + "1" + std::string(40, ']');
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":)" + deep)), HasSubstr("nested deeper"));
}

TEST(InferWire, WritesWhatItReads) {
  const std::array<int64_t, 2> shape = {2, 2};
  const std::array<float, 4> values = {1, 0.1F, -3, 1e-30F};
  for (const bool binary : {false, true}) {
    const std::array parts = {InferPart{"x", DataType::kFp32, shape, std::as_bytes(std::span(values)), binary}};
    const auto message = write_infer_request(parts, Duration::milliseconds(5));
    ASSERT_TRUE(message.ok()) << message.error().message;
    const auto read = InferParser().parse(message->body, message->head_bytes);
    ASSERT_TRUE(read.ok()) << read.error().message << message->body;
    EXPECT_THAT(values_of(read->inputs[0]), ElementsAre(1, 0.1F, -3, 1e-30F));
    EXPECT_EQ(read->timeout, Duration::milliseconds(5));
    EXPECT_EQ(read->binary_output, binary);
  }
}

TEST(InferWire, AnswersAreJson) {
  const std::array<int64_t, 1> shape = {1};
  const std::array<float, 1> one = {1};
  const auto answer_of = [&](std::string_view id, std::span<const float> values, bool binary) {
    return write_infer_answer("m", 3, id, std::array{InferPart{"y", DataType::kFp32, shape, std::as_bytes(values), binary}});
  };
  const auto answer = answer_of("a\"\xff", one, false);
  ASSERT_TRUE(answer.ok());
  const auto json = nlohmann::json::parse(answer->body);
  EXPECT_EQ(json["model_version"], "3");
  EXPECT_EQ(json["outputs"][0]["data"][0], 1.0);
}

TEST(InferWire, WhatIsNoNumberGoesThereAndBackAsOthersWriteIt) {
  // Bare as Python's json and Triton write it, in quotes as JSON allows; a text that only holds the word stays as it is.
  for (const char* data : {"[1,NaN,-Infinity,Infinity]", R"([1,"NaN",["-Infinity","Infinity"]])"}) {
    const auto read = InferParser().parse(
        R"({"id":"a \"NaN\\","inputs":[{"name":"NaN","datatype":"FP32","shape":[4],"data":)" + std::string(data) + "}]}", {});
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->id, "a \"NaN\\");
    EXPECT_EQ(read->inputs[0].name, "NaN");
    const std::vector<float> values = values_of(read->inputs[0]);
    EXPECT_TRUE(std::isnan(values[1]));
    EXPECT_THAT(values, ElementsAre(1, ::testing::_, -INFINITY, INFINITY));
    const InferPart part{"y", DataType::kFp32, read->inputs[0].shape, read->inputs[0].values(), false};
    const auto written = write_infer_answer("m", 1, "", std::array{part});
    ASSERT_TRUE(written.ok());
    EXPECT_THAT(written->body, HasSubstr("\"data\":[1,NaN,-Infinity,Infinity]"));
  }
  EXPECT_THAT(error_of(input(R"("shape":[1],"data":["Nan"])")), HasSubstr("no number"));
}

std::string text_input(const std::string& shape, const std::string& rest) {
  return R"({"inputs":[{"name":"x","datatype":"BYTES","shape":)" + shape + "," + rest + "}]}";
}

std::vector<std::string> texts_of(const InferTensor& tensor) {
  std::vector<std::string> texts;
  for (std::span<const std::byte> rest = tensor.values(); const auto text = take_text(rest);)
    texts.emplace_back(*text);
  return texts;
}

TEST(InferWire, TextsAreReadFromJsonAndFromBinary) {
  const auto read = InferParser().parse(text_input("[2,2]", R"("data":[["a",""],["ä\u0000b","\ud83d\ude00"]])"), {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(texts_of(read->inputs[0]), ElementsAre("a", "", std::string("ä\0b", 4), "😀"));
  const std::string data("\1\0\0\0a\0\0\0\0\2\0\0\0\xff\0", 15);
  const std::string head = text_input("[3]", R"("parameters":{"binary_data_size":15})");
  const std::string body = head + data;  // what is read points into it
  const auto binary = InferParser().parse(body, head.size());
  ASSERT_TRUE(binary.ok()) << binary.error().message;
  EXPECT_THAT(texts_of(binary->inputs[0]), ElementsAre("a", "", std::string("\xff\0", 2)));
}

TEST(InferWire, TextsThatDoNotFitAreNamed) {
  const auto binary = [](const std::string& shape, const std::string& data) {
    const std::string head = text_input(shape, fmt::format(R"("parameters":{{"binary_data_size":{}}})", data.size()));
    return error_of(head + data, head.size());
  };
  EXPECT_EQ(binary("[1]", std::string("\1\0\0\0a", 5)), "accepted");
  EXPECT_EQ(binary("[0]", ""), "accepted");
  EXPECT_EQ(binary("[1]", std::string("\2\0\0\0a", 5)), "input x: value 1 of 1: its length says 2 bytes, 1 are left");
  EXPECT_EQ(binary("[2]", std::string("\1\0\0\0a\1\0\0", 8)),
            "input x: value 2 of 2: a length of 4 bytes is expected, 3 are left");
  EXPECT_EQ(binary("[1]", "\xff\xff\xff\xff"), "input x: value 1 of 1: its length says 4294967295 bytes, 0 are left");
  EXPECT_EQ(binary("[3]", std::string("\1\0\0\0a", 5)), "input x: 1 values of BYTES; its shape says 3");
  EXPECT_EQ(binary("[4294967296]", std::string("\1\0\0\0a", 5)), "input x: 1 values of BYTES; its shape says 4294967296");
  EXPECT_EQ(binary("[1]", std::string("\1\0\0\0ab", 6)), "input x: 1 bytes behind its 1 values");
  EXPECT_THAT(error_of(text_input("[1]", R"("data":[1])")), HasSubstr("input x: data that is no text"));
  EXPECT_THAT(error_of(text_input("[1]", R"("data":["a","b"])")), HasSubstr("more data"));
  EXPECT_THAT(error_of(text_input("[2]", R"("data":["a"])")), HasSubstr("1 values; its shape says 2"));
  EXPECT_THAT(error_of(text_input("[1]", "\"data\":[\"\xff\"]")), HasSubstr("JSON"));
}

TEST(InferWire, TextsAreWrittenWhereJsonHoldsThem) {
  std::vector<std::byte> values, broken;
  const std::array<std::string_view, 4> texts = {"plain", "\"\\\x01", "ä😀", std::string_view("\0", 1)};
  for (const std::string_view text : texts)
    append_text(values, text);
  append_text(broken, "\xff");
  const std::array<int64_t, 1> four = {4}, one = {1};
  const auto answer = write_infer_answer("m", 1, "", std::array{InferPart{"y", DataType::kBytes, four, values, false}});
  ASSERT_TRUE(answer.ok());
  const auto json = nlohmann::json::parse(answer->body);
  EXPECT_EQ(json["outputs"][0]["data"].get<std::vector<std::string>>(), std::vector<std::string>(texts.begin(), texts.end()));
  EXPECT_EQ(json_room(DataType::kBytes, values), json["outputs"][0]["data"].dump().size() - 1) << "commas between, one less";
  const auto refused = write_infer_answer("m", 1, "", std::array{InferPart{"y", DataType::kBytes, one, broken, false}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("y holds a text that is no UTF-8"));
  const auto binary = write_infer_answer("m", 1, "", std::array{InferPart{"y", DataType::kBytes, one, broken, true}});
  ASSERT_TRUE(binary.ok());
  EXPECT_EQ(binary->body.substr(*binary->head_bytes), std::string("\1\0\0\0\xff", 5));
}

/// A tensor of one type as text, and as bytes in hexadecimal: written down by hand.
struct Written {
  DataType type;
  std::string text;
  int64_t values;
  std::string bytes;
};

std::vector<Written> written_in_every_type() {
  return {{DataType::kBool, "true,false", 2, "0100"},
          {DataType::kUint8, "0,255", 2, "00ff"},
          {DataType::kUint16, "65535,258", 2, "ffff0201"},
          {DataType::kUint32, "4294967295", 1, "ffffffff"},
          {DataType::kUint64, "18446744073709551615,9007199254740993", 2, "ffffffffffffffff0100000000002000"},
          {DataType::kInt8, "-128,127", 2, "807f"},
          {DataType::kInt16, "-32768,-2", 2, "0080feff"},
          {DataType::kInt32, "-2147483648", 1, "00000080"},
          {DataType::kInt64, "-9223372036854775808,9007199254740993", 2, "00000000000000800100000000002000"},
          {DataType::kFp16, "1.5,-65504", 2, "003efffb"},
          {DataType::kBf16, "1.5,-0.0078125", 2, "c03f00bc"},
          {DataType::kFp32, "1.5,-2", 2, "0000c03f000000c0"},
          {DataType::kFp64, "0.1", 1, "9a9999999999b93f"},
          {DataType::kBytes, R"("ab","","\"")", 3,
           "02000000616200000000"
           "0100000022"}};
}

std::string in_hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text += fmt::format("{:02x}", static_cast<int>(byte));
  return text;
}

std::string typed_input(DataType type, int64_t values, const std::string& rest) {
  return fmt::format(R"({{"inputs":[{{"name":"x","datatype":"{}","shape":[{}],{}}}]}})", name_of(type), values, rest);
}

TEST(InferWire, ReadsAndWritesEveryType) {
  const std::vector<Written> all = written_in_every_type();
  ASSERT_EQ(all.size(), kDataTypes);
  for (const Written& written : all) {
    const std::string name(name_of(written.type));
    const auto read = InferParser().parse(typed_input(written.type, written.values, "\"data\":[" + written.text + "]"), {});
    ASSERT_TRUE(read.ok()) << name << read.error().message;
    const InferTensor& tensor = read->inputs[0];
    EXPECT_EQ(tensor.type, written.type);
    EXPECT_EQ(in_hexadecimal(tensor.values()), written.bytes) << name;
    const auto answer = [&](bool binary) {
      return write_infer_answer("m", 1, "", std::array{InferPart{"y", written.type, tensor.shape, tensor.values(), binary}});
    };
    EXPECT_THAT(answer(false)->body, HasSubstr("\"datatype\":\"" + name + "\"")) << name;
    EXPECT_THAT(answer(false)->body, HasSubstr("\"data\":[" + written.text + "]")) << name;
    const InferMessage message = *answer(true);
    EXPECT_EQ(in_hexadecimal(std::as_bytes(std::span(message.body).subspan(*message.head_bytes))), written.bytes) << name;
  }
}

TEST(InferWire, BinaryDataIsAsLongAsItsTypeSays) {
  for (const Written& written : written_in_every_type()) {
    if (written.type == DataType::kBytes) continue;  // each says its own
    const size_t bytes = written.bytes.size() / 2;
    const std::string head =
        typed_input(written.type, written.values, fmt::format(R"("parameters":{{"binary_data_size":{}}})", bytes));
    EXPECT_EQ(error_of(head + std::string(bytes, '\0'), head.size()), "accepted");
    const std::string longer =
        typed_input(written.type, written.values + 1, fmt::format(R"("parameters":{{"binary_data_size":{}}})", bytes));
    EXPECT_THAT(error_of(longer + std::string(bytes, '\0'), longer.size()),
                HasSubstr(fmt::format("values of {}", size_of(written.type))));
  }
}

TEST(InferWire, RefusesWhatATypeCannotHold) {
  const auto refused = [](DataType type, const std::string& value) {
    return error_of(typed_input(type, 1, "\"data\":[" + value + "]"));
  };
  EXPECT_THAT(refused(DataType::kInt8, "128"), HasSubstr("no whole number from -128 to 127"));
  EXPECT_THAT(refused(DataType::kUint8, "-1"), HasSubstr("no whole number from 0 to 255"));
  EXPECT_THAT(refused(DataType::kInt32, "1.5"), HasSubstr("no whole number"));
  EXPECT_THAT(refused(DataType::kInt64, "true"), HasSubstr("no whole number"));
  EXPECT_THAT(refused(DataType::kInt64, "9223372036854775808"), HasSubstr("no whole number"));
  EXPECT_NE(refused(DataType::kUint64, "18446744073709551616"), "accepted");
  EXPECT_THAT(refused(DataType::kBool, "2"), HasSubstr("truth value"));
  EXPECT_THAT(refused(DataType::kFp16, "true"), HasSubstr("no number"));
  EXPECT_EQ(refused(DataType::kBool, "1"), "accepted");
  EXPECT_THAT(refused(DataType::kFp16, "65520"), HasSubstr("no number that its type can hold"));
  EXPECT_THAT(refused(DataType::kFp32, "-1e39"), HasSubstr("no number that its type can hold"));
  EXPECT_THAT(refused(DataType::kBool, "\"NaN\""), HasSubstr("truth value"));
  EXPECT_EQ(refused(DataType::kFp16, "Infinity"), "accepted");
}

}  // namespace
}  // namespace stint
