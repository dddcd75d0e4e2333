#include "catalog/commitment.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

Rate per_hour(std::string_view decimal) { return *Rate::parse_per_hour(decimal); }

// 3.06 × 8760 = 26,805.60; 1.82 × 8760 = 15,943.20; 10,862.40 / 26,805.60 = 40.52 %; 1.82 / 3.06 = 59.48 %.
TEST(Commitment, P3ForAYear) {
  const auto c = compare_commitment(per_hour("3.06"), per_hour("1.82"));
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->on_demand_per_year.to_decimal(), "26805.6");
  EXPECT_EQ(c->committed_per_year.to_decimal(), "15943.2");
  EXPECT_EQ(c->saving_per_year.to_decimal(), "10862.4");
  EXPECT_NEAR(c->saving_pct, 40.52, 0.005);
  EXPECT_NEAR(c->break_even_utilization_pct, 59.5, 0.05);
}

TEST(Commitment, PaysFromTheBreakEvenHourOn) {
  const Rate list = per_hour("3.06"), reserved = per_hour("1.82");
  EXPECT_LT(saving_at(list, reserved, 5210).count_nanos(), 0);  // 59.48 % of 8,760 are 5,210.2 hours
  EXPECT_GT(saving_at(list, reserved, 5211).count_nanos(), 0);
}

TEST(Commitment, UpfrontIsSpreadOverTheTerm) {
  EXPECT_EQ(effective_rate(Money::units(8760), per_hour("0.5"), 1), per_hour("1.5"));
  EXPECT_EQ(effective_rate(Money::units(26280), per_hour("0"), 3), per_hour("1"));
}

TEST(Commitment, RefusesTwoCurrenciesAndNothing) {
  EXPECT_FALSE(compare_commitment(per_hour("3"), *Rate::parse_per_hour("2", *Currency::parse("EUR"))).ok());
  EXPECT_FALSE(compare_commitment(per_hour("3"), Rate()).ok());
}

}  // namespace
}  // namespace stint
