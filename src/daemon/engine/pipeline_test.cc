#include "daemon/engine/pipeline.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string error_of(std::string_view json) {
  const auto stages = parse_pipeline(json);
  return stages.ok() ? "none" : stages.error().message;
}

TEST(Pipeline, PutsEachStageBehindThoseItWaitsFor) {
  const auto stages = parse_pipeline(R"({"name":"n","queue":"agency","tags":{"project":"x"},"jobs":[
    {"name":"report","command":["r"],"after":["train","clean"]},
    {"name":"train","command":["t"],"gpus":2,"after":["clean"]},
    {"name":"clean","command":["c"],"queue":"agency/cpu"}]})");
  ASSERT_TRUE(stages.ok()) << stages.error().message;
  ASSERT_EQ(stages->size(), 3U);
  EXPECT_EQ((*stages)[0].request.name, "clean");
  EXPECT_EQ((*stages)[0].request.queue, "agency/cpu");
  EXPECT_THAT((*stages)[0].after, IsEmpty());
  EXPECT_EQ((*stages)[1].request.name, "train");
  EXPECT_EQ((*stages)[1].request.queue, "agency");
  EXPECT_EQ((*stages)[1].request.tags.front().second, "x");
  EXPECT_THAT((*stages)[1].after, ElementsAre(0U));
  EXPECT_THAT((*stages)[2].after, ElementsAre(1U, 0U));
}

TEST(Pipeline, SaysWhichStageIsWrong) {
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of(R"({"jobs":[]})"), HasSubstr("1 to 1000"));
  EXPECT_THAT(error_of(R"({"jobs":[{"name":"a","queue":"q","command":["x"],"gpu":1}]})"), HasSubstr("jobs 1"));
  EXPECT_THAT(error_of(R"({"queue":"q","jobs":[{"command":["x"]}]})"), HasSubstr("'name' is missing"));
  EXPECT_THAT(error_of(R"({"queue":"q","jobs":[{"name":"a","command":["x"]},{"name":"a","command":["x"]}]})"),
              HasSubstr("twice"));
  EXPECT_THAT(error_of(R"({"queue":"q","jobs":[{"name":"a","command":["x"],"after":["b"]}]})"), HasSubstr("waits for 'b'"));
  EXPECT_THAT(error_of(R"({"queue":"q","jobs":[{"name":"a","command":["x"],"after":["b"]},
                                               {"name":"b","command":["x"],"after":["a"]}]})"),
              HasSubstr("for itself"));
  EXPECT_THAT(error_of(R"({"queue":"q","jobs":[{"name":"a","command":["x"],"after":[3]}]})"), HasSubstr("list of names"));
  EXPECT_THAT(error_of(R"({"que":"q","jobs":[]})"), HasSubstr("'que'"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("deep"));
}

}  // namespace
}  // namespace stint
