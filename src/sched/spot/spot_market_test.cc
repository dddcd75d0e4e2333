#include "sched/spot/spot_market.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stint::sched {
namespace {

TEST(SpotMarket, AgesFallIntoClasses) {
  EXPECT_EQ(age_class(1), 0U);
  EXPECT_EQ(age_class(3), 2U);
  EXPECT_EQ(age_class(5), 3U);
  EXPECT_EQ(age_class(6), 4U);
  EXPECT_EQ(age_class(56), 7U);
  EXPECT_EQ(age_class(57), 8U);
  EXPECT_EQ(age_class(100'000), 8U);
}

TEST(SpotMarket, OldSpellsEndLessOften) {
  for (size_t kind = 0; kind < kSpellKinds; ++kind) {
    EXPECT_DOUBLE_EQ(spell_end_chance(kind, 1), kSpellEnds[kind]);
    EXPECT_NEAR(spell_end_chance(kind, 32), kSpellEnds[kind] / 4, 1e-12) << "32^0.4 = 4";
    for (size_t c = 1; c < kAgeClasses; ++c)
      EXPECT_LT(class_end_chance(kind, c), class_end_chance(kind, c - 1));
  }
}

// A spell of one tick is as likely as its first chance to end: proportions 1 : 2 : 4.
TEST(SpotMarket, OneShortSpellSpeaksForShortSpells) {
  const SpellLikelihood likelihood;
  const SpellWeights w = likelihood.ended({1, 1, 1}, 1, 0);
  EXPECT_NEAR(w[0] / w[2], kSpellEnds[0] / kSpellEnds[2], 1e-6);
  EXPECT_NEAR(w[1] / w[2], kSpellEnds[1] / kSpellEnds[2], 1e-6);
}

// The naive way: the product of the chances not to end, then to end.
TEST(SpotMarket, LikelihoodIsTheProductOverTicks) {
  const SpellLikelihood likelihood;
  std::array<double, kSpellKinds> expected = {};
  for (size_t k = 0; k < kSpellKinds; ++k) {
    expected[k] = 1;
    for (int age = 7; age <= 11; ++age)
      expected[k] *= 1 - spell_end_chance(k, age);
  }
  const SpellWeights lasted = likelihood.lasted({1, 1, 1}, 11, 6);
  for (size_t k = 0; k < kSpellKinds; ++k)
    EXPECT_NEAR(lasted[k], expected[k], 1e-5);
  const SpellWeights ended = likelihood.ended({1, 1, 1}, 12, 6);
  EXPECT_NEAR(ended[0] / ended[1], expected[0] * spell_end_chance(0, 12) / (expected[1] * spell_end_chance(1, 12)), 1e-5);
}

TEST(SpotMarket, NoKindIsRuledOutForGood) {
  const SpellLikelihood likelihood;
  SpellWeights w = {1, 1, 1};
  for (int i = 0; i < 100; ++i)
    w = likelihood.ended(w, 1, 0);
  EXPECT_GT(w[0], 0);
  for (int i = 0; i < 20; ++i)
    w = likelihood.ended(w, SpellLikelihood::kMostAge, 0);
  EXPECT_FLOAT_EQ(w[0], 1) << "long spells since";
}

}  // namespace
}  // namespace stint::sched
