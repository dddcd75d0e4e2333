#include "catalog/commitment.h"

namespace stint {

Result<CommitmentComparison> compare_commitment(Rate on_demand, Rate committed) {
  const Money list = on_demand.per_hour(), rate = committed.per_hour();
  if (list.currency() != rate.currency())
    return invalid("on-demand in {} and commitment in {}: give both in one currency", list.currency().code(),
                   rate.currency().code());
  if (list.count_nanos() <= 0 || rate.count_nanos() <= 0) return invalid("a rate that is compared must be above zero");
  CommitmentComparison c;
  c.on_demand_per_year = scale(list, kHoursPerYear, 1);
  c.committed_per_year = scale(rate, kHoursPerYear, 1);
  c.saving_per_year = c.on_demand_per_year - c.committed_per_year;
  c.saving_pct = 100.0 * (1.0 - rate.to_double() / list.to_double());
  c.break_even_utilization_pct = 100.0 * rate.to_double() / list.to_double();
  return c;
}

Rate effective_rate(Money upfront, Rate recurring, int years) {
  CHECK(years > 0, "{} years", years);
  return Rate::per_hour(recurring.per_hour() + scale(upfront, 1, kHoursPerYear * years));
}

Money saving_at(Rate on_demand, Rate committed, int64_t hours) {
  return scale(on_demand.per_hour(), hours, 1) - scale(committed.per_hour(), kHoursPerYear, 1);
}

}  // namespace stint
