#include "serve/front_cost.h"

#include <gtest/gtest.h>

namespace stint::serve {
namespace {

Measurement of_tensors(int64_t values) {
  Measurement told;
  told.inputs = {{"ids", DataType::kInt64, {-1}, {"length"}}, {"x", DataType::kFp32, {values}}};
  told.outputs = {{"y", DataType::kFp32, {3, -1}, {"length"}}};
  told.largest = {{"length", 4}};
  told.output_shapes = {{3, 4}};
  return told;
}

TEST(FrontCost, CountsTheProcessorTimeOfTakingAndAnswering) {
  const Result<Duration> small = measure_front(of_tensors(4)), large = measure_front(of_tensors(1 << 17));
  ASSERT_TRUE(small.ok()) << small.error().message;
  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_GT(*small, Duration());
  EXPECT_GT(*large, *small) << "half a MiB is copied";
}

TEST(FrontCost, TakesTexts) {
  Measurement told = of_tensors(4);
  told.inputs[0].type = DataType::kBytes;
  EXPECT_TRUE(measure_front(told).ok());
}

}  // namespace
}  // namespace stint::serve
