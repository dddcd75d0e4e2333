#include "base/time.h"

#include <cmath>

#include "base/text.h"

namespace stint {
namespace {

// Whatever is read lies in these years, so that the difference of any two instants fits int64 nanoseconds (292 years).
constexpr int kFirstYear = 1970;
constexpr int kLastYear = 2199;

// Days from civil and back: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", sections
// days_from_civil and civil_from_days (public domain mathematics; eras of 400 years).
constexpr int64_t days_from_civil(int64_t y, int m, int d) {
  y -= m <= 2 ? 1 : 0;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

/// Reads exactly `digits` decimal digits off the front of `text`.
std::optional<int> take_digits(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// `.412` → 412000000; more than nine digits are cut off.
std::optional<int64_t> take_fraction_ns(std::string_view& text) {
  if (!take_char(text, '.')) return 0;
  int64_t value = 0;
  int digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (digits < 9) value = value * 10 + (text.front() - '0');
    if (digits < 9) ++digits;
    text.remove_prefix(1);
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 9; ++digits)
    value *= 10;
  return value;
}

/// `Z`, `+02:00`, `-0530`, `+02`; empty means zoneless.
std::optional<Duration> take_offset(std::string_view& text, ZonelessOffset zoneless) {
  if (text.empty()) return zoneless.east_of_utc;
  if (text == "Z" || text == "z" || text == " UTC" || text == "UTC") {
    text = {};
    return Duration();
  }
  const bool west = text.front() == '-';
  if (!west && text.front() != '+') return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2);
  if (!hours) return std::nullopt;
  int minutes = 0;
  if (!text.empty()) {
    take_char(text, ':');
    const auto m = take_digits(text, 2);
    if (!m) return std::nullopt;
    minutes = *m;
  }
  if (*hours > 14 || minutes > 59) return std::nullopt;
  const Duration offset = Duration::minutes(*hours * 60 + minutes);
  return west ? Duration() - offset : offset;
}

std::optional<Instant> parse_instant_or_none(std::string_view text, ZonelessOffset zoneless) {
  CivilTime c;
  const auto year = take_digits(text, 4);
  if (!year || text.empty()) return std::nullopt;
  const char separator = text.front();
  if (separator != '-' && separator != '/') return std::nullopt;
  text.remove_prefix(1);
  const auto month = take_digits(text, 2);
  if (!month || !take_char(text, separator)) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  c.year = *year, c.month = *month, c.day = *day;
  if (c.year < 1 || c.month < 1 || c.month > 12 || c.day < 1 || c.day > days_in_month(c.year, c.month)) return std::nullopt;
  if (!text.empty() && (text.front() == 'T' || text.front() == 't' || text.front() == ' ') && text.size() > 1) {
    text.remove_prefix(1);
    const auto hour = take_digits(text, 2);
    if (!hour || !take_char(text, ':')) return std::nullopt;
    const auto minute = take_digits(text, 2);
    if (!minute) return std::nullopt;
    c.hour = *hour, c.minute = *minute;
    if (take_char(text, ':')) {
      const auto second = take_digits(text, 2);
      if (!second) return std::nullopt;
      c.second = *second;
      const auto fraction = take_fraction_ns(text);
      if (!fraction) return std::nullopt;
      c.nanosecond = *fraction;
    }
    if (c.hour > 23 || c.minute > 59 || c.second > 60) return std::nullopt;
  }
  const auto offset = take_offset(text, zoneless);
  if (!offset || !text.empty()) return std::nullopt;
  if (c.year < kFirstYear || c.year > kLastYear) return std::nullopt;
  return from_civil(c) - *offset;
}

}  // namespace

Duration Duration::from_seconds(double s) { return nanoseconds(std::llround(s * 1e9)); }

Interval intersect(Interval a, Interval b) {
  const Interval both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.empty() ? Interval{both.begin, both.begin} : both;
}

CivilTime to_civil(Instant t) {
  const int64_t seconds = t.seconds();
  const int64_t days = (seconds >= 0 ? seconds : seconds - 86399) / 86400;
  const int64_t second_of_day = seconds - days * 86400;
  const int64_t z = days + 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const int64_t day_of_era = z - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t mp = (5 * day_of_year + 2) / 153;
  CivilTime c;
  c.day = static_cast<int>(day_of_year - (153 * mp + 2) / 5 + 1);
  c.month = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  c.year = static_cast<int>(year_of_era + era * 400 + (c.month <= 2 ? 1 : 0));
  c.hour = static_cast<int>(second_of_day / 3600);
  c.minute = static_cast<int>(second_of_day / 60 % 60);
  c.second = static_cast<int>(second_of_day % 60);
  c.nanosecond = t.ns() - seconds * 1'000'000'000;
  return c;
}

Instant from_civil(const CivilTime& c) {
  const int64_t days = days_from_civil(c.year, c.month, c.day);
  const int64_t seconds = days * 86400 + c.hour * 3600 + c.minute * 60 + c.second;
  return Instant::from_ns(seconds * 1'000'000'000 + c.nanosecond);
}

int weekday(Instant t) {
  // 1970-01-01 was a Thursday (3).
  const int64_t days = (t.hour_index() >= 0 ? t.hour_index() : t.hour_index() - 23) / 24;
  return static_cast<int>(((days + 3) % 7 + 7) % 7);
}

Interval month_of(Instant t) {
  CivilTime c = to_civil(t);
  CivilTime next{.year = c.month == 12 ? c.year + 1 : c.year, .month = c.month == 12 ? 1 : c.month + 1};
  return {from_civil({.year = c.year, .month = c.month}), from_civil(next)};
}

Result<Interval> parse_month(std::string_view text) {
  std::string_view rest = text;
  const auto year = take_digits(rest, 4);
  const bool dash = year && take_char(rest, '-');
  const auto month = dash ? take_digits(rest, 2) : std::nullopt;
  if (!month || !rest.empty() || *month < 1 || *month > 12 || *year < kFirstYear || *year > kLastYear)
    return invalid("'{}' is no month: write it as 2026-10", excerpt(text));
  return month_of(from_civil({.year = *year, .month = *month}));
}

Result<Instant> parse_instant(std::string_view text, ZonelessOffset zoneless) {
  if (const auto t = parse_instant_or_none(trim(text), zoneless)) return *t;
  return invalid("'{}' is no time: write it as 2026-10-01T00:00:00Z or 2026-10-01", excerpt(text));
}

std::string format_utc(Instant t) {
  const CivilTime c = to_civil(t);
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", c.year, c.month, c.day, c.hour, c.minute, c.second);
  if (c.nanosecond != 0) {
    std::string fraction = fmt::format("{:09}", c.nanosecond);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    out += '.';
    out += fraction;
  }
  return out + 'Z';
}

std::string format_date(Instant t) { return format_utc(t).substr(0, 10); }

Result<Duration> parse_duration(std::string_view text) {
  constexpr int64_t kMostMilliseconds = 9'000'000'000'000;  // 285 years: what int64 nanoseconds hold, rounded down
  const auto milliseconds_in = [](std::string_view unit) -> int64_t {
    if (unit == "ms") return 1;
    if (unit == "s") return 1000;
    if (unit == "m" || unit == "min") return 60'000;
    if (unit == "h") return 3'600'000;
    if (unit == "d") return 86'400'000;
    return unit == "w" ? 7 * 86'400'000 : 0;
  };
  std::string_view rest = trim(text);
  int64_t total = 0;
  bool sound = !rest.empty();
  while (sound && !rest.empty()) {
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto number = parse_int(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const size_t letters = std::min(rest.find_first_of("0123456789"), rest.size());
    const int64_t unit = milliseconds_in(rest.substr(0, letters));
    rest.remove_prefix(letters);
    sound = number && unit > 0 && *number <= (kMostMilliseconds - total) / unit;
    if (sound) total += *number * unit;
  }
  if (!sound) return invalid("'{}' is no duration: write 90s, 15m, 24h or 7d, at most 285 years", excerpt(text));
  return Duration::milliseconds(total);
}

}  // namespace stint
