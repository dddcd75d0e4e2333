#include "advise/commit/commit_risk.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "advise/commit/commit_levels.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr int64_t kWeekOfHours = 168;
constexpr int64_t kLeastWeeks = 8;

HourlyDemand draw_term(std::span<const int64_t> weeks, int64_t hours, double fall, Prng& random) {
  HourlyDemand drawn;
  drawn.reserve(static_cast<size_t>(hours + kWeekOfHours));
  while (std::ssize(drawn) < hours) {
    const uint64_t week = random.below(weeks.size() / kWeekOfHours);
    const auto block = weeks.subspan(week * kWeekOfHours, kWeekOfHours);
    drawn.insert(drawn.end(), block.begin(), block.end());
  }
  drawn.resize(static_cast<size_t>(hours));
  for (auto t = static_cast<size_t>(hours / 2); t < drawn.size() && fall > 0; ++t)
    drawn[t] = std::llround(static_cast<double>(drawn[t]) * (1 - fall));
  return drawn;
}

CommitPlan climb(const CommitMarket& market, std::span<const int64_t> demand, const CommitLadder& ladder) {
  CommitPlan plan;
  int64_t held = 0;
  const int64_t hours = std::ssize(demand);
  for (int64_t rung = 0; rung < ladder.rungs; ++rung) {
    const int64_t at = hours * rung / ladder.rungs, before = hours * std::max<int64_t>(0, rung - 1) / ladder.rungs;
    int64_t aim = (ladder.count * (rung + 1) + ladder.rungs - 1) / ladder.rungs;
    if (rung > 0) {
      const auto seen = demand.subspan(static_cast<size_t>(before), static_cast<size_t>(at - before));
      aim = std::min(aim, paying_count(market, seen));
    }
    if (aim <= held || at >= hours) continue;
    plan.push_back({at, 0, aim - held});
    held = aim;
  }
  return ordered(std::move(plan));
}

/// Between the draws around it, as spreadsheets do.
double quantile(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

std::optional<std::span<const int64_t>> weeks_to_draw(const CommitMarket& market, std::span<const int64_t> demand) {
  const int64_t there = std::ssize(demand) / kWeekOfHours;
  if (there < 2) return std::nullopt;
  const int64_t term = market.offers.front().term_hours / kWeekOfHours + 1;
  const int64_t weeks = std::min(there, std::max(kLeastWeeks, term));
  return demand.last(static_cast<size_t>(weeks * kWeekOfHours));
}

CommitRisk assess(const CommitMarket& market, std::span<const int64_t> weeks, const CommitLadder& ladder,
                  const RiskOptions& options) {
  CHECK(options.draws > 0 && ladder.rungs > 0, "{} draws, {} rungs", options.draws, ladder.rungs);
  const CommitMarket fresh{.on_demand = market.on_demand, .offers = {market.offers.front()}, .owned = {}, .fee = market.fee};
  Prng random(options.seed);
  std::vector<double> savings;
  for (int64_t i = 0; i < options.draws; ++i) {
    const HourlyDemand demand = draw_term(weeks, fresh.offers.front().term_hours, options.fall, random);
    const CommitBill bill = bill_plan(fresh, demand, climb(fresh, demand, ladder));
    const Money cost = bill.on_demand + bill.used + bill.unused;
    const double all = bill.all_on_demand.to_double();
    // A term without any use: what was bought is lost, and there is nothing to measure it against but itself.
    savings.push_back(all > 0 ? 100 * (1 - cost.to_double() / all) : cost.is_zero() ? 0 : -100);
  }
  std::sort(savings.begin(), savings.end());
  const auto worst = static_cast<std::ptrdiff_t>((savings.size() + 19) / 20);
  const auto losses = std::count_if(savings.begin(), savings.end(), [](double s) { return s < 0; });
  return {.saving_pct_p10 = quantile(savings, 0.1),
          .saving_pct_p50 = quantile(savings, 0.5),
          .saving_pct_p90 = quantile(savings, 0.9),
          .saving_pct_worst5 = std::accumulate(savings.begin(), savings.begin() + worst, 0.0) / static_cast<double>(worst),
          .loss_probability = static_cast<double>(losses) / static_cast<double>(savings.size())};
}

}  // namespace stint
