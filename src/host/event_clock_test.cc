#include "host/event_clock.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }
Duration s(int64_t seconds) { return Duration::seconds(seconds); }

TEST(EventClock, GoesWithTheWallClock) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.tell(at(0), s(7)), at(0));
  EXPECT_EQ(clock.tell(at(10), s(17)), at(10));
}

TEST(EventClock, SetBackItGoesOnByItselfUntilTheOtherHasCaughtUp) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.tell(at(0), s(0)), at(0));
  EXPECT_EQ(clock.tell(at(-3600), s(10)), at(10));
  EXPECT_EQ(clock.tell(at(-3590), s(20)), at(20));
  EXPECT_EQ(clock.tell(at(-3590), s(20)), at(20)) << "a moment can be asked for twice";
  EXPECT_EQ(clock.tell(at(31), s(30)), at(31));
}

TEST(EventClock, SetForwardItJumpsAlong) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.tell(at(0), s(0)), at(0));
  EXPECT_EQ(clock.tell(at(7200), s(1)), at(7200));
  EXPECT_EQ(clock.tell(at(2), s(2)), at(7201)) << "and does not come back when that was an error";
}

TEST(EventClock, IsNeverEarlierThanWhatAnEarlierProcessTold) {
  EventClock clock(at(100));
  EXPECT_EQ(clock.tell(at(0), s(5)), at(100));
  EXPECT_EQ(clock.tell(at(10), s(15)), at(110));
}

}  // namespace
}  // namespace stint
