#include "ledger/cost_statement.h"

#include <gmock/gmock.h>

#include <random>

#include "base/prng.h"
#include "ledger/testing_books.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using testing::HandMade;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr DeviceParts kHalf = kWholeDevice / 2;

/// Four GPU-hours at 100: red trains one (half of it active), blue serves two (active not known for one), one is free.
/// Storage of blue 7, tax 30.
HandMade example() {
  HandMade m(4);
  const DeviceId d = m.device(m.node("n"), 0);
  m.hour(d, 0, {{m.tenant("red"), WorkloadKind::kFineTuning, kWholeDevice, kHalf, true}});
  m.hour(d, 1, {{m.tenant("blue"), WorkloadKind::kRealtimeInference, kWholeDevice, kWholeDevice, true}});
  m.hour(d, 2, {{m.tenant("blue"), WorkloadKind::kRealtimeInference, kWholeDevice, 0, false}});
  m.hour(d, 3);
  m.compute("n", Money::units(400));
  m.other(SpendKind::kStorage, Money::units(7), {{"client", "blue"}});
  m.other(SpendKind::kOther, Money::units(30)).category = ChargeCategory::kTax;
  return m;
}

TEST(CostStatement, RowsHoldWhatTenantsHeldAndIdleStandsBeside) {
  const HandMade m = example();
  const auto ledger = m.post();
  const CostStatement s = make_statement(*ledger, {});
  ASSERT_THAT(s.rows, SizeIs(2));
  EXPECT_EQ(s.rows[0].name, "blue");
  EXPECT_EQ(s.rows[0].inference, Money::units(200));
  EXPECT_EQ(s.rows[0].storage, Money::units(7));
  EXPECT_EQ(s.rows[0].shared, Money::units(20));
  EXPECT_EQ(s.rows[0].total, Money::units(227));
  EXPECT_EQ(s.rows[1].training, Money::units(100));
  EXPECT_EQ(s.rows[1].inactive, Money::units(50));
  EXPECT_EQ(s.rows[1].total, Money::units(110));
  ASSERT_THAT(s.idle, SizeIs(1));
  EXPECT_EQ(s.idle[0].cause, IdleCause::kUnallocated);
  EXPECT_EQ(s.idle[0].amount, Money::units(100));
  EXPECT_DOUBLE_EQ(s.idle[0].gpu_hours, 1);
  EXPECT_EQ(s.total, Money::units(437));
  EXPECT_EQ(s.sum.total + s.idle_total, s.total);
}

TEST(CostStatement, KeyFiguresAreMoneyOverHours) {
  const HandMade m = example();
  const auto ledger = m.post();
  const CostStatement s = make_statement(*ledger, {});
  const StatementRow& blue = s.rows[0];
  EXPECT_DOUBLE_EQ(blue.gpu_hours, 2);
  EXPECT_DOUBLE_EQ(blue.efficiency_pct().value(), 100);  // of the hour that is known
  EXPECT_EQ(blue.per_gpu_hour(), Money::units(100));
  EXPECT_EQ(blue.per_active_gpu_hour(), Money::units(100));
  const StatementRow& red = s.rows[1];
  EXPECT_DOUBLE_EQ(red.efficiency_pct().value(), 50);
  EXPECT_EQ(red.per_gpu_hour(), Money::units(100));
  EXPECT_EQ(red.per_active_gpu_hour(), Money::units(200));
  EXPECT_EQ(s.fleet_per_active_gpu_hour, Money::estimate(400 / 1.5));
}

TEST(CostStatement, SpreadIdleFollowsComputeMoney) {
  const HandMade m = example();
  const auto ledger = m.post();
  const CostStatement s = make_statement(*ledger, {TenantDimension::kClient, IdleTreatment::kSpread});
  EXPECT_EQ(s.rows[0].idle, Money::nanos(66'666'666'667));
  EXPECT_EQ(s.rows[1].idle, Money::nanos(33'333'333'333));
  EXPECT_EQ(s.idle_total, Money());
  EXPECT_EQ(s.sum.total, s.total);
  EXPECT_DOUBLE_EQ(s.idle[0].gpu_hours, 1);  // the hours stay in sight
}

TEST(CostStatement, OnlyPaidHoursAreMissing) {
  HandMade m(10);
  const DeviceId d = m.device(m.node("n"), 0);
  for (int64_t h = 0; h < 10; ++h) {
    if (h < 4)
      m.hour(d, h, {{m.tenant("red"), {}, kWholeDevice, kWholeDevice, true}});
    else
      m.hour(d, h).missing = kWholeDevice;
  }
  BillLine& line = m.compute("n", Money::units(10));
  line.pricing_unit = "Hours";
  line.quantity = "5";
  const auto ledger = m.post();
  const CostStatement s = make_statement(*ledger, {});
  ASSERT_THAT(s.idle, SizeIs(1));
  EXPECT_EQ(s.idle[0].amount, Money::units(2));
  EXPECT_DOUBLE_EQ(s.idle[0].gpu_hours, 1);
}

TEST(CostStatement, EmptyLedgerGivesAnEmptyStatement) {
  const HandMade m(1);
  const auto ledger = m.post();
  const CostStatement s = make_statement(*ledger, {});
  EXPECT_THAT(s.rows, IsEmpty());
  EXPECT_EQ(s.total, Money());
  EXPECT_FALSE(s.fleet_per_active_gpu_hour.has_value());
}

TEST(CostStatement, RowsAndIdleSumToTheTotalForEveryDimensionAndTreatment) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Prng prng(seed);
  for (int round = 0; round < 50; ++round) {
    HandMade m(10);
    const DeviceId d = m.device(m.node("n"), 0);
    for (int64_t h = 0; h < 10; ++h) {
      Tenant t;
      for (const TenantDimension dim : kTenantDimensions)
        get(t, dim) = prng.below(2) == 0 ? "" : std::to_string(prng.below(4));
      const auto held = static_cast<DeviceParts>(prng.below(static_cast<uint64_t>(kWholeDevice)));
      m.hour(d, h, {{m.occupancy.tenants.intern(t), static_cast<WorkloadKind>(prng.below(7)), held, held / 3, true}});
    }
    for (int i = 0; i < 6; ++i) {
      m.compute("n", Money::nanos(static_cast<int64_t>(prng.below(1'000'000'000)) - 100'000'000));
      m.other(static_cast<SpendKind>(prng.below(4)), Money::nanos(static_cast<int64_t>(prng.below(1'000'000'000)) - 500'000'000));
    }
    const auto ledger = m.post();
    for (const TenantDimension by : kTenantDimensions)
      for (const IdleTreatment idle : {IdleTreatment::kSeparate, IdleTreatment::kSpread}) {
        const CostStatement s = make_statement(*ledger, {by, idle});
        Money sum = s.idle_total;
        for (const StatementRow& row : s.rows)
          sum += row.total;
        ASSERT_EQ(sum, ledger->total());
      }
  }
}

}  // namespace
}  // namespace stint
