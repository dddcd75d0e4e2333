// Exact money: int64 nano-units of a named currency.
//
// Every amount is a whole number of nano-units (1 USD = 1 000 000 000 nano-USD), so an int64 reaches
// 9.2 billion units. A text with more than nine decimals is rounded half to even, once, when it is read.
// Splits use the largest remainder, so the parts always sum to the whole.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// ISO 4217 code, three capital letters.
class Currency {
 public:
  constexpr Currency() = default;  // USD
  static Result<Currency> parse(std::string_view code);
  [[nodiscard]] std::string_view code() const { return {code_.data(), code_.size()}; }
  constexpr auto operator<=>(const Currency&) const = default;

 private:
  std::array<char, 3> code_ = {'U', 'S', 'D'};
};

class Money {
 public:
  constexpr Money() = default;
  static constexpr Money nanos(int64_t n, Currency c = {}) { return Money(n, c); }
  static constexpr Money units(int64_t n, Currency c = {}) { return Money(n * kNanosPerUnit, c); }
  /// `-12.34`, `1.5e-7`, `0.00000080000`. @return error when it is no decimal number or does not fit.
  static Result<Money> parse(std::string_view decimal, Currency c = {});
  /// Nearest nano-unit of a computed estimate. For estimates only: the ledger never goes through double.
  static Money estimate(double units, Currency c = {});

  [[nodiscard]] constexpr int64_t count_nanos() const { return nanos_; }
  [[nodiscard]] constexpr Currency currency() const { return currency_; }
  [[nodiscard]] constexpr double to_double() const { return static_cast<double>(nanos_) / 1e9; }
  [[nodiscard]] constexpr bool is_zero() const { return nanos_ == 0; }

  /// All decimals that matter: `1.624`, `0.0000008`, `-3`.
  [[nodiscard]] std::string to_decimal() const;
  /// For people: `47,000.00 USD`; rounded half to even to `decimals` places (0–9).
  [[nodiscard]] std::string to_text(int decimals = 2) const;

  /// Adding or comparing two currencies is a broken invariant: importers keep currencies apart.
  friend Money operator+(Money a, Money b);
  friend Money operator-(Money a, Money b);
  friend Money operator-(Money a) { return Money(-a.nanos_, a.currency_); }
  Money& operator+=(Money b) { return *this = *this + b; }
  Money& operator-=(Money b) { return *this = *this - b; }
  friend bool operator==(Money a, Money b) { return a.nanos_ == b.nanos_ && a.currency_ == b.currency_; }
  friend std::strong_ordering operator<=>(Money a, Money b);

 private:
  static constexpr int64_t kNanosPerUnit = 1'000'000'000;
  constexpr Money(int64_t n, Currency c) : nanos_(n), currency_(c) {}
  int64_t nanos_ = 0;
  Currency currency_;
};

/// amount × numerator / denominator, rounded half to even; 128-bit inside.
/// @param denominator  > 0.
Money scale(Money amount, int64_t numerator, int64_t denominator);

/// The same into another currency.
/// @return none when it does not fit: a million dollars are 16 billion rupiahs, and 64 bits of nano-units hold nine.
std::optional<Money> exchanged(Money amount, Currency to, int64_t numerator, int64_t denominator);

/// Splits `whole` in proportion to `weights` by largest remainder (ties: lower index first).
/// @param weights  each ≥ 0, at least one > 0.
/// @return as many parts as weights; they sum to `whole` exactly.
std::vector<Money> split_by_largest_remainder(Money whole, std::span<const int64_t> weights);

/// Money per hour, for one GPU or one instance as the name of the variable says.
class Rate {
 public:
  constexpr Rate() = default;
  static constexpr Rate per_hour(Money m) { return Rate(m); }
  static Result<Rate> parse_per_hour(std::string_view decimal, Currency c = {});
  [[nodiscard]] constexpr Money per_hour() const { return per_hour_; }
  /// Cost of that much time, rounded half to even to the nano-unit.
  [[nodiscard]] Money over(Duration d) const;
  friend bool operator==(Rate, Rate) = default;
  friend auto operator<=>(Rate a, Rate b) { return a.per_hour_ <=> b.per_hour_; }

 private:
  explicit constexpr Rate(Money m) : per_hour_(m) {}
  Money per_hour_;
};

/// Hours in the billing month that providers quote with: 730 = 8760 / 12.
inline constexpr int64_t kHoursPerMonth = 730;
inline constexpr int64_t kHoursPerYear = 8760;

}  // namespace stint
