#include "advise/commit/savings_plan_hours.h"

#include <algorithm>

#include "model/discount.h"

namespace stint {
namespace {

struct PlanUse {
  const PlanNode* node = nullptr;
  Money on_demand;  // an hour of it
  std::optional<Money> rate;
};

/// Greatest discount first, then in the order of the list; those that the plan does not pay for last.
std::vector<PlanUse> uses_of(const Books& books, const SavingsPlan& plan, std::span<const NodeId> nodes) {
  std::vector<PlanUse> uses;
  for (const NodeId id : nodes) {
    const PlanNode& node = books.of(id);
    const auto on_demand = books.open_hourly(id);
    if (!on_demand) continue;
    PlanUse use{&node, *on_demand, std::nullopt};
    const Money* rate = rate_of(plan, node.region, node.instance_type);
    if (rate != nullptr && *rate < *on_demand) use.rate = *rate;
    uses.push_back(use);
  }
  std::ranges::stable_sort(uses, [](const PlanUse& a, const PlanUse& b) {
    return is_greater_discount(a.rate.value_or(a.on_demand), a.on_demand, b.rate.value_or(b.on_demand), b.on_demand);
  });
  return uses;
}

}  // namespace

std::vector<SavingsPlanHour> hours_under(const Books& books, const SavingsPlan& plan, std::span<const NodeId> nodes) {
  const std::vector<PlanUse> uses = uses_of(books, plan, nodes);
  if (uses.empty() || !uses.front().rate) return {};
  const Money nothing = Money::nanos(0, plan.per_hour.currency());
  std::vector<SavingsPlanHour> hours(books.facts().hour_count, {nothing, nothing, nothing});
  for (size_t h = 0; h < hours.size(); ++h) {
    Money left = plan.per_hour;
    for (const PlanUse& use : uses) {
      const int64_t seconds = use.node->open_s()[h];
      if (seconds == 0) continue;
      const Money cost = scale(use.on_demand, seconds, 3600);
      hours[h].before += cost;
      const Money wanted = use.rate ? scale(*use.rate, seconds, 3600) : nothing;
      const Money paid = std::min(wanted, left);
      left -= paid;
      hours[h].used += paid;
      if (wanted.is_zero() || paid < wanted)
        hours[h].beyond += wanted.is_zero() ? cost : scale(cost, (wanted - paid).count_nanos(), wanted.count_nanos());
    }
  }
  return hours;
}

}  // namespace stint
