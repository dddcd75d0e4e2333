#include "codec/traces/spot_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string trace_error(std::string_view text) {
  const auto trace = read_spot_trace(text, "t.json");
  return trace.ok() ? "" : trace.error().message;
}

TEST(SpotTrace, ReadsAvailabilityAndPassesOverTheRest) {
  const auto trace = read_spot_trace(R"({"prices": [0.9, {"x": [1]}], "metadata": {"zone": "a", "gap_seconds": 6e2},
  "data": [1, 0, 4 , 0]})",
                                     "a/us-west-2a_v100_1.json.gz");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->name, "us-west-2a_v100_1");
  EXPECT_EQ(trace->tick_s, 600);
  EXPECT_THAT(trace->available, ElementsAre(1, 0, 1, 0));
}

TEST(SpotTrace, NamesComeFromFiles) {
  EXPECT_EQ(spot_trace_name("x.json"), "x");
  EXPECT_EQ(spot_trace_name("/a.b/x.json.gz"), "x");
  EXPECT_EQ(spot_trace_name("-"), "-");
}

TEST(SpotTrace, SaysWhereATraceIsWrong) {
  EXPECT_THAT(trace_error(""), HasSubstr("t.json:1: expected an object"));
  EXPECT_THAT(trace_error("{\"metadata\": {\"gap_seconds\": 600},\n\"data\": [1,\n-1]}"),
              HasSubstr("t.json:3: data: expected a whole"));
  EXPECT_THAT(trace_error("{\"metadata\": {\"gap_seconds\": 0.5}, \"data\": []}"),
              HasSubstr("gap_seconds: expected a whole number"));
  EXPECT_THAT(trace_error("{\"metadata\": {\"gap_seconds\": 600}, \"data\": [1 0]}"), HasSubstr("expected a comma"));
  EXPECT_THAT(trace_error("{\"metadata\": {\"gap_seconds\": 600}, \"data\": [1, 0"), HasSubstr("expected a comma"));
  EXPECT_THAT(trace_error("{\"metadata\": {\"gap_seconds\": 600}, \"data\": [1, true]}"), HasSubstr("at `true"));
  EXPECT_THAT(trace_error("{\"data\": [1]}"), HasSubstr("no metadata.gap_seconds"));
  EXPECT_THAT(trace_error("{\"metadata\": {\"gap_seconds\": 600}}"), HasSubstr("no data"));
  EXPECT_THAT(trace_error("{\"metadata\": {\"gap_seconds\": 600}, \"data\": []} x"), HasSubstr("something follows"));
}

class SpotWindows : public testing::Test {
 protected:
  const std::vector<SpotTrace> traces_ = {{"b", 600, {0, 1, 0, 1}}, {"a", 600, {1, 1}}};
  std::string error(std::string_view rows) {
    const auto windows = read_spot_windows("trace,sample,start_tick,length_ticks\n" + std::string(rows), traces_, "w.csv");
    return windows.ok() ? "" : windows.error().message;
  }
};

TEST_F(SpotWindows, AreReadInTheirOrder) {
  const auto windows = read_spot_windows("sample,trace,length_ticks,start_tick\n7,a,2,0\n0,b,1,3\n", traces_, "w.csv");
  ASSERT_TRUE(windows.ok()) << windows.error().message;
  ASSERT_EQ(windows->size(), 2U);
  EXPECT_EQ((*windows)[0].trace, 1U);
  EXPECT_EQ((*windows)[0].sample, 7);
  EXPECT_EQ((*windows)[1].start_tick, 3U);
  EXPECT_EQ((*windows)[1].length_ticks, 1U);
}

TEST_F(SpotWindows, SayWhereTheyAreWrong) {
  EXPECT_THAT(error("a,0,0,2\nc,0,0,1\n"), HasSubstr("w.csv:3: no trace `c`"));
  EXPECT_THAT(error("a,0,1,2\n"), HasSubstr("w.csv:2: length_ticks is `2`, expected a whole number from 0 to 1"));
  EXPECT_THAT(error("a,0,x,2\n"), HasSubstr("w.csv:2: start_tick is `x`"));
  EXPECT_THAT(error("a,0,0\n"), HasSubstr("w.csv:2: 3 fields, expected 4"));
  EXPECT_THAT(error("a,0,0,2\na,0,0,1\n"), HasSubstr("w.csv:3: sample 0 of a stands twice"));
  EXPECT_THAT(read_spot_windows("trace,sample\n", traces_, "w.csv").error().message, HasSubstr("start_tick"));
  EXPECT_THAT(read_spot_windows("", traces_, "w.csv").error().message, HasSubstr("w.csv: empty"));
}

}  // namespace
}  // namespace stint
