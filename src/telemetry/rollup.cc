#include "telemetry/rollup.h"

#include <algorithm>
#include <cmath>

#include "telemetry/rollup_grid.h"

namespace stint {
namespace {

uint32_t saturating_sum(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

uint32_t saturated(uint64_t n) { return static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)); }

}  // namespace

void Sketch::add(Metric metric, double value, uint32_t count) {
  if (count == 0) return;
  const int32_t key = grid::key_of(metric, value);
  const auto at = std::lower_bound(bins_.begin(), bins_.end(), key, [](const Bin& b, int32_t k) { return b.key < k; });
  if (at != bins_.end() && at->key == key)
    at->count = saturating_sum(at->count, count);
  else
    bins_.insert(at, Bin{key, count});
  count_ += count;
}

void Sketch::add_all(Metric metric, std::span<const float> values) {
  if (values.empty()) return;
  std::vector<int32_t> keys(values.size());
  // Runs of one value are the rule for memory, clocks and idle devices: their logarithm is taken once.
  float previous = values[0];
  int32_t key = grid::key_of(metric, previous);
  int32_t lowest = key;
  int32_t highest = key;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != previous) {
      previous = values[i];
      key = grid::key_of(metric, previous);
      lowest = std::min(lowest, key);
      highest = std::max(highest, key);
    }
    keys[i] = key;
  }
  Sketch batch;
  batch.count_ = values.size();
  // An hour of one metric spans few grid positions, so counting beats sorting; the bound keeps it on the stack.
  constexpr int32_t kCountable = 256;
  if (highest - lowest < kCountable) {
    std::array<uint32_t, kCountable> counts{};
    for (const int32_t k : keys)
      ++counts[static_cast<size_t>(k - lowest)];
    for (int32_t k = lowest; k <= highest; ++k)
      if (const uint32_t n = counts[static_cast<size_t>(k - lowest)]; n > 0) batch.bins_.push_back({k, n});
  } else {
    std::sort(keys.begin(), keys.end());
    for (const int32_t k : keys) {
      if (batch.bins_.empty() || batch.bins_.back().key != k) batch.bins_.push_back({k, 0});
      ++batch.bins_.back().count;
    }
  }
  if (count_ == 0)
    *this = std::move(batch);
  else
    merge(batch);
}

void Sketch::merge(const Sketch& other) {
  std::vector<Bin> merged;
  merged.reserve(bins_.size() + other.bins_.size());
  auto mine = bins_.begin();
  auto theirs = other.bins_.begin();
  while (mine != bins_.end() || theirs != other.bins_.end()) {
    if (theirs == other.bins_.end() || (mine != bins_.end() && mine->key < theirs->key)) {
      merged.push_back(*mine++);
    } else if (mine == bins_.end() || theirs->key < mine->key) {
      merged.push_back(*theirs++);
    } else {
      merged.push_back({mine->key, saturating_sum(mine->count, theirs->count)});
      ++mine;
      ++theirs;
    }
  }
  bins_ = std::move(merged);
  count_ += other.count_;
}

std::optional<double> Sketch::quantile(Metric metric, double q) const {
  if (bins_.empty()) return std::nullopt;
  const double rank = std::max(1.0, std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (const Bin& bin : bins_) {
    seen += bin.count;
    if (static_cast<double>(seen) >= rank) return grid::value_of(metric, bin.key);
  }
  return grid::value_of(metric, bins_.back().key);
}

double Sketch::fraction_at_most(Metric metric, double value) const {
  if (count_ == 0) return 0;
  const int32_t limit = grid::key_of(metric, value);
  uint64_t below = 0;
  for (const Bin& bin : bins_) {
    if (bin.key > limit) break;
    below += bin.count;
  }
  return static_cast<double>(below) / static_cast<double>(count_);
}

void SketchAccumulator::add(const Sketch& sketch) {
  for (const Sketch::Bin& bin : sketch.bins())
    add(bin.key, bin.count);
}

void SketchAccumulator::grow_and_add(int32_t key, uint32_t count) {
  constexpr int64_t kMargin = 64;
  if (counts_.empty()) {
    base_ = key - kMargin;
    counts_.assign(2 * kMargin, 0);
  } else if (key < base_) {
    const auto more = static_cast<size_t>(base_ - key + kMargin);
    counts_.insert(counts_.begin(), more, 0);
    base_ -= static_cast<int64_t>(more);
  } else {
    counts_.resize(static_cast<size_t>(key - base_ + kMargin), 0);
  }
  counts_[static_cast<size_t>(key - base_)] += count;
}

Sketch SketchAccumulator::take() {
  Sketch sum;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    sum.bins_.push_back({static_cast<int32_t>(base_ + static_cast<int64_t>(i)), saturated(counts_[i])});
    sum.count_ += counts_[i];
  }
  counts_.clear();
  return sum;
}

void Rollup::merge(const Rollup& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const bool apart = last < other.first || other.last < first;
  if (!apart) {
    if (other.covered > covered) *this = other;
    return;
  }
  count = saturating_sum(count, other.count);
  sum += other.sum;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  covered = std::min(kHour, covered + other.covered);
  first = std::min(first, other.first);
  last = std::max(last, other.last);
  sketch.merge(other.sketch);
}

}  // namespace stint
