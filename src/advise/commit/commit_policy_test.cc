#include "advise/commit/commit_policy.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/prng.h"

namespace stint {
namespace {

CommitMarket market(int64_t on_demand, int64_t upfront, int64_t hourly, int64_t term_hours) {
  CommitMarket m;
  m.on_demand = Money::units(on_demand);
  m.offers = {{"", Money::units(upfront), Money::units(hourly), term_hours}};
  return m;
}

Money cost(CommitPolicy policy, const CommitMarket& m, const HourlyDemand& demand) {
  return bill_plan(m, demand, plan_commitments(policy, m, demand)).total;
}

/// What a set of purchases costs, by the definition and nothing else. Fees always paid.
int64_t cost_of_starts(const CommitMarket& m, const HourlyDemand& demand, const std::vector<std::vector<int64_t>>& starts) {
  int64_t nanos = 0;
  for (size_t o = 0; o < starts.size(); ++o)
    for (const int64_t count : starts[o])
      nanos += count * (m.offers[o].upfront.count_nanos() + m.offers[o].hourly.count_nanos() * m.offers[o].term_hours);
  for (size_t t = 0; t < demand.size(); ++t) {
    int64_t held = 0;
    for (size_t o = 0; o < starts.size(); ++o)
      for (size_t s = 0; s <= t; ++s)
        if (static_cast<int64_t>(t - s) < m.offers[o].term_hours) held += starts[o][s];
    nanos += std::max<int64_t>(0, demand[t] - held) * m.on_demand.count_nanos();
  }
  return nanos;
}

/// Every way to buy up to `most` of each offer in every hour.
int64_t brute_force(const CommitMarket& m, const HourlyDemand& demand, int64_t most) {
  std::vector<std::vector<int64_t>> starts(m.offers.size(), std::vector<int64_t>(demand.size(), 0));
  int64_t best = INT64_MAX;
  const std::function<void(size_t)> choose = [&](size_t at) {
    if (at == demand.size() * m.offers.size()) {
      best = std::min(best, cost_of_starts(m, demand, starts));
      return;
    }
    int64_t& here = starts[at / demand.size()][at % demand.size()];
    for (here = 0; here <= most; ++here)
      choose(at + 1);
    here = 0;
  };
  choose(0);
  return best;
}

HourlyDemand random_demand(Prng& random, size_t hours, uint64_t most) {
  HourlyDemand demand(hours);
  for (int64_t& d : demand)
    d = static_cast<int64_t>(random.below(most + 1));
  return demand;
}

/// Runs of equal demand: what long terms are made for.
HourlyDemand random_steps(Prng& random, size_t hours, uint64_t most, uint64_t longest) {
  HourlyDemand demand;
  while (demand.size() < hours)
    demand.insert(demand.end(), random.below(longest) + 1, static_cast<int64_t>(random.below(most + 1)));
  demand.resize(hours);
  return demand;
}

TEST(CommitOptimal, AReservationMayServeOneLevelAndThenAnother) {
  // 4 hours a term at 2.4. One, then two, then one instance, two hours each. Two reservations, one from hour 0 and one from hour 2,
  // cover all for 4.8; tied to levels, the first needs 2.4 and two hours on demand, the second two hours on demand: 6.4.
  CommitMarket m = market(1, 0, 0, 4);
  m.offers[0].upfront = Money::nanos(2'400'000'000);
  const HourlyDemand demand = {1, 1, 2, 2, 1, 1};
  EXPECT_EQ(cost(CommitPolicy::kOptimal, m, demand), Money::nanos(4'800'000'000));
  EXPECT_EQ(plan_commitments(CommitPolicy::kOptimal, m, demand), (CommitPlan{{0, 0, 1}, {2, 0, 1}}));
  EXPECT_EQ(cost(CommitPolicy::kOptimalByLevel, m, demand), Money::nanos(6'400'000'000));
}

TEST(CommitOptimal, IsTheLeastOfAllPlans) {
  Prng random(20261121);
  for (int i = 0; i < 150; ++i) {
    const CommitMarket m = market(2 + static_cast<int64_t>(random.below(4)), static_cast<int64_t>(random.below(9)),
                                  static_cast<int64_t>(random.below(2)), 2 + static_cast<int64_t>(random.below(4)));
    const HourlyDemand demand = random_demand(random, 6, 2);
    EXPECT_EQ(cost(CommitPolicy::kOptimal, m, demand).count_nanos(), brute_force(m, demand, 2)) << "seed 20261121, case " << i;
  }
}

TEST(CommitOptimal, ChoosesAmongTermsAndPayments) {
  Prng random(7);
  for (int i = 0; i < 60; ++i) {
    CommitMarket m = market(5, 2 + static_cast<int64_t>(random.below(8)), 0, 2);
    m.offers.push_back({"longer", Money::units(4 + static_cast<int64_t>(random.below(10))), Money::units(1), 4});
    const HourlyDemand demand = random_demand(random, 5, 2);
    EXPECT_EQ(cost(CommitPolicy::kOptimal, m, demand).count_nanos(), brute_force(m, demand, 2)) << "seed 7, case " << i;
  }
}

TEST(CommitOptimal, OverOneTermIsTheQuantile) {
  // Every purchase lasts to the end, so all are made at once, and the k-th pays when it runs in more than r/p of the hours.
  Prng random(3);
  for (int i = 0; i < 50; ++i) {
    const HourlyDemand demand = random_demand(random, 100, 20);
    const CommitMarket m = market(10, 100 + static_cast<int64_t>(random.below(700)), 1, 100);
    const Money least = cost(CommitPolicy::kOptimal, m, demand);
    EXPECT_EQ(least, cost(CommitPolicy::kQuantile, m, demand)) << "seed 3, case " << i;
    EXPECT_EQ(least, cost(CommitPolicy::kOptimalByLevel, m, demand));
  }
}

TEST(CommitOptimal, CountsWhatIsOwnedUntilItExpires) {
  CommitMarket m = market(1, 5, 0, 10);
  m.owned = {{2, 10}};
  const HourlyDemand demand(20, 3);
  // One from the beginning and all three from hour 10 on.
  EXPECT_EQ(plan_commitments(CommitPolicy::kOptimal, m, demand), (CommitPlan{{0, 0, 1}, {10, 0, 3}}));
  const CommitBill bill = bill_plan(m, demand, {{0, 0, 1}, {10, 0, 3}});
  EXPECT_EQ(bill.total, Money::units(20));
  EXPECT_EQ(bill.all_on_demand, Money::units(10 + 30));
}

TEST(CommitOptimal, BuysNothingThatCannotPay) {
  const HourlyDemand demand(50, 4);
  EXPECT_TRUE(plan_commitments(CommitPolicy::kOptimal, market(1, 10, 0, 10), demand).empty());
  EXPECT_TRUE(plan_commitments(CommitPolicy::kOptimal, market(1, 0, 2, 10), demand).empty());
  EXPECT_TRUE(plan_commitments(CommitPolicy::kOptimal, market(1, 3, 0, 10), HourlyDemand(50, 0)).empty());
  EXPECT_TRUE(plan_commitments(CommitPolicy::kOptimal, CommitMarket{.on_demand = Money::units(1)}, demand).empty());
}

TEST(CommitOptimal, ByLevelIsTheSumOfItsLevels) {
  Prng random(11);
  for (int i = 0; i < 40; ++i) {
    const HourlyDemand demand = random_steps(random, 60, 5, 9);
    const CommitMarket m = market(3, 12, 0, 8);
    int64_t fees_and_hours = 0;
    for (int64_t k = 1; k <= 5; ++k) {
      HourlyDemand level(demand.size());
      for (size_t t = 0; t < demand.size(); ++t)
        level[t] = demand[t] >= k;
      fees_and_hours += cost(CommitPolicy::kOptimal, m, level).count_nanos();
    }
    // Billed together a reservation may cover another level's hour, so the plan can only come out cheaper.
    EXPECT_LE(cost(CommitPolicy::kOptimalByLevel, m, demand).count_nanos(), fees_and_hours) << "seed 11, case " << i;
    EXPECT_LE(cost(CommitPolicy::kOptimal, m, demand), cost(CommitPolicy::kOptimalByLevel, m, demand));
  }
}

/// The policy on demand cut after `hours` buys the same in them: it cannot know what comes.
void expect_blind_to_the_future(CommitPolicy policy) {
  Prng random(19);
  for (int i = 0; i < 20; ++i) {
    const CommitMarket m = market(1, 6 + static_cast<int64_t>(random.below(40)), 0, 70);
    const HourlyDemand demand = random_steps(random, 900, 6, 90);
    const size_t cut = 200 + random.below(600);
    CommitPlan whole = plan_commitments(policy, m, demand);
    std::erase_if(whole, [&](const CommitPurchase& p) { return p.hour >= static_cast<int64_t>(cut); });
    const HourlyDemand past(demand.begin(), demand.begin() + static_cast<std::ptrdiff_t>(cut));
    EXPECT_EQ(plan_commitments(policy, m, past), whole) << name_of(policy) << ", seed 19, case " << i;
  }
}

TEST(CommitOnline, SeesThePastAlone) {
  expect_blind_to_the_future(CommitPolicy::kOnline);
  expect_blind_to_the_future(CommitPolicy::kOnlineJoint);
  expect_blind_to_the_future(CommitPolicy::kStint);
}

TEST(CommitOnline, BuysOnceOnDemandHasCostMoreThanAReservation) {
  const CommitMarket m = market(1, 4, 0, 10);
  EXPECT_EQ(plan_commitments(CommitPolicy::kOnline, m, HourlyDemand(12, 1)), (CommitPlan{{5, 0, 1}}));
  // Five hours that never lie within one term.
  EXPECT_TRUE(plan_commitments(CommitPolicy::kOnline, m, HourlyDemand{1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0}).empty());
  EXPECT_EQ(plan_commitments(CommitPolicy::kOnlineJoint, m, HourlyDemand(12, 1)), (CommitPlan{{4, 0, 1}}));
}

TEST(CommitOnline, NeverCostsMoreThanItsBound) {
  Prng random(5);
  for (int i = 0; i < 400; ++i) {
    CommitMarket m = market(3 + static_cast<int64_t>(random.below(3)), 1 + static_cast<int64_t>(random.below(40)),
                            static_cast<int64_t>(random.below(3)), 5 + static_cast<int64_t>(random.below(40)));
    if (random.below(2) == 0) m.fee = HourlyFee::kWhenUsed;
    const HourlyDemand demand = random_steps(random, 30 + random.below(400), 4, 1 + random.below(60));
    const double optimal = cost(CommitPolicy::kOptimal, m, demand).to_double();
    const double by_level = cost(CommitPolicy::kOptimalByLevel, m, demand).to_double();
    for (const CommitPolicy policy : {CommitPolicy::kOnline, CommitPolicy::kOnlineJoint, CommitPolicy::kStint}) {
      const auto bound = bound_of(policy, m);
      ASSERT_TRUE(bound.has_value());
      const double best = bound->against == "optimal" ? optimal : by_level;
      EXPECT_LE(cost(policy, m, demand).to_double(), bound->ratio * best + 1e-6) << name_of(policy) << ", seed 5, case " << i;
    }
  }
}

TEST(CommitStint, BuysEarlierWhereALevelRunsOn) {
  // Break-even after 432 of 720 hours; a level that always ran is trusted after a third of that.
  CommitMarket m = market(1, 432, 0, 720);
  const HourlyDemand demand(2000, 1);
  EXPECT_EQ(plan_commitments(CommitPolicy::kStint, m, demand).front(), (CommitPurchase{145, 0, 1}));
  EXPECT_EQ(plan_commitments(CommitPolicy::kOnline, m, demand).front(), (CommitPurchase{433, 0, 1}));
}

TEST(CommitStint, DoesNotBuyOfficeHours) {
  CommitMarket m = market(1, 432, 0, 720);
  HourlyDemand demand(4000, 0);
  for (size_t t = 0; t < demand.size(); ++t)
    demand[t] = t / 24 % 7 < 5 && t % 24 >= 8 && t % 24 < 18 ? 10 : 0;
  EXPECT_TRUE(plan_commitments(CommitPolicy::kStint, m, demand).empty());
}

TEST(CommitPolicyName, IsReadBack) {
  for (size_t p = 0; p < kCommitPolicies; ++p)
    EXPECT_EQ(*parse_commit_policy(name_of(static_cast<CommitPolicy>(p))), static_cast<CommitPolicy>(p));
  EXPECT_NE(parse_commit_policy("best").error().message.find("optimal-by-level"), std::string::npos);
}

}  // namespace
}  // namespace stint
