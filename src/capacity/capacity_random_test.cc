// Random faults and kills at every instant: nothing leaks, nothing is made twice, never more than may be.
#include <gtest/gtest.h>

#include "base/prng.h"
#include "capacity/testing_capacity.h"

namespace stint {
namespace {

CapacityRules random_rules(Prng& prng) {
  std::vector<CapacityPool> pools;
  const auto count = 1 + prng.below(6);
  for (uint64_t i = 0; i < count; ++i) {
    pools.push_back(testing_pool(fmt::format("p{}", i), static_cast<int>(5 + prng.below(30)),
                                 prng.below(2) == 0 ? Market::kSpot : Market::kOnDemand));
    pools.back().most = static_cast<int32_t>(1 + prng.below(6));
  }
  CapacityRules rules = testing_rules(std::move(pools));
  rules.most = static_cast<int32_t>(2 + prng.below(12));
  rules.spread = prng.below(2) == 0 ? 1 : 0.5;
  return rules;
}

SimulatedCloudOptions random_cloud(Prng& prng) {
  SimulatedCloudOptions options;
  options.seed = prng.next();
  options.start_mean = Duration::seconds(static_cast<int64_t>(10 + prng.below(200)));
  options.never_ready = prng.below(3) == 0 ? 0.1 : 0;
  options.list_lag = Duration::seconds(static_cast<int64_t>(prng.below(25)));  // less than `settle`
  options.stockout = prng.uniform() * 0.7;
  options.stock_for = Duration::minutes(10);
  options.spot_life = Duration::minutes(static_cast<int64_t>(10 + prng.below(50)));
  options.spot_notice = prng.below(2) == 0 ? Duration() : Duration::minutes(2);
  options.lost_answers = prng.uniform() * 0.3;
  options.lost_orders = prng.uniform() * 0.3;
  options.throttled = prng.uniform() * 0.3;
  // Later than it is waited for (two minutes), by less than `settle`.
  options.late_orders = prng.below(2) == 0 ? 0.2 : 0;
  options.late_by = Duration::seconds(130);
  options.twice = prng.below(3) == 0 ? 0.3 : 0;
  if (prng.below(3) == 0) options.quota = static_cast<int32_t>(1 + prng.below(6));
  return options;
}

/// What must hold once the cloud behaves and the caller has listed it: all that is there is known, and is there once.
void expect_nothing_leaked(CapacityWorld& world, uint64_t seed) {
  SimulatedCloudOptions quiet = quiet_cloud();
  quiet.seed = seed;
  world.cloud.change_options(quiet);
  world.book.look_now();
  world.run_for(Duration::minutes(4));
  std::string before;
  for (const std::string& name : world.there()) {
    EXPECT_NE(name, before) << "twice there, seed " << seed;
    EXPECT_TRUE(world.book.machines().contains(name)) << name << " is not known, seed " << seed;
    before = name;
  }
  world.wishes.clear();
  for (const auto& [name, made] : world.book.machines())
    world.released.push_back(name);
  world.run_for(Duration::minutes(8));
  EXPECT_TRUE(world.there().empty()) << world.there().size() << " are left, seed " << seed;
  for (const auto& [name, made] : world.book.machines())
    ADD_FAILURE() << name << " is still " << name_of(made.state) << " (" << made.detail << "), seed " << seed;
}

void vary_wishes(CapacityWorld& world, Prng& prng) {
  world.wishes.clear();
  for (const char* id : {"x", "y", "z"})
    if (prng.below(3) != 0)
      world.wishes.push_back(
          {.id = id, .client = {}, .machines = static_cast<int32_t>(prng.below(6)), .together = prng.below(3) == 0});
  for (const auto& [name, made] : world.book.machines())
    if (prng.below(4) == 0) world.released.push_back(name);
}

TEST(CapacityRandom, FaultsLeakNothingAndMakeNothingTwice) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Prng prng(seed);
    CapacityWorld world(random_rules(prng), random_cloud(prng));
    for (int i = 0; i < 400; ++i) {
      if (i % 40 == 0) vary_wishes(world, prng);
      world.step();
      world.now = world.now + Duration::seconds(static_cast<int64_t>(1 + prng.below(15)));
    }
    expect_nothing_leaked(world, seed);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

/// A thousand kills, each before an act that is drawn: the rows, or one of the orders.
TEST(CapacityRandom, KilledAtAnyInstantItLeaksNothingAndMakesNothingTwice) {
  int kills = 0;
  for (uint64_t seed = 1; kills < 1'000; ++seed) {
    Prng prng(seed * 77);
    SimulatedCloudOptions options = random_cloud(prng);
    options.twice = 0;  // made twice would be by us
    options.spot_life = Duration();
    CapacityWorld world(random_rules(prng), options);
    for (int i = 0; i < 200; ++i) {
      if (i % 20 == 0) vary_wishes(world, prng);
      // Only where there are acts to be killed before.
      CapacityWorld ahead = world;
      ahead.step();
      const auto acts = ahead.last.rows.empty() ? 0 : 1 + ahead.last.creates.size() + ahead.last.destroys.size();
      if (acts > 0 && prng.below(3) == 0) {
        ASSERT_FALSE(world.step(static_cast<int>(prng.below(acts))));
        ++kills;
      } else {
        world.step();
      }
      std::set<std::string> once;
      for (const std::string& name : world.there())
        EXPECT_TRUE(once.insert(name).second) << name << " was made twice, seed " << seed;
      world.now = world.now + Duration::seconds(static_cast<int64_t>(1 + prng.below(20)));
    }
    expect_nothing_leaked(world, seed);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  RecordProperty("kills", kills);
}

TEST(CapacityRandom, TheSameSeedIsTheSameStory) {
  const auto story = [] {
    Prng prng(5);
    CapacityWorld world(random_rules(prng), random_cloud(prng));
    for (int i = 0; i < 300; ++i) {
      if (i % 40 == 0) vary_wishes(world, prng);
      world.step();
      world.now = world.now + Duration::seconds(7);
    }
    return world.rows;
  };
  EXPECT_EQ(story(), story());
}

}  // namespace
}  // namespace stint
