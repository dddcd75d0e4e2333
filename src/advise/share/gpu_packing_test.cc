#include "advise/share/gpu_packing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"

namespace stint {
namespace {

const MigGeometry& a100() { return *find_mig_geometry("A100-40GB"); }
int profile(std::string_view name) { return a100().index_of(*a100().find_profile(name)); }

void expect_legal(const MigGeometry& geometry, const std::vector<PackedGpu>& gpus, const std::vector<int>& profiles) {
  std::vector<int> seen(profiles.size());
  for (const PackedGpu& gpu : gpus) {
    ASSERT_EQ(gpu.items.size(), gpu.placements.size());
    for (size_t k = 0; k < gpu.items.size(); ++k) {
      EXPECT_EQ(gpu.placements[k].profile, profiles[gpu.items[k]]);
      ++seen[gpu.items[k]];
    }
    EXPECT_TRUE(check_layout(geometry, gpu.placements).ok());
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
}

TEST(SmallestProfile, HoldsMemoryAndCompute) {
  EXPECT_EQ(smallest_profile(a100(), Bytes::gibi(int64_t{4}), 0.1), profile("1g.5gb"));
  EXPECT_EQ(smallest_profile(a100(), Bytes::gibi(int64_t{4}), 0.25), profile("2g.10gb"));
  EXPECT_EQ(smallest_profile(a100(), Bytes::gibi(int64_t{15}), 0.1), profile("3g.20gb"));
  EXPECT_EQ(smallest_profile(a100(), Bytes::gibi(int64_t{15}), 0.5), profile("4g.20gb"));
  EXPECT_EQ(smallest_profile(a100(), Bytes::gibi(int64_t{41}), 0.1), std::nullopt);
}

TEST(PackMig, FillsFourAndThreeSlicesBesideEachOther) {
  const std::vector<int> profiles = {profile("3g.20gb"), profile("4g.20gb"), profile("3g.20gb"), profile("4g.20gb")};
  const auto gpus = pack_mig(a100(), profiles);
  EXPECT_EQ(gpus.size(), 2U);
  expect_legal(a100(), gpus, profiles);
}

/// Fewest GPUs by trying every partition, for a second opinion.
size_t fewest(const MigGeometry& geometry, const std::vector<int>& profiles) {
  const auto layouts = all_layouts(geometry, MediaProfiles::kExclude);
  const auto fits = [&](const std::vector<int>& some) {
    return std::any_of(layouts.begin(), layouts.end(), [&](const MigLayout& layout) {
      std::vector<int> has;
      for (const MigPlacement& p : layout)
        has.push_back(p.profile);
      std::sort(has.begin(), has.end());
      std::vector<int> want = some;
      std::sort(want.begin(), want.end());
      return has == want;
    });
  };
  size_t best = profiles.size();
  std::vector<std::vector<int>> bins;
  const auto place = [&](auto&& self, size_t i) -> void {
    if (bins.size() >= best) return;
    if (i == profiles.size()) {
      best = bins.size();
      return;
    }
    for (size_t b = 0; b < bins.size(); ++b) {
      bins[b].push_back(profiles[i]);
      if (fits(bins[b])) self(self, i + 1);
      bins[b].pop_back();
    }
    bins.push_back({profiles[i]});
    self(self, i + 1);
    bins.pop_back();
  };
  place(place, 0);
  return best;
}

TEST(PackMig, SmallSetsArePackedOptimally) {
  const uint64_t seed = 20261121;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Prng prng(seed);
  const std::vector<int> choices = {profile("1g.5gb"), profile("1g.10gb"), profile("2g.10gb"), profile("3g.20gb"),
                                    profile("4g.20gb")};
  for (int round = 0; round < 40; ++round) {
    std::vector<int> profiles;
    const size_t n = 2 + prng.below(5);
    for (size_t i = 0; i < n; ++i)
      profiles.push_back(choices[prng.below(choices.size())]);
    const auto gpus = pack_mig(a100(), profiles);
    expect_legal(a100(), gpus, profiles);
    EXPECT_EQ(gpus.size(), fewest(a100(), profiles)) << "round " << round;
  }
}

TEST(PackShared, KeepsToMemoryComputeAndTrust) {
  const std::vector<Roommate> items = {{"a", 0.4, 0.3}, {"a", 0.4, 0.3}, {"a", 0.2, 0.05},
                                       {"b", 0.1, 0.1}, {"", 0.1, 0.1},  {"", 0.1, 0.1}};
  const auto gpus = pack_shared(items);
  // Two of a fill 0.8 of the memory; a's third, b and the two of unknown owner are alone.
  EXPECT_EQ(gpus.size(), 5U);
  for (const PackedGpu& gpu : gpus) {
    double memory = 0, compute = 0;
    for (const size_t i : gpu.items) {
      EXPECT_EQ(items[i].trust, items[gpu.items[0]].trust);
      memory += items[i].memory;
      compute += items[i].compute;
    }
    EXPECT_LE(memory, kSharedMemoryLimit);
    EXPECT_LE(compute, kSharedComputeLimit);
  }
}

}  // namespace
}  // namespace stint
