// Instants and durations: int64 nanoseconds, UTC.
//
// There is no "day" here on purpose: civil days belong to calendars and tariffs, which turn local
// time into UTC intervals when they are loaded. The civil helpers below are UTC only.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/integer.h"
#include "base/result.h"

namespace stint {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanoseconds(int64_t n) { return Duration(n); }
  static constexpr Duration milliseconds(int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration seconds(int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration minutes(int64_t n) { return seconds(n * 60); }
  static constexpr Duration hours(int64_t n) { return seconds(n * 3600); }
  /// Rounded to the nearest nanosecond; for measured values, not for money.
  static Duration from_seconds(double s);

  [[nodiscard]] constexpr int64_t count_ns() const { return ns_; }
  [[nodiscard]] constexpr int64_t whole_seconds() const { return ns_ / 1'000'000'000; }
  [[nodiscard]] constexpr double to_seconds() const { return static_cast<double>(ns_) / 1e9; }
  [[nodiscard]] constexpr double to_hours() const { return to_seconds() / 3600.0; }

  constexpr auto operator<=>(const Duration&) const = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ns_ + b.ns_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  friend constexpr Duration operator*(Duration a, int64_t k) { return Duration(a.ns_ * k); }
  constexpr Duration& operator+=(Duration d) {
    ns_ += d.ns_;
    return *this;
  }

 private:
  explicit constexpr Duration(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

inline constexpr Duration kHour = Duration::hours(1);

class Instant {
 public:
  constexpr Instant() = default;  // 1970-01-01T00:00:00Z
  static constexpr Instant from_ns(int64_t ns) { return Instant(ns); }
  static constexpr Instant from_seconds(int64_t s) { return Instant(s * 1'000'000'000); }

  [[nodiscard]] constexpr int64_t ns() const { return ns_; }
  /// Seconds since 1970, rounded towards the past.
  [[nodiscard]] constexpr int64_t seconds() const { return floor_div(ns_, 1'000'000'000); }
  /// Start of the UTC hour this instant lies in.
  [[nodiscard]] constexpr Instant hour_start() const { return Instant(floor_div(ns_, kHour.count_ns()) * kHour.count_ns()); }
  /// Hours since 1970, rounded towards the past: the key of hourly rollups.
  [[nodiscard]] constexpr int64_t hour_index() const { return floor_div(ns_, kHour.count_ns()); }
  static constexpr Instant from_hour_index(int64_t h) { return Instant(h * kHour.count_ns()); }

  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration::nanoseconds(a.ns_ - b.ns_); }
  friend constexpr Instant operator+(Instant t, Duration d) { return Instant(t.ns_ + d.count_ns()); }
  friend constexpr Instant operator-(Instant t, Duration d) { return Instant(t.ns_ - d.count_ns()); }

 private:
  explicit constexpr Instant(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

/// Half-open [begin, end).
struct Interval {
  Instant begin;
  Instant end;
  [[nodiscard]] constexpr Duration length() const { return end - begin; }
  [[nodiscard]] constexpr bool contains(Instant t) const { return begin <= t && t < end; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  constexpr bool operator==(const Interval&) const = default;
};
/// The common part; empty() when there is none.
Interval intersect(Interval a, Interval b);

/// UTC calendar fields. Proleptic Gregorian, years 1–9999.
struct CivilTime {
  int year = 1970;
  int month = 1;  // 1–12
  int day = 1;    // 1–31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int64_t nanosecond = 0;
};
CivilTime to_civil(Instant t);
Instant from_civil(const CivilTime& c);
/// 0 = Monday … 6 = Sunday, UTC.
int weekday(Instant t);
/// The UTC month `2026-10` as an interval.
Result<Interval> parse_month(std::string_view text);
Interval month_of(Instant t);

/// How to read a time that names no zone.
struct ZonelessOffset {
  Duration east_of_utc;  ///< local time minus UTC
};

/// ISO 8601 and its usual relatives: `2024-09-18T22:00:00Z`, `2024-09-18 22:00:00`, `2024-09-18`,
/// `2020/11/12 13:48:11.412`, offsets `+02:00`. A time without zone is taken at `zoneless` (UTC by default).
/// @return error when the text is anything else, a field is out of range, or the year is not 1970–2199.
Result<Instant> parse_instant(std::string_view text, ZonelessOffset zoneless = {});

/// `2026-10-01T00:00:00Z`; fractions only when there are any.
std::string format_utc(Instant t);
/// `2026-10-01`
std::string format_date(Instant t);

/// `90s`, `15m`, `24h`, `7d` (a d is exactly 24 h), `1h30m`. @return error for anything else.
Result<Duration> parse_duration(std::string_view text);

}  // namespace stint
