#include "codec/traces/request_counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::HasSubstr;

/// Hours of the period that begins at 1970-01-01T10:00.
const Interval kPeriod = {Instant::from_seconds(36'000), Instant::from_seconds(36'000 + 4 * 3'600)};

Result<CounterIncrease> read(const std::string& values) {
  return read_counter_increase(R"({"status":"success","data":{"resultType":"matrix","result":[)" + values + "]}}", kPeriod,
                               "c.json");
}

TEST(RequestCounter, CountsWhatItWentUpAndBeginsAnewAfterARestart) {
  // 10:00 100, 11:00 160, 12:00 40 (restarted), 14:00 100: 60 + 40 + 60.
  const auto one =
      read(R"({"metric":{"pod":"a"},"values":[[36000,"100"],[39600,"160"],[41000,"NaN"],[43200,"40"],[50400,"100"]]})");
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_DOUBLE_EQ(one->increase, 160);
  EXPECT_EQ(one->known, Duration::hours(4));
}

TEST(RequestCounter, SeriesAddUpAndStepsAcrossTheEndsCountInProportion) {
  // From 09:00 to 11:00 the first went up by 20, half of it within; the second by 30 from 11:00 to 12:00.
  const auto both = read(R"({"values":[[32400,"0"],[39600,"20"]]},{"values":[[39600,"5"],[43200,"35"]]})");
  ASSERT_TRUE(both.ok());
  EXPECT_DOUBLE_EQ(both->increase, 40);
  EXPECT_EQ(both->known, Duration::hours(2));
  EXPECT_EQ(read(R"({"values":[[0,"0"],[3600,"20"]]})")->known, Duration());
}

TEST(RequestCounter, AnotherAnswerIsToldWhatToAsk) {
  EXPECT_THAT(read(R"({"value":[1,"2"]})").error().message, HasSubstr("ask query_range"));
  EXPECT_THAT(read(R"({"values":[[1,"x"]]})").error().message, HasSubstr("'x' is no count"));
  EXPECT_THAT(read(R"({"values":[1]})").error().message, HasSubstr("no [time"));
  EXPECT_THAT(read_counter_increase("{}", kPeriod, "c.json").error().message, HasSubstr("c.json: no `data.result`"));
  EXPECT_THAT(read_counter_increase("{", kPeriod, "c.json").error().message, HasSubstr("not JSON"));
}

}  // namespace
}  // namespace stint
