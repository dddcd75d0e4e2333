// The covering bound against CBC: the linear programme it relaxes to, and whole machines.
#include <gtest/gtest.h>

#include "advise/bound/covering_bound.h"
#include "base/prng.h"
#include "tests/testing_cbc.h"

namespace stint {
namespace {

class BoundAgainstCbc : public CbcTest {};

constexpr int64_t kCent = 10'000'000;  // nano-units

struct Size {
  size_t works, offers, hours;
};

CoveringProblem fleet_of(Prng& random, Size size) {
  CoveringProblem problem{.hours = size.hours, .offers = {}, .works = {}};
  for (size_t o = 0; o < size.offers; ++o) {
    const auto hourly = static_cast<int64_t>(20 + random.below(400));
    problem.offers.push_back({.hourly = hourly * kCent, .committed = {}});
    if (random.below(2) == 0)
      problem.offers.back().committed = hourly * static_cast<int64_t>(30 + random.below(60)) / 100 * kCent;
  }
  for (size_t w = 0; w < size.works; ++w) {
    CoveringWork work;
    for (uint32_t o = 0; o < size.offers; ++o)
      if (random.below(3) > 0 || o == w % size.offers)
        work.uses.push_back({o, static_cast<int64_t>(1 + random.below(10)) * kWholeMachine / 10,
                             static_cast<int64_t>(1 + random.below(10)) * kWholeMachine / 10});
    const size_t from = random.below(size.hours), length = 1 + random.below(size.hours);
    for (size_t h = 0; h < size.hours; ++h) {
      const bool there = (h + size.hours - from) % size.hours < length;
      work.compute.push_back(there ? static_cast<int64_t>(random.below(31)) * kUnitHour / 10 : 0);
      work.memory.push_back(there ? static_cast<int64_t>(random.below(31)) * kUnitHour / 10 : 0);
    }
    problem.works.push_back(std::move(work));
  }
  return problem;
}

double share(int64_t units, int64_t part) {
  return static_cast<double>(units) / static_cast<double>(kUnitHour) * static_cast<double>(part) /
         static_cast<double>(kWholeMachine);
}

/// k[o] committed, n[o,h] by the hour, y[w,o,h] the part of a work's hour that is done there. Cents.
std::string program_of(const CoveringProblem& problem, bool whole_machines) {
  std::string objective, rows, integers;
  std::vector<std::string> compute(problem.offers.size() * problem.hours), memory = compute;
  for (size_t w = 0; w < problem.works.size(); ++w)
    for (size_t h = 0; h < problem.hours; ++h) {
      std::string all;
      for (const CoveringUse& use : problem.works[w].uses) {
        const size_t cell = use.offer * problem.hours + h;
        const std::string y = fmt::format("y{}_{}_{}", w, use.offer, h);
        all += " + " + y;
        if (const double need = share(problem.works[w].compute[h], use.compute); need > 0)
          compute[cell] += fmt::format(" + {} {}", need, y);
        if (const double need = share(problem.works[w].memory[h], use.memory); need > 0)
          memory[cell] += fmt::format(" + {} {}", need, y);
      }
      rows += fmt::format(" all{}_{}:{} = 1\n", w, h, all);
    }
  for (size_t o = 0; o < problem.offers.size(); ++o) {
    const CoveringOffer& offer = problem.offers[o];
    if (offer.committed) {
      objective += fmt::format(" + {} k{}\n", *offer.committed / kCent * static_cast<int64_t>(problem.hours), o);
      integers += fmt::format(" k{}\n", o);
    }
    for (size_t h = 0; h < problem.hours; ++h) {
      const size_t cell = o * problem.hours + h;
      objective += fmt::format(" + {} n{}_{}\n", offer.hourly / kCent, o, h);
      integers += fmt::format(" n{}_{}\n", o, h);
      const std::string machines = fmt::format(" - n{}_{}{}", o, h, offer.committed ? fmt::format(" - k{}", o) : "");
      if (!compute[cell].empty()) rows += fmt::format(" c{}_{}:{}{} <= 0\n", o, h, compute[cell], machines);
      if (!memory[cell].empty()) rows += fmt::format(" m{}_{}:{}{} <= 0\n", o, h, memory[cell], machines);
    }
  }
  return fmt::format("Minimize\n obj:{}Subject To\n{}{}End\n", objective, rows, whole_machines ? "Generals\n" + integers : "");
}

TEST_F(BoundAgainstCbc, IsNeverAboveTheLinearProgrammeAndNearIt) {
  double furthest = 1;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Prng random(seed);
    const CoveringProblem problem = fleet_of(random, {.works = 12, .offers = 6, .hours = 24});
    const double bound = static_cast<double>(covering_bound(problem).at_least) / kCent;
    const double least = solve(program_of(problem, false));
    EXPECT_LE(bound, least * (1 + 1e-7)) << "seed " << seed;
    EXPECT_GE(bound, least * 0.95) << "seed " << seed;
    furthest = std::min(furthest, bound / least);
  }
  RecordProperty("furthest", fmt::format("{:.4f}", furthest));
}

TEST_F(BoundAgainstCbc, IsNeverAboveWholeMachines) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Prng random(seed);
    const CoveringProblem problem = fleet_of(random, {.works = 5, .offers = 3, .hours = 6});
    const double bound = static_cast<double>(covering_bound(problem).at_least) / kCent;
    EXPECT_LE(bound, solve(program_of(problem, true)) * (1 + 1e-6)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stint
