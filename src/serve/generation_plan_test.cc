// What a next step takes, by hand; and what does not go together.
#include "serve/generation_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/serving/tensor_texts.h"

namespace stint::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
Values values_of(std::initializer_list<T> values) {
  return bytes_of(std::span<const T>(values.begin(), values.size()));
}

// A decoder: ids and their mask of a free length, a state of two numbers, a prompt that stays.
const std::vector<TensorSpec> kInputs = {{"ids", DataType::kInt64, {-1}, {"s"}},
                                         {"mask", DataType::kInt32, {-1}, {"s"}},
                                         {"h", DataType::kFp32, {2}},
                                         {"prompt", DataType::kFp32, {1}}};
const std::vector<TensorSpec> kOutputs = {{"next", DataType::kInt64, {}},
                                          {"h_next", DataType::kFp32, {2}},
                                          {"word", DataType::kBytes, {1}},
                                          {"all", DataType::kFp32, {-1}, {"s"}}};
const Sizes kLargest = {{"s", 4}};

ServedGeneration usual() {
  ServedGeneration config;
  config.feed = {{"h", "h_next"}};
  config.append = {{"ids", "next"}};
  config.append_numbers = {{"mask", 1}};
  config.stop = {{"next", 2.0}};
  return config;
}

TEST(GenerationPlan, TheNextStepTakesWhatThisOneGave) {
  const auto plan = GenerationPlan::create(kInputs, kOutputs, kLargest, usual());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->grows());
  GenerationState state{{values_of<int64_t>({5, 6}), values_of<int32_t>({0, 1}), values_of<float>({0, 0}), values_of<float>({7})},
                        {{2}, {2}, {2}, {1}}};
  const Values next = values_of<int64_t>({9}), hidden = values_of<float>({1, -1}), word = {}, all = {};
  const Shape none, two = {2};
  const std::vector<OutputRows> outputs = {{next, none}, {hidden, two}, {word, none}, {all, two}};
  EXPECT_FALSE(plan->stops(outputs));
  EXPECT_TRUE(plan->advance(state, outputs).value());
  EXPECT_EQ(state.values[0], values_of<int64_t>({5, 6, 9}));
  EXPECT_EQ(state.values[1], values_of<int32_t>({0, 1, 1}));
  EXPECT_EQ(state.values[2], hidden);
  EXPECT_EQ(state.values[3], values_of<float>({7})) << "it stays";
  EXPECT_THAT(state.shapes, ElementsAre(Shape{3}, Shape{3}, Shape{2}, Shape{1}));
  EXPECT_TRUE(plan->advance(state, outputs).value());
  EXPECT_FALSE(plan->advance(state, outputs).value()) << "4 is the largest";
  const Values end = values_of<int64_t>({2});
  EXPECT_TRUE(plan->stops(std::vector<OutputRows>{{end, none}, {hidden, two}, {word, none}, {all, two}}));
}

TEST(GenerationPlan, ATextEndsIt) {
  ServedGeneration config = usual();
  config.stop = {{"word", "end"}};
  const auto plan = GenerationPlan::create(kInputs, kOutputs, kLargest, config);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto stops = [&](std::string_view text) {
    Values word;
    append_text(word, text);
    return plan->stops(std::vector<OutputRows>(4, OutputRows{word, {}}));
  };
  EXPECT_TRUE(stops("end"));
  EXPECT_FALSE(stops("ending"));
  EXPECT_FALSE(stops(""));
}

TEST(GenerationPlan, WhatDoesNotGoTogetherIsRefused) {
  const auto why = [](auto change) {
    ServedGeneration config = usual();
    change(config);
    const auto plan = GenerationPlan::create(kInputs, kOutputs, kLargest, config);
    return plan.ok() ? "taken" : plan.error().message;
  };
  EXPECT_EQ(why([](auto&) {}), "taken");
  EXPECT_THAT(why([](auto& c) { c.feed = {{"hidden", "h_next"}}; }), HasSubstr("no input hidden"));
  EXPECT_THAT(why([](auto& c) { c.feed = {{"h", "h"}}; }), HasSubstr("no output h"));
  EXPECT_THAT(why([](auto& c) { c.feed = {{"h", "next"}}; }), HasSubstr("input h is FP32 of [2], output next is INT64 of []"));
  EXPECT_THAT(why([](auto& c) { c.feed["ids"] = "next"; }), HasSubstr("input ids is INT64 of [-1]"));
  EXPECT_THAT(why([](auto& c) { c.feed = {{"prompt", "h_next"}}; }), HasSubstr("input prompt is FP32 of [1]"));
  EXPECT_THAT(why([](auto& c) { c.append_numbers.clear(); }), HasSubstr("input ids becomes longer, mask has to as well"));
  EXPECT_THAT(why([](auto& c) { c.append_numbers["ids"] = 1; }), HasSubstr("input ids is named twice"));
  EXPECT_THAT(why([](auto& c) { c.append["h"] = "next"; }), HasSubstr("named twice"));
  EXPECT_THAT(why([](auto& c) { c.append["prompt"] = "next"; }), HasSubstr("input prompt is no list of a free length"));
  EXPECT_THAT(why([](auto& c) { c.append = {{"ids", "h_next"}}; }), HasSubstr("takes one INT64 at a time"));
  EXPECT_THAT(why([](auto& c) { c.append_numbers["mask"] = 0.5; }), HasSubstr("no value of it is 0.5"));
  EXPECT_THAT(why([](auto& c) { c.stop = {{"nothing", 1.0}}; }), HasSubstr("no output nothing"));
  EXPECT_THAT(why([](auto& c) { c.stop = {{"next", "end"}}; }), HasSubstr("it holds numbers"));
  EXPECT_THAT(why([](auto& c) { c.stop = {{"word", 2.0}}; }), HasSubstr("it holds texts"));
  EXPECT_THAT(why([](auto& c) { c.answers = {"token"}; }), HasSubstr("no output token"));
}

}  // namespace
}  // namespace stint::serve
