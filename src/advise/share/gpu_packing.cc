#include "advise/share/gpu_packing.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace stint {
namespace {

constexpr size_t kExactItems = 12;
constexpr int kExactSteps = 200'000;

/// Which multisets of profiles have a legal layout, remembered.
class Fits {
 public:
  explicit Fits(const MigGeometry& geometry) : geometry_(geometry) {}

  /// @param profiles  descending. @return placements in that order; nullptr when there is no legal layout.
  const std::vector<MigPlacement>* layout(const std::vector<int>& profiles) {
    auto [it, added] = known_.try_emplace(profiles);
    if (added) {
      std::vector<MigPlacement> placed;
      if (place(profiles, placed)) it->second = std::move(placed);
    }
    return it->second ? &*it->second : nullptr;
  }

 private:
  bool place(const std::vector<int>& profiles, std::vector<MigPlacement>& placed) const {
    if (placed.size() == profiles.size()) return true;
    MigLayout so_far = placed;
    std::sort(so_far.begin(), so_far.end());
    for (const MigPlacement& next : placements_left(geometry_, so_far)) {
      if (next.profile != profiles[placed.size()]) continue;
      placed.push_back(next);
      if (place(profiles, placed)) return true;
      placed.pop_back();
    }
    return false;
  }

  const MigGeometry& geometry_;
  std::map<std::vector<int>, std::optional<std::vector<MigPlacement>>> known_;
};

std::vector<int> with(std::vector<int> profiles, int extra) {
  profiles.insert(std::upper_bound(profiles.begin(), profiles.end(), extra, std::greater<>()), extra);
  return profiles;
}

/// Items by GPU, given out in the order of `order` (descending profiles).
struct MigBins {
  std::vector<std::vector<int>> profiles;  // per GPU, descending
  std::vector<size_t> of_item;             // GPU of order[i]
};

class MigPacker {
 public:
  MigPacker(const MigGeometry& geometry, std::span<const int> profiles)
      : geometry_(geometry), profiles_(profiles), fits_(geometry) {
    order_.resize(profiles.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return profiles[a] > profiles[b]; });
  }

  std::vector<PackedGpu> pack() {
    best_ = best_fit();
    if (profiles_.size() <= kExactItems && best_.profiles.size() > lower_bound()) {
      MigBins partial;
      improve(partial);
    }
    std::vector<PackedGpu> gpus(best_.profiles.size());
    for (size_t i = 0; i < order_.size(); ++i)
      gpus[best_.of_item[i]].items.push_back(order_[i]);
    for (size_t g = 0; g < gpus.size(); ++g)
      gpus[g].placements = *fits_.layout(best_.profiles[g]);
    return gpus;
  }

 private:
  [[nodiscard]] int64_t size_of(const std::vector<int>& profiles) const {
    int64_t parts = 0;
    for (const int p : profiles)
      parts += geometry_.parts_of(geometry_.profiles[static_cast<size_t>(p)]);
    return parts;
  }

  [[nodiscard]] size_t lower_bound() const {
    int compute = 0;
    int memory = 0;
    std::map<int, int> counts;
    for (const int p : profiles_) {
      compute += geometry_.profiles[static_cast<size_t>(p)].compute_slices;
      memory += geometry_.profiles[static_cast<size_t>(p)].memory_slices;
      ++counts[p];
    }
    const auto up = [](int a, int b) { return (a + b - 1) / b; };
    int bound = std::max(up(compute, geometry_.compute_slices), up(memory, geometry_.memory_slices));
    for (const auto& [p, n] : counts)
      bound = std::max(bound, up(n, geometry_.profiles[static_cast<size_t>(p)].max_count));
    return static_cast<size_t>(bound);
  }

  /// Into the fullest GPU that takes it. GPUs with equal contents are one case, so that a thousand items are quick.
  MigBins best_fit() {
    MigBins bins;
    std::map<std::vector<int>, std::vector<size_t>> by_content;
    for (const size_t item : order_) {
      const std::vector<int>* fullest = nullptr;
      for (const auto& [content, gpus] : by_content)
        if ((fullest == nullptr || size_of(content) > size_of(*fullest)) &&
            fits_.layout(with(content, profiles_[item])) != nullptr)
          fullest = &content;
      size_t chosen = bins.profiles.size();
      if (fullest == nullptr) {
        bins.profiles.emplace_back();
      } else {
        const auto it = by_content.find(*fullest);
        chosen = it->second.back();
        it->second.pop_back();
        if (it->second.empty()) by_content.erase(it);
      }
      bins.profiles[chosen] = with(bins.profiles[chosen], profiles_[item]);
      by_content[bins.profiles[chosen]].push_back(chosen);
      bins.of_item.push_back(chosen);
    }
    return bins;
  }

  /// Depth first over the items; GPUs with equal contents are tried once.
  void improve(MigBins& partial) {
    if (++steps_ > kExactSteps || partial.profiles.size() >= best_.profiles.size()) return;
    const size_t i = partial.of_item.size();
    if (i == order_.size()) {
      best_ = partial;
      return;
    }
    std::vector<std::vector<int>> tried;
    for (size_t g = 0; g <= partial.profiles.size(); ++g) {
      const bool fresh = g == partial.profiles.size();
      const std::vector<int> before = fresh ? std::vector<int>() : partial.profiles[g];
      if (std::find(tried.begin(), tried.end(), before) != tried.end()) continue;
      tried.push_back(before);
      std::vector<int> after = with(before, profiles_[order_[i]]);
      if (fits_.layout(after) == nullptr) continue;
      if (fresh) partial.profiles.emplace_back();
      partial.profiles[g] = std::move(after);
      partial.of_item.push_back(g);
      improve(partial);
      partial.of_item.pop_back();
      partial.profiles[g] = before;
      if (fresh) {
        partial.profiles.pop_back();
        break;
      }
    }
  }

  const MigGeometry& geometry_;
  std::span<const int> profiles_;
  Fits fits_;
  std::vector<size_t> order_;
  MigBins best_;
  int steps_ = 0;
};

}  // namespace

std::optional<int> smallest_profile(const MigGeometry& geometry, Bytes memory, double compute_share, double bandwidth_share) {
  std::optional<int> best;
  for (size_t p = 0; p < geometry.profiles.size(); ++p) {
    const MigProfile& profile = geometry.profiles[p];
    if (profile.media || profile.memory < memory || profile.compute_slices < compute_share * geometry.compute_slices ||
        profile.memory_slices < bandwidth_share * geometry.memory_slices)
      continue;
    if (!best || geometry.parts_of(profile) < geometry.parts_of(geometry.profiles[static_cast<size_t>(*best)]))
      best = static_cast<int>(p);
  }
  return best;
}

std::vector<PackedGpu> pack_mig(const MigGeometry& geometry, std::span<const int> profiles) {
  return MigPacker(geometry, profiles).pack();
}

std::vector<PackedGpu> pack_shared(std::span<const Roommate> items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::max(items[a].compute, items[a].memory) > std::max(items[b].compute, items[b].memory);
  });
  struct Room {
    std::string trust;
    double memory = 0;
    double compute = 0;
    PackedGpu gpu;
  };
  std::vector<Room> rooms;
  for (const size_t i : order) {
    Room* chosen = nullptr;
    for (Room& room : rooms) {
      const bool fits = !items[i].trust.empty() && room.trust == items[i].trust &&
                        room.memory + items[i].memory <= kSharedMemoryLimit &&
                        room.compute + items[i].compute <= kSharedComputeLimit;
      if (fits && (chosen == nullptr || room.compute > chosen->compute)) chosen = &room;
    }
    if (chosen == nullptr) chosen = &rooms.emplace_back(Room{items[i].trust, 0, 0, {}});
    chosen->memory += items[i].memory;
    chosen->compute += items[i].compute;
    chosen->gpu.items.push_back(i);
  }
  std::vector<PackedGpu> gpus;
  for (Room& room : rooms)
    gpus.push_back(std::move(room.gpu));
  return gpus;
}

}  // namespace stint
