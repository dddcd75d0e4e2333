#include "sched/place/mig_fit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"

namespace stint::sched {
namespace {

constexpr std::array<uint64_t, 2> kAllWhole = {~uint64_t{0}, ~uint64_t{0}};

MigNode node_of(std::string_view model, size_t gpus) {
  MigNode node;
  node.geometry = find_mig_geometry(model);
  node.gpus.resize(gpus);
  return node;
}

int profile(const MigNode& node, std::string_view name) { return node.geometry->index_of(*node.geometry->find_profile(name)); }

void take(MigNode& node, const MigSpot& spot) {
  for (const Room room : {Room::kFree, Room::kComing})
    change_spot(node, spot, room, 1);
}

TEST(MigFit, AnInstanceFitsExactlyWhereTheGeometryAllows) {
  for (const MigGeometry& geometry : mig_geometries()) {
    for (const MigLayout& layout : all_layouts(geometry)) {
      MigNode node;
      node.geometry = &geometry;
      node.gpus.resize(1);
      for (const MigPlacement& p : layout)
        take(node, {0, p.profile, p.start});
      const auto left = placements_left(geometry, layout);
      for (size_t i = 0; i < geometry.profiles.size(); ++i) {
        const auto spot = find_spot(node, static_cast<int>(i), Room::kFree, kAllWhole);
        const auto of_profile = [&](const MigPlacement& p) { return p.profile == static_cast<int>(i); };
        ASSERT_EQ(spot.has_value(), std::any_of(left.begin(), left.end(), of_profile)) << geometry.gpu_model;
        if (!spot) continue;
        MigLayout with = layout;
        with.push_back({spot->start, spot->profile});
        ASSERT_TRUE(check_layout(geometry, with).ok());
      }
    }
  }
}

TEST(MigFit, ChoosesTheStartThatLeavesMost) {
  MigNode node = node_of("A100-40GB", 1);
  // Slice 6 spoils only the 1g.10gb at 6; any other start spoils a place of 2g and 3g or 4g besides.
  EXPECT_EQ(find_spot(node, profile(node, "1g.5gb"), Room::kFree, kAllWhole)->start, 6);
  EXPECT_EQ(find_spot(node, profile(node, "3g.20gb"), Room::kFree, kAllWhole)->start, 4) << "a 4g starts at 0 only";
}

TEST(MigFit, GpusAlreadyCutComeFirst) {
  MigNode node = node_of("A100-40GB", 3);
  take(node, {2, profile(node, "2g.10gb"), 0});
  EXPECT_EQ(find_spot(node, profile(node, "3g.20gb"), Room::kFree, kAllWhole)->gpu, 2);
  EXPECT_EQ(find_spot(node, profile(node, "7g.40gb"), Room::kFree, kAllWhole)->gpu, 0);
  EXPECT_FALSE(find_spot(node, profile(node, "7g.40gb"), Room::kFree, {0, ~uint64_t{0}})) << "in use now";
  EXPECT_TRUE(find_spot(node, profile(node, "7g.40gb"), Room::kComing, {0, ~uint64_t{0}}));
}

TEST(MigFit, SaysWhenAGpuBeginsAndCeasesToBeCut) {
  MigNode node = node_of("A30", 1);
  const MigSpot low{0, profile(node, "2g.12gb"), 0};
  const MigSpot high{0, profile(node, "2g.12gb"), 2};
  EXPECT_TRUE(change_spot(node, low, Room::kFree, 1));
  EXPECT_FALSE(change_spot(node, high, Room::kFree, 1));
  EXPECT_FALSE(change_spot(node, low, Room::kFree, -1));
  EXPECT_TRUE(change_spot(node, high, Room::kFree, -1));
  EXPECT_EQ(node.gpus[0], MigGpu{});
}

TEST(MigFit, StaticInstancesArePromisedWhenTheirHoldersLeave) {
  MigNode node;
  node.stock = {{0, 2, {2, 2}}};
  const std::array<MigWant, 1> two = {{{0, 2}}};
  const std::array<MigWant, 1> other = {{{1, 1}}};
  EXPECT_TRUE(stock_has(node, two, Room::kFree));
  EXPECT_FALSE(stock_has(node, other, Room::kComing));
  take_stock(node, two, Room::kFree, 1);
  EXPECT_FALSE(stock_has(node, two, Room::kFree));
  EXPECT_TRUE(stock_has(node, two, Room::kComing));
  take_stock(node, two, Room::kComing, 1);
  EXPECT_FALSE(stock_has(node, two, Room::kComing));
}

}  // namespace
}  // namespace stint::sched
