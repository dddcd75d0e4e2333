#include "advise/commit/commit_bill.h"

#include <algorithm>
#include <limits>

namespace stint {
namespace {

// Of fees and of on-demand each; three billion units of currency. Both together stay within 64 bits.
constexpr int64_t kMostNanos = 3'000'000'000'000'000'000;

__extension__ using Wide = __int128;

Wide wide(Money m) { return m.count_nanos(); }

/// The part of an upfront fee that belongs to the first `hours` of its term. Differences of these sum to the fee exactly.
Wide amortised(const CommitOffer& offer, int64_t hours) { return wide(offer.upfront) * hours / offer.term_hours; }

constexpr int64_t kLongestTermHours = 100 * kHoursPerYear;

struct Held {
  uint32_t offer = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t count = 0;
};

}  // namespace

Status check_market(const CommitMarket& market, std::span<const int64_t> demand) {
  if (market.on_demand.count_nanos() <= 0)
    return invalid("the on-demand price is {}: give one above 0", market.on_demand.to_decimal());
  if (market.fee == HourlyFee::kWhenUsed && market.offers.size() > 1)
    return invalid("hourly fees for used hours alone are planned for one offer at a time, not {}", market.offers.size());
  const Currency currency = market.on_demand.currency();
  Wide dearest = wide(market.on_demand);
  for (const CommitOffer& offer : market.offers) {
    if (offer.upfront.currency() != currency || offer.hourly.currency() != currency)
      return invalid("on-demand is in {}, the commitment in another currency: give both in one", currency.code());
    if (offer.upfront.count_nanos() < 0 || offer.hourly.count_nanos() < 0)
      return invalid("a commitment's fees cannot be below 0 (upfront {}, hourly {})", offer.upfront.to_decimal(),
                     offer.hourly.to_decimal());
    if (offer.term_hours < 1 || offer.term_hours > kLongestTermHours)
      return invalid("a term of {} hours: give 1 to {} (a year has {})", offer.term_hours, kLongestTermHours, kHoursPerYear);
    const Wide owed = wide(offer.upfront) + wide(offer.hourly) * offer.term_hours;
    const Wide fresh = static_cast<Wide>(demand.size()) / offer.term_hours + 1;
    dearest = std::max(dearest, owed * fresh);
  }
  for (const OwnedCommitment& owned : market.owned)
    if (owned.count < 0) return invalid("{} commitments owned: give 0 or more", owned.count);
  Wide instances = 0, most = 1;
  for (const int64_t d : demand) {
    if (d < 0) return invalid("a demand of {} instances: give 0 or more", d);
    instances += d;
    most = std::max<Wide>(most, d);
  }
  if (instances * wide(market.on_demand) > kMostNanos || dearest > kMostNanos / most)
    return invalid("the sums are too large for exact money (more than three billion {}): plan fewer instances or hours at a time",
                   currency.code());
  return {};
}

HourlyDemand uncovered_demand(const CommitMarket& market, std::span<const int64_t> demand) {
  HourlyDemand left(demand.begin(), demand.end());
  for (const OwnedCommitment& owned : market.owned) {
    const auto covered = static_cast<size_t>(std::clamp<int64_t>(owned.until_hour, 0, std::ssize(left)));
    for (size_t hour = 0; hour < covered; ++hour)
      left[hour] = std::max<int64_t>(0, left[hour] - owned.count);
  }
  return left;
}

CommitBill bill_plan(const CommitMarket& market, std::span<const int64_t> demand, const CommitPlan& plan) {
  const HourlyDemand left = uncovered_demand(market, demand);
  const int64_t hours = std::ssize(left);
  Wide on_demand = 0, all_on_demand = 0, upfront = 0, hourly = 0, used = 0, unused = 0, after_end = 0;
  CommitBill bill;
  std::vector<Held> held;  // ascending by purchase: the oldest are used first
  auto next = plan.begin();
  for (int64_t hour = 0; hour < hours; ++hour) {
    std::erase_if(held, [&](const Held& h) { return h.end <= hour; });
    for (; next != plan.end() && next->hour == hour; ++next) {
      const CommitOffer& offer = market.offers.at(next->offer);
      held.push_back({next->offer, hour, hour + offer.term_hours, next->count});
      upfront += wide(offer.upfront) * next->count;
      if (market.fee == HourlyFee::kAlways) hourly += wide(offer.hourly) * offer.term_hours * next->count;
      const int64_t inside = std::min(offer.term_hours, hours - hour);
      const Wide rest = wide(offer.upfront) - amortised(offer, inside) +
                        (market.fee == HourlyFee::kAlways ? wide(offer.hourly) * (offer.term_hours - inside) : 0);
      after_end += rest * next->count;
    }
    int64_t running = left[static_cast<size_t>(hour)];
    all_on_demand += wide(market.on_demand) * running;
    for (const Held& h : held) {
      const CommitOffer& offer = market.offers[h.offer];
      const int64_t at = hour - h.begin;
      const int64_t busy = std::min(running, h.count);
      const Wide share = amortised(offer, at + 1) - amortised(offer, at);
      const Wide fee = wide(offer.hourly);
      if (market.fee == HourlyFee::kWhenUsed) hourly += fee * busy;
      used += (share + fee) * busy;
      unused += (share + (market.fee == HourlyFee::kAlways ? fee : 0)) * (h.count - busy);
      bill.reserved_instance_hours += h.count;
      bill.used_instance_hours += busy;
      running -= busy;
    }
    on_demand += wide(market.on_demand) * running;
  }
  CHECK(next == plan.end(), "a purchase in hour {} of {}, or out of order", next->hour, hours);
  CHECK(used + unused + after_end == upfront + hourly, "amortised parts do not sum to what is paid");
  const auto money = [&](Wide nanos) {
    CHECK(nanos >= 0 && nanos <= std::numeric_limits<int64_t>::max(), "money out of range");
    return Money::nanos(static_cast<int64_t>(nanos), market.on_demand.currency());
  };
  bill.on_demand = money(on_demand);
  bill.upfront = money(upfront);
  bill.hourly = money(hourly);
  bill.total = money(on_demand + upfront + hourly);
  bill.used = money(used);
  bill.unused = money(unused);
  bill.after_end = money(after_end);
  bill.all_on_demand = money(all_on_demand);
  return bill;
}

}  // namespace stint
