#include "base/money.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/text.h"

namespace stint {
namespace {

__extension__ typedef __int128 Int128;

constexpr Int128 kMax = std::numeric_limits<int64_t>::max();

int64_t narrow(Int128 value) {
  CHECK(value <= kMax && value >= -kMax, "money does not fit in 64 bits of nano-units");
  return static_cast<int64_t>(value);
}

/// numerator / denominator rounded half to even. @param denominator  > 0.
Int128 divide_half_even(Int128 numerator, Int128 denominator) {
  const bool negative = numerator < 0;
  const Int128 magnitude = negative ? -numerator : numerator;
  Int128 quotient = magnitude / denominator;
  const Int128 twice = (magnitude % denominator) * 2;
  if (twice > denominator || (twice == denominator && quotient % 2 != 0)) ++quotient;
  return negative ? -quotient : quotient;
}

struct Decimal {
  bool negative = false;
  Int128 digits = 0;  // all digits as one integer, leading zeros dropped
  int exponent = 0;   // value = digits × 10^exponent
};

/// At most 30 significant digits are kept: beyond them nothing changes a nano-unit that fits in 64 bits.
std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal d;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    d.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  int kept = 0;
  bool any = false;
  bool point = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    if (kept < 30) {
      d.digits = d.digits * 10 + (c - '0');
      if (d.digits != 0) ++kept;
      if (point) --d.exponent;
    } else if (!point) {
      ++d.exponent;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    std::string_view exponent = text.substr(i + 1);
    if (!exponent.empty() && exponent.front() == '+') exponent.remove_prefix(1);
    const auto e = parse_int(exponent);
    if (!e || *e > 1000 || *e < -1000) return std::nullopt;
    d.exponent += static_cast<int>(*e);
  }
  return d;
}

std::string group_thousands(std::string digits) {
  for (size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, 1, ',');
  return digits;
}

}  // namespace

Result<Currency> Currency::parse(std::string_view code) {
  Currency c;
  const bool letters = code.size() == 3 && std::all_of(code.begin(), code.end(), [](char x) { return x >= 'A' && x <= 'Z'; });
  if (!letters) return invalid("'{}' is no currency: write its ISO 4217 code, such as USD", excerpt(code));
  std::copy(code.begin(), code.end(), c.code_.begin());
  return c;
}

Result<Money> Money::parse(std::string_view decimal, Currency c) {
  const auto d = parse_decimal(trim(decimal));
  if (!d) return invalid("'{}' is no amount of money: write digits with a point, such as 1.624", excerpt(decimal));
  Int128 value = d->digits;
  int exponent = d->exponent + 9;
  for (; exponent > 0 && value != 0; --exponent) {
    value *= 10;
    if (value > kMax) return invalid("amount '{}' is too large: at most 9.2 billion units are kept", excerpt(decimal));
  }
  if (exponent < 0) {
    if (exponent < -35) value = 0;
    Int128 divisor = 1;
    for (; exponent < 0 && value != 0; ++exponent)
      divisor *= 10;
    value = divide_half_even(value, divisor);
  }
  if (value > kMax) return invalid("amount '{}' is too large: at most 9.2 billion units are kept", excerpt(decimal));
  return Money(static_cast<int64_t>(d->negative ? -value : value), c);
}

Money Money::estimate(double units, Currency c) {
  CHECK(std::isfinite(units) && std::abs(units) < 9.2e9, "estimate {} does not fit", units);
  return Money(std::llround(units * 1e9), c);
}

std::string Money::to_decimal() const {
  const bool negative = nanos_ < 0;
  const Int128 magnitude = negative ? -static_cast<Int128>(nanos_) : static_cast<Int128>(nanos_);
  std::string out = fmt::format("{}{}", negative ? "-" : "", static_cast<int64_t>(magnitude / kNanosPerUnit));
  const auto fraction = static_cast<int64_t>(magnitude % kNanosPerUnit);
  if (fraction != 0) {
    std::string digits = fmt::format("{:09}", fraction);
    digits.erase(digits.find_last_not_of('0') + 1);
    out += '.';
    out += digits;
  }
  return out;
}

std::string Money::to_text(int decimals) const {
  CHECK(decimals >= 0 && decimals <= 9, "{} decimals", decimals);
  int64_t unit = 1;
  for (int i = decimals; i < 9; ++i)
    unit *= 10;
  const Int128 rounded = divide_half_even(nanos_, unit);
  const Int128 magnitude = rounded < 0 ? -rounded : rounded;
  std::string digits = fmt::format("{:0{}}", static_cast<int64_t>(magnitude), decimals + 1);
  const size_t point = digits.size() - static_cast<size_t>(decimals);
  std::string out = rounded < 0 ? "-" : "";
  out += group_thousands(digits.substr(0, point));
  if (decimals > 0) {
    out += '.';
    out += digits.substr(point);
  }
  return fmt::format("{} {}", out, currency_.code());
}

Money operator+(Money a, Money b) {
  CHECK(a.currency_ == b.currency_, "adding {} to {}", b.currency_.code(), a.currency_.code());
  return Money(narrow(static_cast<Int128>(a.nanos_) + b.nanos_), a.currency_);
}

Money operator-(Money a, Money b) { return a + -b; }

std::strong_ordering operator<=>(Money a, Money b) {
  CHECK(a.currency_ == b.currency_, "comparing {} with {}", a.currency_.code(), b.currency_.code());
  return a.nanos_ <=> b.nanos_;
}

Money scale(Money amount, int64_t numerator, int64_t denominator) {
  CHECK(denominator > 0, "denominator {}", denominator);
  const Int128 product = static_cast<Int128>(amount.count_nanos()) * numerator;
  return Money::nanos(narrow(divide_half_even(product, denominator)), amount.currency());
}

std::optional<Money> exchanged(Money amount, Currency to, int64_t numerator, int64_t denominator) {
  CHECK(denominator > 0, "denominator {}", denominator);
  const Int128 product = divide_half_even(static_cast<Int128>(amount.count_nanos()) * numerator, denominator);
  if (product > kMax || product < -kMax) return std::nullopt;
  return Money::nanos(static_cast<int64_t>(product), to);
}

std::vector<Money> split_by_largest_remainder(Money whole, std::span<const int64_t> weights) {
  Int128 total = 0;
  for (const int64_t w : weights) {
    CHECK(w >= 0, "weight {} is negative", w);
    total += w;
  }
  CHECK(total > 0, "nothing to split over: all {} weights are zero", weights.size());

  const bool negative = whole.count_nanos() < 0;
  const Int128 magnitude = negative ? -static_cast<Int128>(whole.count_nanos()) : static_cast<Int128>(whole.count_nanos());
  std::vector<int64_t> parts(weights.size());
  std::vector<std::pair<Int128, size_t>> remainders;
  remainders.reserve(weights.size());
  Int128 given = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Int128 product = magnitude * weights[i];
    parts[i] = static_cast<int64_t>(product / total);
    given += parts[i];
    if (weights[i] > 0) remainders.emplace_back(product % total, i);
  }
  auto left = static_cast<size_t>(magnitude - given);  // fewer than there are positive weights
  const auto larger_first = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  if (left > 0) {
    std::nth_element(remainders.begin(), remainders.begin() + static_cast<std::ptrdiff_t>(left), remainders.end(), larger_first);
    for (size_t k = 0; k < left; ++k)
      ++parts[remainders[k].second];
  }
  std::vector<Money> out;
  out.reserve(parts.size());
  for (const int64_t p : parts)
    out.push_back(Money::nanos(negative ? -p : p, whole.currency()));
  return out;
}

Result<Rate> Rate::parse_per_hour(std::string_view decimal, Currency c) {
  TRY_ASSIGN(const Money money, Money::parse(decimal, c));
  return Rate::per_hour(money);
}

Money Rate::over(Duration d) const { return scale(per_hour_, d.count_ns(), kHour.count_ns()); }

}  // namespace stint
