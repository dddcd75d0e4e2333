#include "advise/share/mig_plan.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <set>

#include "base/prng.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const MigGeometry& a100() { return *find_mig_geometry("A100-80GB"); }
const MigGeometry& a30() { return *find_mig_geometry("A30"); }

std::vector<int> wanted(const MigGeometry& g, std::initializer_list<std::pair<const char*, int>> counts) {
  std::vector<int> out(g.profiles.size(), 0);
  for (const auto& [name, count] : counts)
    out[static_cast<size_t>(g.index_of(*g.find_profile(name)))] = count;
  return out;
}

MigPlacement at(const MigGeometry& g, const char* name, int start) { return {start, g.index_of(*g.find_profile(name))}; }

int slices(const MigGeometry& g, int profile) { return g.profiles[static_cast<size_t>(profile)].compute_slices; }

/// What is asked of every plan, found out again from its layouts.
void expect_sound(const MigGeometry& g, std::span<const MigLayout> running, std::span<const int> want, const MigPlan& plan) {
  ASSERT_EQ(plan.layouts.size(), running.size());
  std::vector<int> count(g.profiles.size(), 0);
  int64_t moved = 0;
  for (size_t gpu = 0; gpu < running.size(); ++gpu) {
    EXPECT_TRUE(check_layout(g, plan.layouts[gpu]).ok());
    for (const MigPlacement& p : plan.layouts[gpu])
      ++count[static_cast<size_t>(p.profile)];
    for (const MigPlacement& p : running[gpu]) {
      --count[static_cast<size_t>(p.profile)];
      if (std::find(plan.layouts[gpu].begin(), plan.layouts[gpu].end(), p) == plan.layouts[gpu].end())
        moved += slices(g, p.profile);
    }
  }
  EXPECT_EQ(count, plan.placed);
  int64_t placed = 0;
  for (size_t p = 0; p < count.size(); ++p) {
    EXPECT_GE(count[p], 0) << "an instance that runs is lost";
    EXPECT_LE(count[p], want[p]);
    placed += int64_t{count[p]} * slices(g, static_cast<int>(p));
  }
  EXPECT_EQ(placed, plan.slices);
  EXPECT_EQ(moved, plan.moved_slices);
  EXPECT_LE(plan.slices, plan.bound);
  std::set<std::pair<size_t, int>> targets;
  for (const MigMove& move : plan.moves) {
    EXPECT_EQ(move.from.profile, move.to.profile);
    EXPECT_TRUE(targets.emplace(move.to_gpu, move.to.start).second) << "two instances move to one place";
    const MigLayout& target = plan.layouts[move.to_gpu];
    EXPECT_NE(std::find(target.begin(), target.end(), move.to), target.end());
  }
}

std::vector<int> random_wanted(const MigGeometry& g, Prng& prng, uint64_t requests) {
  std::vector<int> want(g.profiles.size(), 0);
  for (uint64_t i = 0; i < requests; ++i)
    ++want[prng.below(g.profiles.size())];
  return want;
}

MigLayout random_layout(const std::vector<MigLayout>& all, Prng& prng) { return all[prng.below(all.size())]; }

TEST(MigPlan, UsesTheStartsThatAreLegal) {
  // Two 3g use all eight memory slices: no 1g beside them. 4g + 3g fill a GPU.
  const std::vector<MigLayout> empty(1);
  const auto want = wanted(a100(), {{"3g.40gb", 2}, {"1g.10gb", 1}, {"4g.40gb", 1}});
  const MigPlan plan = plan_mig(a100(), empty, want);
  expect_sound(a100(), empty, want, plan);
  EXPECT_EQ(plan.slices, 7);
  EXPECT_THAT(plan.layouts[0], ElementsAre(at(a100(), "4g.40gb", 0), at(a100(), "3g.40gb", 4)));
  EXPECT_TRUE(plan.optimal());
}

TEST(MigPlan, MovesLeastToMakeRoom) {
  // GPU 0: 1g at 0 and 2g at 4; GPU 1: 4g at 0. A 3g fits on GPU 1 beside the 4g without moving anything.
  const std::vector<MigLayout> running = {{at(a100(), "1g.10gb", 0), at(a100(), "2g.20gb", 4)}, {at(a100(), "4g.40gb", 0)}};
  const MigPlan easy = plan_mig(a100(), running, wanted(a100(), {{"3g.40gb", 1}}));
  EXPECT_THAT(easy.moves, IsEmpty());
  EXPECT_EQ(easy.slices, 3);
  // A second 3g needs a half of GPU 0: the 1g moves rather than the 2g.
  const auto want = wanted(a100(), {{"3g.40gb", 2}});
  const MigPlan plan = plan_mig(a100(), running, want);
  expect_sound(a100(), running, want, plan);
  EXPECT_EQ(plan.slices, 6);
  EXPECT_EQ(plan.moved_slices, 1);
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].from, at(a100(), "1g.10gb", 0));
  EXPECT_TRUE(plan.least_moves);
}

TEST(MigPlan, FreeSlicesOfCutGpusComeBeforeFreshGpus) {
  // Five slices are free: 2 + 3 beside what runs on GPUs 0 and 1. Three more GPUs are not cut, and stay so.
  const std::vector<MigLayout> running = {
      {at(a100(), "4g.40gb", 0), at(a100(), "1g.10gb", 4)}, {at(a100(), "4g.40gb", 0)}, {}, {}, {}};
  const auto want = wanted(a100(), {{"1g.10gb", 5}});
  const MigPlan plan = plan_mig(a100(), running, want);
  expect_sound(a100(), running, want, plan);
  EXPECT_EQ(plan.slices, 5);
  EXPECT_THAT(plan.moves, IsEmpty());
  for (size_t fresh = 2; fresh < running.size(); ++fresh)
    EXPECT_THAT(plan.layouts[fresh], IsEmpty()) << fresh;
  // Two more than are free: one GPU more is cut, and only one.
  const MigPlan more = plan_mig(a100(), running, wanted(a100(), {{"1g.10gb", 7}}));
  EXPECT_EQ(more.slices, 7);
  EXPECT_EQ(std::ranges::count_if(more.layouts, [](const MigLayout& layout) { return layout.empty(); }), 2);
}

TEST(MigPlan, OnNoGpuPlacesNothing) {
  const MigPlan plan = plan_mig(a100(), {}, wanted(a100(), {{"1g.10gb", 5}}));
  EXPECT_EQ(plan.slices, 0);
  EXPECT_TRUE(plan.optimal());
}

class MigPlanSmall : public ::testing::TestWithParam<uint64_t> {};

TEST_P(MigPlanSmall, EqualsBruteForceOnEmptyGpus) {
  SCOPED_TRACE(GetParam());
  Prng prng(GetParam());
  const MigGeometry& g = GetParam() % 3 == 0 ? a30() : a100();
  const size_t gpus = 1 + prng.below(3);
  const std::vector<int> want = random_wanted(g, prng, 1 + prng.below(6 * gpus));
  // All sums of what three GPUs can hold, whichever layouts they have.
  std::set<std::vector<int>> of_one;
  for (const MigLayout& layout : all_layouts(g)) {
    std::vector<int> count(g.profiles.size(), 0);
    for (const MigPlacement& p : layout)
      ++count[static_cast<size_t>(p.profile)];
    for (size_t p = 0; p < count.size(); ++p)
      count[p] = std::min(count[p], want[p]);
    of_one.insert(count);
  }
  std::set<std::vector<int>> sums = {std::vector<int>(g.profiles.size(), 0)};
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    std::set<std::vector<int>> next;
    for (const auto& sum : sums)
      for (const auto& count : of_one) {
        std::vector<int> total = sum;
        for (size_t p = 0; p < total.size(); ++p)
          total[p] = std::min(want[p], total[p] + count[p]);
        next.insert(total);
      }
    sums = std::move(next);
  }
  int64_t best = 0;
  for (const auto& sum : sums) {
    int64_t value = 0;
    for (size_t p = 0; p < sum.size(); ++p)
      value += int64_t{sum[p]} * slices(g, static_cast<int>(p));
    best = std::max(best, value);
  }
  const std::vector<MigLayout> empty(gpus);
  const MigPlan plan = plan_mig(g, empty, want);
  expect_sound(g, empty, want, plan);
  EXPECT_EQ(plan.slices, best);
}

TEST_P(MigPlanSmall, MovesAsLittleAsBruteForce) {
  SCOPED_TRACE(GetParam());
  Prng prng(GetParam());
  const MigGeometry& g = GetParam() % 3 == 0 ? a30() : a100();
  const std::vector<MigLayout> all = all_layouts(g, MediaProfiles::kExclude);
  const std::vector<MigLayout> running = {random_layout(all, prng), random_layout(all, prng)};
  std::vector<int> want(g.profiles.size(), 0);
  for (int i = 0; i < 4; ++i)
    if (const size_t p = prng.below(g.profiles.size()); !g.profiles[p].media) ++want[p];
  // Every pair of layouts that holds what runs and nothing that was not asked for: most slices, then least moved.
  std::pair<int64_t, int64_t> best{-1, 0};  // slices in all, −moved
  for (const MigLayout& first : all)
    for (const MigLayout& second : all) {
      std::vector<int> extra(g.profiles.size(), 0);
      int64_t value = 0;
      int64_t moved = 0;
      for (const auto* layout : {&first, &second})
        for (const MigPlacement& p : *layout) {
          ++extra[static_cast<size_t>(p.profile)];
          value += slices(g, p.profile);
        }
      for (size_t gpu = 0; gpu < 2; ++gpu)
        for (const MigPlacement& p : running[gpu]) {
          --extra[static_cast<size_t>(p.profile)];
          const MigLayout& layout = gpu == 0 ? first : second;
          if (std::find(layout.begin(), layout.end(), p) == layout.end()) moved += slices(g, p.profile);
        }
      bool fits = true;
      for (size_t p = 0; p < extra.size(); ++p)
        fits = fits && extra[p] >= 0 && extra[p] <= want[p];
      if (fits) best = std::max(best, {value, -moved});
    }
  const MigPlan plan = plan_mig(g, running, want);
  expect_sound(g, running, want, plan);
  int64_t run_slices = 0;
  for (const MigLayout& layout : running)
    for (const MigPlacement& p : layout)
      run_slices += slices(g, p.profile);
  EXPECT_EQ(plan.slices + run_slices, best.first);
  EXPECT_EQ(plan.moved_slices, -best.second);
}
INSTANTIATE_TEST_SUITE_P(Seeds, MigPlanSmall, ::testing::Range<uint64_t>(1, 25));

class MigPlanLarge : public ::testing::TestWithParam<uint64_t> {};

TEST_P(MigPlanLarge, IsSoundAndNeverAboveItsBound) {
  SCOPED_TRACE(GetParam());
  Prng prng(GetParam());
  const MigGeometry& g = GetParam() % 4 == 0 ? a30() : a100();
  const std::vector<MigLayout> all = all_layouts(g, MediaProfiles::kExclude);
  std::vector<MigLayout> running(4 + prng.below(20));
  for (MigLayout& layout : running)
    if (prng.below(2) == 0) layout = random_layout(all, prng);
  const std::vector<int> want = random_wanted(g, prng, 1 + prng.below(5 * running.size()));
  const MigPlan plan = plan_mig(g, running, want);
  expect_sound(g, running, want, plan);
  EXPECT_GE(static_cast<double>(plan.slices), 0.85 * static_cast<double>(plan.bound));
}
INSTANTIATE_TEST_SUITE_P(Seeds, MigPlanLarge, ::testing::Range<uint64_t>(1, 17));

/// What first fit and the plan place of random mixes, over many of them.
struct Mixes {
  int64_t ours = 0;
  int64_t first_fit = 0;
  int64_t bound = 0;
  int proven = 0;
  static constexpr int kMixes = 24;

  /// @param names  each as likely as any other. @param load  slices asked for in tenths of those there are.
  Mixes(std::initializer_list<const char*> names, int64_t load) {
    const MigGeometry& g = a100();
    std::vector<int> profiles;
    for (const char* name : names)
      profiles.push_back(g.index_of(*g.find_profile(name)));
    for (uint64_t seed = 1; seed <= kMixes; ++seed) {
      Prng prng(seed);
      const std::vector<MigLayout> empty(8 + prng.below(57));
      std::vector<int> requests;
      std::vector<int> want(g.profiles.size(), 0);
      for (int64_t asked = 0; asked * 10 < static_cast<int64_t>(empty.size()) * 7 * load;) {
        requests.push_back(profiles[prng.below(profiles.size())]);
        ++want[static_cast<size_t>(requests.back())];
        asked += slices(g, requests.back());
      }
      const MigPlan plan = plan_mig(g, empty, want);
      expect_sound(g, empty, want, plan);
      ours += plan.slices;
      bound += plan.bound;
      proven += plan.optimal() ? 1 : 0;
      first_fit += first_fit_mig(g, empty, requests).slices;
    }
    fmt::print("{}, load {:.1f}: first fit {} slices, plan {} ({:+.1f} %), bound {}; {} of {} plans proven optimal\n",
               fmt::join(names, " "), static_cast<double>(load) / 10, first_fit, ours,
               100.0 * static_cast<double>(ours - first_fit) / static_cast<double>(first_fit), bound, proven, kMixes);
  }
};

TEST(MigPlan, PlacesATenthMoreThanFirstFitOnHeavyMixesOfSharedGpus) {
  for (const int64_t load : {12, 15, 20}) {
    const Mixes mixes({"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb"}, load);
    EXPECT_GE(mixes.ours * 10, mixes.first_fit * 11);
    EXPECT_EQ(mixes.ours, mixes.bound);
  }
}

/// With 4g and whole GPUs in the mix first fit leaves less than a tenth to gain: the plan is proven to get all of it.
TEST(MigPlan, PlacesAllThereIsToGainOnMixesOfAllSizes) {
  for (const int64_t load : {10, 15, 30}) {
    const Mixes mixes({"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}, load);
    EXPECT_GT(mixes.ours, mixes.first_fit);
    EXPECT_GE(mixes.ours * 1000, mixes.bound * 999);
  }
}

TEST(MigPlan, FirstFitTakesTheFirstPlaceThatFits) {
  const std::vector<MigLayout> empty(2);
  const int two = a100().index_of(*a100().find_profile("2g.20gb"));
  const int four = a100().index_of(*a100().find_profile("4g.40gb"));
  // 2g at 0 and 2 leave memory slices 4–7 on GPU 0, where no 4g may start.
  const std::vector<int> requests = {two, four, two};
  const MigPlan plan = first_fit_mig(a100(), empty, requests);
  EXPECT_THAT(plan.layouts[0], ElementsAre(MigPlacement{0, two}, MigPlacement{2, two}));
  EXPECT_THAT(plan.layouts[1], ElementsAre(MigPlacement{0, four}));
  EXPECT_EQ(plan.slices, 8);
}

}  // namespace
}  // namespace stint
