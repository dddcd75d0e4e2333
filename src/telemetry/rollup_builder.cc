#include "telemetry/rollup_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stint {
namespace {

constexpr uint32_t kMicrosPerHour = 3'600'000'000;
constexpr uint32_t kLongestHoldMicros = static_cast<uint32_t>(kLongestHold.count_ns() / 1000);
/// Stands in the place of a value where a series was interrupted.
constexpr double kInterrupted = std::numeric_limits<double>::quiet_NaN();

}  // namespace

/// The open hour of one series. Instants are kept as microseconds of the hour: half the memory, and no source
/// has finer ones.
struct RollupBuilder::State {
  explicit State(Metric m) : metric(m) {}

  Metric metric;
  bool ascending = true;  ///< offsets, strictly
  int64_t hour_index = 0;
  std::vector<uint32_t> offsets_us;
  std::vector<double> values;

  /// @return false when the instant is already there.
  bool append(uint32_t offset_us, double value) {
    if (!offsets_us.empty() && offset_us <= offsets_us.back()) {
      if (offset_us == offsets_us.back() && !std::isnan(values.back())) return false;
      ascending = false;
    }
    offsets_us.push_back(offset_us);
    values.push_back(value);
    return true;
  }

  /// Sorts by time; of entries at one instant the first value stays. @return values dropped.
  uint64_t sort() {
    std::vector<uint32_t> order(offsets_us.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (offsets_us[a] != offsets_us[b]) return offsets_us[a] < offsets_us[b];
      return !std::isnan(values[a]) && std::isnan(values[b]);
    });
    std::vector<uint32_t> sorted_offsets;
    std::vector<double> sorted_values;
    uint64_t dropped = 0;
    for (const uint32_t i : order) {
      if (!sorted_offsets.empty() && sorted_offsets.back() == offsets_us[i]) {
        if (!std::isnan(values[i])) ++dropped;
        continue;
      }
      sorted_offsets.push_back(offsets_us[i]);
      sorted_values.push_back(values[i]);
    }
    offsets_us = std::move(sorted_offsets);
    values = std::move(sorted_values);
    ascending = true;
    return dropped;
  }

  /// Of a sorted hour; count 0 when it holds no values.
  [[nodiscard]] Rollup rollup(std::vector<float>& scratch) const {
    Rollup r;
    scratch.clear();
    r.min = std::numeric_limits<double>::infinity();
    r.max = -r.min;
    uint64_t covered_us = 0;
    uint32_t first_us = 0;
    uint32_t last_us = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      const uint32_t until = i + 1 < values.size() ? offsets_us[i + 1] : kMicrosPerHour;
      covered_us += std::min(until - offsets_us[i], kLongestHoldMicros);
      if (scratch.empty()) first_us = offsets_us[i];
      last_us = offsets_us[i];
      scratch.push_back(static_cast<float>(values[i]));
      r.sum += values[i];
      r.min = std::min(r.min, values[i]);
      r.max = std::max(r.max, values[i]);
    }
    const Instant start = Instant::from_hour_index(hour_index);
    r.count = static_cast<uint32_t>(scratch.size());
    r.covered = Duration::nanoseconds(static_cast<int64_t>(covered_us) * 1000);
    r.first = start + Duration::nanoseconds(int64_t{first_us} * 1000);
    r.last = start + Duration::nanoseconds(int64_t{last_us} * 1000);
    r.sketch.add_all(metric, scratch);
    return r;
  }
};

RollupBuilder::RollupBuilder(Emit emit) : emit_(std::move(emit)) {}
RollupBuilder::~RollupBuilder() = default;

void RollupBuilder::declare(SeriesId id, Metric metric) {
  CHECK(id.index() == states_.size(), "series {} declared after {} others", id.index(), states_.size());
  states_.emplace_back(metric);
}

void RollupBuilder::add(SeriesId id, std::span<const Sample> samples) {
  CHECK(id.index() < states_.size(), "series {} is not declared", id.index());
  State& state = states_[id.index()];
  Instant start = Instant::from_hour_index(state.hour_index);
  for (const Sample& sample : samples) {
    int64_t since_start = (sample.at - start).count_ns();
    if (since_start < 0 || since_start >= kHour.count_ns()) {
      close(id);
      state.hour_index = sample.at.hour_index();
      start = Instant::from_hour_index(state.hour_index);
      since_start = (sample.at - start).count_ns();
    }
    if (state.append(static_cast<uint32_t>(since_start / 1000), sample.value))
      ++accepted_;
    else
      ++duplicates_;
  }
}

void RollupBuilder::interrupt(SeriesId id, Instant at) {
  CHECK(id.index() < states_.size(), "series {} is not declared", id.index());
  State& state = states_[id.index()];
  if (state.values.empty() || at.hour_index() != state.hour_index) return;
  const Duration since_start = at - Instant::from_hour_index(state.hour_index);
  (void)state.append(static_cast<uint32_t>(since_start.count_ns() / 1000), kInterrupted);
}

void RollupBuilder::flush() {
  for (size_t i = 0; i < states_.size(); ++i)
    close(SeriesId(static_cast<uint32_t>(i)));
}

void RollupBuilder::close(SeriesId id) {
  State& state = states_[id.index()];
  if (state.values.empty()) return;
  if (!state.ascending) {
    const uint64_t dropped = state.sort();
    duplicates_ += dropped;
    accepted_ -= dropped;
  }
  const Rollup rollup = state.rollup(scratch_);
  state.offsets_us.clear();
  state.values.clear();
  if (rollup.count > 0) emit_(id, state.hour_index, rollup);
}

uint64_t RollupBuilder::accepted() const { return accepted_; }
uint64_t RollupBuilder::duplicates() const { return duplicates_; }

}  // namespace stint
