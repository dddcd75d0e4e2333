#include "ledger/ledger.h"

#include <gmock/gmock.h>

#include <random>

#include "base/prng.h"
#include "ledger/cost_statement.h"
#include "ledger/testing_books.h"

namespace stint {
namespace {

using testing::HandMade;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::of_cause;
using testing::of_client;
using ::testing::SizeIs;
using testing::sum_of;

constexpr DeviceParts kHalf = kWholeDevice / 2;

TEST(Ledger, LineIsSpreadOverWhoHeldTheNode) {
  HandMade m(2);
  const NodeId n = m.node("n");
  const DeviceId a = m.device(n, 0);
  const DeviceId b = m.device(n, 1);
  m.hour(a, 0, {{m.tenant("red"), WorkloadKind::kTraining, kWholeDevice, kHalf, true}});
  m.hour(a, 1, {{m.tenant("blue"), WorkloadKind::kEvaluation, kHalf, kHalf, true}});
  m.hour(b, 0).unhealthy = kWholeDevice;
  m.hour(b, 1).missing = kHalf;
  m.compute("n", Money::units(80));
  const auto ledger = m.post();
  ASSERT_TRUE(ledger.ok());
  // 4 GPU-hours for 80: 20 each.
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(20));
  EXPECT_EQ(of_client(*ledger, "blue"), Money::units(10));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kNone), Money::units(20));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kInactive), Money::units(10));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kUnallocated), Money::units(20));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kUnhealthy), Money::units(20));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kTelemetryMissing), Money::units(10));
  EXPECT_TRUE(check_conservation(*ledger).ok());
}

TEST(Ledger, HourlyLinesGoToTheTenantOfTheirHour) {
  HandMade m(2);
  const DeviceId d = m.device(m.node("n"), 0);
  m.hour(d, 0, {{m.tenant("red"), {}, kWholeDevice, kWholeDevice, true}});
  m.hour(d, 1, {{m.tenant("blue"), {}, kWholeDevice, kWholeDevice, true}});
  m.compute("n", Money::units(3), 0, 1);
  m.compute("arn:aws:ec2:eu-west-1:1234:instance/n", Money::units(5), 1, 2);
  const auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(3));
  EXPECT_EQ(of_client(*ledger, "blue"), Money::units(5));
}

/// A row of AWS' split cost allocation: what a pod of `ns` used of machine "i-1" in an hour.
void add_pod_share(HandMade& m, const std::string& ns, const std::string& cost, const std::string& unused, int64_t hour = 0) {
  BillLine& row = m.compute("arn:aws:eks:pod/" + ns, Money::nanos(0), hour, hour + 1);
  row.tags = {{"aws:eks:namespace", ns},
              {"split_line_item_parent_resource_id", "i-1"},
              {"split_line_item_split_cost", cost},
              {"split_line_item_unused_cost", unused}};
}

TEST(Ledger, AMachineIsDividedByTheProvidersSplitOverNamespaces) {
  HandMade m(2);
  // CPU and GPU of one pod are two rows.
  add_pod_share(m, "vision", "2", "0.25");
  add_pod_share(m, "vision", "4", "0.25");
  add_pod_share(m, "chat", "3", "0.5");
  m.compute("i-1", Money::units(20), 0, 1);
  m.compute("i-1", Money::units(7), 1, 2);
  m.history.tenant_rules = {
      {"namespace/chat", {.client = "aurora", .project = "", .team = "", .environment = "", .workload = ""}}};
  const auto ledger = m.post();
  ASSERT_TRUE(ledger.ok());
  // 6 : 3 : 1 of what the machine's own line says; the second hour has no rows and is common cost.
  const auto own = [&](std::string_view client) {
    return sum_of(*ledger, [&](const Posting& p) { return !p.shared && ledger->tenants[p.tenant].client == client; });
  };
  EXPECT_EQ(own("vision"), Money::units(12));
  EXPECT_EQ(own("aurora"), Money::units(6));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kUnallocated), Money::units(2));
  EXPECT_EQ(sum_of(*ledger, [](const Posting&) { return true; }), Money::units(27));
  EXPECT_TRUE(check_conservation(*ledger).ok());
}

TEST(Ledger, TelemetryTellsBetterThanTheProvidersSplit) {
  HandMade m(1);
  NodeId n = m.node("i-1");
  m.hour(m.device(n, 0), 0, {{m.tenant("red"), WorkloadKind::kTraining, kWholeDevice, kWholeDevice, true}});
  add_pod_share(m, "vision", "2", "0");
  m.compute("i-1", Money::units(20), 0, 1);
  const auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(20));
  EXPECT_EQ(of_client(*ledger, "vision"), Money::units(0));
}

TEST(Ledger, GooglesNamespaceLabelNamesAnOwner) {
  HandMade m(1);
  m.compute("pod-share", Money::units(5)).tags = {{"k8s-namespace", "vision"}};
  EXPECT_EQ(of_client(*m.post(), "vision"), Money::units(5));
}

TEST(Ledger, LinesAreCutToThePeriodInProportionToTime) {
  HandMade m(4);
  const DeviceId d = m.device(m.node("n"), 0);
  for (int64_t h = 0; h < 4; ++h)
    m.hour(d, h);
  m.compute("n", Money::nanos(10), 0, 3);  // a third of it is 3.33 nano-units
  LedgerOptions options;
  options.period = {kStart + kHour, kStart + kHour * 2};
  const auto ledger = m.post(options);
  EXPECT_EQ(ledger->total(), Money::nanos(3));
  EXPECT_EQ(ledger->lines[0].charge_period, options.period);
  EXPECT_TRUE(check_conservation(*ledger).ok());
  options.period = {kStart + kHour * 3, kStart + kHour * 4};
  EXPECT_THAT(m.post(options)->postings, IsEmpty());
}

TEST(Ledger, PeriodsPutTogetherGiveTheWholeLineToTheNanoUnit) {
  HandMade m(7);
  const DeviceId d = m.device(m.node("n"), 0);
  for (int64_t h = 0; h < 7; ++h)
    m.hour(d, h);
  m.compute("n", Money::nanos(1'000'000'001));
  Money sum;
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{0, 2}, {2, 7}})
    sum += m.post({CostBasis::kEffective, {kStart + kHour * from, kStart + kHour * to}})->total();
  EXPECT_EQ(sum, Money::nanos(1'000'000'001));
}

TEST(Ledger, CreditsAndCorrectionsFollowTheNode) {
  HandMade m(1);
  const DeviceId d = m.device(m.node("n"), 0);
  m.hour(d, 0, {{m.tenant("red"), {}, kHalf, kHalf, true}});
  m.compute("n", Money::units(10));
  BillLine& credit = m.compute("n", Money::units(-4));
  credit.category = ChargeCategory::kCredit;
  credit.correction = true;
  const auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(3));
  EXPECT_EQ(ledger->total(), Money::units(6));
}

TEST(Ledger, BasisChoosesBilledOrEffective) {
  HandMade m(1);
  m.hour(m.device(m.node("n"), 0), 0);
  m.compute("n", Money::units(7)).billed = Money::units(2);
  EXPECT_EQ(m.post()->total(), Money::units(7));
  EXPECT_EQ(m.post({CostBasis::kBilled, {}})->total(), Money::units(2));
}

TEST(Ledger, CommonCostFollowsGpuMoney) {
  HandMade m(4);
  const DeviceId d = m.device(m.node("n"), 0);
  for (int64_t h = 0; h < 4; ++h) {
    if (h == 3)
      m.hour(d, h);
    else
      m.hour(d, h, {{m.tenant(h == 0 ? "red" : "blue"), {}, kWholeDevice, kHalf, true}});
  }
  m.compute("n", Money::units(400));
  m.other(SpendKind::kOther, Money::units(30)).category = ChargeCategory::kTax;
  m.compute("", Money::units(9)).commitment_unused = true;
  m.other(SpendKind::kOther, Money::units(5), {{"client", "green"}});
  const auto ledger = m.post();
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(100 + 10 + 3));
  EXPECT_EQ(of_client(*ledger, "blue"), Money::units(200 + 20 + 6));
  EXPECT_EQ(of_client(*ledger, "green"), Money::units(5));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kUnusedCommitment), Money::units(9));
  EXPECT_EQ(sum_of(*ledger, [](const Posting& p) { return p.shared; }), Money::units(39));
  EXPECT_TRUE(std::is_sorted(ledger->postings.begin(), ledger->postings.end(),
                             [](const Posting& a, const Posting& b) { return a.bill_line < b.bill_line; }));
}

TEST(Ledger, CommonCostWithoutAnyGpuBelongsToNoTenant) {
  HandMade m(1);
  m.other(SpendKind::kStorage, Money::units(3));
  const auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, ""), Money::units(3));
  EXPECT_TRUE(check_conservation(*ledger).ok());
}

TEST(Ledger, StorageAndTransferFollowTagsThenTheNode) {
  HandMade m(1);
  const NodeId n = m.node("n");
  m.history.nodes[n.index()].tenant.client = "owner";
  m.hour(m.device(n, 0), 0);
  m.other(SpendKind::kStorage, Money::units(3), {{"user:Client", "red"}});
  m.other(SpendKind::kTransfer, Money::units(4)).resource_id = "n";
  m.compute("n", Money::units(1));
  const auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(3));
  EXPECT_EQ(of_client(*ledger, "owner"), Money::units(4));
}

TEST(Ledger, TagsOfTheLineNameTheOwnerOfWhatNoRunHeld) {
  HandMade m(1);
  const NodeId n = m.node("n");
  m.hour(m.device(n, 0), 0, {{m.tenant("red"), {}, kHalf, kHalf, true}});
  m.hour(m.device(n, 1), 0).missing = kWholeDevice;
  m.compute("n", Money::units(20)).tags = {{"client", "blue"}};
  const auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(5));
  EXPECT_EQ(of_client(*ledger, "blue"), Money::units(15));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kInactive), Money::units(5));
  EXPECT_EQ(sum_of(*ledger, [](const Posting& p) { return !p.activity_known; }), Money::units(10));
}

TEST(Ledger, LinesFindTheirNodeByTypeOnlyWhenThereIsNoDoubt) {
  HandMade m(1);
  for (const char* name : {"a", "b"}) {
    const NodeId n = m.node(name);
    m.history.nodes[n.index()].instance_type = name == std::string("a") ? "p4d.24xlarge" : "g5.xlarge";
    m.hour(m.device(n, 0), 0, {{m.tenant(name), {}, kWholeDevice, kWholeDevice, true}});
  }
  m.compute("i-0001", Money::units(5)).instance_type = "p4d.24xlarge";
  m.compute("b", Money::units(1));
  auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "a"), Money::units(5));
  EXPECT_THAT(ledger->problems, IsEmpty());

  m.compute("i-0002", Money::units(7)).instance_type = "p4d.24xlarge";  // a second machine of the type
  ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "a"), Money());
  EXPECT_EQ(of_cause(*ledger, IdleCause::kTelemetryMissing), Money::units(12));
  EXPECT_THAT(ledger->problems, ::testing::Contains(HasSubstr("tied to no node")));
}

TEST(Ledger, NodeWithoutABillIsPricedFromItsHours) {
  HandMade m(4);
  const NodeId n = m.node("n");
  Node& node = m.history.nodes[n.index()];
  node.provider = "aws";
  node.region = "nowhere-1";
  node.instance_type = "x1.made-up";
  node.market = Market::kSpot;
  const DeviceId d = m.device(n, 0);
  for (int64_t h = 0; h < 3; ++h)
    m.hour(d, h, {{m.tenant("red"), {}, kWholeDevice, 0, true}});
  m.hour(d, 3).present = kHalf;
  const PriceRow price{"aws", "nowhere-1", "x1.made-up", Market::kSpot, {}, {}, Rate::per_hour(Money::units(4)),
                       false, "test",      kStart};
  const Catalog catalog = Catalog::built_in().with_prices({&price, 1});
  const auto ledger = m.post({}, catalog);
  ASSERT_THAT(ledger->lines, SizeIs(1));
  EXPECT_TRUE(ledger->synthesised[0]);
  EXPECT_EQ(ledger->total(), Money::units(14));  // 3.5 h × 4
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(12));

  node.rate = Rate::per_hour(Money::units(2));  // the inventory knows better
  EXPECT_EQ(m.post({}, catalog)->total(), Money::units(7));
}

TEST(Ledger, HoursArePricedAsTheMachineCostThen) {
  HandMade m(5);
  const NodeId n = m.node("n");
  Node& node = m.history.nodes[n.index()];
  node.rate = Rate::per_hour(Money::units(8));  // the last
  node.rates = {{kStart - kHour, Rate::per_hour(Money::units(2))},
                {kStart + kHour, Rate::per_hour(Money::units(4))},
                {kStart + Duration::minutes(150), Rate::per_hour(Money::units(8))}};
  const DeviceId d = m.device(n, 0);
  for (int64_t h = 0; h < 4; ++h)
    m.hour(d, h, {{m.tenant(h == 0 ? "red" : "blue"), {}, kWholeDevice, 0, true}});
  const auto ledger = m.post();
  ASSERT_THAT(ledger->lines, SizeIs(3));
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(2));
  EXPECT_EQ(of_client(*ledger, "blue"), Money::units(4 + 2 + 4 + 8));
  EXPECT_EQ(ledger->lines[1].charge_period, (Interval{kStart + kHour, kStart + Duration::minutes(150)}));
  EXPECT_THAT(ledger->lines[1].description, HasSubstr("1.50 h × 4.0000"));
  EXPECT_TRUE(check_conservation(*ledger).ok());
}

TEST(Ledger, UnknownPriceIsAProblemAndNeverZero) {
  HandMade m(1);
  const NodeId n = m.node("n");
  m.history.nodes[n.index()].instance_type = "x9.unheard-of";
  m.hour(m.device(n, 0), 0);
  const auto ledger = m.post();
  EXPECT_TRUE(ledger->lines.empty());
  ASSERT_THAT(ledger->problems, SizeIs(1));
  EXPECT_THAT(ledger->problems[0], HasSubstr("x9.unheard-of"));
}

TEST(Ledger, BillThatCannotBeTiedIsNotPricedTwice) {
  HandMade m(1);
  for (const char* name : {"a", "b"}) {
    const NodeId n = m.node(name);
    m.history.nodes[n.index()].instance_type = "p4d.24xlarge";
    m.history.nodes[n.index()].rate = Rate::per_hour(Money::units(32));
    m.hour(m.device(n, 0), 0);
  }
  m.compute("i-0001", Money::units(30)).instance_type = "p4d.24xlarge";
  m.compute("i-0002", Money::units(30)).instance_type = "p4d.24xlarge";
  const auto ledger = m.post();
  EXPECT_EQ(ledger->total(), Money::units(60));
  EXPECT_THAT(ledger->problems, ::testing::Contains(HasSubstr("resource_id")));
}

TEST(Ledger, MixedCurrenciesAreRefusedByName) {
  HandMade m(1);
  m.hour(m.device(m.node("n"), 0), 0);
  m.compute("n", Money::units(3));
  m.compute("n", Money::units(4, *Currency::parse("EUR")));
  const auto ledger = m.post();
  ASSERT_FALSE(ledger.ok());
  EXPECT_THAT(ledger.error().message, HasSubstr("lines of the bill are in EUR and USD"));
}

TEST(Ledger, HoursOutsideTheKnownPresenceAreMissingUnlessTheBillCountsFewer) {
  HandMade m(4);
  const NodeId n = m.node("n");
  m.history.nodes[n.index()].present_from = m.history.nodes[n.index()].present_until = std::nullopt;
  const DeviceId d = m.device(n, 0);
  for (int64_t h = 0; h < 2; ++h)
    m.hour(d, h, {{m.tenant("red"), {}, kWholeDevice, kWholeDevice, true}});
  BillLine& line = m.compute("n", Money::units(40));
  EXPECT_EQ(of_cause(*m.post(), IdleCause::kTelemetryMissing), Money::units(20));
  line.pricing_unit = "Hours";
  line.quantity = "2.0";
  EXPECT_EQ(of_client(*m.post(), "red"), Money::units(40));
  line.quantity = "2.5";
  EXPECT_EQ(of_client(*m.post(), "red"), Money::units(32));
}

TEST(Ledger, WhatWasSwitchedOffIsNotMissed) {
  HandMade m(4);
  const NodeId n = m.node("n");
  Node& node = m.history.nodes[n.index()];
  node.present_from = node.present_until = std::nullopt;
  node.absent = {{kStart + kHour * 2, kStart + kHour * 4}};
  const DeviceId d = m.device(n, 0);
  for (int64_t h = 0; h < 2; ++h)
    m.hour(d, h, {{m.tenant("red"), {}, kWholeDevice, kWholeDevice, true}});
  m.compute("n", Money::units(40));
  EXPECT_EQ(of_client(*m.post(), "red"), Money::units(40));
}

TEST(Ledger, FreeGpusOfAFullHostAreStranded) {
  HandMade m(1);
  const NodeId n = m.node("n");
  m.history.nodes[n.index()].vcpus = 96;
  m.hour(m.device(n, 0), 0, {{m.tenant("red"), {}, kWholeDevice, kWholeDevice, true}});
  m.hour(m.device(n, 1), 0);
  stint::Run run;
  run.started = kStart;
  run.cpus = 96;
  run.allocations.push_back({"n", {0}, 1});
  m.history.runs.push_back(run);
  m.compute("n", Money::units(20));
  EXPECT_EQ(of_cause(*m.post(), IdleCause::kStrandedHost), Money::units(10));
  m.history.runs[0].cpus = 48;
  EXPECT_EQ(of_cause(*m.post(), IdleCause::kUnallocated), Money::units(10));
}

TEST(Ledger, MigSlicesWeighTheirShareAndTheRestIsStrandedOrFree) {
  HandMade m(1);
  const NodeId n = m.node("n");
  for (int i = 0; i < 2; ++i)
    m.hour(m.device(n, 0, "3g.40gb", 1 + i), 0, {{m.tenant(i == 0 ? "red" : "blue"), {}, kWholeDevice, kWholeDevice, true}});
  m.compute("n", Money::units(112));
  auto ledger = m.post();
  // (3/7 + 4/8) / 2 = 52/112 each; the seventh compute slice has no memory left to go with it.
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(52));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kStrandedMig), Money::units(8));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kUnallocated), Money());

  // One 3g alone: 4g.40gb fits beside it and takes all the rest.
  HandMade alone(1);
  alone.hour(alone.device(alone.node("n"), 0, "3g.40gb", 1), 0, {{alone.tenant("red"), {}, kWholeDevice, kWholeDevice, true}});
  alone.compute("n", Money::units(112));
  ledger = alone.post();
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(52));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kUnallocated), Money::units(60));
}

TEST(Ledger, NodesWithoutTelemetryGoByTheirInferredGpus) {
  HandMade m(1);
  const NodeId n = m.node("n", 1);
  m.occupancy.inferred_devices.push_back({n, "", 0, "", {}, {}});
  DeviceHour h;
  h.device = DeviceId(0);
  h.hour_index = kStart.hour_index();
  h.tenure_count = 1;
  m.occupancy.tenures.push_back({m.tenant("red"), {}, kHalf, 0, false});
  m.occupancy.inferred_hours.push_back(h);
  m.occupancy.inferred_hours[0].missing = kHalf;
  m.compute("n", Money::units(10));
  const auto ledger = m.post();
  EXPECT_EQ(of_client(*ledger, "red"), Money::units(5));
  EXPECT_EQ(of_cause(*ledger, IdleCause::kTelemetryMissing), Money::units(5));
}

// ── Evidence ──

TEST(Ledger, WhatOnlyTheInventorySpeaksOfIsNotPriced) {
  HandMade m(10);
  const NodeId n = m.node("n", 1);
  m.history.nodes[n.index()].rate = Rate::per_hour(Money::units(3));
  const auto ledger = m.post();
  ASSERT_TRUE(ledger.ok());
  EXPECT_TRUE(ledger->total().is_zero());
  EXPECT_THAT(ledger->problems, ::testing::ElementsAre(HasSubstr("--estimate")));
  // On request, and labelled.
  const auto estimate = m.post({CostBasis::kEffective, {}, true});
  EXPECT_EQ(estimate->total(), Money::units(30));
  EXPECT_EQ(estimate->estimated_total(), Money::units(30));
}

TEST(Ledger, ARunIsEvidenceAndSoIsOwning) {
  HandMade m(10);
  const NodeId run_on = m.node("a", 1), owned = m.node("b", 1);
  for (const NodeId n : {run_on, owned})
    m.history.nodes[n.index()].rate = Rate::per_hour(Money::units(3));
  m.history.nodes[owned.index()].market = Market::kOwned;
  stint::Run run;
  run.id = "1";
  run.started = kStart + kHour;
  run.ended = kStart + kHour * 2;
  run.allocations.push_back({"a", {}, 1});
  m.history.runs.push_back(run);
  const auto ledger = m.post();
  EXPECT_EQ(ledger->total(), Money::units(60));
  EXPECT_TRUE(ledger->estimated_total().is_zero());
}

TEST(Ledger, HoursThatTheBillDoesNotReachAreNamedAndNotPriced) {
  HandMade m(20);
  const NodeId n = m.node("n", 1);
  m.history.nodes[n.index()].rate = Rate::per_hour(Money::units(3));
  const DeviceId d = m.device(n, 0);
  for (int64_t h = 0; h < 20; ++h)
    m.hour(d, h, {{m.tenant("red"), {}, kWholeDevice, kWholeDevice, true}});
  m.compute("n", Money::units(40), 0, 10);
  m.history.bill_coverage = {{"aws", {kStart, kStart + kHour * 10}}};
  const auto ledger = m.post();
  EXPECT_EQ(ledger->total(), Money::units(40));
  EXPECT_EQ(ledger->unpriced_gpu_hours, 10);
  ASSERT_THAT(ledger->gpu_use, ::testing::SizeIs(1));
  EXPECT_EQ(ledger->gpu_use[0].micro_gpu_hours, 10'000'000);  // those that are paid for: 4 a GPU-hour, not 2
  EXPECT_THAT(coverage_lines(*ledger), ::testing::Contains(HasSubstr("the bill covers 50.0 % of the GPU-hours")));
  EXPECT_FALSE(covers_period(*ledger));
  EXPECT_THAT(ledger->problems, ::testing::ElementsAre(HasSubstr("10.0 GPU-hours")));
  const auto estimate = m.post({CostBasis::kEffective, {}, true});
  EXPECT_EQ(estimate->total(), Money::units(70));  // 40 billed, 10 hours at 3
  EXPECT_EQ(estimate->estimated_total(), Money::units(30));
  EXPECT_EQ(estimate->unpriced_gpu_hours, 0);
}

/// A fleet whose machines are billed on some days only, priced from usage, or owned, over ten days.
HandMade any_fleet(Prng& random) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<uint64_t>(n))); };
  HandMade m(240);
  for (int i = 0; i < 6; ++i) {
    const NodeId id = m.node(fmt::format("n{}", i), 1);
    Node& node = m.history.nodes[id.index()];
    node.rate = Rate::per_hour(Money::nanos(1 + below(9'000'000'000)));
    if (i >= 4) node.market = Market::kOwned;
    for (Instant at = kStart; i % 2 == 1 && at < kStart + kHour * 240; at = at + Duration::minutes(30 + below(3000)))
      node.rates.push_back({at, Rate::per_hour(Money::nanos(1 + below(9'000'000'000)))});
    if (below(2) == 0) node.absent = {{kStart + Duration::minutes(below(6000)), kStart + Duration::minutes(6001 + below(3000))}};
    const DeviceId d = m.device(id, 0);
    for (int64_t h = 0; h < 240; ++h) {
      DeviceHour& hour = m.hour(d, h, {{m.tenant("red"), {}, kWholeDevice / 3, kWholeDevice / 7, true}});
      if (const Interval when = {kStart + kHour * h, kStart + kHour * (h + 1)}; absent_within(node, when) > Duration())
        hour.present -= kWholeDevice / 2;
    }
    // Two of the billed machines are not billed every day, and lines cross the cuts.
    for (int64_t day = 0; day < 10 && i < 3; ++day)
      if (i == 0 || below(3) > 0)
        m.compute(node.name, Money::nanos(below(90'000'000'000) - 9'000'000'000), day * 24, day * 24 + 24);
  }
  m.other(SpendKind::kOther, Money::nanos(below(700'000'000'000)));
  for (const BillLine& line : m.history.bill)
    if (line.spend == SpendKind::kCompute) m.history.billed_resources.push_back({line.provider, line.resource_id, "", ""});
  m.history.bill_coverage = {{"aws", m.history.period}};
  return m;
}

TEST(Ledger, AnyPartitionOfAPeriodSumsToThePeriod) {
  constexpr uint64_t kSeed = 31;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Prng random(kSeed);
  for (int run = 0; run < 20; ++run) {
    const HandMade m = any_fleet(random);
    const auto whole = m.post();
    ASSERT_TRUE(whole.ok());
    std::vector<Instant> cuts = {m.history.period.begin, m.history.period.end};
    for (uint64_t n = random.below(40); n > 0; --n)
      cuts.push_back(kStart + Duration::nanoseconds(static_cast<int64_t>(random.below(240ULL * 3'600'000'000'000ULL))));
    std::ranges::sort(cuts);
    Money sum = Money::nanos(0);
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i] == cuts[i - 1]) continue;
      // As it is loaded: with the lines that touch the part alone.
      HandMade part = m;
      part.history.period = {cuts[i - 1], cuts[i]};
      std::erase_if(part.history.bill,
                    [&](const BillLine& b) { return intersect(b.charge_period, part.history.period).empty(); });
      const auto ledger = part.post();
      ASSERT_TRUE(ledger.ok());
      ASSERT_TRUE(check_conservation(*ledger).ok());
      sum += ledger->total();
    }
    EXPECT_EQ(sum, whole->total()) << cuts.size() << " cuts";
  }
}

TEST(Conservation, TheCheckFindsAPostingThatIsOff) {
  HandMade m(1);
  m.hour(m.device(m.node("n"), 0), 0);
  m.compute("n", Money::units(10));
  Ledger ledger = *m.post();
  ASSERT_TRUE(check_conservation(ledger).ok());
  ledger.postings[0].amount += Money::nanos(1);
  EXPECT_THAT(check_conservation(ledger).error().message, HasSubstr("10.000000001"));
  ledger.postings.clear();
  EXPECT_FALSE(check_conservation(ledger).ok());
}

enum class Mode { kWhole, kFraction, kTimeSlice, kMps, kMig };

/// Random tenures that a device in that sharing mode could have.
std::vector<Tenure> random_tenures(HandMade& m, Mode mode, Prng& prng) {
  const size_t count = mode == Mode::kWhole || mode == Mode::kMig ? prng.below(2) : prng.below(9);
  std::vector<Tenure> out;
  DeviceParts left = kWholeDevice;
  for (size_t i = 0; i < count; ++i) {
    Tenure t;
    t.tenant = m.tenant("client-" + std::to_string(prng.below(7)));
    t.kind = static_cast<WorkloadKind>(prng.below(7));
    switch (mode) {
      case Mode::kWhole:
      case Mode::kMig: t.held = left; break;
      case Mode::kFraction: t.held = std::min(left, static_cast<DeviceParts>(prng.below(1001)) * (kWholeDevice / 1000)); break;
      case Mode::kTimeSlice: t.held = kWholeDevice / static_cast<DeviceParts>(count); break;
      case Mode::kMps: t.held = static_cast<DeviceParts>(prng.below(static_cast<uint64_t>(left) + 1)); break;
    }
    t.activity_known = prng.below(5) != 0;
    t.active = t.activity_known ? static_cast<DeviceParts>(prng.below(static_cast<uint64_t>(t.held) + 1)) : 0;
    left -= t.held;
    out.push_back(t);
  }
  return out;
}

void fill_device(HandMade& m, DeviceId device, Mode mode, int64_t hours, Prng& prng) {
  for (int64_t h = 0; h < hours; ++h) {
    if (prng.below(10) == 0) continue;
    DeviceHour& hour = m.hour(device, h, random_tenures(m, mode, prng));
    DeviceParts rest = kWholeDevice;
    for (const Tenure& t : m.occupancy.of(hour))
      rest -= t.held;
    if (prng.below(6) == 0) hour.unhealthy = rest / 2;
    if (prng.below(6) == 0) hour.missing = rest / 3;
  }
}

HandMade random_books(Mode mode, Prng& prng) {
  const auto hours = static_cast<int64_t>(2 + prng.below(40));
  HandMade m(hours);
  const std::vector<std::vector<std::string>> layouts = {
      {"1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"},
      {"3g.40gb", "3g.40gb"},
      {"2g.20gb", "4g.40gb"},
      {"7g.80gb"}};
  for (uint32_t n = 0; n < 3; ++n) {
    const NodeId node = m.node("node-" + std::to_string(n));
    for (int gpu = 0; gpu < 2; ++gpu) {
      if (mode != Mode::kMig) {
        fill_device(m, m.device(node, gpu), mode, hours, prng);
        continue;
      }
      int instance = 0;
      for (const std::string& profile : layouts[prng.below(layouts.size())])
        fill_device(m, m.device(node, gpu, profile, ++instance), mode, hours, prng);
    }
  }
  for (int i = 0; i < 25; ++i) {
    const auto amount =
        Money::nanos(static_cast<int64_t>(prng.below(2'000'000'000'000)) - (prng.below(5) == 0 ? 2'000'000'000'000 : 0));
    const auto from = static_cast<int64_t>(prng.below(static_cast<uint64_t>(hours)));
    BillLine& line =
        m.compute("node-" + std::to_string(prng.below(4)), amount, from, from + 1 + static_cast<int64_t>(prng.below(30)));
    line.charge_period.begin =
        line.charge_period.begin + Duration::nanoseconds(static_cast<int64_t>(prng.below(3'000'000'000'000)));
    line.spend = static_cast<SpendKind>(prng.below(8) < 5 ? 0 : prng.below(4));
    line.commitment_unused = prng.below(12) == 0;
    if (prng.below(4) == 0) line.tags = {{"client", "tagged"}};
    if (prng.below(3) == 0) line.instance_type = "p4d.24xlarge";
  }
  return m;
}

class Conserves : public ::testing::TestWithParam<Mode> {};

TEST_P(Conserves, MoneyToTheNanoUnit) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Prng prng(seed);
  for (int round = 0; round < 60; ++round) {
    const HandMade m = random_books(GetParam(), prng);
    LedgerOptions options;
    options.basis = prng.below(2) == 0 ? CostBasis::kBilled : CostBasis::kEffective;
    if (prng.below(2) == 0)
      options.period = {kStart, kStart + kHour * static_cast<int64_t>(1 + prng.below(30)) + Duration::minutes(17)};
    const auto ledger = m.post(options);
    ASSERT_TRUE(ledger.ok()) << ledger.error().message;
    const Status status = check_conservation(*ledger);
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_EQ(sum_of(*ledger, [](const Posting&) { return true; }), ledger->total());
    if (options.period.empty()) continue;
    // What lies before and after the cut is the rest of the bill.
    const Instant end = options.period.end;
    const Instant far = kStart + kHour * 1000;
    const Money before = m.post({options.basis, {kStart, end}})->total();
    const Money after = m.post({options.basis, {end, far}})->total();
    ASSERT_EQ(before + after, m.post({options.basis, {kStart, far}})->total());
  }
}

std::string mode_name(const ::testing::TestParamInfo<Mode>& info) {
  constexpr const char* kNames[] = {"WholeGpu", "Fraction", "TimeSlice", "Mps", "Mig"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Ledger, Conserves,
                         ::testing::Values(Mode::kWhole, Mode::kFraction, Mode::kTimeSlice, Mode::kMps, Mode::kMig), mode_name);

}  // namespace
}  // namespace stint
