#include "advise/commit/commit_portfolio.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stint {
namespace {

Money cents(int64_t n) { return Money::nanos(n * 10'000'000); }

HourlyDemand random_demand(Prng& random, size_t hours, uint64_t most) {
  HourlyDemand demand(hours);
  for (int64_t& d : demand)
    d = static_cast<int64_t>(random.below(most + 1));
  return demand;
}

TEST(CommitPortfolio, WithoutASavingsPlanEveryTypeHasItsQuantile) {
  Prng random(23);
  for (int i = 0; i < 30; ++i) {
    std::vector<PortfolioType> types;
    Money least = cents(0);
    for (int n = 0; n < 3; ++n) {
      const auto fee = static_cast<int64_t>(30 + random.below(60));
      types.push_back({.name = "t",
                       .on_demand = cents(100),
                       .plan_rate = {},
                       .offers = {{"", {}, cents(fee), 50}},
                       .owned = {},
                       .demand = random_demand(random, 50, 9)});
      Money best = cents(100'000'000);
      for (int64_t count = 0; count <= 9; ++count) {
        const CommitMarket market{.on_demand = cents(100), .offers = types.back().offers, .owned = {}};
        best = std::min(best, bill_plan(market, types.back().demand, {{0, 0, count}}).total);
      }
      least += best;
    }
    const auto portfolio = plan_portfolio(types);
    ASSERT_TRUE(portfolio.ok());
    EXPECT_EQ(portfolio->total, least) << "seed 23, case " << i;
    EXPECT_NEAR(portfolio->at_least.to_double(), least.to_double(), 1e-6);
  }
}

TEST(CommitPortfolio, WithoutReservationsItIsTheSweep) {
  Prng random(29);
  for (int i = 0; i < 30; ++i) {
    std::vector<PortfolioType> types;
    std::vector<SavingsPlanType> plain;
    for (int n = 0; n < 3; ++n) {
      const Money rate = cents(static_cast<int64_t>(50 + random.below(45)));
      types.push_back({.name = "t",
                       .on_demand = cents(100),
                       .plan_rate = rate,
                       .offers = {},
                       .owned = {},
                       .demand = random_demand(random, 40, 5)});
      plain.push_back({cents(100), rate, types.back().demand});
    }
    const auto portfolio = plan_portfolio(types);
    ASSERT_TRUE(portfolio.ok());
    EXPECT_EQ(portfolio->commitment, SavingsPlanSweep(plain).best());
    EXPECT_NEAR(portfolio->at_least.to_double(), portfolio->total.to_double(), 1e-6) << "seed 29, case " << i;
  }
}

TEST(CommitPortfolio, TakesTheCheapestTermAndCountsWhatIsOwned) {
  // 10 run always; 4 are owned for half of the hours. 1y at 0.60, 3y at 45 upfront over 100 hours = 0.45: six of these from the start;
  // four more would be idle for half of the time, 0.9 per hour of use against 1.
  const std::vector<PortfolioType> types = {{.name = "t",
                                             .on_demand = cents(100),
                                             .plan_rate = {},
                                             .offers = {{"1y", {}, cents(60), 40}, {"3y", cents(4500), {}, 100}},
                                             .owned = {{4, 10}},
                                             .demand = HourlyDemand(20, 10)}};
  const auto portfolio = plan_portfolio(types);
  ASSERT_TRUE(portfolio.ok());
  EXPECT_EQ(portfolio->choices[0].offer, 1U);
  EXPECT_EQ(portfolio->choices[0].per_hour, cents(45));
  EXPECT_EQ(portfolio->choices[0].count, 10);
  EXPECT_EQ(portfolio->total, cents(10 * 20 * 45));
  EXPECT_EQ(portfolio->all_on_demand, cents(100 * (6 * 10 + 10 * 10)));
}

TEST(CommitPortfolio, AnOwnedSavingsPlanIsUsedBeforeMoneyIsSpent) {
  const std::vector<PortfolioType> types = {
      {.name = "t", .on_demand = cents(100), .plan_rate = cents(70), .offers = {}, .owned = {}, .demand = HourlyDemand(10, 3)}};
  const std::vector<OwnedSavingsPlan> owned = {{cents(140), 10}};
  const auto portfolio = plan_portfolio(types, owned);
  ASSERT_TRUE(portfolio.ok());
  EXPECT_EQ(portfolio->commitment, cents(70));
  EXPECT_EQ(portfolio->total, cents(700));
  EXPECT_NEAR(portfolio->at_least.to_double(), 7, 1e-9);
}

TEST(CommitPortfolio, SaysWhichTypeIsWrong) {
  EXPECT_FALSE(plan_portfolio({}).ok());
  const std::vector<PortfolioType> types = {
      {.name = "g9", .on_demand = cents(100), .plan_rate = {}, .offers = {{"", cents(-1), {}, 5}}, .owned = {}, .demand = {1}}};
  EXPECT_NE(plan_portfolio(types).error().message.find("g9: "), std::string::npos);
}

}  // namespace
}  // namespace stint
