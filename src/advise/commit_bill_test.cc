#include "advise/commit_bill.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(CommitBill, PaysFeesInFullAndOnDemandForTheRest) {
  // Two reservations of 4 hours at 3 upfront and 0.5 an hour; 5 hours of 1, 3, 2, 0, 2 instances.
  const CommitMarket m{
      .on_demand = Money::units(2), .offers = {{"", Money::units(3), Money::nanos(500'000'000), 4}}, .owned = {}};
  const CommitBill bill = bill_plan(m, std::vector<int64_t>{1, 3, 2, 0, 2}, {{0, 0, 1}, {2, 0, 1}});
  EXPECT_EQ(bill.upfront, Money::units(6));
  EXPECT_EQ(bill.hourly, Money::units(4));
  EXPECT_EQ(bill.on_demand, Money::units(2 * (0 + 2 + 0 + 0 + 1)));
  EXPECT_EQ(bill.total, Money::units(16));
  EXPECT_EQ(bill.all_on_demand, Money::units(16));
  // Held 1, 1, 2, 2, 1; used 1, 1, 2, 0, 1. An hour costs 0.75 + 0.5; the second has one hour left after the end.
  EXPECT_EQ(bill.reserved_instance_hours, 7);
  EXPECT_EQ(bill.used_instance_hours, 5);
  EXPECT_EQ(bill.used, Money::nanos(6'250'000'000));
  EXPECT_EQ(bill.unused, Money::nanos(2'500'000'000));
  EXPECT_EQ(bill.after_end, Money::nanos(1'250'000'000));
}

TEST(CommitBill, AsksTheFeeOfUsedHoursAloneWhereTheOfferSaysSo) {
  const CommitMarket m{.on_demand = Money::units(2),
                       .offers = {{"", Money::units(3), Money::units(1), 4}},
                       .owned = {},
                       .fee = HourlyFee::kWhenUsed};
  const CommitBill bill = bill_plan(m, std::vector<int64_t>{1, 0, 1, 2}, {{0, 0, 1}});
  EXPECT_EQ(bill.hourly, Money::units(3));
  EXPECT_EQ(bill.total, Money::units(3 + 3 + 2));
}

TEST(CommitBill, AmortisesToTheLastNanoUnit) {
  // 10 over 7 hours does not divide; the parts sum to it all the same (bill_plan() itself checks that they do).
  const CommitMarket m{.on_demand = Money::units(2), .offers = {{"", Money::units(10), {}, 7}}, .owned = {}};
  const CommitBill bill = bill_plan(m, std::vector<int64_t>{1, 0, 1, 1, 0}, {{0, 0, 1}});
  EXPECT_EQ(bill.used + bill.unused + bill.after_end, Money::units(10));
}

TEST(CommitMarket, SaysWhatIsWrongWithIt) {
  const std::vector<int64_t> demand = {1, 2};
  CommitMarket m{.on_demand = Money::units(2), .offers = {{"", Money::units(3), Money::units(1), 4}}, .owned = {}};
  EXPECT_TRUE(check_market(m, demand).ok());
  const auto error = [&](const auto& change) {
    CommitMarket changed = m;
    change(changed);
    const Status status = check_market(changed, demand);
    return status.ok() ? "sound" : status.error().message;
  };
  EXPECT_NE(error([](CommitMarket& c) { c.on_demand = {}; }).find("on-demand price is 0"), std::string::npos);
  EXPECT_NE(error([](CommitMarket& c) { c.offers[0].upfront = Money::units(-1); }).find("below 0"), std::string::npos);
  EXPECT_NE(error([](CommitMarket& c) { c.offers[0].term_hours = 0; }).find("a term of 0 hours"), std::string::npos);
  EXPECT_NE(error([](CommitMarket& c) { c.offers[0].term_hours = INT64_MAX; }).find("give 1 to 876000"), std::string::npos);
  EXPECT_NE(error([](CommitMarket& c) { c.offers[0].hourly = Money::units(1, *Currency::parse("EUR")); }).find("currency"),
            std::string::npos);
  EXPECT_NE(error([](CommitMarket& c) { c.offers[0].hourly = Money::units(1'000'000'000); }).find("too large"),
            std::string::npos);
  EXPECT_NE(error([](CommitMarket& c) {
              c.fee = HourlyFee::kWhenUsed;
              c.offers.push_back(c.offers[0]);
            }).find("one offer at a time"),
            std::string::npos);
  EXPECT_NE(check_market(m, std::vector<int64_t>{-1}).error().message.find("demand of -1"), std::string::npos);
}

}  // namespace
}  // namespace stint
