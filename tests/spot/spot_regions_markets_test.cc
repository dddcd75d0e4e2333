// Our policy for many zones on markets that it was not chosen on: drawn spells, and zones of another cloud in other years.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "base/prng.h"
#include "codec/traces/spot_trace.h"
#include "host/file.h"
#include "sim/regions_protocol.h"
#include "tests/needs_shared.h"

namespace stint {
namespace {

using sim::RegionsChoice;
using Spells = std::vector<uint8_t>;

constexpr int kMarketsDrawn = 20;

/// One to six zones, mostly cheap ones, with a deadline that is tight or far.
sched::RegionsTask drawn_task(Prng& random) {
  constexpr std::array<double, 6> kRatios = {1.05, 1.1, 1.2, 1.3, 1.5, 2};
  sched::RegionsTask task{.tick_s = 600, .deadline_ticks = 200 + static_cast<int64_t>(random.below(150))};
  task.changeover_s = random.below(2) == 0 ? 360 : 720;
  task.probe_s = 60;
  task.work_s = task.deadline_s() / kRatios[random.below(kRatios.size())];
  const size_t zones = 1 + random.below(6);
  const double on_demand = 80 + 40 * random.uniform();
  for (size_t z = 0; z < zones; ++z) {
    const double kind = random.uniform();
    double spot = 16 + 6 * random.uniform();
    if (kind >= 0.65) spot = 25 + 20 * random.uniform();
    if (kind >= 0.85) spot = 50 + 25 * random.uniform();
    task.zones.push_back({Rate::per_hour(Money::estimate(spot)),
                          Rate::per_hour(Money::estimate(on_demand * (1 + 0.3 * random.uniform()))), static_cast<uint32_t>(z)});
  }
  for (size_t from = 0; from < zones; ++from)
    for (size_t to = 0; to < zones; ++to)
      task.fetch_costs.push_back(Money::units(from == to ? 0 : 1));
  return task;
}

/// Spells and gaps with lognormal lengths: other than what the policy believes of them.
Spells drawn_spells(Prng& random, size_t ticks) {
  const double up_mean = std::exp(1 + 3.5 * random.uniform());
  const double down_mean = std::exp(0.5 + 3.5 * random.uniform());
  const double spread = 0.5 + 1.5 * random.uniform();
  uint8_t up = random.uniform() < up_mean / (up_mean + down_mean) ? 1 : 0;
  constexpr size_t kUnseen = 300;
  Spells spells;
  while (spells.size() < ticks + kUnseen) {
    const double length = (up != 0 ? up_mean : down_mean) * std::exp(spread * random.normal() - spread * spread / 2);
    spells.insert(spells.end(), 1 + static_cast<size_t>(std::min(5'000.0, length)), up);
    up ^= 1;
  }
  return {spells.begin() + kUnseen, spells.begin() + static_cast<std::ptrdiff_t>(kUnseen + ticks)};
}

struct OverOptimum {
  double stint = 0, up_s = 0, up_ap = 0;  ///< mean cost over that of the optimum
  int64_t late = 0;
};

/// @param spells  of a zone, for so many ticks.
template <typename Source>
OverOptimum mean_over_optimum(uint64_t seed, Source&& spells) {
  OverOptimum mean;
  Prng seeds(seed);
  for (int market = 0; market < kMarketsDrawn; ++market) {
    Prng random = seeds.fork(static_cast<uint64_t>(market));
    const sched::RegionsTask task = drawn_task(random);
    std::vector<Spells> zones;
    for (size_t z = 0; z < task.zones.size(); ++z)
      zones.push_back(spells(random, static_cast<size_t>(task.deadline_ticks)));
    const sim::ZoneCapacity there(zones.begin(), zones.end());
    const auto cost = [&](RegionsChoice choice) {
      const sim::RegionsRun run = sim::run_regions(choice, task, there).value();
      mean.late += run.late ? 1 : 0;
      return sim::cost_of(run, task).to_double();
    };
    const double least = cost(RegionsChoice::kOptimal) * kMarketsDrawn;
    mean.stint += cost(RegionsChoice::kStint) / least;
    mean.up_s += cost(RegionsChoice::kUpS) / least;
    mean.up_ap += cost(RegionsChoice::kUpAp) / least;
  }
  fmt::print("over the optimum, seed {}: stint {:.3f}, UP(S) {:.3f}, UP(AP) {:.3f}\n", seed, mean.stint, mean.up_s, mean.up_ap);
  return mean;
}

void expect_better(const OverOptimum& mean) {
  EXPECT_LT(mean.stint, 0.95 * mean.up_s);
  EXPECT_LT(mean.stint, 0.95 * mean.up_ap);
  EXPECT_EQ(mean.late, 0);
}

class RegionsOnOtherMarkets : public testing::TestWithParam<uint64_t> {};

TEST_P(RegionsOnOtherMarkets, OursCostsLessWhereSpellsAreDrawn) { expect_better(mean_over_optimum(GetParam(), drawn_spells)); }

TEST_P(RegionsOnOtherMarkets, OursCostsLessInZonesOfAnotherCloud) {
  const std::string folder = std::string(STINT_SHARED_DIR) + "/data/spot-cantbelate/availability/1-node/aws-10-26-2022";
  STINT_NEEDS_SHARED(folder);
  std::set<std::string> files;  // sorted: the same markets everywhere
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.insert(entry.path().string());
  std::vector<SpotTrace> traces;
  for (const std::string& file : files)
    traces.push_back(read_spot_trace(read_all(file).value(), file).value());
  expect_better(mean_over_optimum(GetParam(), [&](Prng& random, size_t ticks) {
    const Spells& all = traces[random.below(traces.size())].available;
    const auto start = static_cast<std::ptrdiff_t>(random.below(all.size() - ticks));
    return Spells(all.begin() + start, all.begin() + start + static_cast<std::ptrdiff_t>(ticks));
  }));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RegionsOnOtherMarkets, testing::Values(11, 12), testing::PrintToStringParamName());

}  // namespace
}  // namespace stint
