#include "advise/plan/plan_spot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "advise/find/resize_fit.h"
#include "advise/find/run_groups.h"
#include "advise/plan/spot_mix.h"
#include "base/counted.h"
#include "sim/spot_math.h"

namespace stint {
namespace {

constexpr double kSlowestGpu = 0.5;  // of the present one
constexpr double kShortHours = 1;
constexpr size_t kFallbackPools = 2;
constexpr double kMostPlannedSegments = 2'000;

class SpotPlanner {
 public:
  SpotPlanner(const FleetView& fleet, const SpotPlanOptions& options) : fleet_(fleet), options_(options) {
    for (const NodeFacts& node : fleet.facts.nodes)
      if (!node.zone.empty()) zones_[{node.provider, node.region}].insert(node.zone);
  }

  SpotGroup plan(const RunGroup& runs) const {
    SpotGroup out = describe(runs);
    if (out.fit != SpotFit::kFits) return out;
    const std::vector<SpotPool> pools = pools_for(runs, out);
    if (pools.empty()) {
      out.fit = SpotFit::kNoPrice;
      return out;
    }
    judge(out, runs, pools.front());
    if (out.fit == SpotFit::kFits) spread(out, pools);
    return out;
  }

 private:
  SpotGroup describe(const RunGroup& runs) const {
    SpotGroup out;
    const NodeFacts& node = *runs.node;
    out.client = runs.client;
    out.name = runs.name;
    out.kind = runs.kind;
    out.provider = node.provider;
    out.region = node.region;
    out.instance_type = node.instance_type;
    out.recorded = runs.recorded;
    out.runs = std::ssize(runs.when);
    out.at_once = runs.at_once();
    out.machines = runs.machines;
    out.work_h = runs.mean_hours();
    out.checkpointable = runs.checkpointable;
    const Money zero = Money::nanos(0, fleet_.facts.currency);
    out.on_demand = fleet_.books.hourly(node.id).value_or(zero);
    out.on_spot_now = node.market == Market::kSpot;
    if (const auto* list = fleet_.prices.find({node.provider, node.instance_type, node.region}, Market::kOnDemand);
        out.on_spot_now && list != nullptr)
      out.on_demand = list->hourly;
    out.run_cost = Money::estimate(out.work_h * machines_paid(runs, node.gpu_count) * out.on_demand.to_double(), zero.currency());
    out.saving_per_month = zero;
    if (!is_deferrable(out.kind))
      out.fit = SpotFit::kInteractive;
    else if (out.on_demand.is_zero())
      out.fit = SpotFit::kNoPrice;
    return out;
  }

  /// Machines of `gpus` GPUs that a run pays for; one that takes a part of a machine pays for that part.
  static double machines_paid(const RunGroup& runs, int64_t gpus) {
    return static_cast<double>(runs.machines) *
           std::min(1.0, static_cast<double>(runs.gpus_per_machine) / static_cast<double>(std::max<int64_t>(1, gpus)));
  }

  [[nodiscard]] SpotJob job_of(double work_h) const {
    return {.work_h = work_h,
            .checkpoint_h = options_.checkpoint_h,
            .restart_h = options_.restart_h,
            .mean_wait_h = options_.mean_wait_h};
  }

  /// Of one machine.
  [[nodiscard]] Result<SpotHazard> hazard_of(const InterruptionRate& rate) const {
    const double mean_h = 1 / rate.mean();
    if (options_.bathtub) {
      const auto [early, early_h, late_h, limit_h] = *options_.bathtub;
      TRY_ASSIGN(const SpotHazard shape, SpotHazard::bathtub(early, early_h, late_h, limit_h));
      const double stretch = mean_h / shape.mean_h();
      return SpotHazard::bathtub(early, early_h * stretch, late_h * stretch, limit_h * stretch);
    }
    if (!options_.weibull) return SpotHazard::exponential(mean_h);
    return SpotHazard::weibull(mean_h / std::tgamma(1 + 1 / *options_.weibull), *options_.weibull);
  }

  /// Paid hours of a run; one that cannot resume has a single segment without a checkpoint.
  [[nodiscard]] std::optional<double> paid_hours(const SpotGroup& g, const SpotPool& pool, double interval_h) const {
    const auto one = hazard_of(pool.rate);
    if (!one.ok()) return std::nullopt;
    SpotJob job = job_of(g.work_h / pool.throughput);
    if (g.checkpointable == false) job.checkpoint_h = 0;
    return expected_paid_h(job, one->first_of(g.machines), interval_h);
  }

  [[nodiscard]] double daly_interval(const SpotGroup& g, const SpotPool& pool) const {
    const double work_h = g.work_h / pool.throughput;
    if (g.checkpointable == false) return work_h;
    const auto one = hazard_of(pool.rate);
    if (!one.ok()) return work_h;
    const double mean_h = one->first_of(g.machines).mean_h();
    const InterruptionModel model{.mean_between = Duration::from_seconds(mean_h * 3600),
                                  .checkpoint = Duration::from_seconds(options_.checkpoint_h * 3600),
                                  .restart = Duration::from_seconds(options_.restart_h * 3600)};
    return std::clamp(best_checkpoint_interval_h(model), work_h / kMostPlannedSegments, work_h);
  }

  /// A pool that can hold the group, priced by its work; none without a price, or where the work does not end.
  [[nodiscard]] std::optional<SpotPool> pool_of(const RunGroup& runs, const SpotGroup& g, const InstanceType& type,
                                                double throughput, const std::string& region, const std::string& zone) const {
    const auto* quote = fleet_.prices.find({type.provider, type.name, region}, Market::kSpot);
    if (quote == nullptr) return std::nullopt;
    SpotPool pool{type.provider, region, zone, type.name, quote->hourly, throughput, {}, 0, 0, 0};
    const InterruptionRate prior = InterruptionRate::prior(1 / options_.mean_between_h, options_.prior_hours);
    const SpotPlace place = {type.provider, region, zone, type.name};
    const SpotSeen seen = fleet_.facts.spot.seen(place);
    pool.interruptions = seen.interruptions;
    pool.watched_h = seen.hours;
    pool.rate = fleet_.facts.spot.rate(place, prior);
    const auto paid = paid_hours(g, pool, daly_interval(g, pool));
    if (!paid) return std::nullopt;
    pool.cost_per_hour_of_work = *paid / g.work_h * machines_paid(runs, type.whole_gpus()) * quote->hourly.to_double();
    return pool;
  }

  [[nodiscard]] std::vector<std::string> regions_for(const SpotGroup& g, const InstanceType& type) const {
    std::set<std::string> regions = {g.region};
    for (const PriceRow& row : fleet_.prices.catalog().price_range(type.provider, type.name))
      if (row.market == Market::kSpot && std::any_of(fleet_.allowed_regions.begin(), fleet_.allowed_regions.end(),
                                                     [&](const std::string& glob) { return glob_matches(glob, row.region); }))
        regions.insert(row.region);
    return {regions.begin(), regions.end()};
  }

  /// Throughput of a GPU of `type` for this group; none when it does not do.
  [[nodiscard]] std::optional<double> throughput_on(const RunGroup& runs, const InstanceType& type) const {
    const NodeFacts& node = *runs.node;
    if (type.provider != node.provider || type.gpu_milli < 1000) return std::nullopt;
    if (type.name == node.instance_type) return 1;
    if (type.whole_gpus() != runs.gpus_per_machine) return std::nullopt;
    const Catalog& catalog = fleet_.prices.catalog();
    auto need = resize_need(node, catalog);
    const GpuFacts* now = catalog.find_gpu(node.gpu_model);
    const GpuFacts* then = catalog.find_gpu(type.gpu_model, type.gpu_memory);
    if (!need || now == nullptr || then == nullptr) return std::nullopt;
    need->gpus = runs.gpus_per_machine;
    need->vcpus = node.vcpus * runs.gpus_per_machine / std::max<int64_t>(1, node.gpu_count) / 2;
    const auto relative = relative_throughput(*then, *now);
    if (resize_misfit(type, *need) || !relative || relative->low < kSlowestGpu) return std::nullopt;
    if (slices_misfit(type, *need, relative->low)) return std::nullopt;
    return relative->low;
  }

  [[nodiscard]] std::vector<SpotPool> pools_for(const RunGroup& runs, const SpotGroup& g) const {
    std::vector<SpotPool> pools;
    for (const InstanceType& type : fleet_.prices.catalog().instances()) {
      const auto throughput = throughput_on(runs, type);
      if (!throughput) continue;
      for (const std::string& region : regions_for(g, type)) {
        const auto known = zones_.find({type.provider, region});
        const std::set<std::string> zones = known == zones_.end() ? std::set<std::string>{""} : known->second;
        for (const std::string& zone : zones)
          if (auto pool = pool_of(runs, g, type, *throughput, region, zone)) pools.push_back(std::move(*pool));
      }
    }
    std::stable_sort(pools.begin(), pools.end(),
                     [](const SpotPool& a, const SpotPool& b) { return a.cost_per_hour_of_work < b.cost_per_hour_of_work; });
    return pools;
  }

  /// Fit, interval and outcome in the cheapest pool.
  void judge(SpotGroup& g, const RunGroup& runs, const SpotPool& pool) const {
    const double paid_now = g.run_cost.to_double() / g.work_h;
    const auto gpus = fleet_.prices.catalog().find_instance(pool.provider, pool.instance_type)->whole_gpus();
    const double per_hour = machines_paid(runs, gpus) * pool.spot.to_double() / pool.throughput;
    const double stretch = pool.cost_per_hour_of_work / per_hour;
    g.discount_pct = 100 * (1 - per_hour / paid_now);
    g.discount_needed_pct = 100 * (1 - 1 / stretch);
    if (g.discount_pct <= g.discount_needed_pct) {
      g.fit = g.checkpointable == false ? SpotFit::kCannotResume
              : g.work_h < kShortHours  ? SpotFit::kTooShort
                                        : SpotFit::kNotCheaper;
      return;
    }
    const double work_h = g.work_h / pool.throughput;
    const SpotHazard one = hazard_of(pool.rate).value();
    const SpotHazard hazard = one.first_of(g.machines);
    SpotJob job = job_of(work_h);
    SpotOutcome out;
    out.daly_interval_h = daly_interval(g, pool);
    out.interval_h = work_h;
    if (g.checkpointable == false)
      job.checkpoint_h = 0;
    else
      out.interval_h = best_interval_h(job, hazard).value_or(out.daly_interval_h);
    // A trial whose machines live longer by a factor has a gang that does, whatever the hazard's shape.
    const InterruptionRate of_run{pool.rate.count, pool.rate.hours * hazard.mean_h() / one.mean_h()};
    const auto outlook = spot_outlook(job, hazard, out.interval_h, of_run, options_.seed, options_.trials);
    if (!outlook.ok()) {
      g.fit = SpotFit::kNeverEnds;
      return;
    }
    out.outlook = *outlook;
    const double price = per_hour * pool.throughput;
    const Currency currency = fleet_.facts.currency;
    out.cost = Money::estimate(out.outlook.paid_h * price, currency);
    out.cost_p90 = Money::estimate(out.outlook.paid_h_p90 * price, currency);
    out.on_spot = share_on_spot(g.work_h, out.outlook.finish_h_p90, g.work_h * options_.finish_within, options_.most_on_spot);
    out.mixed_cost = g.run_cost;
    g.outcome = out;
    if (out.on_spot <= 0) g.fit = SpotFit::kNoTime;
  }

  void spread(SpotGroup& g, const std::vector<SpotPool>& pools) const {
    std::vector<double> cost;
    const double paid_now = g.run_cost.to_double() / g.work_h;
    for (const SpotPool& pool : pools)
      if (pool.cost_per_hour_of_work < paid_now) cost.push_back(pool.cost_per_hour_of_work);
    const auto most = static_cast<int64_t>(std::ceil(options_.most_at_once * static_cast<double>(g.at_once) - 1e-9));
    const std::vector<int64_t> held = spread_over_pools(cost, g.at_once, std::max<int64_t>(1, most));
    double weighted = 0;
    int64_t placed = 0;
    size_t spare = 0;
    for (size_t p = 0; p < cost.size(); ++p) {
      if (held[p] == 0 && spare++ >= kFallbackPools) break;
      g.pools.push_back({pools[p], held[p]});
      weighted += cost[p] * static_cast<double>(held[p]);
      placed += held[p];
    }
    SpotOutcome& out = *g.outcome;
    // Runs for which no pool has room stay on demand.
    out.on_spot *= static_cast<double>(placed) / static_cast<double>(g.at_once);
    const double dearer = weighted / static_cast<double>(placed) / cost.front();
    const double mixed = out.on_spot * out.cost.to_double() * dearer + (1 - out.on_spot) * g.run_cost.to_double();
    out.mixed_cost = Money::estimate(mixed, fleet_.facts.currency);
    if (g.on_spot_now) return;
    const double per_month = static_cast<double>(g.runs) / fleet_.facts.months.count();
    g.saving_per_month = Money::estimate((g.run_cost.to_double() - mixed) * per_month, fleet_.facts.currency);
  }

  const FleetView& fleet_;
  const SpotPlanOptions& options_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> zones_;
};

/// Machines on demand whose every group fits, one change per type and region.
std::vector<Change> changes_of(const FleetView& fleet, const std::vector<RunGroup>& runs, const std::vector<SpotGroup>& groups) {
  std::map<std::string, bool> all_fit;
  for (size_t i = 0; i < runs.size(); ++i)
    for (const std::string& node : runs[i].nodes) {
      const auto [at, first] = all_fit.emplace(node, true);
      at->second = at->second && groups[i].fit == SpotFit::kFits;
    }
  std::map<std::string, SwitchMarket> by_pool;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const auto fits = all_fit.find(node.name);
    const bool on_demand = node.market == Market::kOnDemand || node.market == Market::kUnknown;
    if (fits == all_fit.end() || !fits->second || !on_demand) continue;
    SwitchMarket& change = by_pool[node.provider + '\t' + node.region + '\t' + node.instance_type];
    change.to = Market::kSpot;
    change.nodes.push_back(node.name);
  }
  std::vector<Change> changes;
  for (auto& [key, change] : by_pool)
    changes.emplace_back(std::move(change));
  return changes;
}

Status check(const SpotPlanOptions& o) {
  const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
  if (!within(o.checkpoint_h, 1e-6, 100) || !within(o.restart_h, 0, 100) || !within(o.mean_wait_h, 0, 10'000))
    return invalid(
        "a checkpoint of {} h, a restart of {} h, a wait of {} h: expected more than 0 and at most 100; up to 100; up to 10,000",
        o.checkpoint_h, o.restart_h, o.mean_wait_h);
  if (!within(o.mean_between_h, 0.01, 1e6) || !within(o.prior_hours, 0.01, 1e6))
    return invalid("{} h between interruptions, worth {} h: expected 0.01 to 1,000,000", o.mean_between_h, o.prior_hours);
  if (!within(o.finish_within, 1, 1000) || !within(o.most_on_spot, 0, 1) || !within(o.most_at_once, 0.001, 1))
    return invalid("finish within {} ×, {} on spot, {} at once: expected 1 or more; 0 to 1; above 0 to 1", o.finish_within,
                   o.most_on_spot, o.most_at_once);
  if (o.weibull && !within(*o.weibull, 0.2, 10)) return invalid("a Weibull shape of {}: expected 0.2 to 10", *o.weibull);
  if (o.bathtub) {
    if (o.weibull) return invalid("a hazard is a Weibull or a bathtub, not both");
    const auto [early, early_h, late_h, limit_h] = *o.bathtub;
    TRY(SpotHazard::bathtub(early, early_h, late_h, limit_h));
  }
  if (o.trials < 1 || o.trials > 1'000'000) return invalid("{} trials: expected 1 to 1,000,000", o.trials);
  return {};
}

}  // namespace

std::string_view name_of(SpotFit fit) {
  constexpr std::array<std::string_view, 8> kNames = {"fits",
                                                      "people wait for it, or its kind is not known",
                                                      "loses all work when interrupted",
                                                      "too short: starting costs more than spot saves",
                                                      "not cheaper after interruptions",
                                                      "no spot price known",
                                                      "would not end: interrupted faster than it saves",
                                                      "no time for interruptions before its deadline"};
  return kNames[static_cast<size_t>(fit)];
}

Result<SpotPlan> plan_spot(const FleetView& fleet, const SpotPlanOptions& options) {
  TRY(check(options));
  SpotPlan plan;
  plan.run_cost_per_month = plan.saving_per_month = Money::nanos(0, fleet.facts.currency);
  std::vector<RunGroup> runs = run_groups(fleet.history, fleet.facts);
  const size_t all = runs.size();
  std::erase_if(runs, [](const RunGroup& g) {
    return g.node->market != Market::kOnDemand && g.node->market != Market::kUnknown && g.node->market != Market::kSpot;
  });
  if (runs.size() < all)
    plan.notes.push_back(counted(all - runs.size(), "group runs", "groups run") +
                         " on machines that are owned or reserved: they cost the same when spot takes the work");
  const SpotPlanner planner(fleet, options);
  for (const RunGroup& group : runs) {
    plan.groups.push_back(planner.plan(group));
    const SpotGroup& g = plan.groups.back();
    plan.run_cost_per_month +=
        Money::estimate(g.run_cost.to_double() * static_cast<double>(g.runs) / fleet.facts.months.count(), fleet.facts.currency);
    plan.saving_per_month += g.saving_per_month;
  }
  plan.changes = changes_of(fleet, runs, plan.groups);
  const auto unsure = std::count_if(plan.groups.begin(), plan.groups.end(),
                                    [](const SpotGroup& g) { return g.fit == SpotFit::kFits && !g.checkpointable; });
  if (unsure > 0)
    plan.notes.push_back(
        fmt::format("no record says whether {} of the groups that fit can resume: confirm it, or add checkpoints, "
                    "before moving them",
                    unsure));
  std::stable_sort(plan.groups.begin(), plan.groups.end(), [](const SpotGroup& a, const SpotGroup& b) {
    return std::tie(b.saving_per_month, a.client, a.name) < std::tie(a.saving_per_month, b.client, b.name);
  });
  return plan;
}

}  // namespace stint
