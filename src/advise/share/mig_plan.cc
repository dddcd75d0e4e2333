#include "advise/share/mig_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "advise/share/mig_bound.h"
#include "advise/share/mig_fill.h"
#include "advise/share/mig_patterns.h"
#include "advise/share/mig_search.h"
#include "base/check.h"

namespace stint {
namespace {

constexpr size_t kMostKinds = 12;  // of GPUs that are looked at for repartitioning, those with most free slices
constexpr int kMostSearches = 600;

MigCounts sum_of(std::span<const MigLayout> layouts) {
  MigCounts sum{};
  for (const MigLayout& layout : layouts)
    sum = plus(sum, counts_of(layout));
  return sum;
}

int64_t kept_slices(const MigGeometry& geometry, const MigLayout& running, const MigLayout& layout) {
  int64_t kept = 0;
  for (const MigPlacement& p : running)
    if (std::find(layout.begin(), layout.end(), p) != layout.end())
      kept += geometry.profiles[static_cast<size_t>(p.profile)].compute_slices;
  return kept;
}

/// Repartitions pairs of GPUs as long as that places more of what is wanted.
class Repartition {
 public:
  Repartition(const MigPatterns& patterns, std::span<const MigLayout> running, const MigCounts& wanted, int64_t bound,
              std::vector<MigLayout>& layouts)
      : patterns_(patterns), geometry_(patterns.geometry()), running_(running), layouts_(layouts), bound_(bound) {
    placed_ = minus(sum_of(layouts), sum_of(running));
    left_ = minus(wanted, placed_);
    slices_ = slices_of(geometry_, placed_);
  }

  void run() {
    while (slices_ < bound_ && slices_of(geometry_, left_) > 0 && improve()) {
    }
  }

 private:
  /// GPUs alike in what runs on them and how they are cut.
  struct Kind {
    int64_t free_slices = 0;
    std::vector<size_t> gpus;
  };
  struct Step {
    int64_t gain = 0;
    int64_t moved = 0;
    std::array<size_t, 2> gpus{};
    MigSearchResult result;
  };

  [[nodiscard]] std::vector<Kind> kinds() const {
    std::map<std::pair<MigLayout, MigLayout>, Kind> by_state;
    for (size_t g = 0; g < layouts_.size(); ++g) {
      Kind& kind = by_state[{running_[g], layouts_[g]}];
      kind.free_slices = geometry_.compute_slices - slices_of(geometry_, counts_of(layouts_[g]));
      kind.gpus.push_back(g);
    }
    std::vector<Kind> all;
    for (auto& [state, kind] : by_state)
      all.push_back(std::move(kind));
    std::stable_sort(all.begin(), all.end(), [](const Kind& a, const Kind& b) { return a.free_slices > b.free_slices; });
    if (all.size() > kMostKinds) all.resize(kMostKinds);
    return all;
  }

  const std::vector<MigOption>* options(size_t gpu) {
    const auto [it, fresh] = options_.try_emplace(running_[gpu]);
    if (fresh) it->second = patterns_.options(running_[gpu]);
    return &it->second;
  }

  /// @return none when the pair gains nothing.
  std::optional<Step> tried(size_t a, size_t b) {
    const std::array<MigLayout, 2> runs = {running_[a], running_[b]};
    const std::array<MigLayout, 2> cut = {layouts_[a], layouts_[b]};
    // What must stay in the pair: all of a profile but as many as are new somewhere, since instances of a profile are alike.
    const MigCounts here = sum_of(cut);
    MigCounts bound_here{};
    for (size_t p = 0; p < here.size(); ++p)
      bound_here[p] = std::max(0, here[p] - placed_[p]);
    const std::array<const std::vector<MigOption>*, 2> choices = {options(a), options(b)};
    Step step{0, 0, {a, b}, search_mig(geometry_, choices, bound_here, plus(minus(here, bound_here), left_))};
    step.gain = step.result.slices + slices_of(geometry_, bound_here) - slices_of(geometry_, here);
    if (step.gain <= 0) return std::nullopt;
    step.moved = kept_slices(geometry_, runs[0], cut[0]) + kept_slices(geometry_, runs[1], cut[1]) - step.result.kept_slices;
    return step;
  }

  bool improve() {
    std::optional<Step> best;
    const std::vector<Kind> all = kinds();
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = i; j < all.size(); ++j) {
        if (i == j && all[i].gpus.size() < 2) continue;
        if (++searches_ > kMostSearches) break;
        auto step = tried(all[i].gpus[0], all[j].gpus[i == j ? 1 : 0]);
        if (step && (!best || step->gain > best->gain || (step->gain == best->gain && step->moved < best->moved)))
          best = std::move(step);
      }
    if (!best) return false;
    for (size_t i = 0; i < best->gpus.size(); ++i) {
      MigLayout& layout = layouts_[best->gpus[i]];
      const MigCounts change = minus(counts_of(best->result.layouts[i]), counts_of(layout));
      left_ = minus(left_, change);
      placed_ = plus(placed_, change);
      layout = best->result.layouts[i];
    }
    slices_ += best->gain;
    return true;
  }

  const MigPatterns& patterns_;
  const MigGeometry& geometry_;
  std::span<const MigLayout> running_;
  std::vector<MigLayout>& layouts_;
  int64_t bound_;
  MigCounts placed_{};  // of what is wanted
  MigCounts left_{};    // the rest of it
  int64_t slices_ = 0;
  int searches_ = 0;
  std::map<MigLayout, std::vector<MigOption>> options_;
};

/// What runs and is not where it was goes to the new instances of its profile, in order.
std::vector<MigMove> moves_between(std::span<const MigLayout> running, std::span<const MigLayout> layouts) {
  std::map<int, std::vector<std::pair<size_t, MigPlacement>>> fresh;  // by profile, the last one first
  for (size_t g = layouts.size(); g-- > 0;)
    for (auto p = layouts[g].rbegin(); p != layouts[g].rend(); ++p)
      if (std::find(running[g].begin(), running[g].end(), *p) == running[g].end()) fresh[p->profile].emplace_back(g, *p);
  std::vector<MigMove> moves;
  for (size_t g = 0; g < running.size(); ++g)
    for (const MigPlacement& p : running[g]) {
      if (std::find(layouts[g].begin(), layouts[g].end(), p) != layouts[g].end()) continue;
      auto& places = fresh[p.profile];
      CHECK(!places.empty(), "instance of profile {} on GPU {} has no place in the plan", p.profile, g);
      moves.push_back({g, p, places.back().first, places.back().second});
      places.pop_back();
    }
  return moves;
}

MigPlan described(const MigGeometry& geometry, std::span<const MigLayout> running, std::vector<MigLayout> layouts) {
  MigPlan plan;
  plan.layouts = std::move(layouts);
  for (MigLayout& layout : plan.layouts) {
    std::sort(layout.begin(), layout.end());
    const Status legal = check_layout(geometry, layout);
    CHECK(legal.ok(), "{}", legal.error().message);
  }
  const MigCounts placed = minus(sum_of(plan.layouts), sum_of(running));
  plan.placed.assign(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(geometry.profiles.size()));
  plan.slices = slices_of(geometry, placed);
  plan.moves = moves_between(running, plan.layouts);
  for (const MigMove& move : plan.moves)
    plan.moved_slices += geometry.profiles[static_cast<size_t>(move.from.profile)].compute_slices;
  return plan;
}

MigPlan plan_on_all(const MigGeometry& geometry, std::span<const MigLayout> running, std::span<const int> wanted) {
  CHECK(wanted.size() == geometry.profiles.size() && wanted.size() <= kMostMigProfiles, "{} counts for {} profiles",
        wanted.size(), geometry.profiles.size());
  for (const MigLayout& layout : running) {
    const Status legal = check_layout(geometry, layout);
    CHECK(legal.ok(), "what runs is no legal layout: {}", legal.error().message);
  }
  const MigCounts runs = sum_of(running);
  MigCounts wants{};
  for (size_t p = 0; p < wanted.size(); ++p) {
    // More than fit on empty GPUs need not be counted.
    const int64_t most = static_cast<int64_t>(running.size()) * geometry.profiles[p].max_count;
    wants[p] = static_cast<int>(std::clamp<int64_t>(wanted[p], 0, most));
  }
  const MigPatterns patterns(geometry, plus(runs, wants));
  if (running.size() <= kExactMigGpus) {
    std::vector<std::vector<MigOption>> options;
    std::vector<const std::vector<MigOption>*> choices;
    for (const MigLayout& layout : running)
      options.push_back(patterns.options(layout));
    for (const auto& of_gpu : options)
      choices.push_back(&of_gpu);
    MigPlan plan = described(geometry, running, search_mig(geometry, choices, runs, wants).layouts);
    plan.bound = plan.slices;
    plan.least_moves = true;
    return plan;
  }
  const int64_t bound = mig_bound(geometry, patterns.largest(), plus(runs, wants), running.size()) - slices_of(geometry, runs);
  std::vector<MigLayout> layouts = fill_mig(patterns, running, wants);
  Repartition(patterns, running, wants, bound, layouts).run();
  MigPlan plan = described(geometry, running, std::move(layouts));
  plan.bound = bound;
  plan.least_moves = plan.moves.empty();
  return plan;
}

/// The plan with only the first `fresh` of the GPUs on which nothing runs; the others stay uncut.
MigPlan plan_with_fresh(const MigGeometry& geometry, std::span<const MigLayout> running, std::span<const int> wanted,
                        size_t fresh) {
  std::vector<size_t> used;
  std::vector<MigLayout> runs;
  for (size_t g = 0; g < running.size(); ++g) {
    if (running[g].empty() && fresh == 0) continue;
    if (running[g].empty()) --fresh;
    used.push_back(g);
    runs.push_back(running[g]);
  }
  MigPlan plan = plan_on_all(geometry, runs, wanted);
  std::vector<MigLayout> layouts(running.size());
  for (size_t i = 0; i < used.size(); ++i)
    layouts[used[i]] = std::move(plan.layouts[i]);
  plan.layouts = std::move(layouts);
  for (MigMove& move : plan.moves) {
    move.from_gpu = used[move.from_gpu];
    move.to_gpu = used[move.to_gpu];
  }
  return plan;
}

}  // namespace

MigPlan plan_mig(const MigGeometry& geometry, std::span<const MigLayout> running, std::span<const int> wanted) {
  MigPlan best = plan_on_all(geometry, running, wanted);
  const auto is_empty = [](const MigLayout& layout) { return layout.empty(); };
  auto most = static_cast<size_t>(std::ranges::count_if(running, is_empty));
  if (most == 0 || most == running.size()) return best;
  // Free slices of GPUs that are cut come before GPUs that are not: the fewest of these with which as much is placed, and no more moved.
  const MigPlan all = best;
  size_t least = 0;
  while (least < most) {
    const size_t fresh = least + (most - least) / 2;
    MigPlan plan = plan_with_fresh(geometry, running, wanted, fresh);
    if (plan.slices < all.slices || plan.moved_slices > all.moved_slices) {
      least = fresh + 1;
      continue;
    }
    most = fresh;
    plan.bound = all.bound;
    plan.least_moves = all.least_moves;
    best = std::move(plan);
  }
  return best;
}

MigPlan first_fit_mig(const MigGeometry& geometry, std::span<const MigLayout> running, std::span<const int> requests) {
  std::vector<MigLayout> layouts(running.begin(), running.end());
  for (const int profile : requests)
    for (MigLayout& layout : layouts) {
      const std::vector<MigPlacement> left = placements_left(geometry, layout);
      const auto place = std::find_if(left.begin(), left.end(), [&](const MigPlacement& p) { return p.profile == profile; });
      if (place == left.end()) continue;
      layout.insert(std::lower_bound(layout.begin(), layout.end(), *place), *place);
      break;
    }
  return described(geometry, running, std::move(layouts));
}

}  // namespace stint
