#include "model/price_rule.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Rate usd(int64_t n) { return Rate::per_hour(Money::units(n)); }
/// 2027-01-15 is a Friday.
Instant at(std::string_view time) { return *parse_instant(time); }

PriceRule nightly(std::vector<std::string> machines, int64_t price) {
  PriceRule rule{.machines = std::move(machines), .hours = {}, .rate = usd(price), .points = {}};
  for (size_t hour = 0; hour < rule.hours.size(); ++hour)
    if (hour % 24 >= 22 || hour % 24 < 6) rule.hours.set(hour);
  return rule;
}

TEST(PriceRule, NamesMachinesByGlobs) {
  const std::vector<PriceRule> rules = {nightly({"gpu-*"}, 1), nightly({"a", "gpu-1"}, 2), nightly({"b"}, 3)};
  EXPECT_THAT(rules_naming("gpu-1", rules), ElementsAre(0, 1));
  EXPECT_THAT(rules_naming("a", rules), ElementsAre(1));
  EXPECT_THAT(rules_naming("c", rules), IsEmpty());
}

TEST(MachinePrices, HoursOfTheWeekComeBackAndTheOwnRateHoldsBetweenThem) {
  const std::vector<PriceRule> rules = {nightly({"*"}, 4)};
  const std::vector<uint32_t> naming = {0};
  const MachinePrices prices(usd(16), rules, naming);
  EXPECT_EQ(prices.at(at("2027-01-15T21:59:59Z")), usd(16));
  EXPECT_EQ(prices.at(at("2027-01-15T22:00:00Z")), usd(4));
  EXPECT_EQ(prices.next_change(at("2027-01-15T08:30:00Z")), at("2027-01-15T22:00:00Z"));
  EXPECT_EQ(prices.next_change(at("2027-01-15T22:00:00Z")), at("2027-01-16T06:00:00Z"));
  // 8 to 22 at 16, 22 to 6 at 4, 6 to 8 at 16.
  Money cost;
  int parts = 0;
  prices.over({at("2027-01-15T08:00:00Z"), at("2027-01-16T08:00:00Z")}, [&](Interval when, Rate rate) {
    cost += rate.over(when.length());
    ++parts;
  });
  EXPECT_EQ(cost, Money::units(14 * 16 + 8 * 4 + 2 * 16));
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(prices.mean_over({at("2027-01-15T21:00:00Z"), at("2027-01-15T23:00:00Z")}), usd(10));
}

TEST(MachinePrices, AnInstantsPriceHoldsUntilTheNextAndTheFirstRuleThatSaysSomethingCounts) {
  std::vector<PriceRule> rules = {{.machines = {"*"},
                                   .hours = {},
                                   .rate = {},
                                   .points = {{at("2027-01-15T10:00:00Z"), usd(3)}, {at("2027-01-15T23:00:00Z"), usd(30)}}},
                                  nightly({"*"}, 4)};
  const std::vector<uint32_t> naming = {0, 1};
  const MachinePrices prices(usd(16), rules, naming);
  EXPECT_EQ(prices.at(at("2027-01-15T01:00:00Z")), usd(4)) << "nothing is said by the first yet";
  EXPECT_EQ(prices.at(at("2027-01-15T09:00:00Z")), usd(16));
  EXPECT_EQ(prices.at(at("2027-01-15T22:00:00Z")), usd(3));
  EXPECT_EQ(prices.at(at("2027-01-20T01:00:00Z")), usd(30));
  EXPECT_EQ(prices.next_change(at("2027-01-15T10:00:00Z")), at("2027-01-15T23:00:00Z"));
  EXPECT_EQ(prices.next_change(at("2027-01-15T23:00:00Z")), MachinePrices::kNoChange);
  EXPECT_EQ(prices.most(), usd(30));
}

TEST(MachinePrices, ThatDoNotVaryAreOnePart) {
  const MachinePrices prices(usd(16), {}, {});
  EXPECT_FALSE(prices.vary());
  EXPECT_EQ(prices.next_change(Instant()), MachinePrices::kNoChange);
  int parts = 0;
  prices.over({Instant(), at("2027-01-15T10:00:00Z")}, [&](Interval, Rate rate) {
    EXPECT_EQ(rate, usd(16));
    ++parts;
  });
  EXPECT_EQ(parts, 1);
}

}  // namespace
}  // namespace stint
