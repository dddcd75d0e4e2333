#include "catalog/own_or_rent.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using testing::HasSubstr;

/// 70,080 over four years: two an hour. 730 a month: one an hour. 10 kW busy, 4 idle, at 0.25 and a PUE of 2: two idle, three more busy.
OwnedMachine machine() {
  OwnedMachine m;
  m.price = Money::units(80'080);
  m.resale = Money::units(10'000);
  m.per_month = Money::units(730);
  m.per_kwh = Money::nanos(250'000'000);
  m.gpus = 4;
  m.kw = 10;
  m.idle_kw = 4;
  m.pue = 2;
  return m;
}

TEST(OwnOrRent, AnHourIsCapitalRunningCostAndPower) {
  const auto hour = hour_of(machine());
  ASSERT_TRUE(hour.ok()) << hour.error().message;
  EXPECT_EQ(hour->fixed, Money::units(5));
  EXPECT_EQ(hour->used, Money::units(3));
  EXPECT_EQ(hour->per_used_gpu_hour(1, 4), Money::units(2));                 // (5 + 3) / 4
  EXPECT_EQ(hour->per_used_gpu_hour(0.25, 4), Money::nanos(5'750'000'000));  // (20 + 3) / 4
}

/// H100s of the built-in catalogue, with prices of our own laid over.
Catalog catalogue(std::string_view on_demand) {
  PriceRow row;
  row.provider = "aws";
  row.region = "test-1";
  row.instance_type = "p5.48xlarge";  // eight H100s
  row.rate = *Rate::parse_per_hour(on_demand);
  PriceRow reserved = row;
  reserved.market = Market::kReserved;
  reserved.term = CommitmentTerm::kOneYear;
  reserved.payment = PaymentOption::kNoUpfront;
  return Catalog::built_in().with_prices(std::vector<PriceRow>{row, reserved});
}

TEST(OwnOrRent, BreaksEvenWhereUsedHoursCostTheSame) {
  // 32 an hour for eight: four a GPU-hour, 16 for our four. 16 u = 5 + 3 u at u = 5/13.
  const auto got = own_or_rent(catalogue("32"), machine(), "H100-80GB", "test-1", 0.5);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->own_per_gpu_hour, Money::nanos(3'250'000'000));  // (10 + 3) / 4
  ASSERT_EQ(got->offers.size(), 2U);
  const RentOffer& on_demand = got->offers[0].price.market == Market::kOnDemand ? got->offers[0] : got->offers[1];
  const RentOffer& reserved = got->offers[0].price.market == Market::kOnDemand ? got->offers[1] : got->offers[0];
  ASSERT_TRUE(on_demand.break_even);
  EXPECT_NEAR(*on_demand.break_even, 5.0 / 13, 1e-9);
  // Renting half of the hours costs 8 an hour, running 3 + 1.5: 3.5 an hour pay 70,080 back in 27.4 months.
  ASSERT_TRUE(on_demand.payback_months);
  EXPECT_NEAR(*on_demand.payback_months, 70'080 / 3.5 / 730, 1e-9);
  ASSERT_TRUE(reserved.break_even);
  EXPECT_EQ(*reserved.break_even, 0) << "16 for every hour is more than 8 at any use";
}

TEST(OwnOrRent, CheapRentIsNeverBeaten) {
  const auto got = own_or_rent(catalogue("8"), machine(), "H100-80GB", "test-1", 1);
  ASSERT_TRUE(got.ok());
  for (const RentOffer& offer : got->offers) {
    EXPECT_FALSE(offer.break_even);
    EXPECT_FALSE(offer.payback_months);
  }
}

TEST(OwnOrRent, WhatIsOutOfRangeIsNamed) {
  const auto wrong = [](auto change) {
    OwnedMachine m = machine();
    change(m);
    const auto hour = hour_of(m);
    return hour.ok() ? "" : hour.error().message;
  };
  EXPECT_THAT(wrong([](OwnedMachine& m) { m.price = Money(); }), HasSubstr("price"));
  EXPECT_THAT(wrong([](OwnedMachine& m) { m.resale = Money::units(90'000); }), HasSubstr("resale"));
  EXPECT_THAT(wrong([](OwnedMachine& m) { m.years = 0; }), HasSubstr("years"));
  EXPECT_THAT(wrong([](OwnedMachine& m) { m.idle_kw = 11; }), HasSubstr("power"));
  EXPECT_THAT(wrong([](OwnedMachine& m) { m.pue = 0.5; }), HasSubstr("PUE"));
  EXPECT_THAT(wrong([](OwnedMachine& m) { m.per_kwh = Money::units(1, *Currency::parse("EUR")); }), HasSubstr("EUR"));
  EXPECT_FALSE(own_or_rent(Catalog::built_in(), machine(), "H100-80GB", "mars", 1).ok());
  EXPECT_FALSE(own_or_rent(Catalog::built_in(), machine(), "H100-80GB", "", 0).ok());
}

}  // namespace
}  // namespace stint
