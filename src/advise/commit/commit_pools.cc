#include "advise/commit/commit_pools.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/counted.h"

namespace stint {
namespace {

using PoolKey = std::tuple<std::string, std::string, std::string>;  // provider, region, type

struct Gathered {
  std::vector<int64_t> seconds;
  Money paid;
  int64_t nodes = 0;
};

int64_t hours_of(CommitmentTerm term) { return term == CommitmentTerm::kThreeYears ? 3 * kHoursPerYear : kHoursPerYear; }

}  // namespace

std::vector<CommitWay> ways_to_commit(const Catalog& catalog, const std::string& provider, const std::string& region,
                                      const std::string& instance_type, Currency currency, CommitmentTerm longest) {
  std::vector<CommitWay> ways;
  for (const PriceRow& row : catalog.price_range(provider, instance_type)) {
    if (row.region != region || row.market != Market::kReserved || row.term > longest ||
        row.rate.per_hour().currency() != currency)
      continue;
    ways.push_back({row.term,
                    row.payment,
                    {.name = fmt::format("{} {}", name_of(row.term), name_of(row.payment)),
                     .upfront = Money::nanos(0, currency),
                     .hourly = row.rate.per_hour(),
                     .term_hours = hours_of(row.term)}});
  }
  return ways;
}

CommitPools commit_pools(const FleetFacts& facts, const Catalog& catalog, CommitmentTerm longest) {
  std::map<PoolKey, Gathered> gathered;
  int64_t committed = 0, unnamed = 0;
  for (const NodeFacts& node : facts.nodes) {
    if (node.market != Market::kOnDemand && node.market != Market::kUnknown) {
      ++committed;
      continue;
    }
    if (node.provider.empty() || node.instance_type.empty() || !node.hourly()) {
      ++unnamed;
      continue;
    }
    Gathered& pool = gathered[{node.provider, node.region, node.instance_type}];
    if (pool.nodes == 0) {
      pool.seconds.assign(facts.hour_count, 0);
      pool.paid = Money::nanos(0, facts.currency);
    }
    for (size_t hour = 0; hour < facts.hour_count; ++hour)
      pool.seconds[hour] += node.timeline[hour].on_s;
    pool.paid += node.compute;
    ++pool.nodes;
  }
  CommitPools out;
  for (const auto& [key, pool] : gathered) {
    CommitPool made{.provider = std::get<0>(key), .region = std::get<1>(key), .type = {}, .paid = pool.paid, .nodes = pool.nodes};
    int64_t seconds = 0;
    for (const int64_t s : pool.seconds) {
      seconds += s;
      made.type.demand.push_back(s / 3600);
    }
    if (seconds == 0) continue;
    made.type.name = std::get<2>(key);
    made.type.on_demand = scale(pool.paid, 3600, seconds);
    for (CommitWay& way : ways_to_commit(catalog, made.provider, made.region, made.type.name, facts.currency, longest))
      made.type.offers.push_back(std::move(way.offer));
    if (made.type.on_demand.count_nanos() <= 0) continue;
    out.pools.push_back(std::move(made));
  }
  if (committed > 0) out.notes.push_back(counted(committed, "machine is", "machines are") + " spot, reserved or owned already");
  if (unnamed > 0)
    out.notes.push_back(counted(unnamed, "machine has", "machines have") +
                        " no provider, type or price: give them with stint import inventory");
  return out;
}

std::vector<PortfolioType> portfolio_types(const CommitPools& pools, std::optional<int64_t> plan_discount_pct) {
  std::vector<PortfolioType> types;
  for (const CommitPool& pool : pools.pools) {
    types.push_back(pool.type);
    if (plan_discount_pct) types.back().plan_rate = scale(pool.type.on_demand, 100 - *plan_discount_pct, 100);
  }
  return types;
}

}  // namespace stint
