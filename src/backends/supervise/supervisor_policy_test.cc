#include "backends/supervise/supervisor_policy.h"

#include <gtest/gtest.h>

#include <csignal>

namespace stint {
namespace {

using Phase = SupervisorPolicy::Phase;

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }
constexpr ExitStatus kFailed = {.code = 1, .signal = 0};
constexpr ExitStatus kKilled = {.code = 0, .signal = SIGKILL};

SupervisorPolicy running(const SupervisorLimits& limits = {}) {
  SupervisorPolicy policy(limits, at(0));
  policy.started(at(0));
  return policy;
}

TEST(SupervisorPolicy, IsDoneWhenTheCommandEndsWell) {
  SupervisorPolicy policy = running();
  policy.ended(at(5), {});
  EXPECT_EQ(policy.phase(), Phase::kDone);
  EXPECT_EQ(policy.last_end().shell_code(), 0);
}

TEST(SupervisorPolicy, WaitsTwiceAsLongEachTimeAndGivesUp) {
  SupervisorPolicy policy({.retries = 4, .first_pause = Duration::seconds(5), .longest_pause = Duration::seconds(15)}, at(0));
  int64_t now = 0;
  for (const int64_t pause : {5, 10, 15, 15}) {
    policy.started(at(now));
    policy.ended(at(now), kFailed);
    ASSERT_EQ(policy.phase(), Phase::kWaiting);
    EXPECT_EQ(policy.restart_at(), at(now + pause));
    now += pause;
  }
  policy.started(at(now));
  policy.ended(at(now), kKilled);
  EXPECT_EQ(policy.phase(), Phase::kDone) << "four starts again are all";
  EXPECT_EQ(policy.last_end().shell_code(), 137);
  EXPECT_EQ(policy.starts(), 5);
}

TEST(SupervisorPolicy, ACommandThatGetsOnIsStartedAgainWithoutLimit) {
  SupervisorPolicy policy({.retries = 1}, at(0));
  for (int64_t i = 0; i < 100; ++i) {
    policy.started(at(100 * i));
    policy.good_checkpoint(at(100 * i + 50));
    policy.ended(at(100 * i + 60), kFailed);
    ASSERT_EQ(policy.phase(), Phase::kWaiting) << i;
    EXPECT_EQ(policy.restart_at(), at(100 * i + 65));
  }
}

TEST(SupervisorPolicy, WhatCannotBeStartedIsNotTriedAgain) {
  for (const int code : {126, 127}) {
    SupervisorPolicy policy = running({.retries = 3});
    policy.ended(at(0), {.code = code, .signal = 0});
    EXPECT_EQ(policy.phase(), Phase::kDone) << code;
    EXPECT_EQ(policy.last_end().shell_code(), code);
  }
  // Once it has saved, the program is there: what it ends with is its own affair.
  SupervisorPolicy policy = running({.retries = 3});
  policy.good_checkpoint(at(5));
  policy.ended(at(6), {.code = 127, .signal = 0});
  EXPECT_EQ(policy.phase(), Phase::kWaiting);
}

TEST(SupervisorPolicy, ANoticeEndsItWhateverTheExitCode) {
  SupervisorPolicy policy = running({.notice = Duration::seconds(120)});
  policy.notice(at(10), {.left = Duration::seconds(120), .reserve = Duration::seconds(20)});
  EXPECT_EQ(policy.phase(), Phase::kLeaving);
  EXPECT_EQ(policy.kill_at(), at(110)) << "20 s of the 120 are for the last copy";
  EXPECT_EQ(policy.gone_at(), at(130));
  policy.notice(at(50), {.left = Duration::seconds(120)});
  EXPECT_EQ(policy.kill_at(), at(110)) << "a second signal does not begin the time anew";
  policy.ended(at(60), kFailed);
  EXPECT_EQ(policy.phase(), Phase::kDone);
  EXPECT_EQ(policy.last_end().shell_code(), 1);
}

TEST(SupervisorPolicy, SetsAtMostHalfOfTheNoticeAside) {
  SupervisorPolicy policy = running({.notice = Duration::seconds(30)});
  policy.notice(at(0), {.left = Duration::seconds(30), .reserve = Duration::hours(1)});
  EXPECT_EQ(policy.kill_at(), at(15));
}

TEST(SupervisorPolicy, OfTwoNoticesTheOneThatComesFirstHolds) {
  SupervisorPolicy policy = running();
  policy.notice(at(0), {.left = Duration::seconds(300), .reserve = Duration::seconds(10)});
  EXPECT_EQ(policy.kill_at(), at(290));
  policy.notice(at(20), {.left = Duration::seconds(30), .reserve = Duration::seconds(10)});
  EXPECT_EQ(policy.gone_at(), at(50));
  EXPECT_EQ(policy.kill_at(), at(40));
}

TEST(SupervisorPolicy, AMachineThatStaysAfterAllStartsTheCommandAgain) {
  SupervisorPolicy policy = running({.retries = 0});
  policy.notice(at(10), {.left = Duration::seconds(120)});
  policy.stay();
  EXPECT_FALSE(policy.gone_at());
  EXPECT_EQ(policy.phase(), Phase::kLeaving) << "it was told to leave, and does";
  policy.ended(at(20), {});
  EXPECT_EQ(policy.phase(), Phase::kWaiting) << "what ends while it leaves has not ended its work";
  EXPECT_EQ(policy.restart_at(), at(20));
  policy.started(at(20));
  policy.notice(at(30), {.left = Duration::seconds(120)});
  policy.stay();
  policy.notice(at(35), {.left = Duration::seconds(120)});
  policy.ended(at(40), {});
  EXPECT_EQ(policy.phase(), Phase::kDone) << "the next notice holds again";
}

TEST(SupervisorPolicy, ANoticeBetweenTwoRunsStartsNoThird) {
  SupervisorPolicy policy = running();
  policy.ended(at(1), kFailed);
  policy.notice(at(2), {.left = Duration::seconds(120)});
  EXPECT_EQ(policy.phase(), Phase::kDone);
  EXPECT_EQ(policy.last_end().shell_code(), 1);
  EXPECT_EQ(policy.gone_at(), at(122)) << "what is still copied has until then";
}

TEST(SupervisorPolicy, ANoticeAfterTheEndBoundsWhatIsStillCopied) {
  SupervisorPolicy policy = running();
  policy.ended(at(5), {});
  EXPECT_FALSE(policy.gone_at());
  policy.notice(at(10), {.left = Duration::seconds(120)});
  EXPECT_EQ(policy.phase(), Phase::kDone);
  EXPECT_EQ(policy.gone_at(), at(130));
}

TEST(SupervisorPolicy, AlertsOncePerSpellWithoutACheckpoint) {
  SupervisorPolicy policy = running({.retries = 9});
  EXPECT_FALSE(policy.alert_due(at(7199)));
  EXPECT_EQ(policy.alert_at(), at(7200));
  policy.ended(at(7000), kFailed);
  policy.started(at(7005));
  EXPECT_TRUE(policy.alert_due(at(7200))) << "starting again is no checkpoint";
  EXPECT_FALSE(policy.alert_due(at(90000))) << "told once";
  policy.good_checkpoint(at(90000));
  EXPECT_FALSE(policy.alert_due(at(97199)));
  EXPECT_TRUE(policy.alert_due(at(97200)));
}

TEST(SupervisorPolicy, NoAlertWhereNoneIsWanted) {
  SupervisorPolicy policy = running({.alert_after = Duration()});
  EXPECT_FALSE(policy.alert_at());
  EXPECT_FALSE(policy.alert_due(at(1'000'000)));
}

}  // namespace
}  // namespace stint
