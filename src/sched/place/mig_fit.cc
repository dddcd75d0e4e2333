#include "sched/place/mig_fit.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {
namespace {

const MigProfile& profile_of(const MigNode& node, int profile) { return node.geometry->profiles[static_cast<size_t>(profile)]; }

uint8_t memory_mask(const MigProfile& profile, int start) {
  return static_cast<uint8_t>(((1U << profile.memory_slices) - 1U) << start);
}

MigStock* find_stock(MigNode& node, int32_t profile) {
  const auto it = std::find_if(node.stock.begin(), node.stock.end(), [&](const MigStock& s) { return s.profile == profile; });
  return it == node.stock.end() ? nullptr : &*it;
}

/// Can be added to what one room holds; the count of instances of a profile follows from slices, and from starts.
bool legal(const MigNode& node, const MigSpot& spot, size_t room) {
  const MigGpu& gpu = node.gpus[static_cast<size_t>(spot.gpu)];
  const MigProfile& profile = profile_of(node, spot.profile);
  return (gpu.memory[room] & memory_mask(profile, spot.start)) == 0 &&
         gpu.compute[room] + profile.compute_slices <= node.geometry->compute_slices && !(profile.media && gpu.media[room] > 0);
}

/// How many placements a GPU has left, by compute slices in use and mask of memory slices in use.
using PlacementsLeft = std::array<std::array<uint8_t, 256>, 8>;

PlacementsLeft count_placements(const MigGeometry& geometry) {
  PlacementsLeft left{};
  for (size_t compute = 0; compute < left.size(); ++compute)
    for (size_t memory = 0; memory < left[compute].size(); ++memory)
      for (const MigProfile& profile : geometry.profiles)
        for (const int start : profile.starts)
          left[compute][memory] += (memory & memory_mask(profile, start)) == 0 &&
                                   static_cast<int>(compute) + profile.compute_slices <= geometry.compute_slices;
  return left;
}

const PlacementsLeft& placements_left(const MigGeometry& geometry) {
  static const std::vector<PlacementsLeft> of_geometry = [] {
    std::vector<PlacementsLeft> all;
    for (const MigGeometry& known : mig_geometries())
      all.push_back(count_placements(known));
    return all;
  }();
  return of_geometry[static_cast<size_t>(&geometry - mig_geometries().data())];
}

bool has_stock(const MigNode& node, std::span<const MigWant> wants, Room room) {
  return std::all_of(wants.begin(), wants.end(), [&](const MigWant& want) {
    return std::any_of(node.stock.begin(), node.stock.end(),
                       [&](const MigStock& s) { return s.profile == want.profile && s.free[index_of(room)] >= want.count; });
  });
}

bool spot_fits_in(const MigNode& node, const MigSpot& spot, Room room, uint64_t whole) {
  const bool can_be_cut = node.gpus[static_cast<size_t>(spot.gpu)].instances[index_of(room)] > 0 || (whole >> spot.gpu & 1) != 0;
  return can_be_cut && legal(node, spot, index_of(room));
}

}  // namespace

bool stock_has(const MigNode& node, std::span<const MigWant> wants, Room room) {
  return has_stock(node, wants, Room::kComing) && (room == Room::kComing || has_stock(node, wants, Room::kFree));
}

bool stock_is_free_now(const MigNode& node, std::span<const MigWant> wants) { return has_stock(node, wants, Room::kFree); }

void take_stock(MigNode& node, std::span<const MigWant> wants, Room room, int32_t sign) {
  for (const MigWant& want : wants) {
    MigStock* stock = find_stock(node, want.profile);
    CHECK(stock != nullptr, "a node without MIG profile {} gives out {} of it", want.profile, want.count);
    int32_t& free = stock->free[index_of(room)];
    free -= sign * want.count;
    CHECK(free >= 0 && free <= stock->total, "{} of {} MIG instances free after a change by {}", free, stock->total, want.count);
  }
}

bool spot_fits(const MigNode& node, const MigSpot& spot, Room room, const std::array<uint64_t, 2>& whole) {
  return spot_fits_in(node, spot, Room::kComing, whole[1]) &&
         (room == Room::kComing || spot_fits_in(node, spot, Room::kFree, whole[0]));
}

bool spot_is_free_now(const MigNode& node, const MigSpot& spot, uint64_t whole) {
  return spot_fits_in(node, spot, Room::kFree, whole);
}

std::optional<MigSpot> find_spot(const MigNode& node, int profile, Room room, const std::array<uint64_t, 2>& whole) {
  const PlacementsLeft& placements = placements_left(*node.geometry);
  const MigProfile& wanted = profile_of(node, profile);
  std::optional<MigSpot> best;
  bool best_is_cut = false;
  int best_left = -1;
  for (int g = 0; g < static_cast<int>(node.gpus.size()); ++g) {
    const MigGpu& gpu = node.gpus[static_cast<size_t>(g)];
    const bool cut = gpu.instances[index_of(room)] > 0;
    if (best && best_is_cut && !cut) continue;
    for (const int start : wanted.starts) {
      const MigSpot spot{g, profile, start};
      if (!spot_fits(node, spot, room, whole)) continue;
      const auto compute = static_cast<size_t>(gpu.compute[index_of(room)] + wanted.compute_slices);
      const int left = placements[compute][gpu.memory[index_of(room)] | memory_mask(wanted, start)];
      if (best && (best_is_cut == cut ? left <= best_left : best_is_cut)) continue;
      best = spot;
      best_is_cut = cut;
      best_left = left;
    }
  }
  return best;
}

int64_t most_instances(const MigNode& node, std::span<const MigWant> wants, int profile, Room room,
                       const std::array<uint64_t, 2>& whole) {
  const auto in_room = [&](size_t r) {
    if (node.geometry == nullptr) {
      int64_t most = INT64_MAX;
      for (const MigWant& want : wants)
        for (const MigStock& stock : node.stock)
          if (stock.profile == want.profile && want.count > 0) most = std::min<int64_t>(most, stock.free[r] / want.count);
      return most;
    }
    const MigProfile& wanted = profile_of(node, profile);
    int64_t most = 0;
    for (size_t g = 0; g < node.gpus.size(); ++g) {
      const MigGpu& gpu = node.gpus[g];
      if (gpu.instances[r] == 0 && (whole[r] >> g & 1) == 0) continue;
      most += std::min((node.geometry->compute_slices - gpu.compute[r]) / wanted.compute_slices,
                       (node.geometry->memory_slices - std::popcount(gpu.memory[r])) / wanted.memory_slices);
    }
    return most;
  };
  const int64_t then = in_room(index_of(Room::kComing));
  return room == Room::kComing ? then : std::min(then, in_room(index_of(Room::kFree)));
}

bool change_spot(MigNode& node, const MigSpot& spot, Room room, int32_t sign) {
  MigGpu& gpu = node.gpus[static_cast<size_t>(spot.gpu)];
  const MigProfile& profile = profile_of(node, spot.profile);
  const uint8_t mask = memory_mask(profile, spot.start);
  const size_t r = index_of(room);
  const auto add = [sign](uint8_t& value, int amount) { value = static_cast<uint8_t>(value + sign * amount); };
  if (sign > 0)
    CHECK(legal(node, spot, r), "MIG {} at memory slice {} of GPU {} overlaps another", profile.name, spot.start, spot.gpu);
  else
    CHECK((gpu.memory[r] & mask) == mask && gpu.instances[r] > 0, "MIG {} at memory slice {} of GPU {} given back twice",
          profile.name, spot.start, spot.gpu);
  gpu.memory[r] = static_cast<uint8_t>(gpu.memory[r] ^ mask);
  add(gpu.compute[r], profile.compute_slices);
  add(gpu.media[r], profile.media ? 1 : 0);
  add(gpu.instances[r], 1);
  return gpu.instances[r] == (sign > 0 ? 1 : 0);
}

}  // namespace stint::sched
