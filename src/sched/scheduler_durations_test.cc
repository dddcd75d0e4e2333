// Durations from experience: what the scheduler learns from jobs that end, and what it does with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/queues/order.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing::ElementsAre;
using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

constexpr int64_t kHourS = 3600;

Policy learning(Durations durations = Durations::kLearnt) {
  Policy policy = plain(Order::kStint);
  policy.durations = durations;
  policy.preempt = false;
  return policy;
}

/// One machine of eight GPUs, and two kinds of jobs of which thirty have ended: `train` of six hours and `eval` of ten minutes.
class Experienced : public World {
 public:
  explicit Experienced(const Policy& policy, int nodes = 1) : World(policy, nodes) {
    DurationBook book;
    for (int i = 0; i < 30; ++i) {
      book.learn(kin_of("ann", "train"), 8000, Duration::hours(6), RunEnd::kDone, at(0));
      book.learn(kin_of("ann", "eval"), 8000, Duration::minutes(10), RunEnd::kDone, at(0));
    }
    scheduler.learn(book);
  }
  JobSpec like(std::string_view name, int gpus = 8) {
    JobSpec spec = job(gpus);
    spec.kin = kin_of("ann", name);
    return spec;
  }
};

std::vector<bool> short_one_goes_first(Durations durations) {
  Experienced world(learning(durations));
  const JobId first = world.submit(at(1000), world.like("train"));
  const JobId train = world.submit(at(1010), world.like("train"));
  const JobId eval = world.submit(at(1020), world.like("eval"));
  world.step(at(5000), {event(EventKind::kFinished, first)});
  return {world.runs(train), world.runs(eval)};
}

TEST(LearntDurations, ThoseOfAShortKindGoFirst) {
  EXPECT_THAT(short_one_goes_first(Durations::kLearnt), ElementsAre(false, true));
  EXPECT_THAT(short_one_goes_first(Durations::kGiven), ElementsAre(true, false)) << "nothing but age decides";
}

TEST(LearntDurations, WhatAJobSaysItselfGoesFirst) {
  Experienced world(learning());
  const JobId first = world.submit(at(1000), world.like("train"));
  JobSpec quick = world.like("train");
  quick.expected = Duration::minutes(1);
  const JobId eval = world.submit(at(1010), world.like("eval"));
  const JobId train = world.submit(at(1020), quick);
  world.step(at(5000), {event(EventKind::kFinished, first)});
  EXPECT_TRUE(world.runs(train));
  EXPECT_FALSE(world.runs(eval));
}

TEST(LearntDurations, NoneIsOvertakenByWhatComesFortyFiveDaysLater) {
  const auto rank = [](int64_t submitted_h, std::optional<Duration> cost) {
    return rank_of(learning(), {.priority = 50, .submitted = at(submitted_h * kHourS), .cost_of_an_end = cost});
  };
  const Rank longest = rank(1000, Duration::hours(24 * 365));
  EXPECT_LT(longest, rank(1000 + 45 * 24, Duration()));
  EXPECT_GT(longest, rank(1000 + 40 * 24, Duration()));
  EXPECT_LT(rank(1000, Duration::hours(24)), longest) << "of two long ones the shorter goes first";
  EXPECT_LT(rank(1000, Duration::minutes(1)), rank(1000, Duration::minutes(2)));
}

TEST(LearntDurations, EveryEndIsLearntFromAndNothingElse) {
  World world(learning(), 1);
  JobSpec spec = world.job(8);
  spec.kin = kin_of("bob", "train");
  const auto learnt = [&] { return world.scheduler.durations().learnt(); };
  const JobId done = world.submit(at(0), spec);
  const JobId failed = world.submit(at(1), spec);
  const JobId never = world.submit(at(2), spec);
  EXPECT_EQ(learnt(), 0);
  world.step(at(3600), {event(EventKind::kFinished, done)});
  EXPECT_EQ(learnt(), 1);
  world.step(at(3700), {event(EventKind::kFailed, failed)});
  EXPECT_EQ(learnt(), 2);
  world.step(at(3700), {event(EventKind::kCancel, never)});
  world.let_go(at(3710));
  EXPECT_EQ(learnt(), 3) << "it had started when the one before had failed";
  const JobId waits_only = world.submit(at(4000), spec);
  const JobId waits = world.submit(at(4001), spec);
  world.step(at(4002), {event(EventKind::kCancel, waits)});
  EXPECT_EQ(learnt(), 3) << "what never ran says nothing";
  const auto f = world.scheduler.durations().forecast(spec.kin, 8000);
  EXPECT_EQ(f->like(), 3);
  EXPECT_TRUE(world.runs(waits_only));
}

TEST(LearntDurations, TheExplanationSaysHowLongAndFromHowMany) {
  Experienced world(learning());
  const JobId first = world.submit(at(0), world.like("train"));
  const JobId second = world.submit(at(10), world.like("train"));
  const Explanation why = world.scheduler.explain(second);
  ASSERT_TRUE(why.expected);
  EXPECT_EQ(why.expected->like, 30);
  EXPECT_EQ(why.expected->likeness, Likeness::kNameSize);
  EXPECT_NEAR(why.expected->typical.to_hours(), 6, 1);
  EXPECT_LT(why.expected->low, why.expected->typical);
  EXPECT_GT(why.expected->high, why.expected->typical);
  ASSERT_TRUE(why.likely_start);
  EXPECT_FALSE(why.starts_at) << "a guess is no promise";
  EXPECT_NEAR(static_cast<double>(why.likely_start->at.seconds()), 6 * kHourS, kHourS);
  EXPECT_LE(why.likely_start->earliest, why.likely_start->at);
  EXPECT_LE(why.likely_start->at, why.likely_start->latest);
  EXPECT_TRUE(world.scheduler.explain(first).expected);
}

TEST(LearntDurations, ALikelyStartCountsThoseThatGoBefore) {
  Experienced world(learning());
  world.submit(at(0), world.like("train"));
  world.submit(at(10), world.like("train"));
  const JobId third = world.submit(at(20), world.like("train"));
  const Explanation why = world.scheduler.explain(third);
  ASSERT_TRUE(why.likely_start);
  EXPECT_NEAR(static_cast<double>(why.likely_start->at.seconds()), 12 * kHourS, 2 * kHourS);
  const JobId unlike = world.submit(at(30), world.job(8));
  EXPECT_FALSE(world.scheduler.explain(unlike).expected) << "nothing is known of whose job it is";
}

/// The machine of eight is busy until its job's time limit; a job of eight GPUs is promised it then. Another of one GPU, that most
/// likely takes ten minutes, comes. @return whether it starts on the other machine's last GPU, which the first promise needs.
TEST(LearntDurations, AGuessDelaysNoPromise) {
  Policy policy = learning();
  policy.backfill = Backfill::kEasy;
  Experienced world(policy, 2);
  JobSpec limited = world.like("train");
  limited.time_limit = Duration::hours(1);
  world.submit(at(0), limited);
  JobSpec most = world.job(7);
  most.time_limit = Duration::hours(1);
  world.submit(at(0), most);
  const JobId gang = world.submit(at(1), world.job(8, 2));
  ASSERT_EQ(world.scheduler.explain(gang).starts_at, at(kHourS));
  const JobId small = world.submit(at(2), world.like("eval", 1));
  EXPECT_FALSE(world.runs(small)) << "ten minutes are likely, not certain";
  JobSpec certain = world.like("eval", 1);
  certain.time_limit = Duration::minutes(10);
  EXPECT_TRUE(world.runs(world.submit(at(3), certain)));
}

/// Jobs without time limits hold the machines; the gang is overdue, so room is kept for it on a guess.
TEST(LearntDurations, WhoWillLikelyHaveEndedPassesRoomKeptOnAGuess) {
  Policy policy = learning();
  policy.backfill = Backfill::kEasy;
  Experienced world(policy, 2);
  world.submit(at(0), world.like("train"));
  world.submit(at(0), world.like("train", 7));
  const JobId gang = world.submit(at(1), world.job(8, 2));
  world.step(at(5 * kHourS), {});
  ASSERT_EQ(world.scheduler.explain(gang).standing, Standing::kReserved);
  const JobId small = world.submit(at(5 * kHourS + 1), world.like("eval", 1));
  EXPECT_TRUE(world.runs(small)) << "an hour is left, ten minutes are enough";
  world.step(at(5 * kHourS + 600), {event(EventKind::kFinished, small)});
  EXPECT_FALSE(world.runs(world.submit(at(5 * kHourS + 700), world.like("train", 1))));
}

TEST(LearntDurations, DeadlinesKnowHowLongAJobTakes) {
  // Both must end in 26 hours: with six hours to run, less than a day is left to begin, so it counts as waiting since earlier.
  for (const Durations durations : {Durations::kGiven, Durations::kLearnt}) {
    Policy policy = learning(durations);
    policy.order = Order::kFair;
    Experienced world(policy);
    const JobId first = world.submit(at(0), world.like("eval"));
    JobSpec eval = world.like("eval");
    JobSpec train = world.like("train");
    eval.deadline = train.deadline = at(26 * kHourS);
    const JobId older = world.submit(at(10), eval);
    const JobId younger = world.submit(at(20), train);
    world.step(at(600), {event(EventKind::kFinished, first)});
    EXPECT_EQ(world.runs(younger), durations == Durations::kLearnt);
    EXPECT_EQ(world.runs(older), durations == Durations::kGiven);
  }
}

}  // namespace
}  // namespace stint::sched
