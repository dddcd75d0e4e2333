// Reservations of many types and one savings plan, planned together for a demand that is taken to repeat over their terms.
//
// In every hour reservations cover their own type, the savings plan pays for what is left, greatest discount first, and on-demand for
// the rest. Minimise  Σ hours·rate_i·n_i + hours·C + on-demand(n, C)  over whole n_i ≥ 0 and C ≥ 0. Given the n_i the best C is a sweep
// (savings_plan.h); given what a unit of C is worth in each hour every type stands alone, and the k-th reservation pays when the hours
// that reach k are worth more than its fees. Each answer feeds the other. The second, with hourly worths that sum to at most the number
// of hours, is a Lagrangian relaxation: it bounds every plan from below, so the result carries a certified gap. Without a savings plan,
// or without reservations, the first answer is exact and the gap is 0.
// Considered: an integer program in CBC; a year of 200 types is 1.75 million rows and takes it minutes. It serves the tests as oracle.
// Source: Geoffrion 1974, "Lagrangean relaxation for integer programming".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/commit/commit_bill.h"
#include "advise/commit/savings_plan.h"

namespace stint {

struct PortfolioType {
  std::string name;
  Money on_demand;
  std::optional<Money> plan_rate;   ///< under a savings plan; none = plans do not pay for it
  std::vector<CommitOffer> offers;  ///< terms and payment options of reservations
  std::vector<OwnedCommitment> owned;
  HourlyDemand demand;  ///< as many hours for every type
};

struct PortfolioChoice {
  std::optional<uint32_t> offer;  ///< of the least cost per hour over its term; none = no offer pays at all
  int64_t count = 0;              ///< to buy, beside what is owned
  Money per_hour;                 ///< of one: upfront spread over the term, and the hourly fee
};

struct Portfolio {
  std::vector<PortfolioChoice> choices;  ///< as the types
  Money commitment;                      ///< savings plan, per hour
  Money total;                           ///< of the hours of demand: reservations + commitment + on-demand, billed hour by hour
  Money reservations;
  Money committed;
  Money on_demand;
  Money all_on_demand;  ///< without buying anything (what is owned covers its part)
  Money at_least;       ///< no plan costs less
};

/// @return error when prices, lengths or sums are unsound, as check_market() and check_savings_types() say.
Result<Portfolio> plan_portfolio(std::span<const PortfolioType> types, std::span<const OwnedSavingsPlan> owned_plans = {});

}  // namespace stint
