#include "telemetry/minute_window.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace stint {
namespace {

int64_t minute_of(Instant at) {
  const int64_t ns = at.ns();
  const int64_t minute = Duration::minutes(1).count_ns();
  return ns / minute - (ns % minute < 0 ? 1 : 0);
}

}  // namespace

MinuteWindow::MinuteWindow(size_t minutes) : ring_(minutes) { CHECK(minutes > 0, "a window of no minutes"); }

void MinuteWindow::add(Instant at, double value) {
  const int64_t minute = minute_of(at);
  const auto size = static_cast<int64_t>(ring_.size());
  if (newest_ != INT64_MIN && minute <= newest_ - size) return;
  if (newest_ == INT64_MIN || minute > newest_) {
    // The minutes between, and this one, hold what is a whole ring older.
    const int64_t stale = newest_ == INT64_MIN ? size : std::min(size, minute - newest_);
    for (int64_t m = minute - stale + 1; m <= minute; ++m)
      ring_[static_cast<size_t>(((m % size) + size) % size)] = {};
    newest_ = minute;
  }
  Minute& slot = ring_[static_cast<size_t>(((minute % size) + size) % size)];
  slot.sum += value;
  ++slot.count;
}

template <typename Visit>
int64_t MinuteWindow::for_each(Instant until, Duration length, Visit&& visit) const {
  const auto size = static_cast<int64_t>(ring_.size());
  const int64_t end = minute_of(until);
  const int64_t minutes = length.count_ns() / Duration::minutes(1).count_ns();
  if (newest_ == INT64_MIN) return minutes;
  for (int64_t m = std::max(end - minutes, newest_ - size + 1); m < end && m <= newest_; ++m) {
    const Minute& slot = ring_[static_cast<size_t>(((m % size) + size) % size)];
    if (slot.count > 0) visit(m, slot.sum / slot.count);
  }
  return minutes;
}

std::optional<MinuteWindow::Mean> MinuteWindow::mean(Instant until, Duration length) const {
  double sum = 0;
  int64_t seen = 0;
  const int64_t minutes = for_each(until, length, [&](int64_t, double value) {
    sum += value;
    ++seen;
  });
  if (seen == 0) return std::nullopt;
  return Mean{.value = sum / static_cast<double>(seen), .coverage = static_cast<double>(seen) / static_cast<double>(minutes)};
}

std::optional<double> MinuteWindow::quantile(Instant until, Duration length, double q) const {
  std::vector<double> values;
  for_each(until, length, [&](int64_t, double value) { values.push_back(value); });
  if (values.empty()) return std::nullopt;
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::optional<double> MinuteWindow::rise(Instant until, Duration length) const {
  // Minutes are counted from the window's end, so that the sums stay small.
  const int64_t end = minute_of(until);
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  const int64_t minutes = for_each(until, length, [&](int64_t minute, double y) {
    const auto x = static_cast<double>(minute - end);
    n += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  });
  const double spread = n * sxx - sx * sx;
  if (n < 2 || spread <= 0) return std::nullopt;
  return (n * sxy - sx * sy) / spread * static_cast<double>(minutes);
}

}  // namespace stint
