#include "advise/commit/commit_portfolio.h"

#include "base/short_money.h"

#include <algorithm>
#include <numeric>

namespace stint {
namespace {

// Rounds of asking one side and then the other. The gap closes in the first few; the best of all rounds counts.
constexpr int kRounds = 10;

/// One type while it is planned; money in units, since these are estimates that are billed exactly afterwards.
struct Stand {
  double on_demand = 0;
  double plan_rate = 0;             // 0 = plans do not pay for it
  double reserved = 0;              // per hour; 0 = no offer
  HourlyDemand demand;              // not covered by what is owned
  std::vector<uint32_t> by_demand;  // hours with demand, most first
};

PortfolioChoice cheapest_offer(const PortfolioType& type) {
  PortfolioChoice best;
  for (uint32_t i = 0; i < type.offers.size(); ++i) {
    const CommitOffer& offer = type.offers[i];
    const Money per_hour = offer.hourly + scale(offer.upfront, 1, offer.term_hours);
    if (per_hour < type.on_demand && (!best.offer || per_hour < best.per_hour)) best = {i, 0, per_hour};
  }
  return best;
}

Stand stand_of(const PortfolioType& type, const PortfolioChoice& choice) {
  Stand stand;
  stand.on_demand = type.on_demand.to_double();
  if (type.plan_rate && *type.plan_rate < type.on_demand) stand.plan_rate = type.plan_rate->to_double();
  if (choice.offer) stand.reserved = choice.per_hour.to_double();
  CommitMarket market;
  market.owned = type.owned;
  stand.demand = uncovered_demand(market, type.demand);
  if (choice.offer) {
    for (uint32_t hour = 0; hour < stand.demand.size(); ++hour)
      if (stand.demand[hour] > 0) stand.by_demand.push_back(hour);
    std::stable_sort(stand.by_demand.begin(), stand.by_demand.end(),
                     [&](uint32_t a, uint32_t b) { return stand.demand[a] > stand.demand[b]; });
  }
  return stand;
}

struct Alone {
  int64_t count = 0;
  double cost = 0;
};

/// The type by itself when a unit of savings plan is worth `worth` in each hour: how many to reserve, and what all of its use costs.
Alone plan_alone(const Stand& stand, std::span<const double> worth) {
  const auto price = [&](size_t hour) {
    return stand.plan_rate > 0 ? std::min(stand.on_demand, stand.plan_rate * worth[hour]) : stand.on_demand;
  };
  Alone alone;
  if (stand.reserved <= 0) {
    for (size_t hour = 0; hour < stand.demand.size(); ++hour)
      alone.cost += price(hour) * static_cast<double>(stand.demand[hour]);
    return alone;
  }
  // From the top of the demand down: what the hours that reach a level are worth. Below the level where that is more than the fees,
  // everything is reserved.
  const double fees = stand.reserved * static_cast<double>(stand.demand.size());
  double reach = 0;
  for (size_t i = 0; i < stand.by_demand.size(); ++i) {
    const uint32_t hour = stand.by_demand[i];
    reach += price(hour);
    const int64_t here = stand.demand[hour];
    const int64_t next = i + 1 < stand.by_demand.size() ? stand.demand[stand.by_demand[i + 1]] : 0;
    if (reach > fees) {
      alone.count = here;
      alone.cost += fees * static_cast<double>(here);
      return alone;
    }
    alone.cost += reach * static_cast<double>(here - next);
  }
  return alone;
}

struct Planned {
  std::vector<int64_t> counts;
  SavingsPlanBill bill;
  Money commitment;
  Money reservations;
  std::vector<double> worth;
  [[nodiscard]] Money total() const { return reservations + bill.total; }
};

class PortfolioPlanner {
 public:
  PortfolioPlanner(std::span<const PortfolioType> types, std::span<const OwnedSavingsPlan> owned) : owned_(owned) {
    for (const PortfolioType& type : types) {
      choices_.push_back(cheapest_offer(type));
      stands_.push_back(stand_of(type, choices_.back()));
      // A type without a plan rate gets its on-demand price, at which no plan pays.
      left_.push_back({type.on_demand, type.plan_rate.value_or(type.on_demand), stands_.back().demand});
    }
  }

  Portfolio run() {
    const size_t hours = left_.front().demand.size();
    Planned best = complete(std::vector<int64_t>(stands_.size(), 0));
    const Money all_on_demand = best.bill.all_on_demand;
    std::vector<double> worth = best.worth;
    double bound = 0;
    for (int round = 1; round <= kRounds; ++round) {
      std::vector<int64_t> counts;
      double cost = -owned_worth(worth);
      for (const Stand& stand : stands_) {
        const Alone alone = plan_alone(stand, worth);
        counts.push_back(alone.count);
        cost += alone.cost;
      }
      bound = std::max(bound, cost);
      Planned planned = complete(std::move(counts));
      // Worths wander; their mean settles, and is as good a bound.
      for (size_t hour = 0; hour < hours; ++hour)
        worth[hour] += (planned.worth[hour] - worth[hour]) / (round + 1);
      if (planned.total() < best.total()) best = std::move(planned);
      if (best.total().to_double() <= bound * (1 + 1e-12)) break;
    }
    return result(best, all_on_demand, bound);
  }

 private:
  /// The best savings plan beside so many reservations, billed.
  Planned complete(std::vector<int64_t> counts) {
    Planned planned;
    planned.reservations = Money::nanos(0, left_.front().on_demand.currency());
    const auto hours = std::ssize(left_.front().demand);
    for (size_t i = 0; i < stands_.size(); ++i) {
      for (size_t hour = 0; hour < left_[i].demand.size(); ++hour)
        left_[i].demand[hour] = std::max<int64_t>(0, stands_[i].demand[hour] - counts[i]);
      if (counts[i] > 0) planned.reservations += scale(choices_[i].per_hour, counts[i] * hours, 1);
    }
    const SavingsPlanSweep sweep(left_, owned_);
    planned.commitment = sweep.best();
    planned.worth = sweep.worth_at(planned.commitment);
    planned.bill = bill_savings_plan(left_, planned.commitment, owned_);
    planned.counts = std::move(counts);
    return planned;
  }

  /// In the relaxation what is owned is sold at its worth.
  [[nodiscard]] double owned_worth(std::span<const double> worth) const {
    double sum = 0;
    for (const OwnedSavingsPlan& plan : owned_) {
      const auto covered = static_cast<size_t>(std::clamp<int64_t>(plan.until_hour, 0, static_cast<int64_t>(worth.size())));
      sum +=
          plan.commitment.to_double() * std::accumulate(worth.begin(), worth.begin() + static_cast<std::ptrdiff_t>(covered), 0.0);
    }
    return sum;
  }

  [[nodiscard]] Portfolio result(const Planned& best, Money all_on_demand, double bound) const {
    Portfolio out;
    out.choices = choices_;
    for (size_t i = 0; i < choices_.size(); ++i)
      out.choices[i].count = best.counts[i];
    out.commitment = best.commitment;
    out.reservations = best.reservations;
    out.committed = best.bill.committed;
    out.on_demand = best.bill.on_demand;
    out.total = best.total();
    out.all_on_demand = all_on_demand;
    // The relaxation is computed in floating point: a bound a hair above the plan itself is the plan.
    out.at_least = std::min(out.total, Money::estimate(bound, out.total.currency()));
    return out;
  }

  std::span<const OwnedSavingsPlan> owned_;
  std::vector<PortfolioChoice> choices_;
  std::vector<Stand> stands_;
  std::vector<SavingsPlanType> left_;  // what reservations leave
};

}  // namespace

Result<Portfolio> plan_portfolio(std::span<const PortfolioType> types, std::span<const OwnedSavingsPlan> owned_plans) {
  if (types.empty() || types.front().demand.empty()) return invalid("no types or no hours of demand to plan for");
  std::vector<SavingsPlanType> priced;
  for (const PortfolioType& type : types) {
    const CommitMarket market{.on_demand = type.on_demand, .offers = type.offers, .owned = type.owned};
    const Status sound = check_market(market, type.demand);
    if (!sound.ok()) return invalid("{}: {}", type.name, sound.error().message);
    priced.push_back({type.on_demand, type.plan_rate.value_or(type.on_demand), type.demand});
  }
  TRY(check_savings_types(priced));
  for (const OwnedSavingsPlan& plan : owned_plans)
    if (plan.commitment.count_nanos() < 0 || plan.commitment.currency() != types.front().on_demand.currency())
      return invalid("an owned savings plan of {} an hour: give 0 or more, in the currency of the prices",
                     short_money(plan.commitment));
  return PortfolioPlanner(types, owned_plans).run();
}

}  // namespace stint
