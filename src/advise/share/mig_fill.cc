#include "advise/share/mig_fill.h"

#include <algorithm>
#include <map>

namespace stint {
namespace {

constexpr int64_t kMostTrials = 30'000'000;  // of exchanges

/// GPUs with the same instances running, and how many of them take which addition.
struct MigGroup {
  std::vector<size_t> gpus;
  std::vector<MigOption> additions;
  std::vector<int> taken;  // per addition
};

/// A GPU of a group that takes an addition.
struct MigUse {
  size_t group = 0;
  size_t addition = 0;
};

class Filler {
 public:
  Filler(const MigPatterns& patterns, std::span<const MigLayout> running, const MigCounts& wanted)
      : geometry_(patterns.geometry()), wanted_(wanted), layouts_(running.begin(), running.end()) {
    std::map<MigLayout, std::vector<size_t>> by_layout;
    for (size_t g = 0; g < running.size(); ++g)
      by_layout[running[g]].push_back(g);
    for (auto& [layout, gpus] : by_layout) {
      MigGroup group{std::move(gpus), patterns.additions(layout), {}};
      group.taken.assign(group.additions.size(), 0);
      groups_.push_back(std::move(group));
    }
  }

  std::vector<MigLayout> run() {
    fill();
    while (exchange_one() || exchange_two()) {
    }
    return layouts();
  }

 private:
  [[nodiscard]] int64_t worth(const MigCounts& sum) const {
    int64_t slices = 0;
    for (size_t p = 0; p < geometry_.profiles.size(); ++p)
      slices += int64_t{std::min(sum[p], wanted_[p])} * geometry_.profiles[p].compute_slices;
    return slices;
  }
  [[nodiscard]] const MigCounts& counts(MigUse use) const { return groups_[use.group].additions[use.addition].counts; }
  void put(MigUse use, int times) {
    groups_[use.group].taken[use.addition] += times;
    for (size_t p = 0; p < sum_.size(); ++p)
      sum_[p] += times * counts(use)[p];
  }

  /// The group and addition that add most slices, for as many GPUs as it adds as much; the tightest groups first.
  void fill() {
    std::vector<size_t> left;
    for (const MigGroup& group : groups_)
      left.push_back(group.gpus.size());
    while (true) {
      MigUse best;
      int64_t best_gain = -1;
      for (size_t g = 0; g < groups_.size(); ++g) {
        if (left[g] == 0) continue;
        for (size_t a = 0; a < groups_[g].additions.size(); ++a) {
          const int64_t gain = worth(plus(sum_, counts({g, a}))) - worth(sum_);
          if (gain > best_gain) {
            best_gain = gain;
            best = {g, a};
          }
        }
      }
      if (best_gain < 0) return;
      size_t times = left[best.group];
      for (size_t p = 0; p < sum_.size(); ++p)
        if (counts(best)[p] > 0 && wanted_[p] > sum_[p])
          times = std::min(times, static_cast<size_t>((wanted_[p] - sum_[p]) / counts(best)[p]));
      times = best_gain == 0 ? left[best.group] : std::max<size_t>(1, times);
      put(best, static_cast<int>(times));
      left[best.group] -= times;
    }
  }

  [[nodiscard]] std::vector<MigUse> uses() const {
    std::vector<MigUse> all;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t a = 0; a < groups_[g].additions.size(); ++a)
        if (groups_[g].taken[a] > 0) all.push_back({g, a});
    return all;
  }

  bool exchange_one() {
    for (const MigUse from : uses())
      for (size_t a = 0; a < groups_[from.group].additions.size(); ++a) {
        if (++trials_ > kMostTrials) return false;
        const MigCounts sum = plus(minus(sum_, counts(from)), counts({from.group, a}));
        if (worth(sum) <= worth(sum_)) continue;
        put(from, -1);
        put({from.group, a}, 1);
        return true;
      }
    return false;
  }

  bool exchange_two() {
    const std::vector<MigUse> all = uses();
    const int64_t now = worth(sum_);
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = i; j < all.size(); ++j) {
        if (i == j && groups_[all[i].group].taken[all[i].addition] < 2) continue;
        const MigCounts without = minus(minus(sum_, counts(all[i])), counts(all[j]));
        for (size_t a = 0; a < groups_[all[i].group].additions.size(); ++a) {
          const MigCounts with_first = plus(without, counts({all[i].group, a}));
          for (size_t b = 0; b < groups_[all[j].group].additions.size(); ++b) {
            if (++trials_ > kMostTrials) return false;
            if (worth(plus(with_first, counts({all[j].group, b}))) <= now) continue;
            put(all[i], -1);
            put(all[j], -1);
            put({all[i].group, a}, 1);
            put({all[j].group, b}, 1);
            return true;
          }
        }
      }
    return false;
  }

  /// Patterns become layouts; instances that were not asked for are left out.
  [[nodiscard]] std::vector<MigLayout> layouts() {
    MigCounts left = wanted_;
    for (const MigGroup& group : groups_) {
      size_t next = 0;
      for (size_t a = 0; a < group.additions.size(); ++a)
        for (int i = 0; i < group.taken[a]; ++i) {
          MigLayout& layout = layouts_[group.gpus[next++]];
          const MigLayout running = layout;
          layout.clear();
          for (const MigPlacement& p : group.additions[a].layout) {
            const bool runs = std::find(running.begin(), running.end(), p) != running.end();
            if (runs || left[static_cast<size_t>(p.profile)]-- > 0) layout.push_back(p);
          }
        }
    }
    return std::move(layouts_);
  }

  const MigGeometry& geometry_;
  MigCounts wanted_;
  std::vector<MigLayout> layouts_;
  std::vector<MigGroup> groups_;
  MigCounts sum_{};
  int64_t trials_ = 0;
};

}  // namespace

std::vector<MigLayout> fill_mig(const MigPatterns& patterns, std::span<const MigLayout> running, const MigCounts& wanted) {
  return Filler(patterns, running, wanted).run();
}

}  // namespace stint
