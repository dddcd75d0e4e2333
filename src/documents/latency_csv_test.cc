#include "documents/latency_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(LatencyCsv, RowsOfADeviceMakeAProfile) {
  const auto profiles = read_latencies(
      "device,price_per_hour,instances,batch,ms\nA10,1.5,1,4,8\nA10,1.5,1,1,2.5\nA10,1.5,2,1,4\nA10,1.5,1,1,3.5\n", "t.csv");
  ASSERT_TRUE(profiles.ok()) << profiles.error().message;
  ASSERT_EQ(profiles->size(), 2U);
  const batching::DeviceProfile& one = (*profiles)[0];
  EXPECT_EQ(one.device, "A10");
  EXPECT_EQ(one.price.per_hour(), Money::nanos(1'500'000'000));
  EXPECT_EQ(one.latency.largest(), 4);
  EXPECT_EQ(one.latency.quantile(1, 0.5), Duration::milliseconds(3));
  EXPECT_EQ((*profiles)[1].instances, 2);
}

TEST(LatencyCsv, WrongRowsAreNamed) {
  const auto error = [](std::string_view bytes) {
    const auto read = read_latencies(bytes, "t.csv");
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_THAT(error("batch,ms\n1,2\n0,3\n"), HasSubstr("t.csv:3: a batch of 0"));
  EXPECT_THAT(error("batch,ms\n1,-2\n"), HasSubstr("t.csv:2: ms `-2`"));
  EXPECT_THAT(error("batch,ms\n1,nan\n"), HasSubstr("t.csv:2: ms"));
  EXPECT_THAT(error("batch,ms\n4,2\n"), HasSubstr("a batch of 1"));
  EXPECT_THAT(error("batch,ms\n"), HasSubstr("no rows"));
  EXPECT_THAT(error("device,price_per_hour,batch,ms\na,1,1,2\na,2,1,2\n"), HasSubstr("two prices"));
}

}  // namespace
}  // namespace stint
