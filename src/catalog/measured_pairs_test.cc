#include "catalog/measured_pairs.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

PairMeasurement pair(double median, const char* as_of, SharingMode mode = SharingMode::kMps) {
  return {"A100-40GB",          mode, "search", "rank", median, median * 0.9, median * 1.1, 3, "stint bench share on a test",
          *parse_instant(as_of)};
}

TEST(MeasuredPairs, WhatIsWrittenIsRead) {
  std::vector<PairMeasurement> rows = {pair(1.25, "2026-06-01T00:00:00Z"),
                                       pair(2, "2026-07-01T00:00:00Z", SharingMode::kTimeSlice)};
  rows[0].source = "a,b\"c\nd";
  const auto read = parse_pairs("pairs.csv", write_pairs(rows));
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].source, "a b c d");
  EXPECT_EQ((*read)[0].workload, "search");
  EXPECT_EQ((*read)[1].mode, SharingMode::kTimeSlice);
  EXPECT_EQ((*read)[1].median, 2);
}

TEST(MeasuredPairs, NonsenseIsRefusedWithItsLine) {
  const std::string head = write_pairs({});
  const auto wrong = [&](const std::string& row) { return parse_pairs("f", head + row + "\n").error().message; };
  EXPECT_THAT(wrong("A100-40GB,mig,a,b,1,1,1,3,s,2026-06-01"), HasSubstr("f:2: 'mig'"));
  EXPECT_THAT(wrong("A100-40GB,mps,,b,1,1,1,3,s,2026-06-01"), HasSubstr("workload"));
  EXPECT_THAT(wrong("A100-40GB,mps,a,b,1,2,3,3,s,2026-06-01"), HasSubstr("not in this order"));
  EXPECT_THAT(wrong("A100-40GB,mps,a,b,0,0,1,3,s,2026-06-01"), HasSubstr("above zero"));
  EXPECT_THAT(parse_pairs("f", "").error().message, HasSubstr("header is missing"));
}

TEST(MeasuredPairs, TheNewestOfAPairCountsAndNothingIsQuickerThanAlone) {
  const std::vector<PairMeasurement> rows = {pair(1.5, "2026-07-01T00:00:00Z"), pair(3, "2026-06-01T00:00:00Z")};
  const MeasuredPairs pairs(rows);
  EXPECT_EQ(pairs.slowed("A100-40GB", SharingMode::kMps, "search", "rank"), 1.5);
  EXPECT_EQ(pairs.slowed("A100-40GB", SharingMode::kTimeSlice, "search", "rank"), std::nullopt) << "measured another way";
  EXPECT_EQ(pairs.slowed("A100-40GB", SharingMode::kMps, "rank", "search"), std::nullopt) << "each has its own figure";
  EXPECT_EQ(pairs.slowed("L4", SharingMode::kMps, "search", "rank"), std::nullopt);
  const std::vector<PairMeasurement> quick = {pair(0.97, "2026-07-01T00:00:00Z")};
  EXPECT_EQ(MeasuredPairs(quick).slowed("A100-40GB", SharingMode::kMps, "search", "rank"), 1);
}

}  // namespace
}  // namespace stint
