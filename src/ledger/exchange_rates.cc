#include "ledger/exchange_rates.h"

#include <algorithm>

#include "base/integer.h"

namespace stint {
namespace {

constexpr int64_t kNanosOfOne = 1'000'000'000;

int64_t day_of(Instant at) { return floor_div(at.hour_index(), 24); }

}  // namespace

ExchangeRates::ExchangeRates(std::span<const ExchangeRate> rates) {
  for (const ExchangeRate& rate : rates) {
    by_pair_[{rate.base, rate.price.currency()}].push_back({day_of(rate.day), rate.price.count_nanos()});
    bases_.push_back(rate.base);
  }
  for (auto& [pair, days] : by_pair_) {
    std::ranges::stable_sort(days, {}, &DayRate::day);
    // The last of a day is the first of it from behind.
    const auto earlier = std::ranges::unique(days.rbegin(), days.rend(), {}, &DayRate::day);
    days.erase(days.begin(), days.begin() + std::ranges::distance(earlier));
  }
  std::ranges::sort(bases_);
  const auto repeated = std::ranges::unique(bases_);
  bases_.erase(repeated.begin(), repeated.end());
}

std::optional<int64_t> ExchangeRates::price(Currency base, Currency other, int64_t day, int64_t oldest_days) const {
  if (base == other) return kNanosOfOne;
  const auto pair = by_pair_.find({base, other});
  if (pair == by_pair_.end()) return std::nullopt;
  const auto later = std::ranges::upper_bound(pair->second, day, {}, &DayRate::day);
  if (later == pair->second.begin() || std::prev(later)->day < day - oldest_days) return std::nullopt;
  return std::prev(later)->nanos;
}

Error ExchangeRates::no_rate(Currency from, Currency to, Instant at) const {
  const auto last_of = [this](Currency c) {
    std::optional<int64_t> last;
    for (const auto& [pair, days] : by_pair_)
      if (pair.first == c || pair.second == c) last = std::max(last.value_or(days.back().day), days.back().day);
    return last;
  };
  std::string known;
  for (const Currency c : {from, to})
    if (!last_of(c)) known = fmt::format(" (there is none of {} at all)", c.code());
  if (known.empty())
    if (const int64_t last = std::min(*last_of(from), *last_of(to)); last < day_of(at))
      known = fmt::format(" (the last one is of {})", format_date(Instant::from_hour_index(24 * last)));
  return {ErrorCode::kNotFound,
          fmt::format("no exchange rate from {} to {} for {}{}: `stint import exchange-rates` takes the European Central Bank's "
                      "eurofxref-hist.zip, or a CSV with date, base, currency, rate",
                      from.code(), to.code(), format_date(at), known)};
}

Result<Money> ExchangeRates::convert(Money amount, Currency to, Instant at, Duration oldest) const {
  const Currency from = amount.currency();
  if (from == to) return amount;
  if (amount.is_zero()) return Money::nanos(0, to);
  const int64_t day = day_of(at), oldest_days = oldest.count_ns() / (24 * kHour.count_ns());
  const auto through = [&](Currency base) -> std::optional<Result<Money>> {
    const auto in_from = price(base, from, day, oldest_days), in_to = price(base, to, day, oldest_days);
    if (!in_from || !in_to) return std::nullopt;
    const auto converted = exchanged(amount, to, *in_to, *in_from);
    if (!converted)
      return invalid("{} does not fit in {}: at most 9.2 billion units are kept; show amounts in another currency",
                     amount.to_text(), to.code());
    return *converted;
  };
  // A rate between the two comes before one through a third.
  for (const Currency base : {from, to})
    if (auto direct = through(base)) return std::move(*direct);
  for (const Currency base : bases_)
    if (auto crossed = through(base)) return std::move(*crossed);
  return no_rate(from, to, at);
}

}  // namespace stint
