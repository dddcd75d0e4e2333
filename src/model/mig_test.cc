#include "model/mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/prng.h"

namespace stint {
namespace {

const MigGeometry& geometry(std::string_view model) {
  const MigGeometry* g = find_mig_geometry(model);
  CHECK(g != nullptr, "no geometry of {}", model);
  return *g;
}

MigPlacement at(const MigGeometry& g, std::string_view profile, int start) {
  const MigProfile* p = g.find_profile(profile);
  CHECK(p != nullptr, "no profile {}", profile);
  return {start, g.index_of(*p)};
}

/// Second method: slices are counted one by one over an array, nothing shared with mig.cc.
bool legal_by_counting(const MigGeometry& g, const std::vector<MigPlacement>& layout) {
  std::vector<int> memory(static_cast<size_t>(g.memory_slices), 0);
  int compute = 0;
  int media = 0;
  for (const MigPlacement& p : layout) {
    const MigProfile& profile = g.profiles[static_cast<size_t>(p.profile)];
    for (int s = p.start; s < p.start + profile.memory_slices; ++s) {
      if (s >= g.memory_slices) return false;
      ++memory[static_cast<size_t>(s)];
    }
    compute += profile.compute_slices;
    media += profile.media ? 1 : 0;
  }
  return compute <= g.compute_slices && media <= 1 && std::all_of(memory.begin(), memory.end(), [](int n) { return n <= 1; });
}

/// Every subset of the placement table, tried.
std::set<MigLayout> legal_subsets(const MigGeometry& g) {
  std::vector<MigPlacement> table;
  for (size_t i = 0; i < g.profiles.size(); ++i)
    for (const int start : g.profiles[i].starts)
      table.push_back({start, static_cast<int>(i)});
  std::sort(table.begin(), table.end());
  std::set<MigLayout> legal;
  for (uint32_t subset = 0; subset < (1U << table.size()); ++subset) {
    MigLayout layout;
    for (size_t i = 0; i < table.size(); ++i)
      if ((subset >> i & 1U) != 0) layout.push_back(table[i]);
    if (layout.size() <= 7 && legal_by_counting(g, layout)) legal.insert(layout);
  }
  return legal;
}

TEST(Mig, EnumeratesExactlyTheLegalSubsetsOfThePlacementTable) {
  for (const char* model : {"A30", "A100-80GB"}) {
    MigGeometry g = geometry(model);
    // All 25 placements would be 33 million subsets; without the +me twin 18 remain.
    if (g.memory_slices == 8) std::erase_if(g.profiles, [](const MigProfile& p) { return p.media; });
    const std::vector<MigLayout> found = all_layouts(g);
    const std::set<MigLayout> unique(found.begin(), found.end());
    EXPECT_EQ(unique.size(), found.size()) << model << ": a layout is listed twice";
    EXPECT_EQ(unique, legal_subsets(g)) << model;
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end())) << model;
  }
}

TEST(Mig, EveryLayoutOfEveryGpuPassesTheCheckAndTheCount) {
  for (const MigGeometry& g : mig_geometries()) {
    for (const MigLayout& layout : all_layouts(g)) {
      ASSERT_TRUE(check_layout(g, layout).ok()) << g.gpu_model << ": " << describe(g, layout);
      ASSERT_TRUE(legal_by_counting(g, layout)) << g.gpu_model << ": " << describe(g, layout);
      const MigParts parts = parts_in(g, layout);
      ASSERT_EQ(parts.used + parts.available + parts.stranded, g.total_parts());
      ASSERT_GE(parts.stranded, 0);
    }
  }
}

TEST(Mig, RandomPlacementsPassTheCheckExactlyWhenTheyCount) {
  constexpr uint64_t kSeed = 20261121;
  SCOPED_TRACE(kSeed);
  Prng random(kSeed);
  for (const MigGeometry& g : mig_geometries()) {
    for (int round = 0; round < 2000; ++round) {
      MigLayout layout;
      const uint64_t size = 1 + random.below(5);
      while (layout.size() < size) {
        const auto profile = static_cast<int>(random.below(g.profiles.size()));
        const std::vector<int>& starts = g.profiles[static_cast<size_t>(profile)].starts;
        layout.push_back({starts[random.below(starts.size())], profile});
      }
      EXPECT_EQ(check_layout(g, layout).ok(), legal_by_counting(g, layout)) << g.gpu_model << ": " << describe(g, layout);
    }
  }
}

// NVIDIA's figure "Profiles on A100" shows the whole GPU, and 4g, 3g or a filling by 2g and 1g on the left half
// combined with 3g or a filling on the right: 1 + 6 × 3.
TEST(Mig, A100HasTheNineteenConfigurationsOfNvidiasFigure) {
  for (const char* model : {"A100-40GB", "A100-80GB"}) {
    MigGeometry g = geometry(model);
    std::erase_if(g.profiles, [](const MigProfile& p) { return p.compute_slices == 1 && p.memory_slices == 2; });
    EXPECT_EQ(maximal_layouts(g, MediaProfiles::kExclude).size(), 19U) << model;
  }
}

TEST(Mig, A30HasFiveWaysToFillIt) {  // 4g; each half 2g or 1g+1g: 1 + 2 × 2
  EXPECT_EQ(maximal_layouts(geometry("A30"), MediaProfiles::kExclude).size(), 5U);
}

TEST(Mig, KnownCombinationsOfA100With80GB) {
  const MigGeometry& g = geometry("A100-80GB");
  MigLayout seven;
  for (int s = 0; s < 7; ++s)
    seven.push_back(at(g, "1g.10gb", s));
  EXPECT_TRUE(check_layout(g, seven).ok());
  EXPECT_TRUE(
      check_layout(g, std::vector{at(g, "2g.20gb", 0), at(g, "2g.20gb", 2), at(g, "2g.20gb", 4), at(g, "1g.10gb", 6)}).ok());
  EXPECT_TRUE(check_layout(g, std::vector{at(g, "3g.40gb", 0), at(g, "3g.40gb", 4)}).ok());
  EXPECT_TRUE(check_layout(g, std::vector{at(g, "4g.40gb", 0), at(g, "3g.40gb", 4)}).ok());
  EXPECT_TRUE(placements_left(g, std::vector{at(g, "3g.40gb", 0), at(g, "3g.40gb", 4)}).empty());
}

TEST(Mig, RefusalsNameTheRule) {
  const MigGeometry& g = geometry("A100-80GB");
  const auto reason = [&](std::vector<MigPlacement> layout) {
    const Status s = check_layout(g, layout);
    return s.ok() ? std::string("legal") : s.error().message;
  };
  EXPECT_THAT(reason({at(g, "4g.40gb", 4)}), testing::HasSubstr("starts at 0"));
  EXPECT_THAT(reason({at(g, "4g.40gb", 0), at(g, "4g.40gb", 0)}), testing::HasSubstr("overlaps"));
  EXPECT_THAT(reason({at(g, "1g.10gb", 7)}), testing::HasSubstr("cannot start"));
  EXPECT_THAT(reason({at(g, "1g.10gb+me", 0), at(g, "1g.10gb+me", 1)}), testing::HasSubstr("media"));
  EXPECT_THAT(reason({MigPlacement{0, 99}}), testing::HasSubstr("no MIG profile"));
}

TEST(Mig, ShareIsTheMeanOfComputeAndMemoryShare) {
  const MigGeometry& g = geometry("A100-80GB");
  EXPECT_EQ(g.total_parts(), 112);
  EXPECT_EQ(g.parts_of(*g.find_profile("1g.10gb")), 15);  // (1/7 + 1/8) / 2 = 15/112
  EXPECT_EQ(g.parts_of(*g.find_profile("1g.20gb")), 22);
  EXPECT_EQ(g.parts_of(*g.find_profile("3g.40gb")), 52);
  EXPECT_EQ(g.parts_of(*g.find_profile("7g.80gb")), 112);
  const MigGeometry& a30 = geometry("A30");
  EXPECT_EQ(a30.total_parts(), 8);
  EXPECT_EQ(a30.parts_of(*a30.find_profile("2g.12gb")), 4);
}

TEST(Mig, StrandedIsWhatNoInstanceCanUse) {
  const MigGeometry& g = geometry("A100-80GB");
  MigLayout seven;
  for (int s = 0; s < 7; ++s)
    seven.push_back(at(g, "1g.10gb", s));
  EXPECT_EQ(parts_in(g, seven).stranded, 7);                                                  // memory slice 7: 7 of 112
  EXPECT_EQ(parts_in(g, std::vector{at(g, "3g.40gb", 0), at(g, "3g.40gb", 4)}).stranded, 8);  // one compute slice
  EXPECT_EQ(parts_in(g, std::vector{at(g, "4g.40gb", 0), at(g, "3g.40gb", 4)}).stranded, 0);
  const MigParts empty = parts_in(g, {});
  EXPECT_EQ(empty.available, 112);
  EXPECT_EQ(empty.stranded, 0);
  // One 1g in the middle of the left half: 3g at 4 (52) and 2g at 0 (30) and 1g at 3 (15) are left of 97; 0 stranded.
  const MigParts middle = parts_in(g, std::vector{at(g, "1g.10gb", 2)});
  EXPECT_EQ(middle.used, 15);
  EXPECT_EQ(middle.available, 97);
}

TEST(Mig, LedgerPartsNeverExceedTheDevice) {
  for (const MigGeometry& g : mig_geometries()) {
    for (const MigLayout& layout : maximal_layouts(g)) {
      DeviceParts sum = device_parts(parts_in(g, layout).stranded, g.total_parts());
      for (const MigPlacement& p : layout)
        sum += device_parts(g.parts_of(g.profiles[static_cast<size_t>(p.profile)]), g.total_parts());
      ASSERT_LE(sum, kWholeDevice);
      ASSERT_GT(sum, kWholeDevice - 10);
    }
  }
  EXPECT_EQ(device_parts(112, 112), kWholeDevice);
}

TEST(Mig, FindsProfilesAsSourcesWriteThem) {
  const MigGeometry& g = geometry("h100-pcie");
  EXPECT_EQ(g.gpu_model, "H100-80GB");
  for (const char* name : {"1g.10gb", "MIG 1g.10gb", "mig-1g.10gb", " 1G.10GB "})
    EXPECT_EQ(g.find_profile(name), &g.profiles[0]) << name;
  EXPECT_EQ(g.find_profile("1g.10gb.me"), g.find_profile("1g.10gb+me"));
  EXPECT_EQ(g.find_profile("1c.3g.40gb"), g.find_profile("3g.40gb"));
  EXPECT_EQ(g.find_profile("1g.5gb"), nullptr);
  EXPECT_EQ(find_mig_geometry("V100-16GB"), nullptr);
}

TEST(Mig, DescribesLayoutsLargestFirst) {
  const MigGeometry& g = geometry("A100-80GB");
  EXPECT_EQ(describe(g, std::vector{at(g, "1g.10gb", 6), at(g, "2g.20gb", 0), at(g, "2g.20gb", 2)}), "2 × 2g.20gb + 1 × 1g.10gb");
  EXPECT_EQ(describe(g, {}), "nothing");
}

}  // namespace
}  // namespace stint
