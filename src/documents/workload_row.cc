#include "documents/workload_row.h"

#include "base/text.h"
#include "codec/decimal.h"

namespace stint {
namespace {

constexpr Duration kLongest = Duration::hours(100LL * 366 * 24);  // sums stay far from overflow
constexpr int64_t kLargest = int64_t{1} << 53;

}  // namespace

std::optional<int64_t> parse_scaled(std::string_view text, int places) {
  const size_t point = text.find('.');
  std::string digits(text.substr(0, point));
  const std::string_view fraction = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (digits.empty() || fraction.size() > static_cast<size_t>(places) || (point != std::string_view::npos && fraction.empty()))
    return std::nullopt;
  digits += fraction;
  for (const char c : digits)
    if (!is_digit(c)) return std::nullopt;
  digits.append(static_cast<size_t>(places) - fraction.size(), '0');
  return parse_int(digits);
}

std::string format_scaled(int64_t value, int places) {
  std::string digits = fmt::format("{:0{}}", value, places + 1);
  digits.insert(digits.size() - static_cast<size_t>(places), 1, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

std::optional<Bytes> parse_size(std::string_view text) {
  int shift = 0;
  if (text.ends_with("GiB")) shift = 30;
  if (text.ends_with("MiB")) shift = 20;
  const auto number = parse_int(text.substr(0, text.size() - (shift == 0 ? 0 : 3)));
  if (!number || *number < 0 || *number > (kLargest >> shift)) return std::nullopt;
  return Bytes::of(*number << shift);
}

std::string format_size(Bytes size) {
  const int64_t n = size.count();
  if (n != 0 && n % (1 << 30) == 0) return fmt::format("{}GiB", n >> 30);
  if (n != 0 && n % (1 << 20) == 0) return fmt::format("{}MiB", n >> 20);
  return fmt::format("{}", n);
}

std::optional<WeekHours> parse_closed_hours(std::string_view open) {
  const std::vector<std::string_view> ends = split(open, '-');
  if (ends.size() != 2) return std::nullopt;
  const auto hour_of = [](std::string_view text) {
    if (text.size() != 5 || !text.ends_with(":00")) return std::optional<int64_t>();
    const std::optional<int64_t> hour = parse_int(text.substr(0, 2));
    return hour && *hour >= 0 && *hour <= 24 ? hour : std::nullopt;
  };
  const std::optional<int64_t> from = hour_of(ends[0]);
  const std::optional<int64_t> until = hour_of(ends[1]);
  if (!from || !until || *from % 24 == *until % 24) return std::nullopt;
  WeekHours closed;
  closed.set();
  for (int64_t hour = *from % 24; hour != *until % 24; hour = (hour + 1) % 24)
    for (int64_t day = 0; day < 7; ++day)
      closed.reset(static_cast<size_t>(day * 24 + hour));
  return closed;
}

std::optional<std::string> format_open_hours(const WeekHours& closed) {
  for (size_t from = 0; from < 24; ++from)
    for (size_t until = 0; until < 24; ++until) {
      const std::string text = fmt::format("{:02}:00-{:02}:00", from, until);
      if (parse_closed_hours(text) == closed) return text;
    }
  return std::nullopt;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

int64_t WorkloadRow::integer(std::string_view column, int64_t least, int64_t most, int64_t fallback) {
  const std::string_view cell = trim(text(column));
  if (cell.empty()) return fallback;
  const auto value = parse_int(cell);
  if (value && *value >= least && *value <= most) return *value;
  wrong(column, fmt::format("an integer from {} to {}", least, most));
  return fallback;
}

int64_t WorkloadRow::scaled(std::string_view column, int places, int64_t fallback) {
  const std::string_view cell = trim(text(column));
  if (cell.empty()) return fallback;
  const auto value = parse_scaled(cell, places);
  if (value && *value <= kLargest) return *value;
  wrong(column, fmt::format("a number from 0 on with at most {} decimals", places));
  return fallback;
}

Duration WorkloadRow::duration(std::string_view column, Duration fallback) {
  const std::string_view cell = trim(text(column));
  if (cell.empty()) return fallback;
  std::optional<Duration> value;
  if (const auto ns = parse_scaled(cell, 9)) {
    value = Duration::nanoseconds(*ns);
  } else if (const Result<Duration> named = parse_duration(cell); named.ok()) {
    value = *named;
  }
  if (value && *value >= Duration() && *value <= kLongest) return *value;
  wrong(column, "seconds, or a duration such as 1h30m");
  return fallback;
}

Instant WorkloadRow::instant(std::string_view column, Instant fallback) {
  const std::string_view cell = trim(text(column));
  if (cell.empty()) return fallback;
  const Result<Instant> value = parse_instant(cell);
  if (value.ok()) return *value;
  wrong(column, "a time such as 2026-10-05T08:30:00Z");
  return fallback;
}

Bytes WorkloadRow::size(std::string_view column) {
  const std::string_view cell = trim(text(column));
  if (cell.empty()) return {};
  if (const auto value = parse_size(cell)) return *value;
  wrong(column, "a size such as 80GiB, 512MiB or bytes");
  return {};
}

bool WorkloadRow::flag(std::string_view column, bool fallback) {
  const std::string_view cell = trim(text(column));
  if (cell.empty()) return fallback;
  if (cell != "yes" && cell != "no") wrong(column, "yes or no");
  return cell == "yes";
}

void WorkloadRow::wrong(std::string_view column, std::string_view expected) {
  if (status_.ok()) status_ = invalid("{} '{}' is not {}", column, excerpt(text(column)), expected);
}

}  // namespace stint
