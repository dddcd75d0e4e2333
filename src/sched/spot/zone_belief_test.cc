#include "sched/spot/zone_belief.h"

#include <gtest/gtest.h>

#include <numeric>

namespace stint::sched {
namespace {

const ZoneProcess& process() {
  static const ZoneProcess made;
  return made;
}

void pass(ZoneBelief& belief, int ticks) {
  for (int t = 0; t < ticks; ++t)
    belief.advance();
}

TEST(ZoneBelief, WhatIsSeenIsSure) {
  ZoneBelief belief(process());
  EXPECT_GT(belief.chance_up(), 0.2);
  EXPECT_LT(belief.chance_up(), 0.9);
  belief.observe(true);
  EXPECT_NEAR(belief.chance_up(), 1, 1e-6);
  belief.observe(true);
  belief.advance();
  belief.observe(false);
  EXPECT_NEAR(belief.chance_up(), 0, 1e-6);
}

TEST(ZoneBelief, WhatWasSeenFades) {
  ZoneBelief up(process());
  ZoneBelief down(process());
  up.observe(true);
  down.observe(false);
  double gap = 1;
  for (const int ticks : {1, 5, 30, 200}) {
    pass(up, ticks);
    pass(down, ticks);
    EXPECT_LT(up.chance_up() - down.chance_up(), gap);
    EXPECT_GT(up.chance_up(), down.chance_up());
    gap = up.chance_up() - down.chance_up();
  }
}

/// Chance that the zone has no interruption to be seen in one more tick.
double chance_to_stay(ZoneBelief belief) {
  belief.advance();
  return belief.chance_up();
}

TEST(ZoneBelief, LongSpellsAreTrustedAndThoseOfZonesThatFlapAreNot) {
  ZoneBelief lasting(process());
  ZoneBelief young(process());
  young.observe(false);
  young.advance();
  young.observe(true);
  for (int t = 0; t < 50; ++t) {
    lasting.observe(true);
    lasting.advance();
  }
  lasting.observe(true);
  EXPECT_GT(chance_to_stay(lasting), 0.97);
  EXPECT_LT(chance_to_stay(young), 0.85);
  ZoneBelief flapping(process());
  for (int t = 0; t < 20; ++t) {
    flapping.observe(t % 2 == 1);
    if (t < 19) flapping.advance();
  }
  EXPECT_LT(chance_to_stay(flapping), chance_to_stay(young));
}

// Two ways to the same number: the belief moved on, and the mean of drawn futures.
TEST(ZoneBelief, DrawnFuturesAgreeWithTheBelief) {
  ZoneBelief belief(process());
  belief.observe(true);
  belief.advance();
  Prng random(7);
  std::vector<uint16_t> states(4'000);
  belief.draw_states(random, false, states);
  std::vector<double> up(60, 0);
  std::vector<uint8_t> future(up.size());
  for (const uint16_t state : states) {
    process().draw(state, random, future);
    for (size_t t = 0; t < up.size(); ++t)
      up[t] += future[t] / static_cast<double>(states.size());
  }
  for (size_t t = 0; t < up.size(); ++t) {
    EXPECT_NEAR(up[t], belief.chance_up(), 0.04) << "tick " << t;
    belief.advance();
  }
}

TEST(ZoneBelief, FuturesOfAZoneWithCapacityBeginWithIt) {
  ZoneBelief belief(process());
  Prng random(3);
  std::vector<uint16_t> states(100);
  belief.draw_states(random, true, states);
  for (const uint16_t state : states)
    EXPECT_TRUE(ZoneProcess::is_up(state));
}

}  // namespace
}  // namespace stint::sched
