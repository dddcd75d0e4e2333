#include "codec/serving/served_model_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ServedModelFile, SaysHowAModelIsServed) {
  const auto read = read_served_model(
      R"({"max_batch": 16, "max_wait_ms": 2.5, "preferred": [4, 8], "instances": 2, "queue": 64, "timeout_ms": 50,
          "promise_p99_ms": 40, "pinned": true, "cache": true, "budget_mib": 512, "traffic": {"1": 90, "2": 10}})",
      "model.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->max_batch, 16);
  EXPECT_EQ(read->max_wait, Duration::nanoseconds(2'500'000));
  EXPECT_THAT(read->preferred, ElementsAre(4, 8));
  EXPECT_EQ(read->timeout, Duration::milliseconds(50));
  EXPECT_EQ(read->promise, Duration::milliseconds(40));
  EXPECT_TRUE(read->pinned);
  EXPECT_TRUE(read->cache);
  EXPECT_EQ(read->budget, Bytes::mebi(512));
  EXPECT_THAT(read->traffic, ElementsAre(Pair(1, 90), Pair(2, 10)));
  EXPECT_TRUE(read_served_model("{}", "model.json").ok());
}

TEST(ServedModelFile, SaysWhichVersionAnswersAgain) {
  const auto read = read_served_model(R"({"shadow": {"version": 2, "percent": 5, "tolerance": 0.1}})", "model.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_TRUE(read->shadow);
  EXPECT_EQ(read->shadow->version, 2);
  EXPECT_EQ(read->shadow->percent, 5);
  EXPECT_EQ(read->shadow->tolerance, 0.1);
  EXPECT_EQ(read_served_model(R"({"shadow": {"version": 2}})", "model.json")->shadow->percent, 100);
  for (const char* wrong : {R"({})", R"({"version": 0})", R"({"version": 2, "percent": 0})", R"({"version": 2, "percent": 101})",
                            R"({"version": 2, "tolerance": -1})", R"({"version": 2, "part": 3})", "7"})
    EXPECT_FALSE(read_served_model(fmt::format(R"({{"shadow": {}}})", wrong), "model.json").ok()) << wrong;
}

TEST(ServedModelFile, SaysWhichVersionGetsMoreStepByStep) {
  const auto read =
      read_served_model(R"({"canary": {"version": 2, "percent": [5, 100], "step_s": 60, "least_requests": 20}})", "model.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_TRUE(read->canary);
  EXPECT_EQ(read->canary->version, 2);
  EXPECT_THAT(read->canary->percent, ElementsAre(5, 100));
  EXPECT_EQ(read->canary->step, Duration::minutes(1));
  EXPECT_EQ(read->canary->least_requests, 20);
  EXPECT_THAT(read_served_model(R"({"canary": {"version": 2}})", "model.json")->canary->percent, ElementsAre(1, 10, 50, 100));
  for (const char* wrong :
       {R"({})", R"({"version": 2, "percent": []})", R"({"version": 2, "percent": [50, 10]})",
        R"({"version": 2, "percent": [101]})", R"({"version": 2, "step_s": -1})", R"({"version": 2, "steps": 3})"})
    EXPECT_FALSE(read_served_model(fmt::format(R"({{"canary": {}}})", wrong), "model.json").ok()) << wrong;
}

TEST(ServedModelFile, RefusesWhatIsMisspeltOrOutOfRange) {
  const auto error_of = [](const char* text) {
    const auto read = read_served_model(text, "model.json");
    return read.ok() ? "accepted" : read.error().message;
  };
  EXPECT_THAT(error_of(R"({"max_bach": 1})"), HasSubstr("max_bach"));
  EXPECT_THAT(error_of("{\n\"max_batch\": 0}"), HasSubstr("model.json:"));
  EXPECT_THAT(error_of(R"({"timeout_ms": 0})"), HasSubstr("of 0"));
  EXPECT_THAT(error_of(R"({"traffic": {"1": 0}})"), HasSubstr("no version gets"));
  EXPECT_THAT(error_of(R"({"traffic": {"latest": 1}})"), HasSubstr("no version"));
  EXPECT_THAT(error_of(R"({"tune": true})"), HasSubstr("promise_p99_ms"));
  EXPECT_THAT(error_of(R"({"pinned": "yes"})"), HasSubstr("pinned must be true or false"));
  EXPECT_THAT(error_of("7"), HasSubstr("object"));
}

TEST(ServedModelFile, SaysHowFreeDimensionsAreServed) {
  const auto read = read_served_model(
      R"({"dimensions": {"sequence": {"largest": 384, "pad": {"input_ids": 1}, "sizes": [64, 128]}, "width": {"pad": false}}})",
      "model.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ServedDimension& sequence = read->dimensions.at("sequence");
  EXPECT_EQ(sequence.largest, 384);
  EXPECT_THAT(sequence.pad.value(), ElementsAre(Pair("input_ids", 1)));
  EXPECT_THAT(sequence.sizes, ElementsAre(64, 128));
  EXPECT_FALSE(sequence.never_padded);
  EXPECT_TRUE(read->dimensions.at("width").never_padded);
  EXPECT_FALSE(read->dimensions.at("width").largest);
  const auto texts = read_served_model(R"({"dimensions": {"s": {"pad": {"ids": 1, "words": "[PAD]"}}}})", "model.json");
  ASSERT_TRUE(texts.ok()) << texts.error().message;
  EXPECT_THAT(texts->dimensions.at("s").pad.value(), ElementsAre(Pair("ids", 1)));
  EXPECT_THAT(texts->dimensions.at("s").pad_texts, ElementsAre(Pair("words", "[PAD]")));
  for (const char* wrong : {R"({"largest": 0})", R"({"pad": true})", R"({"pad": {"x": [1]}})", R"({"sizes": [64, 64]})",
                            R"({"sizes": [0]})", R"({"smallest": 1})", "7"})
    EXPECT_FALSE(read_served_model(fmt::format(R"({{"dimensions": {{"s": {}}}}})", wrong), "model.json").ok()) << wrong;
}

TEST(ServedModelFile, SaysWhichAnswersLeadToTheNextRequest) {
  const auto read = read_served_model(
      R"({"generate": {"feed": {"h": "h_next"}, "append": {"ids": "next", "mask": 1}, "stop": {"next": 2}, "steps": 9, "seconds": 1.5,
          "answers": ["next"]}})",
      "model.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_TRUE(read->generate);
  EXPECT_THAT(read->generate->feed, ElementsAre(Pair("h", "h_next")));
  EXPECT_THAT(read->generate->append, ElementsAre(Pair("ids", "next")));
  EXPECT_THAT(read->generate->append_numbers, ElementsAre(Pair("mask", 1)));
  EXPECT_EQ(read->generate->stop, std::pair(std::string("next"), ServedValue(2.0)));
  EXPECT_EQ(read->generate->steps, 9);
  EXPECT_EQ(read->generate->longest, Duration::milliseconds(1500));
  EXPECT_THAT(read->generate->answers, ElementsAre("next"));
  const auto least = read_served_model(R"({"generate": {"feed": {"x": "y"}, "stop": {"y": "end"}}})", "model.json");
  EXPECT_EQ(least->generate->stop, std::pair(std::string("y"), ServedValue("end")));
  EXPECT_EQ(least->generate->steps, 256);
  for (const char* wrong :
       {R"({})", R"({"feed": {}})", R"({"feed": {"x": 1}})", R"({"feed": ["x"]})", R"({"append": {"x": [1]}})",
        R"({"append": {"mask": 1}})", R"({"feed": {"x": "y"}, "stop": {"y": 1, "z": 2}})", R"({"feed": {"x": "y"}, "steps": 0})",
        R"({"feed": {"x": "y"}, "steps": 65537})", R"({"feed": {"x": "y"}, "seconds": 0})",
        R"({"feed": {"x": "y"}, "tokens": 1})", "7"})
    EXPECT_FALSE(read_served_model(fmt::format(R"({{"generate": {}}})", wrong), "model.json").ok()) << wrong;
}

TEST(ServedModelFile, DescribesASyntheticModel) {
  const auto read = read_synthetic_model(
      R"({"inputs": [{"name": "x", "shape": [3, 4]}], "outputs": [{"name": "y", "shape": [2]}], "base_us": 100, "item_us": 2.5})",
      "m");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read->inputs[0].item_shape, ElementsAre(3, 4));
  EXPECT_EQ(read->item, Duration::nanoseconds(2500));
  EXPECT_EQ(read->inputs[0].type, DataType::kFp32);
  const auto typed = [](const std::string& in, const std::string& out) {
    return read_synthetic_model(fmt::format(R"({{"inputs": [{{"name": "x", "datatype": "{}", "shape": [3]}}],
                                                "outputs": [{{"name": "y", "datatype": "{}", "shape": [2]}}]}})",
                                            in, out),
                                "m");
  };
  EXPECT_EQ(typed("INT64", "INT64").value().outputs[0].type, DataType::kInt64);
  EXPECT_THAT(typed("INT64", "BOOL").error().message, HasSubstr("y is BOOL; it repeats the first input, which is INT64"));
  EXPECT_EQ(typed("BYTES", "BYTES").value().outputs[0].type, DataType::kBytes);
  EXPECT_FALSE(read_synthetic_model(R"({"inputs": [], "outputs": []})", "m").ok());
  EXPECT_FALSE(read_synthetic_model(R"({"inputs": [{"name": "x", "shape": [0]}], "outputs": []})", "m").ok());
}

}  // namespace
}  // namespace stint
