#include "advise/bound/covering_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"

namespace stint {
namespace {

constexpr int64_t kUnit = 1'000'000'000;  // a unit of money

CoveringWork whole_machines(uint32_t offer, const std::vector<int64_t>& machines) {
  CoveringWork work{.uses = {{offer, kWholeMachine, kWholeMachine}}, .compute = {}, .memory = {}};
  for (const int64_t n : machines)
    work.compute.push_back(n * kUnitHour);
  work.memory = work.compute;
  return work;
}

void expect_just_below(int64_t bound, int64_t truth) {
  EXPECT_LE(bound, truth);
  EXPECT_GE(static_cast<double>(bound), static_cast<double>(truth) * (1 - 1e-6));
}

TEST(CoveringBound, OneOfferIsItsPrice) {
  const CoveringProblem problem{
      .hours = 3, .offers = {{.hourly = 4 * kUnit, .committed = {}}}, .works = {whole_machines(0, {1, 0, 2})}};
  expect_just_below(covering_bound(problem).at_least, 12 * kUnit);
}

TEST(CoveringBound, ACommitmentIsBoughtForTheHoursThatPayForIt) {
  // Two machines for one hour in four, one machine in all: one is committed, 4 × 2.50, the other is on demand for an hour.
  CoveringProblem problem{
      .hours = 4, .offers = {{.hourly = 4 * kUnit, .committed = 5 * kUnit / 2}}, .works = {whole_machines(0, {1, 2, 1, 1})}};
  expect_just_below(covering_bound(problem).at_least, 14 * kUnit);
  problem.offers[0].same_every_hour = true;
  expect_just_below(covering_bound(problem).at_least, 5 * 5 * kUnit / 2);
}

TEST(CoveringBound, WorkThatNeedsComputeAndWorkThatNeedsMemoryShareAMachine) {
  CoveringProblem problem{.hours = 1, .offers = {{.hourly = 10 * kUnit, .committed = {}}}, .works = {}};
  problem.works.push_back({{{0, kWholeMachine, kWholeMachine}}, {kUnitHour * 9 / 10}, {kUnitHour / 10}});
  problem.works.push_back({{{0, kWholeMachine, kWholeMachine}}, {kUnitHour / 10}, {kUnitHour * 8 / 10}});
  expect_just_below(covering_bound(problem).at_least, 10 * kUnit);
}

TEST(CoveringBound, NoWorkCostsNothing) {
  EXPECT_EQ(
      covering_bound({.hours = 2, .offers = {{.hourly = kUnit, .committed = {}}}, .works = {whole_machines(0, {0, 0})}}).at_least,
      0);
  EXPECT_EQ(covering_bound({.hours = 2, .offers = {}, .works = {}}).at_least, 0);
}

TEST(CoveringBound, WrongPricesAndProblemsAreRefused) {
  CoveringProblem problem{
      .hours = 2, .offers = {{.hourly = kUnit, .committed = kUnit / 2}}, .works = {whole_machines(0, {1, 1})}};
  EXPECT_TRUE(check_prices(problem, {.compute = {kUnit / 2, kUnit / 4}, .memory = {0, kUnit / 4}}).ok());
  EXPECT_FALSE(check_prices(problem, {.compute = {kUnit + 1, 0}, .memory = {0, 0}}).ok()) << "above an hour's price";
  EXPECT_FALSE(check_prices(problem, {.compute = {kUnit, 1}, .memory = {0, 0}}).ok()) << "above the commitment's";
  EXPECT_FALSE(check_prices(problem, {.compute = {0, 0}, .memory = {-1, 0}}).ok());
  EXPECT_FALSE(check_prices(problem, {.compute = {0}, .memory = {0}}).ok());
  problem.works[0].uses[0].offer = 1;
  EXPECT_FALSE(check_covering(problem).ok());
  problem.works[0].uses.clear();
  EXPECT_FALSE(check_covering(problem).ok());
}

/// Up to four pieces of work that each fit a machine of some offers, in up to four hours.
CoveringProblem small_fleet(Prng& random) {
  CoveringProblem problem{.hours = 1 + random.below(4), .offers = {}, .works = {}};
  const size_t offers = 1 + random.below(3);
  for (size_t o = 0; o < offers; ++o) {
    const auto hourly = static_cast<int64_t>((1 + random.below(40)) * kUnit / 4);
    problem.offers.push_back({.hourly = hourly,
                              .committed = random.below(2) == 0
                                               ? std::nullopt
                                               : std::optional(hourly * static_cast<int64_t>(20 + random.below(70)) / 100),
                              .same_every_hour = random.below(4) == 0});
  }
  const size_t works = 1 + random.below(4);
  for (size_t w = 0; w < works; ++w) {
    CoveringWork work;
    for (uint32_t o = 0; o < offers; ++o)
      if (random.below(3) > 0 || o + 1 == offers)
        work.uses.push_back(
            {o, static_cast<int64_t>(1 + random.below(kWholeMachine)), static_cast<int64_t>(1 + random.below(kWholeMachine))});
    for (size_t h = 0; h < problem.hours; ++h) {
      const bool there = random.below(4) > 0;
      work.compute.push_back(there ? static_cast<int64_t>(random.below(kUnitHour + 1)) : 0);
      work.memory.push_back(there ? static_cast<int64_t>(random.below(kUnitHour + 1)) : 0);
    }
    problem.works.push_back(std::move(work));
  }
  return problem;
}

/// Every way to put whole pieces of work on whole machines, and every number of commitments.
class EveryPlan {
 public:
  explicit EveryPlan(const CoveringProblem& problem) : problem_(problem) { place(0); }
  [[nodiscard]] int64_t cheapest() const { return best_; }

 private:
  struct Machine {
    uint32_t offer = 0;
    std::vector<double> compute, memory;
  };

  void place(size_t work) {
    if (work == problem_.works.size()) {
      best_ = std::min(best_, cost());
      return;
    }
    for (const CoveringUse& use : problem_.works[work].uses) {
      for (size_t m = 0; m <= machines_.size(); ++m) {
        const bool is_new = m == machines_.size();
        if (!is_new && machines_[m].offer != use.offer) continue;
        const std::vector<Machine> before = machines_;
        if (is_new) machines_.push_back({use.offer, std::vector<double>(problem_.hours), std::vector<double>(problem_.hours)});
        if (add(machines_[m], problem_.works[work], use)) place(work + 1);
        machines_ = before;
      }
    }
  }

  bool add(Machine& machine, const CoveringWork& work, const CoveringUse& use) const {
    for (size_t h = 0; h < problem_.hours; ++h) {
      machine.compute[h] += static_cast<double>(work.compute[h]) / kUnitHour * static_cast<double>(use.compute) / kWholeMachine;
      machine.memory[h] += static_cast<double>(work.memory[h]) / kUnitHour * static_cast<double>(use.memory) / kWholeMachine;
      if (machine.compute[h] > 1 || machine.memory[h] > 1) return false;
    }
    return true;
  }

  [[nodiscard]] int64_t cost() const {
    int64_t sum = 0;
    for (uint32_t o = 0; o < problem_.offers.size(); ++o) {
      std::vector<int64_t> on(problem_.hours, 0);
      for (const Machine& machine : machines_)
        for (size_t h = 0; h < problem_.hours; ++h)
          on[h] += machine.offer == o && (machine.compute[h] > 0 || machine.memory[h] > 0) ? 1 : 0;
      sum += cheapest_way_to_buy(problem_.offers[o], on);
    }
    return sum;
  }

  static int64_t cheapest_way_to_buy(const CoveringOffer& offer, const std::vector<int64_t>& on) {
    int64_t best = -1;
    for (int64_t count = 0; count <= std::ranges::max(on); ++count) {
      if (count > 0 && !offer.committed) break;
      int64_t cost = count * offer.committed.value_or(0) * std::ssize(on);
      for (const int64_t machines : on)
        cost += std::max<int64_t>(0, machines - count) * offer.hourly;
      if (best < 0 || cost < best) best = cost;
    }
    return best;
  }

  const CoveringProblem& problem_;
  std::vector<Machine> machines_;
  int64_t best_ = std::numeric_limits<int64_t>::max();
};

TEST(CoveringBound, NoPlanOfAThousandSmallFleetsCostsLess) {
  double bounds = 0, plans = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Prng random(seed);
    const CoveringProblem problem = small_fleet(random);
    const CoveringBound bound = covering_bound(problem);
    ASSERT_TRUE(check_prices(problem, bound.prices).ok()) << "seed " << seed;
    const int64_t cheapest = EveryPlan(problem).cheapest();
    ASSERT_GE(bound.at_least, 0) << "seed " << seed;
    ASSERT_LE(bound.at_least, cheapest) << "seed " << seed;
    bounds += static_cast<double>(bound.at_least);
    plans += static_cast<double>(cheapest);
  }
  EXPECT_GT(bounds, plans / 3) << "a bound that says something";
}

constexpr double kNotPlayedOut = 1.02;  // prices are answers to answers: near the best, not there

TEST(CoveringBound, FallsWithAnotherOfferAndRisesWithMoreWork) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Prng random(seed);
    CoveringProblem problem = small_fleet(random);
    const auto before = static_cast<double>(covering_bound(problem).at_least);

    CoveringProblem more_offers = problem;
    more_offers.offers.push_back({.hourly = static_cast<int64_t>(1 + random.below(10 * kUnit)), .committed = {}});
    for (CoveringWork& work : more_offers.works)
      work.uses.push_back({static_cast<uint32_t>(problem.offers.size()), kWholeMachine / 2, kWholeMachine / 2});
    EXPECT_LE(static_cast<double>(covering_bound(more_offers).at_least), before * kNotPlayedOut + 1) << "seed " << seed;

    CoveringProblem more_work = problem;
    for (CoveringWork& work : more_work.works)
      for (std::vector<int64_t>* of : {&work.compute, &work.memory})
        for (int64_t& units : *of)
          units += units / 5;
    EXPECT_GE(static_cast<double>(covering_bound(more_work).at_least) * kNotPlayedOut + 1, before) << "seed " << seed;
  }
}

TEST(CoveringBound, IsTheSameEveryTime) {
  Prng random(7);
  const CoveringProblem problem = small_fleet(random);
  EXPECT_EQ(covering_bound(problem).of_work, covering_bound(problem).of_work);
  EXPECT_EQ(covering_bound(problem).prices.compute, covering_bound(problem).prices.compute);
}

}  // namespace
}  // namespace stint
