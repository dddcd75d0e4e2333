#include "host/event_clock.h"

#include <gtest/gtest.h>

#include "host/clock.h"
#include "host/file.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }
Duration s(int64_t seconds) { return Duration::seconds(seconds); }

TEST(EventClock, GoesWithTheWallClock) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.read(at(0), s(7)), at(0));
  EXPECT_EQ(clock.read(at(10), s(17)), at(10));
  EXPECT_EQ(clock.ahead_of_wall(), s(0));
}

TEST(EventClock, SetBackItGoesOnByItselfAndLosesOneThousandth) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.read(at(0), s(0)), at(0));
  EXPECT_EQ(clock.read(at(-3600), s(0)), at(0));
  EXPECT_EQ(clock.read(at(-2600), s(1000)), at(999));
  EXPECT_EQ(clock.read(at(-2600), s(1000)), at(999)) << "a moment can be asked for twice";
  EXPECT_EQ(clock.ahead_of_wall(), s(3599));
  EXPECT_EQ(clock.read(at(2000), s(2000)), at(2000)) << "set right again, it is with it";
}

TEST(EventClock, SetForwardItJumpsAlongWhileNothingIsMeasured) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.read(at(0), s(0)), at(0));
  EXPECT_EQ(clock.read(at(7200), s(1)), at(7200));
  EXPECT_EQ(clock.read(at(2), s(1001)), at(8199)) << "and does not come back when that was an error";
}

TEST(EventClock, SetForwardWhileSomethingIsMeasuredItOnlyGainsOneThousandth) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.read(at(0), s(0)), at(0));
  clock.may_step(false);
  EXPECT_EQ(clock.read(at(7200), s(0)), at(0));
  EXPECT_EQ(clock.read(at(8200), s(1000)), at(1001));
  EXPECT_EQ(clock.ahead_of_wall(), s(-7199));
  clock.may_step(true);
  EXPECT_EQ(clock.read(at(8201), s(1001)), at(8201));
}

TEST(EventClock, ASecondAheadIsFollowedWhateverRuns) {
  EventClock clock(at(-50));
  EXPECT_EQ(clock.read(at(0), s(0)), at(0));
  clock.may_step(false);
  EXPECT_EQ(clock.read(at(2), s(1)), at(2));
}

TEST(EventClock, IsNeverEarlierThanWhatAnEarlierProcessGave) {
  EventClock clock(at(100));
  EXPECT_EQ(clock.read(at(0), s(5)), at(100));
  EXPECT_EQ(clock.read(at(1000), s(1005)), at(1099)) << "and it does not stand still until then";
}

TEST(EventClock, CopiesAreTheSameClock) {
  EventClock clock(at(0));
  EventClock copy = clock;
  copy.may_step(false);
  EXPECT_EQ(copy.read(at(0), s(0)), at(0));
  EXPECT_EQ(clock.read(at(7200), s(0)), at(0));
}

TEST(EventClock, StartedAgainOnTheSameBootItGoesOnWithTheClockBefore) {
  const ScratchDir folder;
  const std::string path = folder / "clock.json";
  {
    EventClock clock = EventClock::kept_in(path, at(-50));
    EXPECT_EQ(clock.read(at(0), s(100)), at(0));
    clock.may_step(false);
    EXPECT_EQ(clock.read(at(7200), s(100)), at(0));
  }
  EventClock next = EventClock::kept_in(path, at(0));
  EXPECT_EQ(next.read(at(7230), s(130)), at(30)) << "what ran on has run for 30 s";
  EXPECT_EQ(next.read(at(8230), s(1130)), at(1031));
}

TEST(EventClock, AMarkOfAnotherBootOrADamagedOneIsPassedOver) {
  const ScratchDir folder;
  const std::string path = folder / "clock.json";
  for (const std::string& text : {to_json(ClockMark{"another", s(1)}), std::string("{\"boot_id\":1}"), std::string("x"),
                                  to_json(ClockMark{boot_id(), s(-1)})}) {
    ASSERT_TRUE(write_file_atomically(path, text).ok());
    EXPECT_EQ(EventClock::kept_in(path, at(-50)).read(at(7), s(100)), at(7)) << text;
  }
}

TEST(EventClock, TheMarkIsReadBackAsItWas) {
  const auto mark = parse_clock_mark(to_json(ClockMark{"b-1", s(12)}));
  ASSERT_TRUE(mark.ok());
  EXPECT_EQ(mark->boot_id, "b-1");
  EXPECT_EQ(mark->ahead, s(12));
}

TEST(Clock, TimeSinceBootPassesAndTheBootHasAName) {
  const Duration before = since_boot();
  EXPECT_GT(before, Duration());
  EXPECT_LE(before, since_boot());
  EXPECT_EQ(boot_id().size(), 36U);
}

}  // namespace
}  // namespace stint
