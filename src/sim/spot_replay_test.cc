#include "sim/spot_replay.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include "base/prng.h"
#include "sched/spot/spot_stint_policy.h"
#include "sim/spot_optimum.h"

namespace stint::sim {
namespace {

using sched::SpotMoment;
using sched::SpotTake;
using sched::SpotTask;

constexpr SpotPrices kPrices = {Rate::per_hour(Money::units(3)), Rate::per_hour(Money::units(1))};

std::vector<uint8_t> capacity(std::string_view text) {
  std::vector<uint8_t> out;
  for (const char c : text)
    out.push_back(c == 's' ? 1 : 0);
  return out;
}

/// Does what a text says: s = spot, d = on-demand, . = wait; waits behind its end, or where spot is gone.
struct Script {
  std::string_view text;
  size_t at = 0;
  void begin() { at = 0; }
  SpotTake choose(const SpotMoment& now) {
    const char c = at < text.size() ? text[at] : '.';
    ++at;
    if (c == 'd') return SpotTake::kOnDemand;
    return c == 's' && now.spot_available ? SpotTake::kSpot : SpotTake::kIdle;
  }
};

SpotRun follow(const SpotTask& task, std::string_view there, std::string_view takes) {
  Script script{takes};
  const std::vector<uint8_t> available = capacity(there);
  return replay_spot(task, available, script);
}

/// The naive second method: every sequence of takes, followed tick by tick.
int64_t least_cost(const SpotTask& task, std::string_view there) {
  const auto ticks = static_cast<size_t>(task.deadline_s / task.tick_s);
  std::string takes(ticks, '.');
  int64_t least = std::numeric_limits<int64_t>::max();
  const auto try_all = [&](auto&& self, size_t at) -> void {
    if (at == ticks) {
      const SpotRun run = follow(task, there, takes);
      if (!run.missed) least = std::min(least, 3 * run.on_demand_ticks + run.spot_ticks);
      return;
    }
    for (const char c : {'.', 's', 'd'}) {
      if (c == 's' && there[at] != 's') continue;
      takes[at] = c;
      self(self, at + 1);
    }
  };
  try_all(try_all, 0);
  return least;
}

// 600 s ticks, a changeover of 720 s: the first tick does nothing, the second 480 s, the third 600 s.
TEST(SpotReplay, AChangeoverIsPaidAndDoesNoWork) {
  const SpotTask task{.tick_s = 600, .work_s = 1080, .deadline_s = 6000, .changeover_s = 720};
  EXPECT_EQ(follow(task, "ssssssssss", "ssssssssss"), (SpotRun{.on_demand_ticks = 0, .spot_ticks = 3, .ticks = 3}));
  EXPECT_EQ(follow(task, "ssssssssss", ".dddddd"), (SpotRun{.on_demand_ticks = 3, .spot_ticks = 0, .ticks = 4}));
  const SpotTask a_second_more{.tick_s = 600, .work_s = 1081, .deadline_s = 6000, .changeover_s = 720};
  EXPECT_EQ(follow(a_second_more, "ssssssssss", "ssssssssss").spot_ticks, 4) << "the last tick is paid whole";
}

TEST(SpotReplay, AChangeoverCutShortBeginsAnew) {
  const SpotTask task{.tick_s = 600, .work_s = 480, .deadline_s = 6000, .changeover_s = 720};
  EXPECT_EQ(follow(task, "s.ssssssss", "ssss"), (SpotRun{.on_demand_ticks = 0, .spot_ticks = 3, .ticks = 4}));
  EXPECT_EQ(follow(task, "ssssssssss", "sdd"), (SpotRun{.on_demand_ticks = 2, .spot_ticks = 1, .ticks = 3}))
      << "so does a change";
  EXPECT_EQ(follow(task, "ssssssssss", "s.ss"), (SpotRun{.on_demand_ticks = 0, .spot_ticks = 3, .ticks = 4})) << "and a pause";
}

TEST(SpotReplay, WorkNotDoneAtTheDeadlineIsMissed) {
  const SpotTask task{.tick_s = 600, .work_s = 1200, .deadline_s = 1859, .changeover_s = 0};
  const SpotRun run = follow(task, "sss", "s.s");
  EXPECT_FALSE(run.missed);
  EXPECT_TRUE(follow(task, "sss", "s..ss").missed) << "a deadline inside a tick is the end of the one before";
}

// One hour of work in ticks of ten minutes, no changeover: 6 ticks of on-demand would have cost 6 × 3.
TEST(SpotReplay, TheRatioIsToWorkOnOnDemandAlone) {
  const SpotTask task{.tick_s = 600, .work_s = 3600, .deadline_s = 7200, .changeover_s = 0};
  EXPECT_DOUBLE_EQ(cost_ratio({.on_demand_ticks = 3, .spot_ticks = 3, .ticks = 6}, task, kPrices), 12.0 / 18);
}

// Spells of random length, tasks that barely or easily fit: no policy may be late, none beats the optimum.
TEST(SpotPolicies, NeverMissADeadlineThatOnDemandMeets) {
  const uint64_t seed = 48'60'02;
  Prng prng(seed);
  for (int round = 0; round < 40; ++round) {
    const auto ticks = static_cast<int64_t>(20 + prng.below(80));
    const auto changeover = static_cast<int64_t>(prng.below(5)) * 240;
    const int64_t most_work = ticks * 600 - changeover;
    const SpotTask task{.tick_s = 600,
                        .work_s = std::max<int64_t>(600, most_work - static_cast<int64_t>(prng.below(60)) * 240),
                        .deadline_s = ticks * 600 + static_cast<int64_t>(prng.below(600)),
                        .changeover_s = changeover};
    ASSERT_TRUE(task.check().ok());
    sched::GreedySpot greedy(task);
    sched::UniformProgressSpot uniform(task);
    sched::StintSpot stint(task, 1.0 / 3);
    auto optimum = SpotOptimum::create(task, kPrices);
    ASSERT_TRUE(optimum.ok()) << optimum.error().message;
    for (int window = 0; window < 25; ++window) {
      std::vector<uint8_t> there;
      const uint64_t longest = 1 + prng.below(30);
      while (std::ssize(there) < ticks)
        there.insert(there.end(), 1 + prng.below(longest), there.empty() || there.back() == 0 ? 1 : 0);
      const double least = cost_ratio(optimum->solve(there), task, kPrices);
      for (const SpotRun& run :
           {replay_spot(task, there, greedy), replay_spot(task, there, uniform), replay_spot(task, there, stint)}) {
        EXPECT_FALSE(run.missed) << "seed " << seed << " round " << round << " window " << window;
        EXPECT_GE(cost_ratio(run, task, kPrices), least - 1e-12) << "seed " << seed << " round " << round;
      }
    }
  }
}

// Two windows that are the same so far get the same decisions so far, whatever comes.
TEST(SpotPolicies, StintSeesOnlyThePast) {
  const SpotTask task{.tick_s = 600, .work_s = 36'000, .deadline_s = 54'000, .changeover_s = 720};
  struct Recorder {
    sched::StintSpot policy;
    std::vector<SpotTake> takes;
    void begin() {
      policy.begin();
      takes.clear();
    }
    SpotTake choose(const SpotMoment& now) { return takes.emplace_back(policy.choose(now)); }
  };
  Recorder recorder{sched::StintSpot(task, 1.0 / 3), {}};
  Prng prng(7);
  std::vector<uint8_t> there(90);
  for (uint8_t& tick : there)
    tick = prng.below(3) > 0 ? 1 : 0;
  (void)replay_spot(task, there, recorder);
  const std::vector<SpotTake> first = recorder.takes;
  for (size_t from = 0; from < first.size(); from += 7) {
    std::vector<uint8_t> other = there;
    for (size_t t = from; t < other.size(); ++t)
      other[t] ^= 1;
    (void)replay_spot(task, other, recorder);
    for (size_t t = 0; t < from; ++t)
      EXPECT_EQ(recorder.takes[t], first[t]) << "tick " << t << ", another future from " << from;
  }
}

TEST(SpotOptimum, WaitsWhereTheDeadlineAllowsIt) {
  const SpotTask task{.tick_s = 600, .work_s = 2400, .deadline_s = 6000, .changeover_s = 600};
  auto optimum = SpotOptimum::create(task, kPrices);
  ASSERT_TRUE(optimum.ok());
  // Five ticks of spot in a row do it; in two spells they cost a changeover more.
  EXPECT_EQ(optimum->solve(capacity("...sssss..")), (SpotRun{.on_demand_ticks = 0, .spot_ticks = 5, .ticks = 8}));
  EXPECT_EQ(optimum->solve(capacity("sss...sss.")), (SpotRun{.on_demand_ticks = 0, .spot_ticks = 6, .ticks = 9}));
  EXPECT_EQ(optimum->solve(capacity("..........")), (SpotRun{.on_demand_ticks = 5, .spot_ticks = 0, .ticks = 5}));
}

TEST(SpotOptimum, EqualsBruteForceOnShortWindows) {
  Prng prng(20240416);
  for (int round = 0; round < 60; ++round) {
    const int64_t changeover = std::array<int64_t, 4>{0, 200, 600, 800}[prng.below(4)];
    const auto ticks = static_cast<int64_t>(6 + prng.below(4));
    const int64_t most_work = ticks * 600 - changeover;
    const SpotTask task{.tick_s = 600,
                        .work_s = std::max<int64_t>(200, most_work - static_cast<int64_t>(prng.below(5)) * 400),
                        .deadline_s = ticks * 600,
                        .changeover_s = changeover};
    std::string there;
    for (int64_t t = 0; t < ticks; ++t)
      there += prng.below(5) < 3 ? 's' : '.';
    auto optimum = SpotOptimum::create(task, kPrices);
    ASSERT_TRUE(optimum.ok()) << optimum.error().message;
    const SpotRun run = optimum->solve(capacity(there));
    EXPECT_EQ(3 * run.on_demand_ticks + run.spot_ticks, least_cost(task, there))
        << "seed 20240416 round " << round << ": " << there << ", work " << task.work_s << ", changeover " << changeover;
  }
}

TEST(SpotOptimum, RefusesWhatItCannotCount) {
  EXPECT_FALSE(SpotOptimum::create({.tick_s = 600, .work_s = 6000, .deadline_s = 6000, .changeover_s = 1}, kPrices).ok());
  const SpotPrices free = {kPrices.on_demand, Rate()};
  EXPECT_FALSE(SpotOptimum::create({.tick_s = 600, .work_s = 600, .deadline_s = 6000, .changeover_s = 0}, free).ok());
  const SpotTask ten_years{.tick_s = 600, .work_s = 1'000'001, .deadline_s = 300'000'000, .changeover_s = 7};
  EXPECT_FALSE(SpotOptimum::create(ten_years, kPrices).ok());
}

}  // namespace
}  // namespace stint::sim
