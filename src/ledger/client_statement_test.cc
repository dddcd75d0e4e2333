#include "ledger/client_statement.h"

#include <gmock/gmock.h>

#include <random>

#include "base/prng.h"
#include "ledger/margin.h"
#include "ledger/testing_books.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using testing::HandMade;
using ::testing::HasSubstr;
using testing::kStart;
using ::testing::SizeIs;

/// Four GPU-hours at 100: red one, blue two (of two workloads), one is free. Storage of blue 7, tax 30.
HandMade example() {
  HandMade m(4);
  const DeviceId d = m.device(m.node("n"), 0);
  Tenant search;
  search.client = "blue";
  search.project = "shop";
  search.workload = "search";
  Tenant index = search;
  index.workload = "index";
  m.hour(d, 0, {{m.tenant("red"), WorkloadKind::kTraining, kWholeDevice, kWholeDevice, true}});
  m.hour(d, 1, {{m.occupancy.tenants.intern(search), WorkloadKind::kRealtimeInference, kWholeDevice, kWholeDevice, true}});
  m.hour(d, 2, {{m.occupancy.tenants.intern(index), WorkloadKind::kBatchInference, kWholeDevice, kWholeDevice, true}});
  m.hour(d, 3);
  m.compute("n", Money::units(400));
  m.other(SpendKind::kStorage, Money::units(7), {{"client", "blue"}});
  m.other(SpendKind::kOther, Money::units(30)).category = ChargeCategory::kTax;
  return m;
}

TEST(ClientStatement, HasTheClientsPartAndNothingOfOthers) {
  const HandMade m = example();
  const auto ledger = m.post();
  const auto statements = make_client_statements(*ledger, IdleTreatment::kSeparate);
  ASSERT_THAT(statements, SizeIs(2));
  const ClientStatement& blue = statements[0];
  EXPECT_EQ(blue.client, "blue");
  EXPECT_EQ(blue.total, Money::units(227));  // 200 compute, 7 storage, 20 of the tax
  ASSERT_THAT(blue.machines, SizeIs(1));
  EXPECT_EQ(blue.machines[0].amount, Money::units(200));
  EXPECT_EQ(blue.common.whole, Money::units(30));
  EXPECT_EQ(blue.common.own, Money::units(20));
  for (const StatementRow& row : blue.workloads.rows)
    EXPECT_NE(row.name, "red");
  EXPECT_EQ(blue.workloads.sum.gpu_hours, 2);
  EXPECT_EQ(statements[1].total, Money::units(110));
}

TEST(ClientStatement, IdleMoneyIsChargedOnlyWhereItIsSpread) {
  const HandMade m = example();
  const auto ledger = m.post();
  const auto spread = make_client_statements(*ledger, IdleTreatment::kSpread);
  EXPECT_EQ(spread[0].idle.whole, Money::units(100));
  EXPECT_EQ(spread[0].idle.own, Money::nanos(66'666'666'667));
  EXPECT_EQ(spread[0].total + spread[1].total, ledger->total());
}

// Any books: statements and idle money sum to the bill, and each client's own ledger is conserved.
TEST(ClientStatement, AlwaysSumsToTheBill) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Prng random(seed);
    HandMade m(6);
    const DeviceId d = m.device(m.node("n"), 0);
    for (int64_t hour = 0; hour < 6; ++hour) {
      if (random.below(4) == 0)
        m.hour(d, hour);
      else
        m.hour(d, hour,
               {{m.tenant("c" + std::to_string(random.below(3))), WorkloadKind::kTraining, kWholeDevice, kWholeDevice, true}});
    }
    m.compute("n", Money::nanos(static_cast<int64_t>(random.below(1'000'000'000'000))));
    m.other(SpendKind::kOther, Money::nanos(static_cast<int64_t>(random.below(1'000'000'000))));
    const auto ledger = m.post();
    ASSERT_TRUE(ledger.ok());
    for (const IdleTreatment idle : {IdleTreatment::kSeparate, IdleTreatment::kSpread}) {
      Money sum = Money::nanos(0);
      for (const ClientStatement& s : make_client_statements(*ledger, idle)) {
        sum += s.total;
        EXPECT_TRUE(check_conservation(ledger_of_client(*ledger, s.client)).ok());
      }
      const CostStatement all = make_statement(*ledger, {.idle = idle});
      EXPECT_EQ(sum + all.idle_total, ledger->total()) << "seed " << seed;
    }
  }
}

RevenueRow revenue(std::string client, std::string project, Money amount) {
  // The books are four hours long: a "month" of eight hours, of which the period is half.
  return {.client = std::move(client),
          .project = std::move(project),
          .month = {kStart, kStart + kHour * 8},
          .revenue = amount,
          .cost_budget = {}};
}

TEST(Margin, IsRevenueOfThePeriodLessCost) {
  const HandMade m = example();
  const auto ledger = m.post();
  std::vector<RevenueRow> rows = {revenue("blue", "", Money::units(1000)), revenue("green", "", Money::units(10))};
  rows[0].cost_budget = Money::units(800);
  const auto margin = make_margin(*ledger, rows, TenantDimension::kClient, IdleTreatment::kSeparate);
  ASSERT_TRUE(margin.ok()) << margin.error().message;
  ASSERT_THAT(margin->rows, SizeIs(3));
  EXPECT_EQ(margin->rows[0].client, "blue");
  EXPECT_EQ(margin->rows[0].profit(), Money::units(500 - 227));
  EXPECT_DOUBLE_EQ(*margin->rows[0].margin_pct(), 54.6);
  EXPECT_DOUBLE_EQ(*margin->rows[0].budget_pct(), 56.75);  // 227 of 400
  EXPECT_FALSE(margin->rows[1].revenue) << "red pays nothing that is known";
  EXPECT_FALSE(margin->rows[1].profit());
  EXPECT_EQ(margin->rows[2].cost, Money());
  EXPECT_EQ(margin->unallocated, Money::units(100));
  EXPECT_EQ(margin->cost, ledger->total());
}

TEST(Margin, ProjectsCarryTheirPartOfSpreadIdleMoney) {
  const HandMade m = example();
  const auto ledger = m.post();
  const std::vector<RevenueRow> rows = {revenue("blue", "shop", Money::units(1000))};
  const auto margin = make_margin(*ledger, rows, TenantDimension::kProject, IdleTreatment::kSpread);
  ASSERT_TRUE(margin.ok());
  EXPECT_TRUE(margin->unallocated.is_zero());
  Money sum = Money::nanos(0);
  for (const MarginRow& row : margin->rows)
    sum += row.cost;
  EXPECT_EQ(sum, ledger->total());
  const auto shop = std::ranges::find(margin->rows, "shop", &MarginRow::project);
  ASSERT_NE(shop, margin->rows.end());
  EXPECT_EQ(shop->revenue, Money::units(500));
}

TEST(Margin, CurrenciesAreNotMixed) {
  const HandMade m = example();
  const auto ledger = m.post();
  const std::vector<RevenueRow> rows = {revenue("blue", "", Money::units(1, *Currency::parse("EUR")))};
  const auto margin = make_margin(*ledger, rows, TenantDimension::kClient, IdleTreatment::kSpread);
  ASSERT_FALSE(margin.ok());
  EXPECT_THAT(margin.error().message, HasSubstr("EUR"));
}

}  // namespace
}  // namespace stint
