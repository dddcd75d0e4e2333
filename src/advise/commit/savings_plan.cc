#include "advise/commit/savings_plan.h"

#include <algorithm>
#include <numeric>

namespace stint {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kMostPlanNanos = 3'000'000'000'000'000'000;

bool pays(const SavingsPlanType& type) { return type.plan_rate < type.on_demand; }

/// Types a plan pays for, greatest on-demand price per unit of plan rate first; ties in order of the list.
std::vector<uint32_t> order_of(std::span<const SavingsPlanType> types) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < types.size(); ++i)
    if (pays(types[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto product = [](Money x, Money y) { return static_cast<Wide>(x.count_nanos()) * y.count_nanos(); };
    return product(types[a].on_demand, types[b].plan_rate) > product(types[b].on_demand, types[a].plan_rate);
  });
  return order;
}

std::vector<int64_t> owned_by_hour(std::span<const OwnedSavingsPlan> owned, size_t hours) {
  std::vector<int64_t> nanos(hours, 0);
  for (const OwnedSavingsPlan& plan : owned) {
    const auto covered = static_cast<size_t>(std::clamp<int64_t>(plan.until_hour, 0, static_cast<int64_t>(hours)));
    for (size_t hour = 0; hour < covered; ++hour)
      nanos[hour] += plan.commitment.count_nanos();
  }
  return nanos;
}

}  // namespace

Status check_savings_types(std::span<const SavingsPlanType> types) {
  Wide all = 0;
  for (const SavingsPlanType& type : types) {
    if (type.on_demand.currency() != types.front().on_demand.currency() || type.plan_rate.currency() != type.on_demand.currency())
      return invalid("prices in {} and another currency: plan one currency at a time", types.front().on_demand.currency().code());
    if (type.on_demand.count_nanos() <= 0 || type.plan_rate.count_nanos() <= 0)
      return invalid("an on-demand price of {} and a plan rate of {}: both must be above 0", type.on_demand.to_decimal(),
                     type.plan_rate.to_decimal());
    if (type.demand.size() != types.front().demand.size())
      return invalid("{} hours of demand of one type, {} of another", types.front().demand.size(), type.demand.size());
    for (const int64_t d : type.demand) {
      if (d < 0) return invalid("a demand of {} instances: give 0 or more", d);
      all += static_cast<Wide>(d) * type.on_demand.count_nanos();
    }
    if (all > kMostPlanNanos)
      return invalid("the sums are too large for exact money (three billion {}): plan fewer types or hours at a time",
                     types.front().on_demand.currency().code());
  }
  return {};
}

SavingsPlanBill bill_savings_plan(std::span<const SavingsPlanType> types, Money commitment,
                                  std::span<const OwnedSavingsPlan> owned) {
  SavingsPlanBill bill;
  if (types.empty()) return bill;
  const Currency currency = types.front().on_demand.currency();
  const std::vector<uint32_t> order = order_of(types);
  const size_t hours = types.front().demand.size();
  const std::vector<int64_t> free = owned_by_hour(owned, hours);
  int64_t used = 0, on_demand = 0, all = 0;  // nano-units
  for (size_t hour = 0; hour < hours; ++hour) {
    int64_t left = commitment.count_nanos() + free[hour];
    for (const uint32_t i : order) {
      const SavingsPlanType& type = types[i];
      const int64_t wanted = type.plan_rate.count_nanos() * type.demand[hour];
      const int64_t paid = std::min(wanted, left);
      used += paid;
      left -= paid;
      if (paid == wanted) continue;
      // The part of the use, measured at the plan rate, that the plan did not reach.
      on_demand += paid == 0 ? type.on_demand.count_nanos() * type.demand[hour]
                             : scale(type.on_demand, wanted - paid, type.plan_rate.count_nanos()).count_nanos();
    }
  }
  for (const SavingsPlanType& type : types) {
    const int64_t cost = type.on_demand.count_nanos() * std::accumulate(type.demand.begin(), type.demand.end(), int64_t{0});
    all += cost;
    if (!pays(type)) on_demand += cost;
  }
  bill.committed = scale(commitment, static_cast<int64_t>(hours), 1);
  bill.used = Money::nanos(used, currency);
  bill.on_demand = Money::nanos(on_demand, currency);
  bill.all_on_demand = Money::nanos(all, currency);
  bill.total = bill.committed + bill.on_demand;
  return bill;
}

SavingsPlanSweep::SavingsPlanSweep(std::span<const SavingsPlanType> types, std::span<const OwnedSavingsPlan> owned) {
  if (types.empty()) return;
  currency_ = types.front().on_demand.currency();
  hours_ = types.front().demand.size();
  owned_ = owned_by_hour(owned, hours_);
  const std::vector<uint32_t> order = order_of(types);
  types_ = order.size();
  for (const uint32_t i : order)
    ratio_.push_back(static_cast<long double>(types[i].on_demand.count_nanos()) /
                     static_cast<long double>(types[i].plan_rate.count_nanos()));
  ratio_.push_back(0);
  reach_.resize(hours_ * types_);
  for (size_t j = 0; j < types_; ++j) {
    const SavingsPlanType& type = types[order[j]];
    for (size_t hour = 0; hour < hours_; ++hour)
      reach_[hour * types_ + j] = (j == 0 ? 0 : reach_[hour * types_ + j - 1]) + type.plan_rate.count_nanos() * type.demand[hour];
  }
}

/// The first type, in order, that a commitment beside what is owned does not cover in full; as many as there are when it covers all.
size_t SavingsPlanSweep::reached(size_t hour, int64_t nanos) const {
  const auto begin = reach_.begin() + static_cast<std::ptrdiff_t>(hour * types_);
  return static_cast<size_t>(std::upper_bound(begin, begin + static_cast<std::ptrdiff_t>(types_), nanos + owned_[hour]) - begin);
}

/// What a little more commitment saves, over all hours.
long double SavingsPlanSweep::worth(int64_t nanos) const {
  long double sum = 0;
  for (size_t hour = 0; hour < hours_; ++hour)
    sum += ratio_[reached(hour, nanos)];
  return sum;
}

Money SavingsPlanSweep::best() const {
  if (types_ == 0) return Money::nanos(0, currency_);
  int64_t low = 0, high = 0;  // at `high` everything is covered and more is worth nothing
  for (size_t hour = 0; hour < hours_; ++hour)
    high = std::max(high, reach_[hour * types_ + types_ - 1] - owned_[hour]);
  const auto costs = static_cast<long double>(hours_);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (worth(middle) > costs)
      low = middle + 1;
    else
      high = middle;
  }
  return Money::nanos(low, currency_);
}

std::vector<double> SavingsPlanSweep::worth_at(Money commitment) const {
  std::vector<double> right(hours_), left(hours_);
  double right_sum = 0, left_sum = 0;
  for (size_t hour = 0; hour < hours_; ++hour) {
    right[hour] = static_cast<double>(ratio_[reached(hour, commitment.count_nanos())]);
    left[hour] = commitment.is_zero() ? right[hour] : static_cast<double>(ratio_[reached(hour, commitment.count_nanos() - 1)]);
    right_sum += right[hour];
    left_sum += left[hour];
  }
  const double gap = left_sum - right_sum;
  const double part = gap > 0 ? std::clamp((static_cast<double>(hours_) - right_sum) / gap, 0.0, 1.0) : 0;
  for (size_t hour = 0; hour < hours_; ++hour)
    right[hour] += part * (left[hour] - right[hour]);
  return right;
}

}  // namespace stint
