#include "documents/serving_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/serving/served_model_file.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

constexpr batching::ServingSetup kSetup{16, Duration::milliseconds(3), 2};
constexpr batching::Promise kPromise{Duration::milliseconds(50), 990};

TEST(ServingConfig, OursIsReadBack) {
  const auto read = read_served_model(write_serving_config(ServingConfigKind::kStint, kSetup, kPromise), "model.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->max_batch, 16);
  EXPECT_EQ(read->max_wait, Duration::milliseconds(3));
  EXPECT_EQ(read->instances, 2);
  EXPECT_EQ(read->promise, Duration::milliseconds(50));
}

TEST(ServingConfig, TimesAreMicrosecondsForTheOthers) {
  const std::string triton = write_serving_config(ServingConfigKind::kTriton, kSetup, kPromise);
  EXPECT_THAT(triton, HasSubstr("max_batch_size: 16\n"));
  EXPECT_THAT(triton, HasSubstr("max_queue_delay_microseconds: 3000\n"));
  EXPECT_THAT(triton, HasSubstr("count: 2"));
  const std::string tf = write_serving_config(ServingConfigKind::kTfServing, kSetup, kPromise);
  EXPECT_THAT(tf, HasSubstr("batch_timeout_micros { value: 3000 }"));
  EXPECT_THAT(tf, HasSubstr("num_batch_threads { value: 2 }"));
  EXPECT_THAT(tf, HasSubstr("max_enqueued_batches { value: 128 }"));  // 2048 requests in batches of 16
}

}  // namespace
}  // namespace stint
