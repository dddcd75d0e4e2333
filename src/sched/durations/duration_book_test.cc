// What is learnt of how long jobs run: expectations from arithmetic.
#include "sched/durations/duration_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"

namespace stint::sched {
namespace {

constexpr int64_t kOneGpu = 1000;

Instant day(int64_t d) { return Instant::from_seconds(1'767'571'200 + d * 86'400); }
Duration minutes(int64_t m) { return Duration::minutes(m); }

/// Is the forecast's median within one bin (41 %) of `typical`?
testing::AssertionResult expects(const DurationBook& book, const Kin& kin, Duration typical, int64_t gpu_milli = kOneGpu) {
  const auto f = book.forecast(kin, gpu_milli);
  if (!f) return testing::AssertionFailure() << "nothing is known";
  const Duration median = f->quantile(500);
  const double off = median.to_seconds() / typical.to_seconds();
  if (off > 1 / 1.42 && off < 1.42) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "median " << median.to_seconds() << " s, not " << typical.to_seconds() << " s";
}

TEST(DurationBins, AreHalfOctaves) {
  EXPECT_EQ(bin_of(Duration::milliseconds(999)), 0);
  EXPECT_EQ(bin_of(Duration::seconds(1)), 0);
  EXPECT_EQ(bin_of(Duration::seconds(64)), 12);  // 2^6
  EXPECT_EQ(bin_of(Duration::seconds(90)), 12);  // 64 √2 = 90.51
  EXPECT_EQ(bin_of(Duration::seconds(91)), 13);
  EXPECT_EQ(bin_of(Duration::hours(24 * 400)), kDurationBins - 1);
  for (int b = 1; b < kDurationBins; ++b) {
    EXPECT_EQ(bin_of(bin_begin(b)), b);
    EXPECT_LT(bin_begin(b - 1), bin_begin(b));
  }
}

TEST(DurationBook, KnowsNothingOfNothing) { EXPECT_FALSE(DurationBook().forecast(kin_of("ann", "train"), kOneGpu).has_value()); }

TEST(DurationBook, NamesThatDifferInNumbersAreOneKind) {
  EXPECT_EQ(kin_of("ann", "train-17"), kin_of("ann", "train-203"));
  EXPECT_NE(kin_of("ann", "train-17"), kin_of("ann", "train-"));
  EXPECT_NE(kin_of("ann1", "train"), kin_of("ann2", "train")) << "users are told apart by theirs";
  EXPECT_FALSE(kin_of("", "").known());
}

TEST(DurationBook, BacksOffFromNameToUserToSizeToAll) {
  DurationBook book;
  for (int i = 0; i < 40; ++i) {
    book.learn(kin_of("ann", "train"), kOneGpu, minutes(600), RunEnd::kDone, day(i / 8));
    book.learn(kin_of("ann", "eval"), kOneGpu, minutes(5), RunEnd::kDone, day(i / 8));
    book.learn(kin_of("bob", "test"), 8 * kOneGpu, minutes(60), RunEnd::kDone, day(i / 8));
  }
  EXPECT_TRUE(expects(book, kin_of("ann", "train"), minutes(600)));
  EXPECT_TRUE(expects(book, kin_of("ann", "eval"), minutes(5)));
  const auto likeness = [&](const Kin& kin, int64_t gpus) { return book.forecast(kin, gpus * kOneGpu)->likeness(); };
  EXPECT_EQ(likeness(kin_of("ann", "train"), 1), Likeness::kNameSize);
  EXPECT_EQ(likeness(kin_of("ann", "train"), 4), Likeness::kName);
  EXPECT_EQ(likeness(kin_of("ann", "new"), 1), Likeness::kUserSize);
  EXPECT_EQ(likeness(kin_of("ann", "new"), 4), Likeness::kUser);
  EXPECT_EQ(likeness(kin_of("eve", "new"), 8), Likeness::kSize);
  EXPECT_EQ(likeness(kin_of("eve", "new"), 4), Likeness::kAny);
  EXPECT_EQ(book.forecast(kin_of("ann", "train"), kOneGpu)->like(), 40);
  EXPECT_TRUE(expects(book, kin_of("eve", "new"), minutes(60), 8 * kOneGpu));
}

TEST(DurationBook, OneJobAloneDoesNotDecideThirtyDo) {
  DurationBook book;
  for (int i = 0; i < 200; ++i)
    book.learn(kin_of("bob", "eval"), kOneGpu, minutes(10), RunEnd::kDone, day(0));
  const Kin ann = kin_of("ann", "train");
  const auto width = [&] {
    const RunForecast f = *book.forecast(ann, kOneGpu);
    return f.quantile(900).to_seconds() / f.quantile(100).to_seconds();
  };
  book.learn(ann, kOneGpu, minutes(600), RunEnd::kDone, day(1));
  EXPECT_GT(width(), 30) << "ten minutes are as likely as ten hours";
  for (int i = 0; i < 30; ++i)
    book.learn(ann, kOneGpu, minutes(600), RunEnd::kDone, day(1));
  EXPECT_LT(width(), 4);
}

TEST(DurationBook, EightInTenEndWithinTheInterval) {
  Prng random(5);
  DurationBook book;
  const auto draw = [&] { return Duration::from_seconds(3600 * std::exp(0.7 * random.normal())); };
  for (int i = 0; i < 400; ++i)
    book.learn(kin_of("ann", "train"), kOneGpu, draw(), RunEnd::kDone, day(0));
  int within = 0;
  for (int i = 0; i < 2000; ++i) {
    const RunForecast f = *book.forecast(kin_of("ann", "train"), kOneGpu);
    const Duration d = draw();
    within += d >= f.quantile(100) && d <= f.quantile(900) ? 1 : 0;
    book.learn(kin_of("ann", "train"), kOneGpu, d, RunEnd::kDone, day(1));
  }
  EXPECT_NEAR(within / 2000.0, 0.8, 0.06);
}

TEST(DurationBook, FollowsAUserWhoChangesHabits) {
  DurationBook book;
  const Kin ann = kin_of("ann", "train");
  for (int i = 0; i < 500; ++i)
    book.learn(ann, kOneGpu, minutes(10), RunEnd::kDone, day(i / 10));
  ASSERT_TRUE(expects(book, ann, minutes(10)));
  for (int i = 0; i < 8; ++i)
    book.learn(ann, kOneGpu, minutes(600), RunEnd::kDone, day(51));
  EXPECT_TRUE(expects(book, ann, minutes(600))) << "of sixteen runs the newer half counts twice";
}

TEST(DurationBook, WhatRunsOnceAMonthIsNotForgotten) {
  DurationBook book;
  for (int i = 0; i < 5; ++i)
    book.learn(kin_of("ann", "report"), kOneGpu, minutes(300), RunEnd::kDone, day(30 * i));
  for (int i = 0; i < 1000; ++i)
    book.learn(kin_of("bob", "eval"), kOneGpu, minutes(3), RunEnd::kDone, day(150));
  EXPECT_TRUE(expects(book, kin_of("ann", "report"), minutes(300)));
}

TEST(DurationBook, WhatWasCutOffTookLonger) {
  DurationBook book;
  const Kin ann = kin_of("ann", "train");
  for (int i = 0; i < 10; ++i) {
    book.learn(ann, kOneGpu, minutes(60), RunEnd::kDone, day(0));
    book.learn(ann, kOneGpu, minutes(960), RunEnd::kDone, day(0));
  }
  // Half an hour in, they may be of either kind; two hours in, of the long one only.
  DurationBook early = book;
  DurationBook late = book;
  for (int i = 0; i < 16; ++i) {
    early.learn(ann, kOneGpu, minutes(30), RunEnd::kCutOff, day(1));
    late.learn(ann, kOneGpu, minutes(120), RunEnd::kCutOff, day(1));
  }
  EXPECT_LT(early.forecast(ann, kOneGpu)->quantile(100), minutes(100));
  EXPECT_GT(late.forecast(ann, kOneGpu)->quantile(100), minutes(120));
  EXPECT_TRUE(expects(late, ann, minutes(960)));
}

TEST(DurationBook, AFailureIsHalfAnEnd) {
  DurationBook done;
  const Kin ann = kin_of("ann", "train");
  for (int i = 0; i < 16; ++i)
    done.learn(ann, kOneGpu, minutes(600), RunEnd::kDone, day(0));
  DurationBook failed = done;
  for (int i = 0; i < 4; ++i)
    failed.learn(ann, kOneGpu, minutes(1), RunEnd::kBroken, day(1));
  EXPECT_TRUE(expects(failed, ann, minutes(600))) << "most will not fail";
  EXPECT_LT(failed.forecast(ann, kOneGpu)->quantile(100), minutes(10)) << "one in ten may";
  EXPECT_GT(done.forecast(ann, kOneGpu)->quantile(100), minutes(300));
}

/// The same runs in one book, and in three that are merged in another order.
TEST(DurationBook, MergesInAnyOrder) {
  Prng random(9);
  DurationBook whole;
  std::vector<DurationBook> parts(3);
  for (int i = 0; i < 3000; ++i) {
    const Kin kin = kin_of(std::string(1, static_cast<char>('a' + random.below(5))),
                           std::string(1, static_cast<char>('k' + random.below(6))));
    const auto gpus = static_cast<int64_t>(1 + random.below(3)) * kOneGpu;
    const Duration ran = Duration::seconds(1 + static_cast<int64_t>(random.below(100'000)));
    const Instant ended = day(i / 50);
    whole.learn(kin, gpus, ran, RunEnd::kDone, ended);
    parts[random.below(3)].learn(kin, gpus, ran, RunEnd::kDone, ended);
  }
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    DurationBook merged;
    for (const size_t p : order)
      merged.merge(parts[p]);
    EXPECT_EQ(merged.learnt(), whole.learnt());
    for (char user = 'a'; user < 'f'; ++user)
      for (char name = 'k'; name < 'q'; ++name) {
        const Kin kin = kin_of(std::string(1, user), std::string(1, name));
        const RunForecast one = *whole.forecast(kin, kOneGpu);
        const RunForecast other = *merged.forecast(kin, kOneGpu);
        EXPECT_EQ(one.like(), other.like());
        // Decay rounds once a tick: parts of a thousand.
        for (const int per_mille : {100, 500, 900})
          EXPECT_NEAR(other.quantile(per_mille).to_seconds() / one.quantile(per_mille).to_seconds(), 1, 0.02);
      }
  }
}

TEST(DurationBook, MemoryIsBounded) {
  DurationBook book;
  for (size_t i = 0; i < 3 * DurationBook::kMostCloseKeys; ++i) {
    Kin kin = kin_of("ann", "x");
    kin.name = i + 1;
    book.learn(kin, kOneGpu, minutes(10), RunEnd::kDone, Instant::from_seconds(static_cast<int64_t>(i) * 60));
  }
  EXPECT_LE(book.close_keys(), DurationBook::kMostCloseKeys + 2);
  Kin last = kin_of("ann", "x");
  last.name = 3 * DurationBook::kMostCloseKeys;
  EXPECT_EQ(book.forecast(last, kOneGpu)->likeness(), Likeness::kNameSize) << "those seen last stay";
}

TEST(RunForecast, CostOfAnEndOfAKnownDurationIsWhatIsLeft) {
  DurationMass mass{};
  mass[static_cast<size_t>(bin_of(Duration::seconds(4096)))] = kWholeMass;  // 4,096 to 5,793 s
  const RunForecast f(mass, Likeness::kNameSize, 30);
  // All end by the bin's end; on average in its middle, 4,944 s.
  EXPECT_NEAR(f.cost_of_an_end({}).to_seconds(), 4944, 2);
  EXPECT_NEAR(f.cost_of_an_end(Duration::seconds(3000)).to_seconds(), 1944, 2);
  EXPECT_NEAR(f.quantile(500).to_seconds(), 4944, 2);
  EXPECT_NEAR(f.quantile(500, Duration::seconds(4944)).to_seconds(), (4944 + 5793) / 2.0, 2);
}

TEST(RunForecast, WhereShortAndLongLookAlikeItGrowsOnceTheShortWouldHaveEnded) {
  DurationMass mass{};
  mass[static_cast<size_t>(bin_of(Duration::seconds(64)))] = kWholeMass / 2;     // 64 to 90.5 s
  mass[static_cast<size_t>(bin_of(Duration::seconds(65536)))] = kWholeMass / 2;  // 65,536 to 92,682 s
  const RunForecast f(mass, Likeness::kName, 30);
  // Within 90 s half end: half of 77 s and half of 90 s are used, for half an end. By hand: (0.5·77 + 0.5·90) ÷ 0.5 = 167 s.
  EXPECT_NEAR(f.cost_of_an_end({}).to_seconds(), 167, 2);
  EXPECT_NEAR(f.cost_of_an_end(Duration::seconds(100)).to_seconds(), (65436 + 92582) / 2.0, 2);
}

}  // namespace
}  // namespace stint::sched
