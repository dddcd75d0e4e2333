// Commitments, last: for what still runs around the clock on demand after every other change.
//
// With U_t instances in use in hour t, on-demand price p and committed price r, committing to c costs
// r·c + p·mean((U_t − c)+) per hour; the k-th instance pays when the share of hours with U_t ≥ k exceeds r/p.
#include <algorithm>

#include "advise/finder_text.h"

namespace stint {
namespace {

constexpr double kEnoughDays = 28;

/// Nodes of one type in one region, on demand.
struct Pool {
  std::string provider, region, instance_type;
  auto operator<=>(const Pool&) const = default;
};

/// Share of the period's hours with at least k + 1 instances in use, for k = 0 … n − 1.
std::vector<double> shares_of_hours(const FleetView& fleet, const NodeGroup& group) {
  std::vector<int64_t> in_use(fleet.facts.hour_count);
  for (const NodeFacts* node : group) {
    const PlanNode& plan = fleet.books.of(node->id);
    for (size_t h = 0; h < in_use.size(); ++h)
      in_use[h] += plan.on_s[h];
  }
  std::vector<double> shares(group.size());
  for (size_t k = 0; k < shares.size(); ++k) {
    // A part of an hour counts as that part: an instance that is there for half of it is used half.
    double sum = 0;
    for (const int64_t seconds : in_use)
      sum += std::clamp<double>(static_cast<double>(seconds) / 3600 - static_cast<double>(k), 0, 1);
    shares[k] = in_use.empty() ? 0 : sum / static_cast<double>(in_use.size());
  }
  return shares;
}

}  // namespace

Proposals find_commit(const FleetView& fleet) {
  std::map<Pool, NodeGroup> pools;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    const bool on_demand = plan.market == Market::kOnDemand || plan.market == Market::kUnknown;
    if (plan.gone || plan.market_changed || !on_demand || plan.provider.empty() || plan.instance_type.empty() ||
        !fleet.books.hourly(node.id))
      continue;
    pools[{plan.provider, plan.region, plan.instance_type}].push_back(&node);
  }
  Proposals out;
  for (const auto& [pool, group] : pools) {
    const std::vector<double> shares = shares_of_hours(fleet, group);
    Finding f;
    Commit commit{pool.provider,  pool.region, pool.instance_type, 0, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront,
                  names_of(group)};
    const auto* quote =
        fleet.prices.find({pool.provider, pool.instance_type, pool.region}, Market::kReserved, CommitmentTerm::kOneYear);
    const int64_t around_the_clock = std::count_if(shares.begin(), shares.end(), [](double s) { return s >= 0.95; });
    if (quote == nullptr) {
      if (around_the_clock == 0) continue;
      commit.count = around_the_clock;
      f.change = commit;
      f.title = fmt::format("Commit to {} × {}", around_the_clock, pool.instance_type);
      f.evidence.push_back({"around the clock on demand", fmt::format("{} of {}, {}/month", around_the_clock, group.size(),
                                                                      monthly_of(fleet, group).to_text())});
      f.caveats.push_back(fmt::format("no reserved price known for {} in {}: import one with `stint import prices`",
                                      pool.instance_type, pool.region));
      out.rejected.push_back(std::move(f));
      continue;
    }
    double on_demand = 0;
    double hours_used = 0;
    for (const NodeFacts* node : group) {
      const double h = static_cast<double>(fleet.books.of(node->id).seconds());
      on_demand += fleet.books.hourly(node->id)->to_double() * h;
      hours_used += h;
    }
    on_demand /= hours_used;
    const double break_even = quote->hourly.to_double() / on_demand;
    commit.count = std::count_if(shares.begin(), shares.end(), [&](double s) { return s > break_even; });
    if (commit.count == 0) continue;
    commit.payment = quote->row.payment;
    const int64_t count = commit.count;
    f.change = std::move(commit);
    f.title = fmt::format("Commit to {} × {} for a year", count, pool.instance_type);
    const double days = fleet.facts.period.length().to_hours() / 24;
    f.confidence = days >= kEnoughDays ? Level::kMedium : Level::kLow;
    f.risk = Level::kMedium;
    f.effort = Level::kLow;
    f.evidence.push_back({"instances on demand in this pool", fmt::format("{}", group.size())});
    f.evidence.push_back({"committed price per hour", fmt::format("{} ({}) against {:.4f} now", quote->hourly.to_text(4),
                                                                  name_of(quote->row.payment), on_demand)});
    f.evidence.push_back({"source", fmt::format("{}, {}", quote->row.source, format_date(quote->row.as_of))});
    f.arithmetic.push_back(cost_line(fleet, group));
    f.arithmetic.push_back(fmt::format("break-even: {:.4f} / {:.4f} = {} of the hours", quote->hourly.to_double(), on_demand,
                                       percent(100 * break_even)));
    f.arithmetic.push_back(fmt::format(
        "instance number {} is in use in {} of the hours{}", count, percent(100 * shares[static_cast<size_t>(count) - 1]),
        static_cast<size_t>(count) < shares.size()
            ? fmt::format(", number {} in {}", count + 1, percent(100 * shares[static_cast<size_t>(count)]))
            : ""));
    f.caveats.push_back(
        fmt::format("paid whether used or not: it loses money if fewer than {} of the hours are used; look again each quarter",
                    percent(100 * break_even)));
    if (days < 90) f.caveats.push_back(fmt::format("rests on {:.0f} days of use; three months or more would make it sure", days));
    if (quote->row.estimated) f.caveats.push_back("the committed price is an estimate, not a quote");
    out.advised.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
