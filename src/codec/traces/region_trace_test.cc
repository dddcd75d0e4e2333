#include "codec/traces/region_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string zones_error(std::string_view text) {
  const auto trace = read_zones_trace(text, "z.csv");
  return trace.ok() ? "" : trace.error().message;
}

std::string prices_error(std::string_view rows) {
  const auto prices = read_zone_prices("zone,region,spot_usd_per_hour,on_demand_usd_per_hour\n" + std::string(rows), "p.csv");
  return prices.ok() ? "" : prices.error().message;
}

std::string transfers_error(std::string_view rows) {
  const auto prices = read_transfer_prices("from_region,to_region,usd_per_gb\n" + std::string(rows), "e.csv");
  return prices.ok() ? "" : prices.error().message;
}

TEST(RegionTrace, ReadsZonesWithTheirTicks) {
  const auto trace =
      read_zones_trace("tick,time_utc,b-1,a-1\n5,2025-10-04T00:10:00Z,16,0\n6,2025-10-04T00:20:00Z,0,1\n", "z.csv");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->tick_s, 600);
  ASSERT_EQ(trace->zones.size(), 2U);
  EXPECT_EQ(trace->zones[0].zone, "b-1");
  EXPECT_THAT(trace->zones[0].available, ElementsAre(1, 0));
  EXPECT_THAT(trace->zones[1].available, ElementsAre(0, 1));
}

TEST(RegionTrace, SaysWhereATraceIsWrong) {
  EXPECT_THAT(zones_error(""), HasSubstr("z.csv: empty; expected the columns tick,time_utc"));
  EXPECT_THAT(zones_error("tick,zone\n"), HasSubstr("time_utc"));
  EXPECT_THAT(zones_error("tick,time_utc\n0,2025-10-04T00:10:00Z\n"), HasSubstr("no zones"));
  EXPECT_THAT(zones_error("tick,time_utc,a,a\n"), HasSubstr("z.csv"));
  EXPECT_THAT(zones_error("tick,time_utc,a\n0,2025-10-04T00:10:00Z,1\n"), HasSubstr("fewer than two ticks"));
  EXPECT_THAT(zones_error("tick,time_utc,a\n0,2025-10-04T00:10:00Z,1\n2,2025-10-04T00:20:00Z,1\n"),
              HasSubstr("z.csv:3: tick 2 follows tick 0"));
  EXPECT_THAT(zones_error("tick,time_utc,a\n0,yesterday,1\n"), HasSubstr("z.csv:2: time_utc is `yesterday`"));
  EXPECT_THAT(zones_error("tick,time_utc,a\n0,2025-10-04T00:10:00Z,-1\n"), HasSubstr("z.csv:2: a is `-1`"));
  EXPECT_THAT(zones_error("tick,time_utc,a\n0,2025-10-04T00:10:00Z,1,1\n"), HasSubstr("z.csv:2: 4 fields, expected 3"));
  EXPECT_THAT(zones_error("tick,time_utc,a\n0,2025-10-04T00:10:00Z,1\n1,2025-10-04T00:10:00Z,1\n"), HasSubstr("z.csv:3"));
  EXPECT_THAT(zones_error("tick,time_utc,a\n0,2025-10-04T00:10:00Z,1\n1,2025-10-04T00:20:00Z,1\n2,2025-10-04T01:20:00Z,1\n"),
              HasSubstr("z.csv:4: 2025-10-04T01:20:00Z: this tick began 3600 s after the one before, the others 600 s"));
}

TEST(RegionTrace, ReadsPricesExactly) {
  const auto prices = read_zone_prices(
      "zone,region,spot_usd_per_hour,on_demand_usd_per_hour\nasia-south2-b,asia-south2,69.910115776,99.1213232\n", "p.csv");
  ASSERT_TRUE(prices.ok()) << prices.error().message;
  ASSERT_EQ(prices->size(), 1U);
  EXPECT_EQ(prices->front().spot, Rate::per_hour(Money::nanos(69'910'115'776)));
  EXPECT_EQ(prices->front().on_demand, Rate::per_hour(Money::nanos(99'121'323'200)));
  const auto transfers = read_transfer_prices("from_region,to_region,usd_per_gb\na,b,0.02\na,a,0.00\n", "e.csv");
  ASSERT_TRUE(transfers.ok()) << transfers.error().message;
  EXPECT_EQ(transfers->at({"a", "b"}), Money::nanos(20'000'000));
}

TEST(RegionTrace, SaysWhichPriceIsWrong) {
  EXPECT_THAT(prices_error(""), HasSubstr("p.csv: no prices"));
  EXPECT_THAT(prices_error("a,r,1,2\na,r,1,2\n"), HasSubstr("p.csv:3: zone a stands twice"));
  EXPECT_THAT(prices_error("a,r,-1,2\n"), HasSubstr("p.csv:2: spot_usd_per_hour is `-1`"));
  EXPECT_THAT(prices_error("a,r,0,2\n"), HasSubstr("p.csv:2: spot_usd_per_hour is 0"));
  EXPECT_THAT(prices_error("a,r,1,nan\n"), HasSubstr("p.csv:2: on_demand_usd_per_hour is `nan`"));
  EXPECT_THAT(prices_error("a,r,1,1e99\n"), HasSubstr("p.csv:2"));
  EXPECT_THAT(prices_error("a,,1,2\n"), HasSubstr("p.csv:2: region is empty"));
  EXPECT_THAT(prices_error("a,r,1\n"), HasSubstr("p.csv:2: 3 fields, expected 4"));
}

TEST(RegionTrace, SaysWhichTransferIsWrong) {
  EXPECT_THAT(transfers_error("a,b,0.02\na,b,0.02\n"), HasSubstr("e.csv:3: a to b stands twice"));
  EXPECT_THAT(transfers_error("a,b,free\n"), HasSubstr("e.csv:2: usd_per_gb is `free`"));
  EXPECT_THAT(transfers_error("a,a,0.01\n"), HasSubstr("e.csv:2: a to a: a transfer within a region"));
  EXPECT_THAT(transfers_error("a,,0.01\n"), HasSubstr("e.csv:2: to_region is empty"));
}

}  // namespace
}  // namespace stint
