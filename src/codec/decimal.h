// Numbers as telemetry writes them, read fast: an optional sign, digits, an optional fraction.
//
// A decimal of at most 18 digits whose digits form an integer below 2^53 is that integer divided by an exact
// power of ten, hence rounded once and equal to what strtod gives (Clinger 1990, "How to read floating point
// numbers accurately"). Everything else is left to std::from_chars.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/metric.h"

namespace stint {

inline constexpr std::array<double, 19> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                                        1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// The digits of a plain decimal, as they stand.
struct Digits {
  uint64_t all = 0;  ///< integer and fraction as one number; meaningful up to 19 digits
  int count = 0;     ///< of both; leading zeros count
  int decimals = 0;  ///< of the fraction
};

/// Reads `12`, `12.`, `.5` or `12.5` at `p`. A character that is neither digit nor point must follow in memory.
/// @return what follows; count 0 when no digit stands there.
inline const char* read_digits(const char* p, Digits& digits) {
  const char* const start = p;
  uint64_t all = 0;
  while (is_digit(*p))
    all = all * 10 + static_cast<uint64_t>(*p++ - '0');
  digits.count = static_cast<int>(p - start);
  digits.decimals = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    while (is_digit(*p))
      all = all * 10 + static_cast<uint64_t>(*p++ - '0');
    digits.decimals = static_cast<int>(p - fraction);
    digits.count += digits.decimals;
  }
  digits.all = all;
  return p;
}

/// Reads a plain decimal at `p`, as read_digits() with a sign before it.
/// @return what follows, or nullptr when it needs the slow way: no digits, too many, an exponent, Inf, NaN.
inline const char* read_decimal(const char* p, double& value) {
  const bool negative = *p == '-';
  Digits digits;
  p = read_digits(p + (negative ? 1 : 0), digits);
  if (digits.count == 0 || digits.count > 18 || digits.all >= (uint64_t{1} << 53) || (*p | 0x20) == 'e') return nullptr;
  const auto integer = static_cast<double>(digits.all);
  const double magnitude = digits.decimals == 0 ? integer : integer / kPowersOfTen[static_cast<size_t>(digits.decimals)];
  value = negative ? -magnitude : magnitude;
  return p;
}

/// What read_decimal() leaves: reads up to a blank, quote, comma, line end or NUL.
const char* read_number_slowly(const char* p, double& value);

/// Reads any number at `p`, NaN and Inf included; memory as for read_digits().
/// @return what follows, or nullptr when none stands there.
inline const char* read_number(const char* p, double& value) {
  const char* const end = read_decimal(p, value);
  return end != nullptr ? end : read_number_slowly(p, value);
}

/// Reads a Unix time at `p`, as read_digits(): seconds, or milliseconds from 1e11 on. Prometheus' text format has
/// milliseconds, OpenMetrics and JSON seconds; as seconds 1e11 is the year 5138, as milliseconds 1973.
/// @return what follows, or nullptr when it is no plain decimal or out of an Instant's range.
inline const char* read_unix_time(const char* p, Instant& at) {
  Digits digits;
  p = read_digits(p, digits);
  if (digits.count == 0 || digits.count > 19 || digits.decimals > 9 || (*p | 0x20) == 'e') return nullptr;
  uint64_t scale = 1;
  for (int i = 0; i < digits.decimals; ++i)
    scale *= 10;
  const bool milliseconds = digits.all / scale >= 100'000'000'000;
  const uint64_t ns_per_unit = milliseconds ? 1'000'000 : 1'000'000'000;
  if (digits.all / scale >= 9'200'000'000'000'000'000 / ns_per_unit) return nullptr;
  at = Instant::from_ns(static_cast<int64_t>(digits.all / scale * ns_per_unit + digits.all % scale * ns_per_unit / scale));
  return p;
}

/// A whole text as a number, any way it may be written: exponents, a plus sign, `NaN`, `+Inf`. none for anything else.
std::optional<double> parse_any_number(std::string_view text);

/// A whole text as a Unix time as read_unix_time() takes it, exponents included.
std::optional<Instant> parse_unix_time(std::string_view text);

/// Why a value that is_plausible() denies was refused.
std::string implausible(Metric metric, double value);

}  // namespace stint
