// How long it takes to plan commitments for a year of 200 instance types.
#include <benchmark/benchmark.h>

#include "advise/commit/commit_policy.h"
#include "advise/commit/commit_portfolio.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr int64_t kYear = 8760;

/// Days and weekends around a level that wanders.
HourlyDemand year_of_demand(Prng& random) {
  HourlyDemand demand;
  double level = static_cast<double>(5 + random.below(60));
  for (int64_t hour = 0; hour < kYear; ++hour) {
    level = std::max(0.0, level + 0.2 * random.normal());
    const bool busy = hour / 24 % 7 < 5 && hour % 24 >= 8 && hour % 24 < 20;
    demand.push_back(static_cast<int64_t>(level * (busy ? 1.5 : 1.0) + static_cast<double>(random.below(4))));
  }
  return demand;
}

std::vector<PortfolioType> fleet(int64_t types) {
  Prng random(20261121);
  std::vector<PortfolioType> out;
  for (int64_t i = 0; i < types; ++i) {
    PortfolioType type;
    const auto cents = static_cast<int64_t>(50 + random.below(1500));
    const auto percent_of = [&](uint64_t pct) { return Money::nanos(cents * static_cast<int64_t>(pct) * 100'000); };
    type.on_demand = percent_of(100);
    type.plan_rate = percent_of(65 + random.below(15));
    type.offers = {{"1y", {}, percent_of(55 + random.below(15)), kYear},
                   {"3y", scale(percent_of(40 + random.below(10)), 3 * kYear, 1), {}, 3 * kYear}};
    type.demand = year_of_demand(random);
    out.push_back(std::move(type));
  }
  return out;
}

/// Reservations and a savings plan together.
void BM_Portfolio(benchmark::State& state) {
  const std::vector<PortfolioType> types = fleet(state.range(0));
  double gap = 0;
  for (auto _ : state) {
    const auto portfolio = plan_portfolio(types);
    gap = portfolio->total.to_double() / portfolio->at_least.to_double() - 1;
  }
  state.counters["gap_pct"] = 100 * gap;
}
BENCHMARK(BM_Portfolio)->Arg(200)->Unit(benchmark::kMillisecond);

/// Every type by itself, bought at any hour, by a policy. @param state  types, policy, term in hours.
void BM_Policy(benchmark::State& state) {
  const std::vector<PortfolioType> types = fleet(state.range(0));
  for (auto _ : state)
    for (const PortfolioType& type : types) {
      const CommitMarket market{
          .on_demand = type.on_demand, .offers = {{"", {}, scale(type.on_demand, 6, 10), state.range(2)}}, .owned = {}};
      benchmark::DoNotOptimize(plan_commitments(static_cast<CommitPolicy>(state.range(1)), market, type.demand));
    }
  state.SetLabel(std::string(name_of(static_cast<CommitPolicy>(state.range(1)))));
}
BENCHMARK(BM_Policy)
    ->Args({200, static_cast<int64_t>(CommitPolicy::kOptimal), kYear})
    ->Args({200, static_cast<int64_t>(CommitPolicy::kStint), kYear})
    ->Args({10, static_cast<int64_t>(CommitPolicy::kOptimal), 720})
    ->Args({10, static_cast<int64_t>(CommitPolicy::kOptimalByLevel), 720})
    ->Args({10, static_cast<int64_t>(CommitPolicy::kStint), 720})
    ->Args({10, static_cast<int64_t>(CommitPolicy::kOnlineJoint), 720})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint
