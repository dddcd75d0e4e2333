#include "daemon/engine/order_desk.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr LaunchKey kFirst{1, 0, 0}, kSecond{2, 0, 0};

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }

Report report(ReportKind kind, const LaunchKey& key) { return {.kind = kind, .key = key, .at = at(0), .status = {}}; }

TEST(OrderDesk, WhatIsNotAnsweredIsToldAgain) {
  OrderDesk desk;
  desk.want(kFirst, LaunchWish::kStart);
  EXPECT_THAT(desk.due(at(0), true), ElementsAre(Pair(kFirst, LaunchWish::kStart)));
  desk.told(kFirst, at(0), {});
  EXPECT_THAT(desk.due(at(29), true), IsEmpty()) << "its answer is awaited";
  EXPECT_THAT(desk.due(at(30), true), ElementsAre(Pair(kFirst, LaunchWish::kStart)));
  desk.answered(report(ReportKind::kStarted, kFirst));
  EXPECT_FALSE(desk.has(kFirst));
}

TEST(OrderDesk, AStopWaitsForItsGraceAndForNothingButTheEnd) {
  OrderDesk desk;
  desk.want(kFirst, LaunchWish::kStop);
  desk.told(kFirst, at(0), Duration::seconds(60));
  desk.answered(report(ReportKind::kStarted, kFirst));
  EXPECT_TRUE(desk.has(kFirst)) << "that it runs is no answer to a stop";
  EXPECT_THAT(desk.due(at(89), true), IsEmpty());
  EXPECT_THAT(desk.due(at(90), true), ElementsAre(Pair(kFirst, LaunchWish::kStop)));
  desk.answered(report(ReportKind::kLost, kFirst));
  EXPECT_FALSE(desk.has(kFirst));
}

TEST(OrderDesk, WhatIsToEndIsNotStarted) {
  OrderDesk desk;
  desk.want(kFirst, LaunchWish::kStart);
  desk.told(kFirst, at(0), {});
  desk.want(kFirst, LaunchWish::kStop);
  desk.want(kFirst, LaunchWish::kStart);
  EXPECT_THAT(desk.due(at(0), true), ElementsAre(Pair(kFirst, LaunchWish::kStop))) << "told at once";
  desk.want(kFirst, LaunchWish::kKill);
  EXPECT_THAT(desk.due(at(0), true), ElementsAre(Pair(kFirst, LaunchWish::kKill)));
}

TEST(OrderDesk, StartsMayHaveToWaitWhereStopsDoNot) {
  OrderDesk desk;
  desk.want(kFirst, LaunchWish::kStart);
  desk.want(kSecond, LaunchWish::kStop);
  EXPECT_THAT(desk.due(at(0), false), ElementsAre(Pair(kSecond, LaunchWish::kStop)));
}

TEST(OrderDesk, ARefusedStartIsTriedAgainSoonAndSaysForHowLongItHasBeen) {
  OrderDesk desk;
  desk.want(kFirst, LaunchWish::kStart);
  desk.told(kFirst, at(0), {});
  EXPECT_EQ(desk.refused(kFirst, at(10)), Duration::seconds(10));
  EXPECT_THAT(desk.due(at(10), true), IsEmpty()) << "not at the same instant";
  EXPECT_THAT(desk.due(at(11), true), ElementsAre(Pair(kFirst, LaunchWish::kStart)));
  desk.told(kFirst, at(11), {});
  EXPECT_EQ(desk.refused(kFirst, at(121)), Duration::seconds(121)) << "since it was told first";
  EXPECT_EQ(desk.refused(kSecond, at(121)), Duration()) << "of nothing that is wanted";
}

TEST(OrderDesk, WhatIsForgottenIsWantedNoMore) {
  OrderDesk desk;
  desk.want(kFirst, LaunchWish::kStop);
  desk.forget(kFirst);
  EXPECT_THAT(desk.due(at(0), true), IsEmpty());
  EXPECT_THAT(desk.take_forgotten(), ElementsAre(kFirst));
  EXPECT_THAT(desk.take_forgotten(), IsEmpty());
}

}  // namespace
}  // namespace stint
