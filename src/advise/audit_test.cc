#include "advise/audit.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <set>

#include "advise/node_facts.h"
#include "advise/testing_fleet.h"
#include "base/prng.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A History of June 2026 with telemetry, as importers would leave it; prices come from the test catalogue.
struct World {
  Catalog catalog = test_catalog();
  History history;
  Usage usage;

  World() { history.period = usage.period = kJune; }

  using Curve = std::function<double(size_t hour)>;  ///< utilisation %, < 0 = no sample

  Node& node(const std::string& name, const std::string& provider, const std::string& type, WorkloadKind kind) {
    Node n;
    n.name = name;
    n.provider = provider;
    n.region = provider == "aws" ? "us-east-1" : "us-central1";
    n.instance_type = type;
    n.market = Market::kOnDemand;
    n.gpu_count = catalog.find_instance(provider, type)->whole_gpus();
    n.gpu_model = catalog.find_instance(provider, type)->gpu_model;
    n.kind = kind;
    n.present_from = kJune.begin;
    n.present_until = kJune.end;
    history.nodes.push_back(n);
    return history.nodes.back();
  }

  /// A GPU of the last node.
  void gpu(const Curve& utilization, double memory_gib) {
    Device device;
    device.node = NodeId(static_cast<uint32_t>(history.nodes.size() - 1));
    device.index = static_cast<int>(
        std::count_if(history.devices.begin(), history.devices.end(), [&](const Device& d) { return d.node == device.node; }));
    device.model = history.nodes.back().gpu_model;
    device.memory = catalog.find_gpu(device.model)->memory;
    history.devices.push_back(device);
    DeviceUsage& use = usage.devices.emplace_back();
    for (size_t h = 0; h < kJuneHours; ++h) {
      const double u = utilization(h);
      if (u < 0) continue;
      put(use.metrics, Metric::kUtilization, h, u);
      if (memory_gib > 0) put(use.metrics, Metric::kMemoryUsed, h, memory_gib * 1024 * 1024 * 1024);
    }
  }

  static void put(std::map<Metric, HourlySeries>& metrics, Metric metric, size_t hour, double value) {
    HourlySeries& s = metrics[metric];
    s.hours.resize(kJuneHours);
    s.hours[hour] = {static_cast<float>(value), static_cast<float>(value), 3600,
                     static_cast<uint16_t>(value < kIdleBelowPercent ? 1000 : 0)};
    s.sketch.add(metric, value, 60);
    s.max = std::max(s.max, value);
    s.count += 60;
  }

  [[nodiscard]] AuditReport run() const {
    AuditInput input{history, usage, catalog, kJune.end, {}};
    input.commit_on_days = commit_on_days;
    return audit(input).value();
  }

  double commit_on_days = kFewestDaysToCommit;  ///< the month of these fleets is to be enough
};

Money sum_of_savings(const AuditReport& report) {
  Money sum;
  for (const Finding& f : report.findings)
    sum += f.saving_per_month;
  return sum;
}

const Finding* find(const AuditReport& report, std::string_view kind) {
  const auto it =
      std::find_if(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return kind_of(f.change) == kind; });
  return it == report.findings.end() ? nullptr : &*it;
}

TEST(Audit, BatchInferenceIsNoServing) {
  EXPECT_EQ(category_of(WorkloadKind::kBatchInference, {}), "batch inference");
  EXPECT_EQ(category_of(WorkloadKind::kRealtimeInference, {}), "serving");
}

TEST(Audit, PricesAFleetByHandCount) {
  World world;
  world.node("lab", "aws", "p3.8xlarge", WorkloadKind::kTraining).checkpointable = false;
  world.gpu([](size_t h) { return h % 2 == 0 ? 80.0 : 0.0; }, 11);
  for (int i = 0; i < 3; ++i)
    world.gpu([](size_t) { return 0.0; }, 0);
  const AuditReport report = world.run();
  EXPECT_EQ(report.totals.bill_per_month, usd("8812.8"));  // 12.24 × 720
  EXPECT_DOUBLE_EQ(report.totals.months, 1);
  EXPECT_NEAR(report.totals.mean_utilization_pct.value(), 10, 0.01);  // one of four GPUs, 40 %
  const Finding* resize = find(report, "resize");
  ASSERT_NE(resize, nullptr);
  EXPECT_EQ(resize->saving_per_month, usd("6609.6"));  // (12.24 − 3.06) × 720
  // What is left, 3.06 an hour around the clock, is committed to: 1.24 × 720 less.
  const Finding* commit = find(report, "commit");
  ASSERT_NE(commit, nullptr);
  EXPECT_EQ(commit->saving_per_month, usd("892.8"));
  EXPECT_TRUE(commit->alone_per_month.is_zero());          // there is no p3.2xlarge before the resize
  EXPECT_EQ(report.totals.plan_per_month, usd("1310.4"));  // 1.82 × 720
  // 8,812.80 over 2,880 GPU-hours at 10 %.
  EXPECT_NEAR(report.totals.per_useful_gpu_hour.to_double(), 30.6, 0.01);
  // The other 90 %, by cause: idle causes leave nothing unexplained.
  EXPECT_NEAR(report.totals.not_used_per_month.to_double(), 7931.52, 0.9);
  Money causes;
  for (const NamedAmount& cause : report.idle_causes)
    causes += cause.amount;
  EXPECT_EQ(causes, report.totals.not_used_per_month);
  EXPECT_THAT(report.idle_causes, Contains(::testing::Field(&NamedAmount::name, "partly-used")));
  ASSERT_THAT(report.nodes, SizeIs(1));
  EXPECT_EQ(report.nodes[0].verdict, UtilizationVerdict::kOverProvisioned);
  EXPECT_EQ(report.nodes[0].quality, TelemetryQuality::kGood);
  EXPECT_THAT(report.nodes[0].findings, SizeIs(2));
  EXPECT_NEAR(report.heat.at(0).hours.at(0), 20, 0.01);
  EXPECT_NEAR(report.heat.at(0).hours.at(1), 0, 0.01);
}

TEST(Audit, WithoutTelemetryThereIsNoFindingThatRestsOnUse) {
  World world;
  world.node("dark", "aws", "p3.8xlarge", WorkloadKind::kRealtimeInference);
  // Nothing says that it ran: no figure, and nothing to find.
  const AuditReport unknown = world.run();
  EXPECT_FALSE(unknown.totals.priced);
  EXPECT_THAT(unknown.findings, IsEmpty());
  BillLine line;
  line.provider = "aws";
  line.resource_id = "dark";
  line.instance_type = "p3.8xlarge";
  line.spend = SpendKind::kCompute;
  line.charge_period = line.billing_period = kJune;
  line.billed = line.effective = usd("8812.8");
  world.history.bill.push_back(line);
  const AuditReport report = world.run();
  EXPECT_EQ(report.totals.bill_per_month, usd("8812.8"));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.nodes.at(0).quality, TelemetryQuality::kNone);
  EXPECT_EQ(report.nodes.at(0).mean_utilization_pct, std::nullopt);
  EXPECT_EQ(report.totals.mean_utilization_pct, std::nullopt);
  EXPECT_THAT(report.notes, Contains(HasSubstr("no telemetry: dark")));
}

TEST(Audit, TheCostOfAMachineWithoutAPriceIsNotKnown) {
  World world;
  world.node("dark", "aws", "p3.8xlarge", WorkloadKind::kRealtimeInference).instance_type = "p99.huge";
  const AuditReport report = world.run();
  EXPECT_FALSE(report.totals.priced);
  EXPECT_THAT(report.notes, Contains(HasSubstr("no telemetry: dark, cost not known")));
}

TEST(Audit, TwoFindingsOnANodeDoNotCountTwice) {
  World world;
  world.node("batch", "aws", "p4d.24xlarge", WorkloadKind::kBatchInference).checkpointable = true;
  for (int i = 0; i < 8; ++i)
    world.gpu([](size_t h) { return h % 24 < 12 ? 90.0 : 0.0; }, 30);
  const AuditReport report = world.run();
  const Finding* schedule = find(report, "schedule-off");
  const Finding* spot = find(report, "switch-market");
  ASSERT_NE(schedule, nullptr);
  ASSERT_NE(spot, nullptr);
  EXPECT_EQ(schedule->saving_per_month, usd("7920"));  // half of 22 × 720
  // Spot works on the half that is left; alone it would work on the whole.
  EXPECT_NEAR(spot->alone_per_month.to_double(), 2 * spot->saving_per_month.to_double(), 1e-6);
  EXPECT_LT(report.totals.saving_per_month, schedule->alone_per_month + spot->alone_per_month);
  EXPECT_EQ(report.totals.bill_per_month - report.totals.plan_per_month, sum_of_savings(report));
}

TEST(Audit, ACommittedMachineIsNotGivenBack) {
  World world;
  world.node("reserved", "aws", "p3.8xlarge", WorkloadKind::kTraining).market = Market::kReserved;
  world.history.nodes[0].rate = Rate::per_hour(usd("7"));
  for (int i = 0; i < 4; ++i)
    world.gpu([](size_t) { return 0.0; }, 0);
  const AuditReport report = world.run();
  EXPECT_THAT(report.findings, IsEmpty());
  ASSERT_FALSE(report.rejected.empty());
  EXPECT_THAT(report.rejected[0].caveats.front(), HasSubstr("reserved"));
  EXPECT_THAT(report.out_of_reach, Contains(HasSubstr("reserved")));
}

/// June of one machine in 30 charges of a day each: `days` of them as `market`, the others on demand.
void bill_days(World& world, Market market, int days) {
  const Node& node = world.history.nodes.back();
  for (int day = 0; day < 30; ++day) {
    BillLine line;
    line.provider = node.provider;
    line.resource_id = node.name;
    line.region = node.region;
    line.instance_type = node.instance_type;
    line.spend = SpendKind::kCompute;
    line.market = day < days ? market : Market::kOnDemand;
    line.charge_period = {kJune.begin + kHour * (24 * day), kJune.begin + kHour * (24 * (day + 1))};
    line.billing_period = kJune;
    line.billed = line.effective = usd("240");
    line.pricing_unit = "Hours";
    line.quantity = "24";
    world.history.bill.push_back(line);
  }
}

TEST(Audit, TheBillsMarketWinsOverTheInventorys) {
  // An idle machine that the inventory calls on-demand and that a savings plan pays: giving it back saves nothing.
  World world;
  world.node("covered", "aws", "p3.8xlarge", WorkloadKind::kTraining);
  for (int i = 0; i < 4; ++i)
    world.gpu([](size_t) { return 0.0; }, 0);
  bill_days(world, Market::kReserved, 30);
  const AuditReport report = world.run();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.nodes.at(0).market, Market::kReserved);
  ASSERT_THAT(report.contradictions, SizeIs(1));
  EXPECT_EQ(report.contradictions[0].node, "covered");
  EXPECT_EQ(report.contradictions[0].what, "market");
  EXPECT_EQ(report.contradictions[0].inventory, "on-demand");
  EXPECT_EQ(report.contradictions[0].bill, "reserved");
  EXPECT_DOUBLE_EQ(report.contradictions[0].bill_hours_pct, 100);
  EXPECT_THAT(report.notes, Contains(HasSubstr("covered (market: on-demand in the inventory, reserved on the bill)")));
}

TEST(Audit, ComputeOfABillAloneIsNoStorage) {
  World world;
  for (const SpendKind spend : {SpendKind::kCompute, SpendKind::kStorage}) {
    BillLine line;
    line.provider = "aws";
    line.region = "us-east-1";
    line.spend = spend;
    if (spend == SpendKind::kCompute) line.instance_type = "p4d.24xlarge";
    line.charge_period = line.billing_period = kJune;
    line.billed = line.effective = usd(spend == SpendKind::kCompute ? "15840" : "160");
    world.history.bill.push_back(line);
  }
  const AuditReport report = world.run();
  EXPECT_THAT(report.out_of_reach,
              Contains(HasSubstr("15,840.00 USD/month of compute is on lines of the bill that name no machine")));
  EXPECT_THAT(report.out_of_reach, Contains(HasSubstr("160.00 USD/month of storage, transfer, support")));
}

// A machine at 70 % around the clock: 3.06 an hour on demand, 1.82 for a year. A month of that is not enough to count 1.24 × 720.
TEST(Audit, CommitmentsOnFewDaysStandBesideThePlan) {
  World world;
  world.node("server", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference);
  world.gpu([](size_t) { return 70.0; }, 12);
  world.commit_on_days = AuditInput{world.history, world.usage, world.catalog, kJune.end, {}}.commit_on_days;
  const AuditReport report = world.run();
  EXPECT_EQ(find(report, "commit"), nullptr);
  EXPECT_EQ(report.totals.plan_per_month, usd("2203.2"));  // 3.06 × 720
  ASSERT_TRUE(report.commitments_aside);
  EXPECT_EQ(report.commitments_aside->days, 30);
  EXPECT_EQ(report.commitments_aside->days_asked, 90);
  EXPECT_EQ(report.commitments_aside->saving_per_month, usd("892.8"));
  EXPECT_EQ(report.commitments_aside->plan_per_month, usd("1310.4"));
  ASSERT_THAT(report.rejected, SizeIs(1));
  EXPECT_THAT(report.commitments_aside->findings, ::testing::ElementsAre(report.rejected[0].id));
  EXPECT_EQ(report.rejected[0].risk, Level::kHigh);
  EXPECT_EQ(report.rejected[0].alone_per_month, usd("892.8"));
  EXPECT_THAT(report.rejected[0].caveats.at(0), HasSubstr("rests on 30 days of use"));

  world.commit_on_days = kFewestDaysToCommit;
  const AuditReport counted = world.run();
  EXPECT_FALSE(counted.commitments_aside);
  EXPECT_EQ(counted.totals.plan_per_month, usd("1310.4")) << "who says that a month is enough has it counted";
}

// One machine, two terms: what is beside the plan takes it once. And what is riskier than wanted is no outlook either.
TEST(Audit, CommitmentsBesideThePlanAreAlternativesAndKeepToTheRiskWanted) {
  World world;
  world.node("server", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference);
  world.gpu([](size_t) { return 70.0; }, 12);
  const PriceRow longer{.provider = "aws",
                        .region = "us-east-1",
                        .instance_type = "p3.2xlarge",
                        .market = Market::kReserved,
                        .term = CommitmentTerm::kThreeYears,
                        .payment = PaymentOption::kNoUpfront,
                        .rate = Rate::per_hour(usd("1.1")),
                        .estimated = false,
                        .source = "test",
                        .as_of = kJune.begin};
  const Catalog catalog = world.catalog.with_prices(std::span(&longer, 1));
  AuditInput input{world.history, world.usage, catalog, kJune.end, {}};
  input.longest_term = CommitmentTerm::kThreeYears;
  input.proof = ProofOptions();
  const AuditReport both = audit(input).value();
  ASSERT_TRUE(both.commitments_aside);
  EXPECT_THAT(both.commitments_aside->findings, SizeIs(1));
  EXPECT_EQ(both.commitments_aside->saving_per_month, usd("1411.2"));  // (3.06 − 1.1) × 720
  ASSERT_THAT(both.rejected, SizeIs(2));
  for (const Finding& f : both.rejected)
    if (f.id == both.commitments_aside->findings[0]) {
      ASSERT_TRUE(f.proof) << "its hours are billed again";
      EXPECT_EQ(f.proof->verdict, ProofVerdict::kSurvives);
      EXPECT_EQ(f.proof->method, ProofMethod::kBill);
    } else {
      EXPECT_THAT(f.caveats.at(0), HasSubstr("bought another way"));
    }

  input.choice.max_risk = Level::kMedium;
  const AuditReport careful = audit(input).value();
  EXPECT_FALSE(careful.commitments_aside);
  EXPECT_THAT(careful.rejected, SizeIs(2));
}

TEST(Audit, ABillAloneShowsCommitmentsAndWhatIsAlwaysOn) {
  World world;
  for (const char* id : {"arn:aws:ec2:us-east-1:1:instance/i-1", "arn:aws:ec2:us-east-1:1:instance/i-2"}) {
    BillLine line;
    line.provider = "aws";
    line.region = "us-east-1";
    line.resource_id = id;
    line.instance_type = "p3.2xlarge";
    line.market = Market::kOnDemand;
    line.spend = SpendKind::kCompute;
    line.charge_period = line.billing_period = kJune;
    line.billed = line.effective = usd("2203.2");  // 3.06 × 720
    world.history.bill.push_back(line);
  }
  const AuditReport report = world.run();
  const Finding* commit = find(report, "commit");
  ASSERT_NE(commit, nullptr);
  EXPECT_EQ(commit->saving_per_month, usd("1785.6"));  // 2 × (3.06 − 1.82) × 720
  EXPECT_EQ(commit->confidence, Level::kLow);
  EXPECT_THAT(commit->caveats, Contains(HasSubstr("the bill alone")));
  EXPECT_EQ(report.totals.gpu_hours, 1440);
  EXPECT_THAT(report.notes, Contains(HasSubstr("charged in every hour, nights and weekends too: i-1, i-2, 4,406.40 USD/month")));
}

TEST(Audit, MostOfTheHoursSayWhatTheBillSays) {
  World world;
  world.node("mixed", "aws", "p3.8xlarge", WorkloadKind::kTraining).market = Market::kReserved;
  bill_days(world, Market::kReserved, 6);
  const AuditReport report = world.run();
  EXPECT_EQ(report.nodes.at(0).market, Market::kOnDemand);
  ASSERT_THAT(report.contradictions, SizeIs(1));
  EXPECT_DOUBLE_EQ(report.contradictions[0].bill_hours_pct, 80);
}

TEST(Audit, ARegionOnTheBillCountsWhereTheCatalogueKnowsIt) {
  World world;
  world.node("moved", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining);
  bill_days(world, Market::kOnDemand, 30);
  for (BillLine& line : world.history.bill)
    line.region = "europe-west4";
  const AuditReport moved = world.run();
  EXPECT_EQ(moved.nodes.at(0).region, "europe-west4");
  ASSERT_THAT(moved.contradictions, SizeIs(1));
  EXPECT_EQ(moved.contradictions[0].what, "region");
  for (BillLine& line : world.history.bill)
    line.region = "Netherlands, Eemshaven";
  EXPECT_EQ(world.run().nodes.at(0).region, "us-central1");
  EXPECT_THAT(world.run().contradictions, IsEmpty());
}

// GenAI serving: memory held around the clock, two thirds of the samples at 0.
TEST(Audit, ShowsWhoHoldsMemoryWithoutWorking) {
  World world;
  world.node("host", "aws", "p3.2xlarge", WorkloadKind::kUnknown);
  world.gpu([](size_t h) { return h % 3 == 0 ? 21.0 : 0.0; }, 12);
  world.history.holders.push_back({});
  world.history.holders.back().container = "10.0.0.7";
  DeviceUsage& device = world.usage.devices[0];
  device.holders.push_back({.holder = HolderId(0), .metrics = device.metrics});
  const AuditReport report = world.run();
  ASSERT_THAT(report.holders, SizeIs(1));
  EXPECT_EQ(report.holders[0].name, "10.0.0.7");
  EXPECT_NEAR(report.holders[0].mean_utilization_pct.value(), 7, 0.01);
  EXPECT_NEAR(report.holders[0].idle_pct.value(), 100 * 2.0 / 3, 0.01);
  EXPECT_NEAR(report.holders[0].memory_mean.value().to_gibi(), 12, 0.01);
  EXPECT_NEAR(report.holders[0].gpu_hours, 720, 0.01);
  EXPECT_THAT(report.notes, Contains(HasSubstr("memory in use is no sign of work")));
}

World random_world(uint64_t seed) {
  Prng prng(seed);
  World world;
  const std::pair<const char*, const char*> types[] = {
      {"aws", "p3.2xlarge"}, {"aws", "p3.8xlarge"}, {"aws", "p4d.24xlarge"}, {"gcp", "a2-highgpu-1g"}};
  const size_t count = 3 + prng.below(10);
  for (size_t n = 0; n < count; ++n) {
    const auto& [provider, type] = types[prng.below(std::size(types))];
    Node& node = world.node(fmt::format("node-{:02}", n), provider, type, static_cast<WorkloadKind>(prng.below(7)));
    if (prng.below(3) == 0) node.checkpointable = prng.below(2) == 0;
    if (prng.below(6) == 0) node.market = Market::kReserved;
    if (prng.below(4) == 0)
      node.rate = Rate::per_hour(Money::nanos(1'000'000'007 + static_cast<int64_t>(prng.below(20'000'000'000))));
    if (prng.below(4) == 0) node.present_until = kJune.begin + kHour * static_cast<int64_t>(50 + prng.below(600));
    node.tenant.client = fmt::format("client-{}", prng.below(3));
    const int64_t gpus = node.gpu_count;
    const size_t on = prng.below(24), length = prng.below(25);
    const double level = 100 * prng.uniform();
    const double memory = 14 * prng.uniform();
    const bool dark = prng.below(5) == 0;
    const int64_t present = (*node.present_until - kJune.begin).count_ns() / kHour.count_ns();
    for (int64_t g = 0; g < gpus; ++g) {
      const bool used = prng.below(3) > 0;
      world.gpu(
          [&](size_t h) {
            return dark || static_cast<int64_t>(h) >= present ? -1.0 : used && (h + 24 - on) % 24 < length ? level : 0.0;
          },
          used ? memory : 0);
    }
  }
  return world;
}

TEST(Audit, SavingsSumToBillLessPlanOnRandomFleets) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const AuditReport report = random_world(seed).run();
    EXPECT_EQ(report.totals.bill_per_month - report.totals.plan_per_month, sum_of_savings(report));
    EXPECT_GE(report.totals.plan_per_month, Money());
    std::set<std::string> ids, structural, market;
    for (const Finding& f : report.findings) {
      EXPECT_GT(f.saving_per_month, Money());
      EXPECT_TRUE(ids.insert(f.id).second) << f.id;
      const std::string_view kind = kind_of(f.change);
      for (const std::string& node : nodes_of(f.change)) {
        if (kind == "stop" || kind == "resize" || kind == "share" || kind == "move-off-gpu") {
          EXPECT_TRUE(structural.insert(node).second) << node;
        }
        if (kind == "switch-market" || kind == "commit") {
          EXPECT_TRUE(market.insert(node).second) << node;
        }
      }
      EXPECT_FALSE(f.apply.empty());
      EXPECT_FALSE(f.arithmetic.empty());
    }
    Money clients, categories;
    for (const ClientSpend& c : report.clients)
      clients += c.total;
    for (const NamedAmount& c : report.categories)
      categories += c.amount;
    EXPECT_EQ(clients, report.totals.bill_per_month);
    EXPECT_EQ(categories, report.totals.bill_per_month);
    const SavingBasis& by = report.totals.saving_by;
    EXPECT_EQ(by.replayed + by.arithmetic + by.doubtful_price, report.totals.saving_per_month);
    EXPECT_LE(report.totals.not_used_per_month, report.totals.bill_per_month);
  }
}

TEST(Audit, TheSameHistoryGivesTheSameReport) {
  const AuditReport a = random_world(7).run();
  const AuditReport b = random_world(7).run();
  ASSERT_EQ(a.findings.size(), b.findings.size());
  for (size_t i = 0; i < a.findings.size(); ++i) {
    EXPECT_EQ(a.findings[i].id, b.findings[i].id);
    EXPECT_EQ(a.findings[i].saving_per_month, b.findings[i].saving_per_month);
    EXPECT_EQ(a.findings[i].apply, b.findings[i].apply);
  }
  EXPECT_EQ(a.out_of_reach, b.out_of_reach);
}

TEST(BillingMonths, WholeMonthsAreCountedAndOthersScaledTo730Hours) {
  const Interval quarter = {kJune.begin, month_of(from_civil({.year = 2026, .month = 8})).end};
  EXPECT_DOUBLE_EQ(BillingMonths(quarter).count(), 3);
  EXPECT_EQ(BillingMonths(quarter).monthly(usd("300")), usd("100"));
  const Interval ten_days = {kJune.begin + kHour, kJune.begin + kHour * 241};
  EXPECT_NEAR(BillingMonths(ten_days).count(), 240.0 / 730, 1e-12);
  EXPECT_EQ(BillingMonths(ten_days).monthly(usd("240")), usd("730"));
  const std::vector<Money> parts = {usd("0.000000001"), usd("0.000000001"), usd("0.000000001")};
  Money sum;
  for (const Money m : BillingMonths(quarter).monthly(parts))
    sum += m;
  EXPECT_EQ(sum, usd("0.000000001"));
}

}  // namespace
}  // namespace stint
