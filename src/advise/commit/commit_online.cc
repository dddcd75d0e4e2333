// Rules that see the past alone.
//
// Break-even, per level: once the k-th instance has cost more on demand within the last term than a reservation costs, one is bought
// from the next hour on and its account begins anew. What it paid on demand is then as much as the fee, and no plan gets those hours
// for less than either: about twice the best (bound_of() has the last hour too).
//
// Ours waits for a third of that where the level has lately run in clearly more of the hours than a reservation needs; the full account
// stays the backstop. A fee is then at most three times what was paid before it, whatever the demand does next: four times the best.
//
// Joint: the hour's own demand counts, and what is bought is entered in the books as if it had been held for a term already, so that
// no hour argues twice for buying. Source: Wang, Li, Liang 2013, "To Reserve or Not to Reserve: Optimal Online Multi-Instance
// Acquisition in IaaS Clouds", algorithm 1. The early purchase is in the spirit of Purohit, Svitkina, Kumar 2018, "Improving Online
// Algorithms via ML Predictions" (ski rental): trust speeds a decision up by a fixed factor and bounds what an error costs.
#include <algorithm>

#include "advise/commit/commit_levels.h"
#include "advise/commit/commit_plans.h"

namespace stint {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kTrust = 3;                 // a trusted level buys at this part of break-even
constexpr int64_t kLeastHoursSeen = 2 * 168;  // two weeks, so that weekdays and weekends count as they come

/// Would the level pay if it ran on as lately? Clearly: a quarter of the way from break-even to always.
bool trusted(const ReducedOffer& offer, int64_t used, int64_t seen) {
  const Wide always = static_cast<Wide>(offer.hour) * offer.term_hours;
  return 4 * always * used > (3 * static_cast<Wide>(offer.term) + always) * seen;
}

enum class Early { kNo, kWhenTrusted };

/// The account of one level, hour by hour.
class LevelRule {
 public:
  LevelRule(const ReducedOffer& offer, Early early)
      : offer_(offer),
        enough_(offer.term / offer.hour + 1),
        soon_((enough_ + kTrust - 1) / kTrust),
        window_(std::max(kLeastHoursSeen, soon_)),
        early_(early) {}

  void begin() {
    paid_.clear();
    first_ = 0;
    in_use_.clear();
    first_in_use_ = 0;
    covered_until_ = 0;
  }

  /// @return buy one from the next hour on.
  bool hour(int64_t t, bool used) {
    if (used) in_use_.push_back(t);
    if (!used || t < covered_until_) return false;
    paid_.push_back(t);
    while (paid_[first_] <= t - offer_.term_hours)
      ++first_;
    const int64_t paid = std::ssize(paid_) - static_cast<int64_t>(first_);
    if (paid < enough_ && !(early_ == Early::kWhenTrusted && paid >= soon_ && is_trusted(t))) return false;
    covered_until_ = t + 1 + offer_.term_hours;
    paid_.clear();
    first_ = 0;
    return true;
  }

 private:
  bool is_trusted(int64_t t) {
    while (in_use_[first_in_use_] <= t - window_)
      ++first_in_use_;
    return trusted(offer_, std::ssize(in_use_) - static_cast<int64_t>(first_in_use_), std::min(window_, t + 1));
  }

  const ReducedOffer& offer_;
  int64_t enough_;  // hours on demand that cost more than the fee
  int64_t soon_;
  int64_t window_;  // hours looked back
  Early early_;
  std::vector<int64_t> paid_;    // hours on demand since the last purchase
  size_t first_ = 0;             // of paid_ within a term
  std::vector<int64_t> in_use_;  // hours the level ran
  size_t first_in_use_ = 0;      // within the window
  int64_t covered_until_ = 0;
};

CommitPlan plan_per_level(const CommitMarket& market, std::span<const int64_t> demand, Early early) {
  const std::vector<ReducedOffer> offers = reduced_offers(market);
  CommitPlan plan;
  if (offers.empty()) return plan;
  LevelRule rule(offers.front(), early);
  const int64_t hours = std::ssize(demand);
  for (const DemandLevel& level : levels_of(demand)) {
    rule.begin();
    // What would begin after the last hour is not bought.
    for (int64_t t = 0; t + 1 < hours; ++t)
      if (rule.hour(t, demand[static_cast<size_t>(t)] >= level.height))
        plan.push_back({t + 1, offers.front().offer, level.count});
  }
  return ordered(std::move(plan));
}

}  // namespace

CommitPlan plan_online(const CommitMarket& market, std::span<const int64_t> demand) {
  return plan_per_level(market, demand, Early::kNo);
}

CommitPlan plan_stint(const CommitMarket& market, std::span<const int64_t> demand) {
  return plan_per_level(market, demand, Early::kWhenTrusted);
}

CommitPlan plan_online_joint(const CommitMarket& market, std::span<const int64_t> demand) {
  const std::vector<ReducedOffer> offers = reduced_offers(market);
  CommitPlan plan;
  if (offers.empty()) return plan;
  const ReducedOffer& offer = offers.front();
  const int64_t enough = offer.term / offer.hour;
  const int64_t hours = std::ssize(demand);
  HourlyDemand missing(demand.begin(), demand.end());  // demand less what the books say was held; may be below 0
  for (int64_t t = 0; t < hours; ++t) {
    if (missing[static_cast<size_t>(t)] <= 0) continue;  // nothing new to argue with
    const int64_t begin = std::max<int64_t>(0, t - offer.term_hours + 1);
    const int64_t end = std::min(hours, t + offer.term_hours);
    const auto window = std::span(missing).subspan(static_cast<size_t>(begin), static_cast<size_t>(t + 1 - begin));
    if (std::ssize(window) <= enough) continue;
    // As many as leave no more than `enough` hours of the window short: the value that so many of them exceed.
    HourlyDemand sorted(window.begin(), window.end());
    const auto at = sorted.begin() + enough;
    std::nth_element(sorted.begin(), at, sorted.end(), std::greater<>());
    const int64_t count = *at;
    if (count <= 0) continue;
    plan.push_back({t, offer.offer, count});
    for (int64_t i = begin; i < end; ++i)
      missing[static_cast<size_t>(i)] -= count;
  }
  return ordered(std::move(plan));
}

}  // namespace stint
