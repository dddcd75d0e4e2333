// When to buy commitments on one instance type. The planners that know all of the demand, and those that see only the past.
//
// A reservation bought in any hour covers a term from then on. The least total of fees and on-demand is a linear program with one
// row per hour in which every column is a run of ones, hence a transshipment along the hours, and the network simplex answers it in
// integers (commit_optimal.cc). Tying each reservation to one level of demand instead (the k-th instance) asks for one small dynamic
// program per level; it is dearer wherever a reservation could serve one level first and another later.
#pragma once

#include <optional>
#include <string_view>

#include "advise/commit/commit_bill.h"

namespace stint {

enum class CommitPolicy {
  kOptimal,         ///< the least possible; knows all of the demand
  kOptimalByLevel,  ///< the least with every reservation tied to the k-th instance; knows all of the demand
  kOnline,          ///< break-even per level: buys once on-demand has cost, within a term, what buying costs
  kOnlineJoint,     ///< break-even over all levels at once (Wang, Li, Liang 2013, algorithm 1)
  kQuantile,        ///< a fixed number at the discount-quantile of hourly use, renewed each term; knows all of the demand
  kStint,           ///< ours: a forecast buys earlier, break-even is the backstop; sees only the past
};
inline constexpr size_t kCommitPolicies = 6;
std::string_view name_of(CommitPolicy p);  // "optimal", "optimal-by-level", "online", "online-joint", "quantile", "stint"
Result<CommitPolicy> parse_commit_policy(std::string_view text);

/// The most that the policy can cost, as a multiple of the best plan it is held against; none where no bound is proven.
struct CommitBound {
  double ratio = 0;
  std::string_view against;  ///< "optimal" or "optimal-by-level"
};
std::optional<CommitBound> bound_of(CommitPolicy policy, const CommitMarket& market);

/// @param market, demand  as check_market() demands. All but kOptimal plan with the first offer alone.
CommitPlan plan_commitments(CommitPolicy policy, const CommitMarket& market, std::span<const int64_t> demand);

}  // namespace stint
