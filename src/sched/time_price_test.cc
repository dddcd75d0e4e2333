#include "sched/time_price.h"

#include <gtest/gtest.h>

#include <array>

#include "base/prng.h"

namespace stint::sched {
namespace {

Instant at(int64_t hour) { return Instant::from_seconds(1'800'000'000) + Duration::hours(hour); }
Rate dollars(int64_t n) { return Rate::per_hour(Money::nanos(n * 1'000'000'000)); }
Money usd(int64_t n) { return Money::nanos(n * 1'000'000'000); }

/// One window per hour; a rate of 0 = not known.
std::vector<PriceWindow> hourly(const std::vector<int64_t>& rates) {
  std::vector<PriceWindow> out;
  for (size_t h = 0; h < rates.size(); ++h)
    if (rates[h] > 0) out.push_back({{at(static_cast<int64_t>(h)), at(static_cast<int64_t>(h) + 1)}, dollars(rates[h])});
  return out;
}

TEST(CheapestSlot, WaitsForCheapHoursWithinTheDeadline) {
  const auto windows = hourly({9, 9, 2, 2, 9, 1, 1});
  const std::array<PriceWindows, 1> one = {windows};
  const Slot early = cheapest_slot(one, {Duration::hours(2), at(0), at(5)}).value();
  EXPECT_EQ(early.start, at(2));
  EXPECT_EQ(early.cost, usd(4));
  EXPECT_EQ(cheapest_slot(one, {Duration::hours(2), at(0), at(7)})->start, at(5));
  EXPECT_EQ(cheapest_slot(one, {Duration::hours(3), at(0), at(2)}), std::nullopt);
}

TEST(CheapestSlot, NeverRunsWhereNoPriceIsKnownAndChoosesTheMarket) {
  const auto spot = hourly({1, 0, 1, 1});
  const auto on_demand = hourly({3, 3, 3, 3});
  const std::array<PriceWindows, 2> both = {on_demand, spot};
  const Slot slot = cheapest_slot(both, {Duration::hours(2), at(0), at(4)}).value();
  EXPECT_EQ(slot.market, 1U);
  EXPECT_EQ(slot.start, at(2));
  EXPECT_EQ(cheapest_slot(both, {Duration::hours(3), at(0), at(4)})->market, 0U);
}

TEST(CheapestSlot, EndsAtTheDeadlineWhereTheCheapHoursGoOnBeyondIt) {
  const std::vector<PriceWindow> windows = {{{at(0), at(10)}, dollars(9)}, {{at(10), at(100)}, dollars(1)}};
  const std::array<PriceWindows, 1> one = {windows};
  const Slot slot = cheapest_slot(one, {Duration::hours(5), at(0), at(12)}).value();
  EXPECT_EQ(slot.start, at(7));  // 3 × 9 + 2 × 1
  EXPECT_EQ(slot.cost, usd(29));
}

TEST(CheapestSlot, ManyWindowsTakeNoLonger) {
  // A year of hours twice over; one that looked at each window for each start would take 10^8 steps each time.
  std::vector<int64_t> rates(17'520);
  for (size_t h = 0; h < rates.size(); ++h)
    rates[h] = 2 + static_cast<int64_t>(h * 7919 % 97);
  rates[12'345] = rates[12'346] = 1;
  const auto windows = hourly(rates);
  const std::array<PriceWindows, 1> one = {windows};
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(cheapest_slot(one, {Duration::hours(2), at(i), at(17'520)})->start, at(12'345));
}

TEST(CheapestSlot, AgreesWithTryingEveryMinute) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    std::vector<int64_t> rates(8);
    for (int64_t& rate : rates)
      rate = static_cast<int64_t>(random.below(5));
    const auto windows = hourly(rates);
    const std::array<PriceWindows, 1> one = {windows};
    const SlotRequest request = {Duration::minutes(10 + static_cast<int64_t>(random.below(180))), at(0) + Duration::minutes(7),
                                 at(8)};
    std::optional<Money> best;
    for (Instant s = request.not_before; s + request.length <= request.deadline; s = s + Duration::minutes(1)) {
      std::optional<Money> cost = usd(0);
      for (int64_t minute = 0; minute < request.length.whole_seconds() / 60 && cost; ++minute) {
        const auto hour = static_cast<size_t>((s + Duration::minutes(minute) - at(0)).whole_seconds() / 3600);
        cost = rates[hour] > 0 ? std::optional(*cost + Money::nanos(rates[hour] * 1'000'000'000 / 60)) : std::nullopt;
      }
      if (cost && (!best || *cost < *best)) best = cost;
    }
    const auto slot = cheapest_slot(one, request);
    ASSERT_EQ(slot.has_value(), best.has_value());
    if (slot) {
      EXPECT_NEAR(slot->cost.to_double(), best->to_double(), 1e-6);
    }
  }
}

TEST(CheapestPieces, UsesTheCheapestHoursWhenResumingIsFree) {
  const Pieces p = cheapest_pieces(hourly({1, 9, 1, 9, 2}), {Duration::hours(3), at(0), at(5)}, Duration()).value();
  EXPECT_EQ(p.cost, usd(4));
  EXPECT_EQ(p.when.size(), 3U);
  EXPECT_EQ(cheapest_pieces(hourly({1, 0, 1}), {Duration::hours(3), at(0), at(3)}, Duration()), std::nullopt);
}

TEST(CheapestPieces, ADearResumptionKeepsTheRunTogether) {
  // In pieces: 3 resumptions of half an hour; together: one.
  const Pieces p =
      cheapest_pieces(hourly({2, 3, 2, 3, 2, 3}), {Duration::minutes(150), at(0), at(6)}, Duration::minutes(30)).value();
  EXPECT_EQ(p.when.size(), 1U);
  EXPECT_EQ(p.overhead, Duration::minutes(30));
}

TEST(CheapestPieces, DoesTheWorkBeforeTheDeadlineAndIsNeverDearerThanOneSlot) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    std::vector<int64_t> rates(10);
    for (int64_t& rate : rates)
      rate = static_cast<int64_t>(random.below(6));
    const auto windows = hourly(rates);
    const SlotRequest request = {Duration::minutes(30 + static_cast<int64_t>(random.below(200))), at(0), at(10)};
    const Duration resume = Duration::minutes(static_cast<int64_t>(random.below(20)));
    const auto pieces = cheapest_pieces(windows, request, resume);
    const std::array<PriceWindows, 1> one = {windows};
    const auto slot = cheapest_slot(one, {request.length + resume, request.not_before, request.deadline});
    if (slot) {
      ASSERT_TRUE(pieces.has_value());
      EXPECT_LE(pieces->cost, slot->cost);
    }
    if (!pieces) continue;
    Duration total;
    Instant end = at(0);
    for (const Interval& when : pieces->when) {
      EXPECT_GE(when.begin, end);
      end = when.end;
      total += when.length();
    }
    EXPECT_LE(end, request.deadline);
    EXPECT_EQ(total, request.length + pieces->overhead);
  }
}

TEST(OffPeakWindows, LeaveOutTheBusyHoursOfTheWeek) {
  WeekHours busy;
  for (size_t day = 0; day < 5; ++day)
    for (size_t hour = 8; hour < 20; ++hour)
      busy.set(day * 24 + hour);
  const Instant monday = from_civil({.year = 2026, .month = 11, .day = 16});
  const auto windows = off_peak_windows(busy, {monday, monday + Duration::hours(48)}, dollars(1));
  ASSERT_EQ(windows.size(), 3U);
  EXPECT_EQ(windows[0].when, (Interval{monday, monday + Duration::hours(8)}));
  EXPECT_EQ(windows[1].when, (Interval{monday + Duration::hours(20), monday + Duration::hours(32)}));
}

}  // namespace
}  // namespace stint::sched
