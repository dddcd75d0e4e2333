// Discounts that no provider quotes, beside the plan and never in it.
#include "advise/plan/assumed_prices.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One V100 at 3.06 around the clock: 27 % of 3.06 × 720, less what a commitment in whole thousandths leaves.
TEST(YourDiscount, IsWhatASavingsPlanWouldTakeOffThePlan) {
  TestFleet fleet;
  fleet.add("a", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {TestFleet::Use{}});
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  const auto outlooks = [&](std::span<const SavingsPlanOffer> offers) {
    return discount_outlooks({fleet.facts, books, prices, fleet.history, fleet.allowed_regions, fleet.longest_term, offers});
  };
  const std::vector<DiscountOutlook> found = outlooks({});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].provider, "aws");
  EXPECT_EQ(found[0].pct, 27);
  EXPECT_NEAR(found[0].saving_per_month.to_double(), 0.27 * 3.06 * 720, 0.8);
  EXPECT_EQ(found[1].pct, 40);
  EXPECT_NEAR(found[1].saving_per_month.to_double(), 0.40 * 3.06 * 720, 0.8);
  EXPECT_THAT(discount_notes(found), ElementsAre(HasSubstr("--savings-plan aws=1y,27%")));
  const std::vector<SavingsPlanOffer> own = {{.provider = "aws", .discount_pct = 10, .rates = {}}};
  EXPECT_THAT(outlooks(own), IsEmpty()) << "the user has said what theirs is";
  ASSERT_TRUE(books.apply(StopNodes{{"a"}}).ok());
  EXPECT_THAT(outlooks({}), IsEmpty()) << "nothing is left on demand";
}

TEST(AssumedDiscount, TakesThePlaceOfWhatIsKnown) {
  const Catalog catalog = at_assumed_discount(test_catalog(), {.reserved_pct = 30, .spot_pct = 60});
  const auto price = [&](Market market, CommitmentTerm term) {
    return catalog
        .price({.provider = "aws", .instance_type = "p4d.24xlarge", .region = "us-east-1", .market = market, .term = term})
        .value();
  };
  const PriceRow spot = price(Market::kSpot, CommitmentTerm::kNone);
  EXPECT_EQ(spot.rate, Rate::per_hour(Money::parse("8.8").value())) << "22 × 40 %, where 7 was known";
  EXPECT_TRUE(spot.estimated);
  EXPECT_EQ(price(Market::kReserved, CommitmentTerm::kOneYear).rate, Rate::per_hour(Money::parse("15.4").value()));
  EXPECT_EQ(price(Market::kOnDemand, CommitmentTerm::kNone).rate, Rate::per_hour(Money::parse("22").value()));
}

TEST(AssumedDiscount, IsARangeInWords) {
  const auto range = parse_assumed_discounts("reserved=30-60%,spot=60-80%");
  ASSERT_TRUE(range.ok()) << range.error().message;
  EXPECT_THAT(*range, ElementsAre(AssumedDiscount{30, 60}, AssumedDiscount{60, 80}));
  for (const char* wrong :
       {"", "spot=60-80%", "reserved=30-60%", "reserved=30-60,spot=60-80%", "reserved=60-30%,spot=60-80%",
        "reserved=0-60%,spot=60-80%", "reserved=30-60%,spot=60-100%", "reserved=1-2%,spot=1-2%,spot=1-2%", "x=1-2%,spot=1-2%"})
    EXPECT_THAT(parse_assumed_discounts(wrong).error().message, HasSubstr("reserved=30-60%,spot=60-80%")) << wrong;
}

}  // namespace
}  // namespace stint
