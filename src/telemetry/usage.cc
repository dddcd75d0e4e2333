#include "telemetry/usage.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "telemetry/rollup_grid.h"

namespace stint {
namespace {

using Hour = HourlySeries::Hour;

/// One source's word on an hour. @param idle  samples of `count` below kIdleBelowPercent.
Hour make_hour(Metric metric, double mean, double max, Duration covered, uint64_t idle, uint64_t count) {
  Hour hour;
  hour.mean = static_cast<float>(mean);
  hour.max = static_cast<float>(max);
  // An hour with samples never shows as one without.
  hour.covered_s = static_cast<uint16_t>(std::max<int64_t>(1, covered.whole_seconds()));
  if (is_percentage(metric) && count > 0) hour.idle_permille = static_cast<uint16_t>((idle * 1000 + count / 2) / count);
  return hour;
}

/// Average of two hours by coverage; `covered_s` is the caller's to set.
Hour averaged(const Hour& a, const Hour& b) {
  const float weight_a = a.covered_s;
  const float weight_b = b.covered_s;
  const float total = weight_a + weight_b;
  Hour both;
  both.mean = (a.mean * weight_a + b.mean * weight_b) / total;
  both.max = std::max(a.max, b.max);
  both.idle_permille = static_cast<uint16_t>(
      std::lround((static_cast<float>(a.idle_permille) * weight_a + static_cast<float>(b.idle_permille) * weight_b) / total));
  return both;
}

void put_hour(HourlySeries& series, size_t offset, const Hour& hour) {
  Hour& slot = series.hours[offset];
  if (slot.covered_s == 0) {
    slot = hour;
    return;
  }
  const uint16_t covered = std::max(slot.covered_s, hour.covered_s);
  slot = averaged(slot, hour);
  slot.covered_s = covered;
}

void add_totals(HourlySeries& series, uint64_t count, double min, double max) {
  series.min = series.empty() ? min : std::min(series.min, min);
  series.max = series.empty() ? max : std::max(series.max, max);
  series.count += count;
}

}  // namespace

const HourlySeries* DeviceUsage::find(Metric m) const {
  const auto it = metrics.find(m);
  return it == metrics.end() || it->second.empty() ? nullptr : &it->second;
}

std::optional<Metric> DeviceUsage::utilization_source() const {
  const HourlySeries* utilization = find(Metric::kUtilization);
  const HourlySeries* engine = find(Metric::kEngineActive);
  if (utilization != nullptr && engine != nullptr && utilization->max == 0 && engine->max > 0) return Metric::kEngineActive;
  if (utilization != nullptr) return Metric::kUtilization;
  if (engine != nullptr) return Metric::kEngineActive;
  if (find(Metric::kSmActive) != nullptr) return Metric::kSmActive;
  return std::nullopt;
}

const HourlySeries* DeviceUsage::utilization() const {
  const auto source = utilization_source();
  return source ? find(*source) : nullptr;
}

void add_hour(HourlySeries& series, Metric metric, size_t hour_offset, size_t hour_count, const Rollup& rollup) {
  CHECK(hour_offset < hour_count, "hour {} of {}", hour_offset, hour_count);
  if (rollup.count == 0) return;
  if (series.hours.size() < hour_count) series.hours.resize(hour_count);
  uint64_t idle = 0;
  for (const Sketch::Bin& bin : rollup.sketch.bins())
    if (bin.key <= grid::kLowKey) idle += bin.count;
  put_hour(series, hour_offset, make_hour(metric, rollup.mean(), rollup.max, rollup.covered, idle, rollup.count));
  series.sketch.merge(rollup.sketch);
  add_totals(series, rollup.count, rollup.min, rollup.max);
}

HourlySeriesBuilder::HourlySeriesBuilder(Metric metric, Interval period)
    : metric_(metric),
      first_hour_(period.begin.hour_index()),
      hour_count_(period.empty() ? 0 : static_cast<size_t>(period.length().count_ns() / kHour.count_ns())) {}

Status HourlySeriesBuilder::add_day(int64_t day_index, std::string_view bytes) {
  TRY_ASSIGN(const RollupDayReader day, RollupDayReader::open(day_index, bytes));
  if (series_.hours.empty()) series_.hours.resize(hour_count_);
  uint32_t wanted = 0;
  for (const RollupSummary& s : day.hours()) {
    const int64_t offset = day_index * 24 + s.hour_of_day - first_hour_;
    if (offset < 0 || offset >= static_cast<int64_t>(hour_count_)) continue;
    wanted |= 1U << s.hour_of_day;
    put_hour(series_, static_cast<size_t>(offset), make_hour(metric_, s.sum / s.count, s.max, s.covered, s.low, s.count));
    add_totals(series_, s.count, s.min, s.max);
  }
  return wanted == 0 ? Status() : day.add_sketches(sketch_, wanted);
}

HourlySeries HourlySeriesBuilder::take() {
  series_.sketch = sketch_.take();
  return std::exchange(series_, {});
}

namespace {

/// Series that follow one another overlap by as much as their last samples are held beyond their end.
constexpr int kMostSuccessionSeconds = 3600 + 2 * static_cast<int>(kLongestHold.whole_seconds());

/// What the device did in an hour, from what its holders show.
Hour joined(std::vector<Hour>& shown) {
  const auto key = [](const Hour& h) { return std::tuple(-h.mean, h.covered_s, h.max, h.idle_permille); };
  std::sort(shown.begin(), shown.end(), [&](const Hour& a, const Hour& b) { return key(a) < key(b); });
  shown.erase(std::unique(shown.begin(), shown.end(), [&](const Hour& a, const Hour& b) { return key(a) == key(b); }),
              shown.end());
  int covered = 0;
  for (const Hour& h : shown)
    covered += h.covered_s;
  Hour device = shown.front();
  if (covered > kMostSuccessionSeconds) return device;
  for (const Hour& h : std::span(shown).subspan(1)) {
    const int sum = device.covered_s + h.covered_s;
    device = averaged(device, h);
    device.covered_s = static_cast<uint16_t>(std::min(sum, 3600));
  }
  return device;
}

HourlySeries joined_series(const std::vector<const HourlySeries*>& holders) {
  HourlySeries device;
  std::vector<Hour> shown;
  for (size_t h = 0; h < holders.front()->hours.size(); ++h) {
    shown.clear();
    for (const HourlySeries* series : holders)
      if (h < series->hours.size() && series->hours[h].covered_s > 0) shown.push_back(series->hours[h]);
    device.hours.push_back(shown.empty() ? Hour{} : joined(shown));
  }
  // Quantiles are those of the distinct samples: a repeated sketch adds nothing.
  const auto same = [](std::span<const Sketch::Bin> a, std::span<const Sketch::Bin> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Sketch::Bin& x, const Sketch::Bin& y) { return x.key == y.key && x.count == y.count; });
  };
  for (size_t i = 0; i < holders.size(); ++i) {
    const auto repeats = [&](const HourlySeries* earlier) { return same(earlier->sketch.bins(), holders[i]->sketch.bins()); };
    if (std::any_of(holders.begin(), holders.begin() + static_cast<ptrdiff_t>(i), repeats)) continue;
    device.sketch.merge(holders[i]->sketch);
    add_totals(device, holders[i]->count, holders[i]->min, holders[i]->max);
  }
  return device;
}

/// Whether `own` shows the device only while `held` does not: the source moves the device's series to its holder.
bool is_complementary(const HourlySeries& own, const HourlySeries& held) {
  for (size_t h = 0; h < std::min(own.hours.size(), held.hours.size()); ++h)
    if (own.hours[h].covered_s > 0 && own.hours[h].covered_s + held.hours[h].covered_s > kMostSuccessionSeconds) return false;
  return true;
}

}  // namespace

void fill_device_series_from_holders(DeviceUsage& device) {
  std::map<Metric, std::vector<const HourlySeries*>> held;
  for (const DeviceUsage::Held& h : device.holders)
    for (const auto& [metric, series] : h.metrics)
      if (!series.empty()) held[metric].push_back(&series);
  for (const auto& [metric, holders] : held) {
    HourlySeries joined = joined_series(holders);
    const HourlySeries* own = device.find(metric);
    if (own != nullptr && !is_complementary(*own, joined)) continue;
    if (own != nullptr) joined = joined_series({own, &joined});
    device.metrics[metric] = std::move(joined);
  }
}

}  // namespace stint
