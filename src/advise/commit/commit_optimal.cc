// The plans that know all of the demand.
//
// The least cost over any purchases: cost_b·buy[t] + cost_p·pay[t], where what is held plus pay[t] covers the demand of every hour.
// Subtracting each hour's row from the next leaves every column with one +1 and one −1: a network along the hours, in which a
// purchase leads from its first hour to the hour after its last, on-demand leads one hour ahead, what is held but idle leads one hour
// back, and demand enters where it rises and leaves where it falls.
#include <algorithm>

#include "advise/commit/commit_levels.h"
#include "advise/commit/commit_plans.h"
#include "advise/commit/network_simplex.h"

namespace stint {

namespace {

/// Where every offer lasts to the end, all is bought at once: the least fee, as many as more hours than it is worth reach.
CommitPlan plan_one_purchase(std::span<const ReducedOffer> offers, std::span<const int64_t> demand) {
  const auto best = std::min_element(offers.begin(), offers.end(),
                                     [](const ReducedOffer& a, const ReducedOffer& b) { return a.term < b.term; });
  HourlyDemand sorted(demand.begin(), demand.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const int64_t enough = best->term / best->hour;  // hours on demand; one more is dearer than buying
  if (enough >= std::ssize(sorted)) return {};
  return ordered({{0, best->offer, sorted[static_cast<size_t>(enough)]}});
}

}  // namespace

CommitPlan plan_optimal(const CommitMarket& market, std::span<const int64_t> demand) {
  const std::vector<ReducedOffer> offers = reduced_offers(market);
  if (offers.empty() || demand.empty()) return {};
  const auto hours = static_cast<int32_t>(demand.size());
  if (std::all_of(offers.begin(), offers.end(), [&](const ReducedOffer& o) { return o.term_hours >= hours; }))
    return plan_one_purchase(offers, demand);
  std::vector<NetworkArc> arcs;
  std::vector<int32_t> tree;
  CommitPlan purchases;  // one per arc from first_purchase on
  arcs.reserve(demand.size() * (2 + offers.size()));
  for (int32_t t = 0; t < hours; ++t) {
    tree.push_back(static_cast<int32_t>(arcs.size()));
    arcs.push_back({.from = t, .to = t + 1, .cost = offers.front().hour, .flow = demand[static_cast<size_t>(t)]});
    arcs.push_back({.from = t + 1, .to = t});
  }
  const size_t first_purchase = arcs.size();
  for (const ReducedOffer& offer : offers) {
    // What would last past the end covers more when it is bought a term before the end.
    const auto last = static_cast<int32_t>(std::max<int64_t>(0, hours - offer.term_hours));
    for (int32_t t = 0; t <= last; ++t) {
      const auto end = static_cast<int32_t>(std::min<int64_t>(hours, t + offer.term_hours));
      arcs.push_back({.from = t, .to = end, .cost = offer.term});
      purchases.push_back({t, offer.offer, 0});
    }
  }
  minimise_cost(arcs, tree);
  for (size_t i = 0; i < purchases.size(); ++i)
    purchases[i].count = arcs[first_purchase + i].flow;
  return ordered(std::move(purchases));
}

/// Each level: the cheapest way from each of its hours to the end, last hour first.
CommitPlan plan_optimal_by_level(const CommitMarket& market, std::span<const int64_t> demand) {
  const std::vector<ReducedOffer> offers = reduced_offers(market);
  CommitPlan plan;
  if (offers.empty()) return plan;
  const ReducedOffer& offer = offers.front();
  std::vector<int64_t> used;   // hours of the level, ascending
  std::vector<int64_t> least;  // cost from that hour on
  std::vector<size_t> after;   // first of `used` after a term that begins there; 0 = on demand is as cheap
  for (const DemandLevel& level : levels_of(demand)) {
    used.clear();
    for (size_t t = 0; t < demand.size(); ++t)
      if (demand[t] >= level.height) used.push_back(static_cast<int64_t>(t));
    least.assign(used.size() + 1, 0);
    after.assign(used.size(), 0);
    size_t end = used.size();
    for (size_t i = used.size(); i-- > 0;) {
      while (end > 0 && used[end - 1] >= used[i] + offer.term_hours)
        --end;
      const int64_t pay = least[i + 1] + offer.hour, buy = least[end] + offer.term;
      if (buy < pay) after[i] = end;
      least[i] = std::min(pay, buy);
    }
    for (size_t i = 0; i < used.size(); i = after[i] > 0 ? after[i] : i + 1)
      if (after[i] > 0) plan.push_back({used[i], offer.offer, level.count});
  }
  return ordered(std::move(plan));
}

CommitPlan plan_quantile(const CommitMarket& market, std::span<const int64_t> demand) {
  const std::vector<ReducedOffer> offers = reduced_offers(market);
  CommitPlan plan;
  if (offers.empty()) return plan;
  const int64_t count = paying_count(market, demand);
  for (int64_t hour = 0; hour < std::ssize(demand); hour += offers.front().term_hours)
    plan.push_back({hour, offers.front().offer, count});
  return ordered(std::move(plan));
}

}  // namespace stint
