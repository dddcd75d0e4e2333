#include "advise/find/idle_windows.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "advise/thresholds.h"

namespace stint {
namespace {

constexpr double kIdleWeeksShare = 0.95;
constexpr int kFewestWeeks = 3;  // a pattern seen once or twice is chance

struct Programme {
  double gain = 0;
  std::vector<bool> off;
};

/// The best with the first hour as given.
Programme best_from(std::span<const double> gain, double cost_per_window, bool first_off) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const size_t n = gain.size();
  std::vector<std::array<bool, 2>> came_from(n);  // [hour][state]: state of the hour before
  std::array<double, 2> best = {first_off ? kNever : 0, first_off ? gain[0] : kNever};
  for (size_t h = 1; h < n; ++h) {
    const double on_after_off = best[1] - cost_per_window;
    const bool on_from_off = on_after_off > best[0];
    const bool off_from_off = best[1] > best[0];
    came_from[h] = {on_from_off, off_from_off};
    best = {on_from_off ? on_after_off : best[0], (off_from_off ? best[1] : best[0]) + gain[h]};
  }
  // Around the circle: coming back into a first hour that is on.
  if (!first_off) best[1] -= cost_per_window;
  Programme out;
  bool state = best[1] > best[0];
  out.gain = best[state ? 1 : 0];
  out.off.resize(n);
  for (size_t h = n; h-- > 0;) {
    out.off[h] = state;
    if (h > 0) state = came_from[h][state ? 1 : 0];
  }
  return out;
}

}  // namespace

WeekHours idle_hours(const NodeFacts& node, int64_t first_hour) {
  std::array<int, kWeek> seen{};
  std::array<int, kWeek> busy{};
  for (size_t h = 0; h < node.timeline.size(); ++h) {
    const NodeHour& hour = node.timeline[h];
    if (hour.on_s == 0) continue;
    const size_t slot = hour_of_week(first_hour + static_cast<int64_t>(h));
    // An hour without telemetry may have been busy.
    const bool watched = hour.seen_s >= kWatchedSeconds;
    ++seen[slot];
    busy[slot] += !watched || hour.active_gpus > 0 || hour.reserved ? 1 : 0;
  }
  WeekHours off;
  for (size_t slot = 0; slot < kWeek; ++slot)
    off[slot] = seen[slot] >= kFewestWeeks && busy[slot] <= seen[slot] * (1 - kIdleWeeksShare);
  return off;
}

std::optional<size_t> idle_since(const NodeFacts& node) {
  const std::vector<NodeHour>& hours = node.timeline;
  size_t since = hours.size();
  while (since > 0 && hours[since - 1].active_gpus == 0)
    --since;
  if (since == 0) return std::nullopt;
  size_t idle = 0;
  for (size_t h = since; h < hours.size(); ++h) {
    if (hours[h].on_s == 0) continue;
    if (hours[h].seen_s < kWatchedSeconds) return std::nullopt;
    ++idle;
  }
  size_t longest_rest = 0;
  for (size_t h = 0, rest = 0; h < since; ++h) {
    rest = hours[h].active_gpus > 0 ? 0 : rest + 1;
    longest_rest = std::max(longest_rest, rest);
  }
  const bool there = std::any_of(hours.end() - std::min<ptrdiff_t>(24, std::ssize(hours)), hours.end(),
                                 [](const NodeHour& hour) { return hour.on_s > 0; });
  return there && static_cast<double>(idle) >= kShortestHours && idle > 2 * longest_rest ? std::optional(since) : std::nullopt;
}

std::string week_text(const WeekHours& hours) {
  constexpr std::array<const char*, 7> kDays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  std::string text;
  for (size_t day = 0; day < 7; ++day) {
    std::string spans;
    for (size_t hour = 0; hour < 24;) {
      if (!hours[day * 24 + hour]) {
        ++hour;
        continue;
      }
      size_t end = hour;
      while (end < 24 && hours[day * 24 + end])
        ++end;
      spans += fmt::format(" {:02}–{:02}", hour, end);
      hour = end;
    }
    if (!spans.empty()) text += (text.empty() ? "" : ", ") + std::string(kDays[day]) + spans;
  }
  return text;
}

std::vector<bool> best_off_windows(std::span<const double> gain, double cost_per_window) {
  if (gain.empty()) return {};
  const Programme on = best_from(gain, cost_per_window, false);
  const Programme off = best_from(gain, cost_per_window, true);
  return off.gain > on.gain ? off.off : on.off;
}

int64_t window_count(const WeekHours& off) {
  int64_t count = 0;
  for (size_t h = 0; h < kWeek; ++h)
    count += off[h] && !off[(h + 1) % kWeek] ? 1 : 0;
  return count;
}

}  // namespace stint
