#include "advise/commit/commit_bill.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "advise/commit/commit_policy.h"
#include "base/prng.h"
#include "ledger/testing_books.h"

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

/// The bill that a provider would send for the plan, in lines of an hour: on-demand hours, reserved hours that were used, reserved hours that
/// were not, and the upfront fees; posted by the ledger, which knows nothing of plans. @return totals as billed and as amortised.
std::pair<Money, Money> posted(const CommitMarket& market, const std::vector<int64_t>& demand, const CommitPlan& plan) {
  testing::HandMade books(static_cast<int64_t>(demand.size()));
  const CommitOffer& offer = market.offers.front();
  const int64_t most = *std::ranges::max_element(demand);
  std::vector<DeviceId> gpus;
  for (int64_t k = 0; k < most; ++k)
    gpus.push_back(books.device(books.node(fmt::format("i-{}", k), 1), 0));
  for (const DeviceId gpu : gpus)
    for (int64_t h = 0; h < static_cast<int64_t>(demand.size()); ++h)
      books.hour(gpu, h);
  const Money amortised = Money::nanos(offer.upfront.count_nanos() / offer.term_hours) + offer.hourly;
  for (int64_t h = 0; h < static_cast<int64_t>(demand.size()); ++h) {
    int64_t held = 0;
    for (const CommitPurchase& bought : plan)
      if (bought.hour <= h && h < bought.hour + offer.term_hours) held += bought.count;
    const int64_t used = demand[static_cast<size_t>(h)];
    for (int64_t k = 0; k < std::max(used, held); ++k) {
      // The k-th instance of the hour: reserved as long as there are reservations, else on demand; a reservation beyond demand is unused.
      BillLine& line = books.compute(k < used ? fmt::format("i-{}", k) : "", market.on_demand, h, h + 1);
      if (k >= held) continue;
      line.billed = offer.hourly;
      line.effective = amortised;
      line.commitment_id = "ri";
      line.commitment_unused = k >= used;
    }
  }
  for (const CommitPurchase& bought : plan) {
    BillLine& fee = books.compute("", scale(offer.upfront, bought.count, 1), bought.hour, bought.hour + 1);
    fee.category = ChargeCategory::kPurchase;
    fee.effective = Money();
  }
  return {books.post({CostBasis::kBilled, books.history.period}).value().total(),
          books.post({CostBasis::kEffective, books.history.period}).value().total()};
}

TEST(CommitBill, IsTheBillTheLedgerPosts) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    std::vector<int64_t> demand;
    for (int h = 0; h < 60; ++h)
      demand.push_back(static_cast<int64_t>(prng.below(4)) + (h < 30 ? 1 : 0));
    // 24 hours divide the fee.
    const CommitMarket m{.on_demand = Money::nanos(3'060'000'000),
                         .offers = {{"", Money::units(24), Money::nanos(static_cast<int64_t>(prng.below(900)) * 1'000'000), 24}},
                         .owned = {}};
    const CommitPlan plan = {
        {static_cast<int64_t>(prng.below(10)), 0, 1}, {20, 0, 1}, {30 + static_cast<int64_t>(prng.below(20)), 0, 2}};
    const CommitBill bill = bill_plan(m, demand, plan);
    const auto [billed, effective] = posted(m, demand, plan);
    EXPECT_EQ(effective, bill.on_demand + bill.used + bill.unused);
    EXPECT_EQ(effective + bill.after_end, bill.total);
    // As paid: hours of a term after the last hour of demand are on later bills.
    EXPECT_EQ(billed, bill.on_demand + bill.upfront + scale(m.offers[0].hourly, bill.reserved_instance_hours, 1));
  }
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
