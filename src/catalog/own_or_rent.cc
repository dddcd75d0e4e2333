#include "catalog/own_or_rent.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "catalog/selection.h"

namespace stint {
namespace {

constexpr double kHoursOfAYear = static_cast<double>(kHoursPerYear);
constexpr double kMostPrice = 1e8;  // of one machine

bool is_paid_for_every_hour(Market market) { return market == Market::kReserved; }

}  // namespace

Money OwnedHour::per_used_gpu_hour(double use, int64_t gpus) const {
  return Money::estimate((fixed.to_double() / use + used.to_double()) / static_cast<double>(gpus), fixed.currency());
}

Result<OwnedHour> hour_of(const OwnedMachine& m) {
  const Currency currency = m.price.currency();
  for (const Money part : {m.resale, m.per_month, m.per_kwh})
    if (!part.is_zero() && part.currency() != currency)
      return invalid("the price is in {}, another amount in {}", currency.code(), part.currency().code());
  const double price = m.price.to_double();
  if (!(price > 0 && price <= kMostPrice))
    return invalid("a price of {} is not above 0 and up to 100 million", m.price.to_text());
  if (m.resale.count_nanos() < 0 || m.resale > m.price)
    return invalid("a resale value of {} is not from 0 to the price", m.resale.to_text());
  if (m.per_month.count_nanos() < 0 || m.per_kwh.count_nanos() < 0) return invalid("costs are not negative");
  if (m.per_month.to_double() > kMostPrice || m.per_kwh.to_double() > 1000)
    return invalid("monthly costs or the price of a kWh are too high");
  if (!(m.years >= 1 && m.years <= 10)) return invalid("{} years are not 1 to 10", m.years);
  if (m.gpus < 1 || m.gpus > 1000) return invalid("{} GPUs are not 1 to 1,000", m.gpus);
  if (!(m.kw >= 0 && m.kw <= 1000 && m.idle_kw >= 0 && m.idle_kw <= m.kw))
    return invalid("power is not 0 to 1,000 kW, idle up to busy");
  if (!(m.pue >= 1 && m.pue <= 5)) return invalid("a PUE of {} is not 1 to 5", m.pue);
  const double kwh = m.per_kwh.to_double() * m.pue;
  const double fixed =
      (price - m.resale.to_double()) / (m.years * kHoursOfAYear) + m.per_month.to_double() * 12 / kHoursOfAYear + m.idle_kw * kwh;
  return OwnedHour{.fixed = Money::estimate(fixed, currency), .used = Money::estimate((m.kw - m.idle_kw) * kwh, currency)};
}

Result<OwnOrRent> own_or_rent(const Catalog& catalog, const OwnedMachine& machine, const std::string& gpu_model,
                              const std::string& region, double use) {
  if (!(use > 0 && use <= 1)) return invalid("a use of {:g} % is not above 0 and up to 100", use * 100);
  OwnOrRent out;
  TRY_ASSIGN(out.owned, hour_of(machine));
  out.use = use;
  out.own_per_gpu_hour = out.owned.per_used_gpu_hour(use, machine.gpus);
  std::map<std::tuple<std::string, Market, CommitmentTerm>, RentOffer> cheapest;
  for (const PriceRow& row : catalog.prices()) {
    const InstanceType* const type = catalog.find_instance(row.provider, row.instance_type);
    const Money hour = row.rate.per_hour();
    if (type == nullptr || type->gpu_model != gpu_model || type->gpu_milli < 1000 || !region_in(row.region, region) ||
        hour.currency() != machine.price.currency())
      continue;
    const Money per_gpu = scale(hour, 1000, type->gpu_milli);
    RentOffer& best = cheapest[{row.provider, row.market, row.term}];
    if (best.type == nullptr || per_gpu < best.per_gpu_hour)
      best = {.type = type, .price = row, .per_gpu_hour = per_gpu, .break_even = {}, .payback_months = {}};
  }
  const double gpus = static_cast<double>(machine.gpus);
  const double fixed = out.owned.fixed.to_double(), used = out.owned.used.to_double();
  const double capital = (machine.price - machine.resale).to_double();
  const double capital_hour = capital / (machine.years * kHoursOfAYear);
  for (auto& [key, offer] : cheapest) {
    const double rent = offer.per_gpu_hour.to_double() * gpus;
    const bool every_hour = is_paid_for_every_hour(offer.price.market);
    const double at = every_hour ? (rent >= fixed + used ? 0 : 2) : rent > used ? fixed / (rent - used) : 2;
    if (at <= 1) offer.break_even = at;
    // What renting costs an hour beyond what the machine costs to run, at the given use.
    const double saved = (every_hour ? rent : rent * use) - (fixed - capital_hour) - used * use;
    const double months = saved > 0 ? capital / saved / static_cast<double>(kHoursPerMonth) : INFINITY;
    if (months <= machine.years * 12) offer.payback_months = months;
    out.offers.push_back(std::move(offer));
  }
  if (out.offers.empty())
    return invalid("no price of {}{} in {}: stint catalog prices --gpu {} shows those there are", gpu_model,
                   region.empty() ? "" : " in region " + region, machine.price.currency().code(), gpu_model);
  std::ranges::stable_sort(out.offers, {}, &RentOffer::per_gpu_hour);
  return out;
}

}  // namespace stint
