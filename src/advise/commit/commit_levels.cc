#include "advise/commit/commit_levels.h"

#include <algorithm>
#include <numeric>

namespace stint {

std::vector<ReducedOffer> reduced_offers(const CommitMarket& market) {
  std::vector<ReducedOffer> out;
  int64_t hour = market.on_demand.count_nanos();
  if (market.fee == HourlyFee::kWhenUsed && !market.offers.empty()) hour -= market.offers.front().hourly.count_nanos();
  int64_t common = hour;
  for (size_t i = 0; i < market.offers.size(); ++i) {
    const CommitOffer& offer = market.offers[i];
    int64_t term = offer.upfront.count_nanos();
    if (market.fee == HourlyFee::kAlways) term += offer.hourly.count_nanos() * offer.term_hours;
    // No dearer than a term on demand; divided so that nothing overflows.
    if (hour <= 0 || term / offer.term_hours >= hour) continue;
    common = std::gcd(common, term);
    out.push_back({hour, term, offer.term_hours, static_cast<uint32_t>(i)});
  }
  for (ReducedOffer& offer : out) {
    offer.hour /= common;
    offer.term /= common;
  }
  return out;
}

std::vector<DemandLevel> levels_of(std::span<const int64_t> demand) {
  std::vector<int64_t> heights(demand.begin(), demand.end());
  std::sort(heights.begin(), heights.end());
  heights.erase(std::unique(heights.begin(), heights.end()), heights.end());
  std::vector<DemandLevel> levels;
  int64_t below = 0;
  for (const int64_t height : heights) {
    if (height > below) levels.push_back({height, height - below});
    below = height;
  }
  return levels;
}

int64_t paying_count(const CommitMarket& market, std::span<const int64_t> demand) {
  const std::vector<ReducedOffer> offers = reduced_offers(market);
  if (offers.empty() || demand.empty()) return 0;
  const ReducedOffer& offer = offers.front();
  HourlyDemand sorted(demand.begin(), demand.end());
  std::sort(sorted.begin(), sorted.end());
  // The largest count that more than (committed price / on-demand price) of the hours reach.
  __extension__ using Wide = __int128;
  const Wide needed = static_cast<Wide>(offer.term) * std::ssize(sorted);
  const Wide per_hour = static_cast<Wide>(offer.hour) * offer.term_hours;
  for (size_t below = sorted.size(); below-- > 0;)
    if (static_cast<int64_t>(sorted.size() - below) * per_hour > needed) return sorted[below];
  return 0;
}

CommitPlan ordered(CommitPlan plan) {
  std::sort(plan.begin(), plan.end(), [](const CommitPurchase& a, const CommitPurchase& b) {
    return std::pair(a.hour, a.offer) < std::pair(b.hour, b.offer);
  });
  CommitPlan joined;
  for (const CommitPurchase& p : plan) {
    if (!joined.empty() && joined.back().hour == p.hour && joined.back().offer == p.offer)
      joined.back().count += p.count;
    else if (p.count > 0)
      joined.push_back(p);
  }
  return joined;
}

}  // namespace stint
