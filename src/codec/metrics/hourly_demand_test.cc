#include "codec/metrics/hourly_demand.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

std::string error_of(std::string_view bytes) {
  const auto read = read_hourly_demand(bytes, "d.csv");
  return read.ok() ? "read" : read.error().message;
}

TEST(HourlyDemand, TakesNumbersOrInstantsAndAnyOfTheNames) {
  const std::vector<int64_t> expected = {3, 0, 12};
  EXPECT_EQ(*read_hourly_demand("hour,gpus\n0,3\n1,0\n2,12\n", "d.csv"), expected);
  EXPECT_EQ(*read_hourly_demand("count,zone,hour\r\n3,a,7\r\n0,a,8\r\n12,b,9", "d.csv"), expected);
  EXPECT_EQ(
      *read_hourly_demand("hour,instances\n2026-01-31T23:00:00Z,3\n2026-02-01T00:00:00Z,0\n2026-02-01T01:00:00Z,12\n", "d.csv"),
      expected);
}

TEST(HourlyDemand, AHoleIsAnErrorNotAZero) {
  EXPECT_EQ(error_of("hour,gpus\n0,1\n2,1\n"),
            "d.csv:3: hour 2 follows hour 0; every hour must be there once, in order (one without use as 0)");
  EXPECT_NE(error_of("hour,gpus\n4,1\n4,1\n").find("hour 4 follows hour 4"), std::string::npos);
}

TEST(HourlyDemand, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(error_of("hour,gpus\n0,-1\n"), "d.csv:2: gpus is `-1`, expected a whole number from 0 to 10000000 (round a mean up)");
  EXPECT_NE(error_of("hour,gpus\n0,1.5\n").find("gpus is `1.5`"), std::string::npos);
  EXPECT_NE(error_of("hour,gpus\n0,99999999999999999999\n").find("d.csv:2:"), std::string::npos);
  EXPECT_NE(error_of("hour,gpus\n0,\n").find("gpus is ``"), std::string::npos);
  EXPECT_NE(error_of("hour,gpus\n0\n").find("d.csv:2: 1 fields, expected 2"), std::string::npos);
  EXPECT_NE(error_of("hour,gpus\nnoon,1\n").find("hour `noon`"), std::string::npos);
  EXPECT_NE(error_of("hour,gpus\n2026-01-01T00:30:00Z,1\n").find("on the hour"), std::string::npos);
  EXPECT_NE(error_of("hour,watts\n0,1\n").find("no column instances, gpus, demand or count"), std::string::npos);
  EXPECT_NE(error_of("time,gpus\n0,1\n").find("hour"), std::string::npos);
  EXPECT_EQ(error_of("hour,gpus\n"), "d.csv: a header and no hours; a plan needs at least one");
  EXPECT_EQ(error_of(""), "d.csv: empty; expected the columns hour and instances");
}

}  // namespace
}  // namespace stint
