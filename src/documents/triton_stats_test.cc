#include "documents/triton_stats.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// As Triton writes it: one model; @param batches  the entries of batch_stats
std::string stats(const std::string& batches) {
  return R"({"model_stats":[{"name":"search","version":"1","last_inference":1785000000000,"inference_count":1300,"execution_count":400,)"
         R"("inference_stats":{},"batch_stats":[)" +
         batches + "]}]}";
}
std::string batch(const char* size, const char* count, const char* input, const char* infer, const char* output) {
  return fmt::format(R"({{"batch_size":{0},"compute_input":{{"count":{1},"ns":{2}}},"compute_infer":{{"count":{1},"ns":{3}}},)"
                     R"("compute_output":{{"count":{1},"ns":{4}}}}})",
                     size, count, input, infer, output);
}

// 200 batches of one in 2 s of inference, 100 ms of input and 100 ms of output: 11 ms each.
TEST(TritonStats, AreMeanTimesOfBatchesBySize) {
  const auto profile =
      read_triton_stats(stats(batch("8", "\"100\"", "\"100000000\"", "\"1500000000\"", "\"100000000\"") + "," +
                              batch("1", "200", "100000000", "2000000000", "100000000") + "," + batch("4", "0", "0", "0", "0")),
                        "stats.json");
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_THAT(profile->measured_sizes(), ElementsAre(1, 8));
  EXPECT_EQ(profile->mean(1), Duration::milliseconds(11));
  EXPECT_EQ(profile->mean(8), Duration::milliseconds(17));
}

TEST(TritonStats, WhatIsNoneIsRefusedByName) {
  const auto why = [](const std::string& text) { return read_triton_stats(text, "stats.json").error().message; };
  EXPECT_THAT(why("batch,ms"), HasSubstr("stats.json: not what Triton answers"));
  EXPECT_THAT(why(R"({"model_stats":[]})"), HasSubstr("0 models or versions"));
  EXPECT_THAT(why(R"({"model_stats":[{"name":"a"}]})"), HasSubstr("no batch_stats"));
  EXPECT_THAT(why(stats(batch("8", "1", "1", "1000000", "1"))), HasSubstr("perf_analyzer -b 1"));
  EXPECT_THAT(why(stats(batch("0", "1", "1", "1", "1"))), HasSubstr("batch_size must be 1"));
  EXPECT_THAT(why(stats(batch("1", "1", "-1", "1", "1"))), HasSubstr("without count and ns"));
  EXPECT_THAT(why(stats(batch("1", "1", "1", "1", "1") + "," + batch("1", "1", "1", "1", "1"))), HasSubstr("batches of 1 twice"));
  EXPECT_THAT(why(stats(R"({"batch_size":1})")), HasSubstr("without 'compute_input'"));
}

}  // namespace
}  // namespace stint
