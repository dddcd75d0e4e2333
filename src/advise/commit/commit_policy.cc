#include "advise/commit/commit_policy.h"

#include <array>

#include "advise/commit/commit_levels.h"
#include "advise/commit/commit_plans.h"
#include "base/text.h"

namespace stint {
namespace {

using PolicyPlanner = CommitPlan (*)(const CommitMarket&, std::span<const int64_t>);

struct Policy {
  std::string_view name;
  PolicyPlanner plan;
};

constexpr std::array<Policy, kCommitPolicies> kPolicies = {{
    {"optimal", plan_optimal},
    {"optimal-by-level", plan_optimal_by_level},
    {"online", plan_online},
    {"online-joint", plan_online_joint},
    {"quantile", plan_quantile},
    {"stint", plan_stint},
}};

}  // namespace

std::string_view name_of(CommitPolicy p) { return kPolicies[static_cast<size_t>(p)].name; }

Result<CommitPolicy> parse_commit_policy(std::string_view text) {
  std::string names;
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    if (kPolicies[i].name == text) return static_cast<CommitPolicy>(i);
    names += (names.empty() ? "" : ", ") + std::string(kPolicies[i].name);
  }
  return invalid("no policy `{}`: use one of {}", excerpt(text), names);
}

std::optional<CommitBound> bound_of(CommitPolicy policy, const CommitMarket& market) {
  const std::vector<ReducedOffer> offers = reduced_offers(market);
  if (offers.empty()) return CommitBound{1, "optimal"};
  // Hours are whole: the last one before a purchase may take what was paid over the fee.
  const double hour = 1 + static_cast<double>(offers.front().hour) / static_cast<double>(offers.front().term);
  // Of the part of the price that a reservation saves; the fee for used hours is paid either way.
  const double saved =
      market.fee == HourlyFee::kAlways ? 1 : 1 - market.offers.front().hourly.to_double() / market.on_demand.to_double();
  const auto bound = [&](double ratio) { return 1 - saved + saved * ratio; };
  switch (policy) {
    case CommitPolicy::kOptimal: return CommitBound{1, "optimal"};
    case CommitPolicy::kOptimalByLevel: return CommitBound{1, "optimal-by-level"};
    case CommitPolicy::kOnline: return CommitBound{bound(2 * hour), "optimal-by-level"};
    case CommitPolicy::kOnlineJoint: return CommitBound{bound(2), "optimal"};
    case CommitPolicy::kStint: return CommitBound{bound(4 * hour), "optimal-by-level"};
    case CommitPolicy::kQuantile: return std::nullopt;
  }
  return std::nullopt;
}

CommitPlan plan_commitments(CommitPolicy policy, const CommitMarket& market, std::span<const int64_t> demand) {
  const HourlyDemand left = uncovered_demand(market, demand);
  return kPolicies[static_cast<size_t>(policy)].plan(market, left);
}

}  // namespace stint
