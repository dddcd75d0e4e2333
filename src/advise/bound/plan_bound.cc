#include "advise/bound/plan_bound.h"

#include <algorithm>
#include <map>

namespace stint {
namespace {

/// What lies between plan and bound, for machines of one category.
struct CategoryGap {
  double plan = 0, bound = 0;  // a month
  double on_gpu_s = 0;         // of the plan's machines
  double active_gpu_s = 0, filled_gpu_s = 0;
  bool shares = false;
  bool spot = false;
};

double gpus_under(const PlanNode& plan, const NodeFacts& facts, const Catalog& catalog) {
  const InstanceType* type = catalog.find_instance(plan.provider, plan.instance_type);
  const int64_t gpus = type == nullptr || plan.instance_type == facts.instance_type ? facts.gpu_count : type->whole_gpus();
  return static_cast<double>(std::max<int64_t>(1, gpus));
}

std::map<std::string, CategoryGap> gaps_by_category(const FleetBound& bound, const Books& plan) {
  const FleetFacts& facts = plan.facts();
  std::map<std::string, CategoryGap> gaps;
  for (const NodeFacts& node : facts.nodes) {
    const NodeInBound& part = bound.problem.nodes[node.id.index()];
    if (part.part == BoundPart::kKept) continue;
    const PlanNode& now = plan.of(node.id);
    CategoryGap& gap = gaps[node.category];
    gap.plan += now.monthly.to_double();
    gap.bound += facts.months.monthly(Money::nanos(bound.of_node[node.id.index()], facts.currency)).to_double();
    gap.on_gpu_s += static_cast<double>(now.seconds()) * gpus_under(now, node, plan.prices().catalog());
    gap.active_gpu_s += part.active_gpu_s;
    gap.filled_gpu_s += part.filled_gpu_s;
    gap.shares |= part.shares;
    gap.spot |= part.spot;
  }
  return gaps;
}

/// In the order in which the plan comes down to the bound. They sum to it for each category.
std::vector<std::pair<std::string, double>> reasons_of(const std::string& category, const CategoryGap& gap) {
  const double gpu_s = std::max(gap.on_gpu_s, 1e-9);
  // Packed GPUs work for several: then nothing is idle by this count.
  const double working = std::min(1.0, gap.active_gpu_s / gpu_s);
  double idle = gap.plan * (1 - working);
  double left = gap.plan - idle;
  double shared = 0;
  if (gap.shares) {
    shared = left * (1 - std::min(1.0, gap.filled_gpu_s / (gpu_s * std::max(working, 1e-9))));
    left -= shared;
  }
  double price = left - gap.bound;
  if (price < 0 && idle + shared > 0) {
    // Where the bound takes less of a dearer GPU, the other reasons are that much smaller.
    const double kept = 1 - std::min(1.0, -price / (idle + shared));
    price += (1 - kept) * (idle + shared);
    idle *= kept;
    shared *= kept;
  }
  return {{category + ": GPUs that are on and do not work (the bound buys single GPUs for the hours with work alone)", idle},
          {category + ": room on shared GPUs (the bound fills them: no queues, no spare replicas, no walls)", shared},
          {category + (gap.spot ? ": the least price (in the bound all of it is on spot, and nothing stands in on demand)"
                                : ": the least price (the bound takes the cheapest GPU that does, and fills commitments)"),
           price}};
}

std::vector<NamedAmount> gap_reasons(const FleetBound& bound, const Books& plan, Money gap) {
  std::vector<NamedAmount> out;
  Money left = gap;
  for (const auto& [category, of] : gaps_by_category(bound, plan))
    for (auto& [what, amount] : reasons_of(category, of)) {
      const Money money = Money::estimate(amount, gap.currency());
      if (money.to_double() < 0.01) continue;
      out.push_back({std::move(what), money});
      left -= money;
    }
  std::ranges::stable_sort(out, std::ranges::greater{}, &NamedAmount::amount);
  // Roundings, and cents that are not told.
  if (!out.empty()) out.front().amount += left;
  return out;
}

}  // namespace

FleetBound fleet_bound(const BoundInput& input) {
  FleetBound out{.problem = bound_problem(input), .covering = {}, .of_node = {}, .work_per_month = {}};
  out.covering = covering_bound(out.problem.covering);
  const FleetFacts& facts = input.facts;
  for (const NodeInBound& node : out.problem.nodes) {
    double nanos = 0;
    for (const NodeInBound::Share& share : node.works)
      nanos += static_cast<double>(out.covering.of_work[share.work]) * share.part;
    out.of_node.push_back(static_cast<int64_t>(nanos));
  }
  const Books today(facts, input.prices);
  Money now = Money::nanos(0, facts.currency);
  for (const NodeFacts& node : facts.nodes)
    if (out.problem.nodes[node.id.index()].part != BoundPart::kKept) now += today.of(node.id).monthly;
  // A month is rounded half to even, of every machine by itself.
  const Money least = facts.months.monthly(Money::nanos(out.covering.at_least, facts.currency)) -
                      Money::nanos(1 + std::ssize(facts.nodes), facts.currency);
  out.work_per_month = std::max(Money::nanos(0, facts.currency), std::min(least, now));
  return out;
}

PlanBound bound_of_plan(const FleetBound& bound, const Books& plan, const AuditTotals& totals) {
  Money work = Money::nanos(0, totals.plan_per_month.currency());
  for (const NodeFacts& node : plan.facts().nodes)
    if (bound.problem.nodes[node.id.index()].part != BoundPart::kKept) work += plan.of(node.id).monthly;
  PlanBound out;
  out.per_month = totals.plan_per_month - work + bound.work_per_month;
  out.gap = totals.plan_per_month - out.per_month;
  out.holds = out.gap.count_nanos() >= 0;
  if (out.holds) out.reasons = gap_reasons(bound, plan, out.gap);
  return out;
}

}  // namespace stint
