#include "catalog/estimate.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace stint {
namespace {

/// Does a type that the catalogue does not know have GPUs (or other accelerators), by its provider's way of naming?
/// Sources: AWS instance type naming (families p, g, trn, inf, dl), Google accelerator-optimised families (a2 … g4), Azure N series.
bool names_accelerators(const MachineGroup& g) {
  if (g.accelerators > 0) return true;
  std::string_view name = g.instance_type;
  if (name.starts_with("ml.")) name.remove_prefix(3);  // SageMaker
  const auto family = [&](std::string_view letters) {
    return name.starts_with(letters) && name.size() > letters.size() &&
           std::isdigit(static_cast<unsigned char>(name[letters.size()])) != 0;
  };
  if (g.provider == "aws") return family("p") || family("g") || family("gr") || family("trn") || family("inf") || family("dl");
  if (g.provider == "gcp") return family("a") || family("g") || family("ct");
  return name.starts_with("Standard_N");
}

/// A plan that costs more a month has a wrong count in it; Money would not hold a few of them.
constexpr double kMostUnitsPerMonth = 1e9;

struct Costed {
  std::optional<MachineCost> cost;
  std::string problem;  ///< why it is not in the sums
  std::string note;
  bool has_gpus = true;
};

Costed cost_of(const Catalog& catalog, const MachineGroup& planned, const std::string& region) {
  Costed out;
  const InstanceType* const type = catalog.find_instance(planned.provider, planned.instance_type);
  if (type == nullptr || planned.accelerators > 0) {
    out.has_gpus = names_accelerators(planned);
    if (planned.accelerators > 0)
      out.problem = fmt::format("{} with {} × {}: the catalogue has no prices of attached GPUs", planned.instance_type,
                                planned.accelerators, planned.accelerator);
    else
      out.problem =
          fmt::format("{} is not in the catalogue; import its price (stint import --format prices)", planned.instance_type);
    return out;
  }
  out.has_gpus = type->gpu_milli > 0;
  if (!out.has_gpus) return out;
  MachineCost cost;
  cost.group = planned;
  if (cost.group.region.empty()) cost.group.region = region;
  const auto price = catalog.price({.provider = planned.provider,
                                    .instance_type = planned.instance_type,
                                    .region = cost.group.region,
                                    .market = planned.market});
  if (!price.ok()) {
    out.problem = price.error().message;
    return out;
  }
  if (cost.group.region.empty()) {
    cost.group.region = price->region;
    out.note = fmt::format("the plan names no region: priced in {}, the cheapest; --region NAME sets it", price->region);
  }
  if (price->rate.per_hour().to_double() * static_cast<double>(planned.most * kHoursPerMonth) > kMostUnitsPerMonth) {
    out.problem = fmt::format("{} machines would cost more than a billion a month: is the count right?", planned.most);
    return out;
  }
  const auto month_of = [&](int64_t machines) { return scale(price->rate.per_hour(), machines * kHoursPerMonth, 1); };
  cost.gpu_model = type->gpu_model;
  cost.gpu_milli = type->gpu_milli * planned.count;
  cost.per_month = month_of(planned.count);
  cost.least = month_of(planned.least);
  cost.most = month_of(planned.most);
  cost.price = *price;
  out.cost = std::move(cost);
  return out;
}

}  // namespace

Result<Estimate> estimate_plan(const Catalog& catalog, const InfrastructurePlan& plan, const std::string& region) {
  Estimate out;
  out.others = plan.others;
  std::optional<Currency> currency;
  Status addable;
  const auto add = [&](const MachineCost& cost, Money& sum, std::map<std::string, int64_t>& gpus) {
    const Currency own = cost.per_month.currency();
    if (!currency) {
      currency = own;
      out.before = out.after = out.least = out.most = Money::nanos(0, own);
    }
    if (own != *currency) {
      addable = invalid("prices in {} and {} cannot be added: import prices in one currency", currency->code(), own.code());
      return;
    }
    if (sum.to_double() + out.most.to_double() > 4 * kMostUnitsPerMonth) {
      addable = invalid("the plan costs more than four billion a month: a count in it is wrong");
      return;
    }
    sum += cost.per_month;
    gpus[cost.gpu_model] += cost.gpu_milli;
  };
  for (const PlannedMachines& machines : plan.machines) {
    EstimateLine line{.address = machines.address, .action = machines.action, .before = {}, .after = {}, .notes = {}};
    if (!machines.note.empty()) line.notes.push_back(machines.note);
    bool has_gpus = false;
    std::string problem = machines.problem;
    for (const bool after : {false, true}) {
      const std::optional<MachineGroup>& group = after ? machines.after : machines.before;
      if (!group) continue;
      Costed costed = cost_of(catalog, *group, region);
      if (costed.has_gpus && !costed.problem.empty() && problem.empty()) problem = (after ? "" : "before: ") + costed.problem;
      if (!costed.note.empty() && after) line.notes.push_back(costed.note);
      has_gpus = has_gpus || costed.has_gpus;
      (after ? line.after : line.before) = std::move(costed.cost);
    }
    if (!has_gpus && problem.empty()) {
      ++out.without_gpus;
      continue;
    }
    if (!problem.empty()) out.not_estimated.push_back({machines.address, problem});
    if (!line.before && !line.after) continue;
    if (line.before) add(*line.before, out.before, out.gpu_milli_before);
    if (line.after) add(*line.after, out.after, out.gpu_milli_after);
    TRY(addable);
    if (line.after) {
      out.least += line.after->least;
      out.most += line.after->most;
    }
    out.lines.push_back(std::move(line));
  }
  return out;
}

Result<std::vector<LimitVerdict>> judge_estimate(const Estimate& estimate, const std::optional<FleetToday>& today,
                                                 const EstimateLimits& limits) {
  std::vector<LimitVerdict> verdicts;
  const Currency currency = estimate.after.currency();
  const Money more = estimate.after - estimate.before;
  for (const auto& limit : {limits.budget, limits.most_more})
    if (limit && limit->currency() != currency)
      return invalid("a limit in {}, prices in {}", limit->currency().code(), currency.code());
  if (today && today->gpu_machines.currency() != currency)
    return invalid("the fleet's bill is in {}, prices are in {}", today->gpu_machines.currency().code(), currency.code());
  if (limits.budget) {
    const Money then = today ? today->gpu_machines + more : estimate.after;
    verdicts.push_back({then <= *limits.budget, fmt::format("budget of {} a month: {}{}", limits.budget->to_text(),
                                                            then.to_text(), today ? " with today's fleet" : "")});
  }
  if (limits.most_more)
    verdicts.push_back({more <= *limits.most_more,
                        fmt::format("at most {} more a month: {} more", limits.most_more->to_text(), more.to_text())});
  for (const auto& [model, most] : limits.quota) {
    const auto milli = [&](const std::map<std::string, int64_t>& gpus) {
      const auto found = gpus.find(model);
      return found == gpus.end() ? int64_t{0} : found->second;
    };
    const int64_t planned = milli(estimate.gpu_milli_after) - (today ? milli(estimate.gpu_milli_before) : 0);
    const int64_t held = today && today->gpus.contains(model) ? today->gpus.at(model) : 0;
    const int64_t then = held + (planned >= 0 ? (planned + 999) / 1000 : planned / 1000);
    verdicts.push_back(
        {then <= most, fmt::format("quota of {} {}: {}{}", most, model, then, today ? " with today's fleet" : "")});
  }
  return verdicts;
}

}  // namespace stint
