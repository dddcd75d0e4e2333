#include "advise/track/realised_saving.h"

#include <array>

namespace stint {
namespace {

constexpr double kMonthHours = static_cast<double>(kHoursPerMonth);

/// Both per month.
struct Rates {
  double cost = 0;
  double work = 0;
};

Rates rates_of(const CostAndWork& c) {
  const double months = c.length.to_hours() / kMonthHours;
  return {.cost = c.cost.to_double() / months, .work = c.gpu_hours / months};
}

bool is_idle(const CostAndWork& c) { return c.gpu_hours <= kIdleShare * c.gpu_hours_there; }

}  // namespace

RealisedSaving realised_saving(const CostAndWork& before, const CostAndWork& after, double price_index) {
  CHECK(before.length > Duration() && after.length > Duration() && price_index > 0, "lengths and index are above zero: {}",
        price_index);
  const Currency currency = before.cost.currency();
  const auto money = [&](double units) { return Money::estimate(units, currency); };
  const Rates b = rates_of(before);
  const Rates a = rates_of(after);
  RealisedSaving out;
  out.bill_falls_per_month = money(price_index * b.cost - a.cost);
  out.price_per_month = money((price_index - 1) * b.cost);
  out.idle_before = is_idle(before);
  if (b.work > 0) out.per_gpu_hour_before = money(b.cost / b.work);
  if (a.work > 0) out.per_gpu_hour_after = money(a.cost / a.work);
  if (out.idle_before) {
    out.per_month = out.per_month_now = out.bill_falls_per_month;
    return out;
  }
  const double unit_before = b.cost / b.work;
  const double unit_after = a.work > 0 ? a.cost / a.work : 0;
  out.demand_per_month = money(unit_before * (a.work - b.work));
  out.price_per_month = money((price_index - 1) * unit_before * a.work);
  out.per_month_now = money(price_index * unit_before * a.work - a.cost);
  // Without work after there is no price of it: only what is still paid for nothing can be said.
  out.per_month = a.work > 0 ? money((price_index * unit_before - unit_after) * b.work) : out.per_month_now;
  return out;
}

std::string_view name_of(SavingVerdict v) {
  constexpr std::array<std::string_view, 4> kNames = {"kept", "partly", "none", "costs-more"};
  return kNames[static_cast<size_t>(v)];
}

SavingVerdict verdict_of(Money realised, Money promised, std::optional<Money> low) {
  const Money tenth = scale(promised.count_nanos() < 0 ? -promised : promised, 1, 10);
  if (realised >= low.value_or(promised - tenth)) return SavingVerdict::kKept;
  if (realised > tenth) return SavingVerdict::kPartly;
  return realised >= -tenth ? SavingVerdict::kNone : SavingVerdict::kCostsMore;
}

Return return_on(Money cost, Money saving_per_month, Duration since) {
  CHECK(cost.count_nanos() > 0, "a return is on a cost above zero, not on {}", cost.to_text());
  Return out;
  const double months = since.to_hours() / kMonthHours;
  out.saved = Money::estimate(saving_per_month.to_double() * months, cost.currency());
  out.on_cost = (out.saved.to_double() - cost.to_double()) / cost.to_double();
  if (saving_per_month.count_nanos() > 0) out.payback_months = cost.to_double() / saving_per_month.to_double();
  return out;
}

}  // namespace stint
