#include "batching/memory_pressure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stint::batching {
namespace {

using Kind = ReliefStep::Kind;

class Ladder {
 public:
  Ladder(const PressureOptions& options, Bytes used, std::span<const PressureModel> models)
      : needed_(used - Bytes::of(options.device.count() / 100 * options.low_percent)),
        host_room_(options.host_room),
        models_(models.begin(), models.end()),
        gone_(models.size()) {}

  std::vector<ReliefStep> climb() {
    for (const size_t m : order([](const PressureModel& p) { return -p.arena.count(); }))
      shrink(models_[m]);
    for (const size_t m : order([](const PressureModel& p) { return (p.running - p.arena).count(); }))
      trim(models_[m]);
    const std::vector<size_t> by_worth = order([](const PressureModel& p) { return std::pair(p.worth, p.last_request); });
    for (const size_t m : by_worth)
      swap(models_[m]);
    for (const size_t m : by_worth)
      leave(m, Kind::kToHost);
    for (const size_t m : by_worth)
      leave(m, Kind::kUnload);
    if (unmet()) steps_.push_back({Kind::kShed, {}, 0, {}});
    return std::move(steps_);
  }

 private:
  [[nodiscard]] bool unmet() const { return needed_ > Bytes(); }

  /// Ascending by key, then by model.
  template <typename Key>
  [[nodiscard]] std::vector<size_t> order(const Key& key) const {
    std::vector<size_t> all(models_.size());
    for (size_t m = 0; m < all.size(); ++m)
      all[m] = m;
    std::sort(all.begin(), all.end(), [&](size_t a, size_t b) {
      return std::pair(key(models_[a]), models_[a].model) < std::pair(key(models_[b]), models_[b].model);
    });
    return all;
  }

  void step(Kind kind, const PressureModel& m, int64_t max_batch, Bytes frees) {
    steps_.push_back({kind, m.model, max_batch, frees});
    needed_ = needed_ - frees;
  }
  /// What the arena gives back when it keeps `peak`, and what runs.
  static Bytes cut_arena(PressureModel& m, Bytes peak) {
    const Bytes kept = std::min(m.arena, std::max(m.running, peak));
    const Bytes freed = m.arena - kept;
    m.arena = kept;
    return freed;
  }

  void shrink(PressureModel& m) {
    if (!unmet() || m.max_batch <= 1) return;
    const int64_t half = m.max_batch / 2;
    const Bytes frees = cut_arena(m, m.activation[static_cast<size_t>(half - 1)]);
    if (frees > Bytes()) step(Kind::kShrinkBatch, m, half, frees);
  }
  void trim(PressureModel& m) {
    if (!unmet()) return;
    const Bytes frees = cut_arena(m, m.activation.front());
    if (frees > Bytes()) step(Kind::kTrimArena, m, 0, frees);
  }
  void swap(PressureModel& m) {
    if (!unmet() || m.in_flight > 0 || !m.small_variant || *m.small_variant >= m.weights) return;
    step(Kind::kSmallVariant, m, 0, m.weights - *m.small_variant);
    m.weights = *m.small_variant;
  }
  void leave(size_t at, Kind kind) {
    const PressureModel& m = models_[at];
    if (!unmet() || m.in_flight > 0 || m.pinned || gone_[at]) return;
    if (kind == Kind::kToHost) {
      if (!m.host || *m.host > host_room_) return;
      host_room_ = host_room_ - *m.host;
    }
    gone_[at] = true;
    step(kind, m, 0, m.weights + m.arena);
  }

  Bytes needed_;
  Bytes host_room_;
  std::vector<PressureModel> models_;
  std::vector<bool> gone_;
  std::vector<ReliefStep> steps_;
};

}  // namespace

std::vector<ReliefStep> plan_relief(const PressureOptions& options, Bytes used, std::span<const PressureModel> models) {
  CHECK(options.low_percent > 0 && options.low_percent <= options.high_percent && options.high_percent <= 100,
        "pressure from {} % down to {} %", options.high_percent, options.low_percent);
  if (used <= Bytes::of(options.device.count() / 100 * options.high_percent)) return {};
  return Ladder(options, used, models).climb();
}

std::string_view name_of(ReliefStep::Kind kind) {
  switch (kind) {
    case Kind::kShrinkBatch: return "shrink_batch";
    case Kind::kTrimArena: return "trim_arena";
    case Kind::kSmallVariant: return "small_variant";
    case Kind::kToHost: return "to_host";
    case Kind::kUnload: return "unload";
    case Kind::kShed: return "shed";
  }
  return "unknown";
}

std::string describe(const ReliefStep& step, std::string_view name) {
  const std::string frees = fmt::format("frees {} MiB", step.frees.count() >> 20);
  switch (step.kind) {
    case Kind::kShrinkBatch: return fmt::format("model {}: batches of at most {} ({})", name, step.max_batch, frees);
    case Kind::kTrimArena: return fmt::format("model {}: trim the arena ({})", name, frees);
    case Kind::kSmallVariant: return fmt::format("model {}: swap in the smaller variant ({})", name, frees);
    case Kind::kToHost: return fmt::format("model {}: to the host ({})", name, frees);
    case Kind::kUnload: return fmt::format("model {}: unload ({})", name, frees);
    case Kind::kShed: return "refuse new work: nothing more can be given up";
  }
  return {};
}

std::optional<LeakDetector::Leak> LeakDetector::observe(Instant now, Bytes measured, Bytes accounted) {
  const int64_t index = now.ns() / options_.window.count_ns();
  const Bytes excess = measured - accounted;
  if (open_ && open_->index == index) {
    open_->least = std::min(open_->least, excess);
    return {};
  }
  std::optional<Leak> found;
  if (open_) {
    // A window that was not looked at breaks the row as much as one that did not rise.
    if (!rising_.empty() && (open_->index != rising_.back().index + 1 || open_->least <= rising_.back().least)) rising_.clear();
    rising_.push_back(*open_);
    const Bytes grown = rising_.back().least - rising_.front().least;
    if (rising_.size() >= static_cast<size_t>(options_.windows) && grown >= options_.least) {
      found = Leak{Instant::from_ns(rising_.front().index * options_.window.count_ns()), grown};
      rising_.clear();
    }
  }
  open_ = Window{index, excess};
  return found;
}

}  // namespace stint::batching
