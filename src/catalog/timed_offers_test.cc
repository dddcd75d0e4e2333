#include "catalog/timed_offers.h"

#include <gmock/gmock.h>

#include "catalog/catalog.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const TimedOffer& block_of(std::string_view type, std::string_view region) {
  for (const TimedOffer& offer : timed_offers())
    if (offer.instance_type == type && offer.region == region) return offer;
  ADD_FAILURE() << type << " in " << region;
  return timed_offers().front();
}

// AWS sells days up to two weeks, then weeks up to 182 days.
TEST(TimedOffers, BlocksAreWholeDaysThenWholeWeeks) {
  const TimedOffer& block = block_of("p4d.24xlarge", "us-east-2");
  EXPECT_EQ(block.rate, Rate::per_hour(Money::parse("14.75").value()));
  EXPECT_TRUE(block.upfront);
  EXPECT_EQ(paid_hours(block, 1), 24);
  EXPECT_EQ(paid_hours(block, 25), 48);
  EXPECT_EQ(paid_hours(block, 14 * 24), 14 * 24);
  EXPECT_EQ(paid_hours(block, 14 * 24 + 1), 21 * 24);
  EXPECT_EQ(paid_hours(block, 182 * 24), 182 * 24);
  EXPECT_EQ(paid_hours(block, 182 * 24 + 1), std::nullopt);
}

TEST(TimedOffers, FlexStartHasNoKnownPriceAndAWeekAtMost) {
  const TimedOffer& flex = block_of("*", "");
  EXPECT_EQ(flex.market, TimedMarket::kFlexStart);
  EXPECT_FALSE(flex.rate);
  EXPECT_EQ(paid_hours(flex, 168), 168);
  EXPECT_EQ(paid_hours(flex, 169), std::nullopt);
}

TEST(TimedOffers, AreOfTypesThatTheCatalogueHas) {
  for (const TimedOffer& offer : timed_offers()) {
    const bool is_known = Catalog::built_in().find_instance(offer.provider, offer.instance_type) != nullptr;
    EXPECT_TRUE(is_known || offer.instance_type == "*") << offer.instance_type;
    EXPECT_FALSE(offer.source.empty());
  }
}

TEST(TimedOffers, ARowThatIsNoneIsNamed) {
  const std::string header =
      "provider,region,instance_type,market,per_hour,currency,fewest_hours,most_hours,whole_hours,wait_hours,upfront,source,as_"
      "of\n";
  const auto why = [&](const char* row) { return parse_timed_offers(header + row).error().message; };
  EXPECT_THAT(why("aws,r,t,spot,1,USD,1,2,1,0,no,s,2026-01-01"), HasSubstr("timed.csv:2: market 'spot'"));
  EXPECT_THAT(why("aws,r,t,flex-start,-1,USD,1,2,1,0,no,s,2026-01-01"), HasSubstr("timed.csv:2:"));
  EXPECT_THAT(why("aws,r,t,flex-start,1,USD,3,2,1,0,no,s,2026-01-01"), HasSubstr("most_hours '2'"));
  EXPECT_THAT(why("aws,r,t,flex-start,1,USD,1,2,1,0,perhaps,s,2026-01-01"), HasSubstr("write yes or no"));
  EXPECT_THAT(why("aws,r,t,flex-start,1,USD,1,2,1,0,no,,2026-01-01"), HasSubstr("source is empty"));
}

}  // namespace
}  // namespace stint
