#include "cli/decide/batch_curve_files.h"

#include <gmock/gmock.h>

#include "host/file.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

class BatchCurveFiles : public ::testing::Test {
 protected:
  /// What perf_analyzer -f writes of a batch that took so long.
  std::string file(const std::string& name, int64_t compute_us) {
    const std::string path = scratch_ / name;
    const std::string text = fmt::format(
        "Concurrency,Inferences/Second,Server Queue,Server Compute Input,Server Compute Infer,Server Compute "
        "Output\n1,100,5,0,{},0\n",
        compute_us);
    EXPECT_TRUE(write_file_atomically(path, text).ok());
    return path;
  }
  static std::string why_not(const std::string& curve) {
    const auto curves = load_batch_curves({curve});
    return curves.ok() ? "" : curves.error().message;
  }

  ScratchDir scratch_;
};

// Batches of 1 in 10 ms and of 8 in 17 ms: those between lie on the line from 10 to 17.
TEST_F(BatchCurveFiles, PerfAnalyzersFilesMakeOneCurve) {
  const std::string one = file("b1.csv", 10'000), eight = file("b8.csv", 17'000);
  const auto curves = load_batch_curves({fmt::format("search=8:{},1:{}", eight, one)});
  ASSERT_TRUE(curves.ok()) << curves.error().message;
  ASSERT_TRUE(curves->contains("search"));
  const batching::BatchTable by_hand(batching::BatchingReplica{.batch_ms = {10, 11, 12, 13, 14, 15, 16, 17}});
  for (const double busy : {0.2, 0.5, 0.8})
    EXPECT_NEAR(curves->at("search")->share_at(busy), by_hand.share_at(busy), 1e-9) << busy;
}

TEST_F(BatchCurveFiles, WhatIsWrongIsNamed) {
  const std::string one = file("b1.csv", 10'000), eight = file("b8.csv", 17'000), none = file("none.csv", 0);
  EXPECT_THAT(why_not("search=8:" + eight), HasSubstr("a batch of 1"));
  EXPECT_THAT(why_not(fmt::format("search=1:{},1:{}", one, one)), HasSubstr("a batch of 1 is there twice"));
  EXPECT_THAT(why_not(fmt::format("search=1:{},{}", one, eight)), HasSubstr("write SIZE:FILE"));
  EXPECT_THAT(why_not(fmt::format("search=1:{},0:{}", one, eight)), HasSubstr("write SIZE:FILE"));
  EXPECT_THAT(why_not(fmt::format("search=1:{}", none)), HasSubstr("none.csv:2: the server computed for no time"));
  EXPECT_THAT(why_not(fmt::format("search=1:{}.missing", one)), HasSubstr("b1.csv.missing"));
}

}  // namespace
}  // namespace stint
