#include "ledger/cost_change.h"

#include <gmock/gmock.h>

#include "base/prng.h"
#include "ledger/testing_books.h"

namespace stint {
namespace {

using testing::HandMade;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const ChangeRowsBy kByClient{TenantDimension::kClient};
const ChangeRowsBy kByService{};

/// A machine of so many GPUs that a client holds for all hours at a price per GPU-hour.
void rent(HandMade& m, const std::string& client, const std::string& type, int64_t gpus, int64_t hours,
          int64_t units_per_gpu_hour) {
  const std::string name = client + "-" + type;
  const NodeId node = m.node(name, gpus);
  for (int g = 0; g < gpus; ++g) {
    const DeviceId device = m.device(node, g);
    for (int64_t h = 0; h < hours; ++h)
      m.hour(device, h, {{m.tenant(client), WorkloadKind::kTraining, kWholeDevice, kWholeDevice, true}});
  }
  BillLine& line = m.compute(name, Money::units(gpus * hours * units_per_gpu_hour), 0, hours);
  line.instance_type = type;
  line.service = "machines";
}

CostChange change_of(const HandMade& before, const HandMade& after, ChangeRowsBy by = kByClient) {
  const auto first = before.post(), second = after.post();
  EXPECT_TRUE(first.ok() && second.ok());
  const auto first_gpus = gpus_by_node(before.history), second_gpus = gpus_by_node(after.history);
  auto made = explain_change({*first, first_gpus}, {*second, second_gpus}, by);
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

TEST(CostChange, ADearerRateAtEqualUseIsPrice) {
  HandMade before(10), after(10);
  rent(before, "red", "a", 2, 10, 3);
  rent(after, "red", "a", 2, 10, 4);
  const CostChange c = change_of(before, after);
  ASSERT_THAT(c.rows, SizeIs(1));
  EXPECT_EQ(c.rows[0].before, Money::units(60));
  EXPECT_EQ(c.rows[0].reasons.price, Money::units(20));  // 20 GPU-hours × 1
  EXPECT_TRUE(c.rows[0].reasons.use.is_zero());
  EXPECT_TRUE(c.rows[0].reasons.mix.is_zero());
  EXPECT_DOUBLE_EQ(*c.rows[0].cells[0].unit_price_before(), 3);
  EXPECT_DOUBLE_EQ(*c.rows[0].cells[0].unit_price_after(), 4);
}

TEST(CostChange, MoreHoursAtAnEqualRateAreUse) {
  HandMade before(10), after(15);
  rent(before, "red", "a", 2, 10, 3);
  rent(after, "red", "a", 2, 15, 3);
  EXPECT_EQ(change_of(before, after).rows[0].reasons.use, Money::units(30));  // 10 GPU-hours more × 3
}

// Before: 10 h of a at 2 and 10 h of b at 6: 80, the mean 4. After: 12 h of a at 3 and 18 h of b at 6: 144.
// price 12 × (3 − 2) = 12; use (30 − 20) × 4 = 40; mix (12 × 2 + 18 × 6) − 30 × 4 = 12. 12 + 40 + 12 = 64 = 144 − 80.
TEST(CostChange, PriceUseAndMixArePartedByHand) {
  HandMade before(10), after(18);
  rent(before, "red", "a", 1, 10, 2);
  rent(before, "red", "b", 1, 10, 6);
  rent(after, "red", "a", 1, 12, 3);
  rent(after, "red", "b", 1, 18, 6);
  const CostReasons reasons = change_of(before, after).rows[0].reasons;
  EXPECT_EQ(reasons.price, Money::units(12));
  EXPECT_EQ(reasons.use, Money::units(40));
  EXPECT_EQ(reasons.mix, Money::units(12));
}

TEST(CostChange, AMoveToAnotherTypeIsMixNotNewAndGone) {
  HandMade before(10), after(10);
  rent(before, "red", "a", 1, 10, 2);
  rent(after, "red", "b", 1, 10, 5);
  const CostReasons reasons = change_of(before, after).rows[0].reasons;
  EXPECT_EQ(reasons.mix, Money::units(30));
  EXPECT_EQ(reasons.sum(), Money::units(30));
  EXPECT_TRUE(reasons.price.is_zero() && reasons.begun.is_zero() && reasons.gone.is_zero());
}

TEST(CostChange, ClientsThatComeAndGoAreNewAndGone) {
  HandMade before(10), after(10);
  rent(before, "red", "a", 1, 10, 2);
  rent(after, "blue", "a", 1, 10, 3);
  const CostChange c = change_of(before, after);
  ASSERT_THAT(c.rows, SizeIs(2));
  EXPECT_EQ(c.rows[0].name, "blue");
  EXPECT_EQ(c.rows[0].reasons.begun, Money::units(30));
  EXPECT_EQ(c.rows[1].reasons.gone, Money::units(-20));
  EXPECT_EQ(c.total.reasons.sum(), Money::units(10));
  // To the service it is the same hours at another price.
  const CostChange services = change_of(before, after, kByService);
  ASSERT_THAT(services.rows, SizeIs(1));
  EXPECT_EQ(services.rows[0].reasons.price, Money::units(10));
}

TEST(CostChange, IdleMoneyHasItsOwnRowAndTaxIsUnmeasured) {
  HandMade before(10), after(10);
  for (HandMade* m : {&before, &after}) {
    const DeviceId d = m->device(m->node("n", 1), 0);
    for (int64_t h = 0; h < 10; ++h)
      if (h < (m == &before ? 6 : 8))
        m->hour(d, h, {{m->tenant("red"), WorkloadKind::kTraining, kWholeDevice, kWholeDevice, true}});
      else
        m->hour(d, h);
    m->compute("n", Money::units(100));
    m->other(SpendKind::kOther, Money::units(m == &before ? 5 : 9)).category = ChargeCategory::kTax;
  }
  const CostChange c = change_of(before, after);
  const auto idle = std::ranges::find(c.rows, true, &CostChangeRow::idle);
  ASSERT_NE(idle, c.rows.end());
  EXPECT_EQ(idle->reasons.use, Money::units(-20));  // 4 hours free became 2, at 10
  const auto red = std::ranges::find(c.rows, "red", &CostChangeRow::name);
  EXPECT_EQ(red->reasons.use, Money::units(20));
  EXPECT_EQ(red->reasons.unmeasured, Money::units(4));
}

TEST(CostChange, StorageIsSplitByItsOwnUnit) {
  // A period that is whole months, so that no quantity can be of a cut line: the books of testing_books begin at 2025-11-24.
  HandMade before(1), after(1);
  for (HandMade* m : {&before, &after}) {
    m->history.period = *parse_month(m == &before ? "2026-10" : "2026-11");
    BillLine& line = m->other(SpendKind::kStorage, Money::units(m == &before ? 20 : 45), {{"client", "red"}});
    line.charge_period = m->history.period;
    line.service = "disks";
    line.pricing_unit = "GB-month";
    line.quantity = m == &before ? "10" : "15";
  }
  const auto first = before.post({.period = before.history.period}), second = after.post({.period = after.history.period});
  ASSERT_TRUE(first.ok() && second.ok());
  const std::vector<int64_t> none;
  const auto c = explain_change({*first, none}, {*second, none}, kByClient);
  ASSERT_TRUE(c.ok());
  ASSERT_THAT(c->rows, SizeIs(1));
  EXPECT_EQ(c->rows[0].reasons.use, Money::units(10));    // 5 GB-months more × 2
  EXPECT_EQ(c->rows[0].reasons.price, Money::units(15));  // 15 × (3 − 2)
}

TEST(CostChange, BasesAreNotMixed) {
  HandMade before(2), after(2);
  rent(before, "red", "a", 1, 2, 2);
  rent(after, "red", "a", 1, 2, 2);
  const auto first = before.post(), second = after.post({.basis = CostBasis::kBilled});
  const std::vector<int64_t> gpus = {1};
  const auto made = explain_change({*first, gpus}, {*second, gpus}, kByClient);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("billed"));
}

// Any two books: rows sum to the bills, and each row's reasons to its difference, to the nano-unit.
TEST(CostChange, ReasonsAlwaysSumToTheDifference) {
  const auto random_books = [](Prng& random) {
    HandMade m(6);
    const auto nodes = 1 + random.below(4);
    for (uint64_t n = 0; n < nodes; ++n) {
      const auto gpus = static_cast<int64_t>(random.below(4));
      const std::string name = "n" + std::to_string(n);
      const NodeId node = m.node(name, gpus);
      const DeviceId device = m.device(node, 0);
      for (int64_t h = 0; h < 6; ++h)
        if (random.below(3) == 0)
          m.hour(device, h);
        else
          m.hour(device, h,
                 {{m.tenant("c" + std::to_string(random.below(4))), WorkloadKind::kTraining,
                   static_cast<DeviceParts>(1 + random.below(kWholeDevice)), 0, false}});
      const auto from = static_cast<int64_t>(random.below(5));
      BillLine& line = m.compute(name, Money::nanos(static_cast<int64_t>(random.below(1'000'000'000'000)) - 10'000'000'000), from,
                                 from + 1 + static_cast<int64_t>(random.below(3)));
      line.instance_type = "t" + std::to_string(random.below(3));
      line.region = "r" + std::to_string(random.below(2));
      line.market = random.below(2) == 0 ? Market::kOnDemand : Market::kSpot;
      if (random.below(2) == 0) {
        line.pricing_unit = "Hours";
        line.quantity = std::to_string(random.below(4)) + "." + std::to_string(random.below(1000));
      }
    }
    for (uint64_t i = 0; i < random.below(4); ++i) {
      BillLine& line = m.other(random.below(2) == 0 ? SpendKind::kStorage : SpendKind::kOther,
                               Money::nanos(static_cast<int64_t>(random.below(2'000'000'000)) - 500'000'000),
                               {{"client", "c" + std::to_string(random.below(4))}});
      line.category = static_cast<ChargeCategory>(random.below(5));
      line.service = "s" + std::to_string(random.below(2));
    }
    return m;
  };
  for (uint64_t seed = 1; seed <= 1'000; ++seed) {
    Prng random(seed);
    const HandMade before = random_books(random), after = random_books(random);
    for (const ChangeRowsBy by : {kByClient, kByService}) {
      const CostChange c = change_of(before, after, by);
      Money sum = Money::nanos(0);
      for (const CostChangeRow& row : c.rows) {
        EXPECT_EQ(row.reasons.sum(), row.after - row.before) << "seed " << seed << ", row " << row.name;
        Money cells = Money::nanos(0);
        for (const CostCell& cell : row.cells)
          cells += cell.after - cell.before;
        EXPECT_EQ(cells, row.after - row.before) << "seed " << seed;
        sum += row.reasons.sum();
      }
      EXPECT_EQ(sum, after.post()->total() - before.post()->total()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace stint
