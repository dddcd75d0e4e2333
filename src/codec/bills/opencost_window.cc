#include "codec/bills/opencost_window.h"

#include "base/text.h"

namespace stint {
namespace {

constexpr Duration kWindowDay = Duration::hours(24);
constexpr Duration kLongestWindow = Duration::hours(24 * 3660);

Instant window_start_of(Instant at, Duration unit) {
  return Instant::from_ns(floor_div(at.ns(), unit.count_ns()) * unit.count_ns());
}

std::optional<Interval> named_window(std::string_view name, Instant now) {
  const Instant today = window_start_of(now, kWindowDay);
  // 0 = Monday, and a week begins on Sunday.
  const Instant sunday = today - kWindowDay * ((weekday(today) + 1) % 7);
  const Interval month = month_of(now);
  if (name == "today") return Interval{today, today + kWindowDay};
  if (name == "yesterday") return Interval{today - kWindowDay, today};
  if (name == "week") return Interval{sunday, now};
  if (name == "lastweek") return Interval{sunday - kWindowDay * 7, sunday};
  if (name == "month") return Interval{month.begin, now};
  if (name == "lastmonth") return month_of(month.begin - kWindowDay);
  return std::nullopt;
}

std::optional<Interval> window_back(std::string_view text, Instant now) {
  if (text.size() < 2) return std::nullopt;
  const auto count = parse_int(text.substr(0, text.size() - 1));
  const char unit = text.back();
  const Duration length = unit == 'm' ? Duration::minutes(1) : unit == 'h' ? kHour : unit == 'd' ? kWindowDay : kWindowDay * 7;
  if (!count || *count < 1 || *count > 10'000'000 || (unit != 'm' && unit != 'h' && unit != 'd' && unit != 'w'))
    return std::nullopt;
  if (*count > kLongestWindow.count_ns() / length.count_ns()) return std::nullopt;
  const Duration ends_with = unit == 'w' ? kWindowDay : length;
  const Instant end = window_start_of(now, ends_with) + ends_with;
  return Interval{end - length * *count, end};
}

std::optional<Instant> window_instant(std::string_view text) {
  if (const auto seconds = parse_int(text)) {
    constexpr int64_t kYear2200 = 7'258'118'400;
    if (*seconds < 0 || *seconds > kYear2200) return std::nullopt;
    return Instant::from_seconds(*seconds);
  }
  const auto parsed = parse_instant(text);
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

}  // namespace

Result<Interval> parse_opencost_window(std::string_view text, Instant now) {
  std::optional<Interval> window = named_window(text, now);
  if (!window) window = window_back(text, now);
  if (const size_t comma = text.find(','); !window && comma != std::string_view::npos) {
    const auto begin = window_instant(text.substr(0, comma)), end = window_instant(text.substr(comma + 1));
    if (begin && end && *begin < *end && *end - *begin <= kLongestWindow) window = Interval{*begin, *end};
  }
  // The first instant of a week or month is a window without length.
  if (window && !window->empty()) return *window;
  return invalid(
      "window '{}': give today, yesterday, week, month, lastweek, lastmonth, a time such as 12h or 7d, or "
      "2026-10-01T00:00:00Z,2026-10-08T00:00:00Z, ten years at most",
      excerpt(text));
}

}  // namespace stint
