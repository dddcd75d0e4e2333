// Audit reports made by hand, for tests of what people see: an agency's, one of an empty History, a large fleet,
// and one whose every name is hostile. Amounts add up as audit() promises.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "advise/audit.h"

namespace stint::testing {

inline Money cents(int64_t c) { return Money::nanos(c * 10'000'000); }

inline Finding make_finding(std::string id, std::string title, Change change, Money saving) {
  Finding f;
  f.id = std::move(id);
  f.title = std::move(title);
  f.change = std::move(change);
  f.saving_per_month = saving;
  f.alone_per_month = saving + cents(12'050);
  f.confidence = Level::kHigh;
  f.risk = Level::kLow;
  f.evidence = {{"mean utilisation", "7.2 %"},
                {"p95 utilisation", "31.0 %"},
                {"memory, p95 of 80 GB", "11.4 GB"},
                {"telemetry", "99.1 % of 8,784 GPU-hours"}};
  f.arithmetic = {"cost now = 744 h × 32.7726 USD = 24,382.81 USD",
                  "cost after = 744 h × 9.8318 USD × 1.06 repeated work = 7,753.76 USD"};
  f.caveats = {"spot capacity can be absent for hours: keep 10 % on demand"};
  f.apply = {"aws ec2 request-spot-instances --instance-count 12 --type one-time --launch-specification file://node.json",
             "# Slurm\nscontrol update NodeName=train-[01-12] Features=spot"};
  return f;
}

/// A change that survived: 31 jobs, four weeks, five seeds.
inline Proof make_proof(Money saving) {
  Proof p;
  p.verdict = ProofVerdict::kSurvives;
  p.saving_per_month = saving;
  p.saving_p10 = saving - cents(100'000);
  p.saving_p90 = saving + cents(50'000);
  p.jobs = 31;
  p.completion_pct = {11.5, 8, 14.25};
  p.throughput_pct = {100, 100, 100};
  p.before = {
      .waiting_mean_s = 60, .completion_mean_s = 36'000, .completion_p95_s = 72'000, .lost_gpu_hours = 0, .unfinished = 0};
  p.after = {
      .waiting_mean_s = 90, .completion_mean_s = 40'140, .completion_p95_s = 80'000, .lost_gpu_hours = 21, .unfinished = 0};
  p.weeks = 4;
  p.seeds = 5;
  p.notes = {"12 jobs of which no record says that they save: assumed to save every 0.79 h"};
  return p;
}

/// Busy in office hours, less at night and on Sunday; `level` is the daytime mean.
inline std::vector<float> office_week(float level) {
  std::vector<float> hours(168);
  for (size_t h = 0; h < hours.size(); ++h) {
    const bool day = h % 24 >= 8 && h % 24 < 20;
    const float weekend = h / 24 >= 5 ? 0.3F : 1.0F;
    hours[h] = std::min(100.0F, level * weekend * (day ? 1.0F : 0.25F));
  }
  return hours;
}

/// `count` nodes of `gpus` GPUs each at 100 USD a month and node, with telemetry of all qualities, none included.
inline void add_nodes(AuditReport& report, size_t count, std::string_view prefix) {
  constexpr double kLevels[] = {3.1, 12.4, 22.7, 41.0, 64.3, 88.8};
  for (size_t i = 0; i < count; ++i) {
    NodeAudit n;
    n.node = NodeId(static_cast<uint32_t>(i));
    n.name = fmt::format("{}-{:02}", prefix, i + 1);
    n.provider = "aws";
    n.region = "eu-west-1";
    n.instance_type = i % 3 == 0 ? "p4d.24xlarge" : i % 3 == 1 ? "g5.4xlarge" : "p3.8xlarge";
    n.gpu_model = i % 3 == 0 ? "A100-40GB" : i % 3 == 1 ? "A10G" : "V100-16GB";
    n.gpu_count = i % 3 == 0 ? 8 : i % 3 == 1 ? 1 : 4;
    n.market = i % 4 == 3 ? Market::kSpot : Market::kOnDemand;
    n.kind = i % 3 == 0 ? WorkloadKind::kTraining : i % 3 == 1 ? WorkloadKind::kRealtimeInference : WorkloadKind::kEvaluation;
    n.category = i % 3 == 0 ? "production training" : i % 3 == 1 ? "serving" : "evaluation";
    n.client = i % 2 == 0 ? "Northwind" : "Acme Robotics";
    n.hours = 744;
    n.cost_per_month = cents(188'000) - cents(static_cast<int64_t>(i % 40) * 4'100);
    n.memory_total = Bytes::gibi(int64_t{40});
    HeatRow heat{n.name, std::vector<float>(168, -1.0F)};
    if (i % 11 != 10) {
      const double level = kLevels[i % 6];
      n.mean_utilization_pct = level;
      n.p95_utilization_pct = std::min(100.0, level * 2.6);
      n.idle_pct = std::max(0.0, 70 - level);
      n.memory_p95 = Bytes::gibi(9.5);
      n.memory_peak = Bytes::gibi(11.2);
      n.coverage_pct = i % 5 == 4 ? 62 : 99.3;
      n.utilization_source = "utilization";
      n.quality = i % 5 == 4 ? TelemetryQuality::kFair : TelemetryQuality::kGood;
      n.verdict = utilization_verdict(level);
      if (level < 30)
        n.diagnosis = {"the CPUs starve the GPU: host CPU 96 % while the GPU waits; more data-loader workers, pinned memory"};
      n.findings = {"F-0000000" + std::to_string(i % 5 + 1)};
      heat.hours = office_week(static_cast<float>(level * 1.8));
      report.curve.push_back({n.name, level, Money::estimate(1.9 / (level / 100))});
    }
    report.heat.push_back(std::move(heat));
    report.nodes.push_back(std::move(n));
  }
  std::stable_sort(report.nodes.begin(), report.nodes.end(),
                   [](const auto& a, const auto& b) { return a.cost_per_month > b.cost_per_month; });
}

/// Bill = clients = 47,000.00; findings sum to bill − plan; idle causes 19,400.00.
inline AuditReport agency_report() {
  AuditReport r;
  r.period = {from_civil({.year = 2026, .month = 10}), from_civil({.year = 2026, .month = 11})};
  r.findings = {
      make_finding("F-00000001", "Run 90 % of the production training on 12 × p4d.24xlarge on spot",
                   SwitchMarket{{"node-01", "node-04"}, Market::kSpot}, cents(1'163'905)),
      make_finding("F-00000002", "Pack 7 services of 6 × g5.4xlarge onto 2 by MIG",
                   ShareGpus{SharingMode::kMig,
                             {"node-02", "node-05"},
                             {"node-02"},
                             {{"bert-api", "node-05", 0, "node-02", 0, "1g.10gb", 0, kWholeDevice / 7}}},
                   cents(687'140)),
      make_finding("F-00000003", "Keep 4 × p3.8xlarge for 8 h instead of 24 h each time (weekly-eval)",
                   LimitReservation{"weekly-eval", {"node-03"}, Duration::hours(24), Duration::hours(8)}, cents(402'633)),
      make_finding("F-00000004", "Stop node-07: idle all the time", StopNodes{{"node-07"}}, cents(188'000)),
      make_finding("F-00000005", "Commit to 2 × g5.4xlarge for a year",
                   Commit{"aws", "eu-west-1", "g5.4xlarge", 2, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"node-02"}},
                   cents(94'722))};
  r.findings[1].risk = Level::kMedium;
  r.findings[2].effort = Level::kLow;
  r.findings[4].confidence = Level::kMedium;
  r.findings[4].risk = Level::kHigh;
  r.rejected = {make_finding("F-0000000a", "Move 6 × g5.4xlarge from eu-west-1 to us-east-2",
                             MoveRegion{{"node-02"}, "us-east-2"}, Money())};
  r.rejected[0].caveats.insert(r.rejected[0].caveats.begin(), "only eu-* regions are allowed for this work");
  r.clients = {
      {"Northwind", cents(1'812'400), cents(1'103'000), cents(402'100), cents(98'300), cents(61'000), cents(54'000),
       cents(32'000), cents(62'000), cents(711'200), 5210, 27.4},
      {"Acme Robotics", cents(1'101'250), cents(450'250), cents(510'000), cents(0), cents(40'000), cents(38'000), cents(19'000),
       cents(44'000), cents(402'000), 3302, 21.9},
      {"", cents(1'268'350), cents(0), cents(0), cents(0), cents(1'214'350), cents(0), cents(0), cents(54'000), cents(0), 0, {}},
      {"Blåbær & Söhne", cents(518'000), cents(330'000), cents(90'000), cents(40'000), cents(8'000), cents(30'000), cents(5'000),
       cents(15'000), cents(226'800), 1544, 11.0}};
  r.idle_causes = {{"inactive", cents(1'340'000)},
                   {"unallocated", cents(511'250)},
                   {"stranded-mig", cents(61'000)},
                   {"telemetry-missing", cents(27'750)}};
  r.categories = {{"production training", cents(1'883'250)},
                  {"serving", cents(1'402'100)},
                  {"training experiments", cents(901'300)},
                  {"evaluation", cents(238'350)},
                  {"storage", cents(186'000)},
                  {"transfer", cents(89'000)}};
  add_nodes(r, 25, "node");
  r.holders = {{"research/trainer-7f9c/main", "Northwind", 2210.5, 31.2, 12.0, Bytes::gibi(31.5), 99.0},
               {"serving/bert-api/bert", "Acme Robotics", 744.0, 4.1, 88.0, Bytes::gibi(6.2), 97.5}};
  r.imports = {{"focus", "bill-2026-10.csv", "a1", from_civil({.year = 2026, .month = 11, .day = 2}), 1240, 3, 0},
               {"dcgm", "dcgm-2026-10.txt.gz", "b2", from_civil({.year = 2026, .month = 11, .day = 2}), 18'400'212, 0, 24}};
  r.notes = {"no telemetry: node-11, node-22, 2,940.00 USD/month. Import nvidia-smi, DCGM or Prometheus data for them",
             "3 prices used are older than 180 days: import current ones with `stint import prices`"};
  r.out_of_reach = {"2,750.00 USD/month of storage and transfer: no finding here changes them",
                    "11,020.00 USD/month runs on 7 nodes that are used for half of the time or more: only cheaper capacity or "
                    "less work lowers it"};
  PriceRow spot{.provider = "aws", .region = "us-east-1", .instance_type = "p4d.24xlarge", .market = Market::kSpot};
  spot.rate = Rate::per_hour(cents(1311));
  spot.source = "a quote";
  spot.as_of = from_civil({.year = 2025, .month = 1});
  r.prices = {{spot, PriceDoubt::kOld, true}};
  CostAnomaly jump{.client = "Blåbær & Söhne", .provider = "aws", .service = "AmazonEC2"};
  jump.first_day = from_civil({.year = 2026, .month = 10, .day = 30});
  jump.days = 2;
  jump.recent = true;
  jump.cost = cents(90'000);
  jump.expected = cents(30'000);
  jump.score = 6.2;
  r.anomalies = CostAnomalies{.anomalies = {jump}, .until = r.period.end, .series = 12, .judged = 11};
  Money saving;
  for (const Finding& f : r.findings)
    saving += f.saving_per_month;
  r.totals = {true, cents(4'700'000), cents(4'700'000) - saving, saving, 23.0, 94.2, 18'600, cents(1099), 1.0};
  r.findings[0].price_doubt = PriceDoubt::kEstimated;
  r.totals.saving_by = {r.findings[4].saving_per_month, saving - r.findings[0].saving_per_month - r.findings[4].saving_per_month,
                        r.findings[0].saving_per_month};
  r.totals.plan_range = PlanRange{cents(2'000'000), cents(2'500'000), "spot prices between 26 % lower and 81 % higher"};
  r.commitments_aside = CommitmentsAside{.findings = {},
                                         .days = 31,
                                         .days_asked = 90,
                                         .saving_per_month = cents(100'000),
                                         .plan_per_month = r.totals.plan_per_month};
  r.commitments_aside->plan_per_month -= r.commitments_aside->saving_per_month;
  r.totals.not_used_per_month = cents(1'940'000);
  r.data = {{"bill", false, "aws 2026-10-01 to 2026-10-10"}, {"telemetry", true, "covers 94.2 % of 18600 GPU-hours"}};
  r.findings[0].proof = make_proof(cents(1'000'000));
  r.findings[1].proof.emplace().reason = "a service known by telemetry alone";
  r.findings[4].proof = make_proof(cents(94'722));
  r.findings[4].proof->method = ProofMethod::kBill;
  r.proof = PlanProof{.together = make_proof(cents(1'000'000)),
                      .by_jobs = r.findings[0].saving_per_month,
                      .by_requests = cents(0),
                      .by_bill = r.findings[4].saving_per_month,
                      .by_sum = saving - r.findings[0].saving_per_month - r.findings[4].saving_per_month};
  r.goals = {{parse_goal("cost<=18000").value(),
              GoalOutcome::kFails,
              "21,636.00 USD a month",
              {"3,636.00 USD a month too much"},
              {{"Run the evaluation on spot: jobs take longer", cents(300'000), "jobs that may end later"},
               {"no change known here", cents(63'600), "cheaper capacity"}}},
             {parse_goal("training-throughput>=140%").value(),
              GoalOutcome::kHolds,
              "190 % of the work of the period",
              {"replayed with 140 % of the jobs (43): they take 9.1 h from submission to end"}},
             {parse_goal("p99<=100%").value(), GoalOutcome::kNotShown, "", {"no machine is known to serve requests"}}};
  return r;
}

/// A History without anything in it: all figures 0, all lists empty.
inline AuditReport empty_report() {
  AuditReport r;
  r.period = {from_civil({.year = 2026, .month = 10}), from_civil({.year = 2026, .month = 11})};
  return r;
}

/// 2,000 nodes, 300 findings, 150 clients, 3,000 pods.
inline AuditReport large_report() {
  AuditReport r = empty_report();
  add_nodes(r, 2000, "gpu-worker-eu-west-1a-pool");
  Money saving;
  for (int i = 0; i < 300; ++i) {
    r.findings.push_back(
        make_finding(fmt::format("F-{:08x}", i + 1),
                     fmt::format("Replace {} × p3.8xlarge by g6e.4xlarge for the experiments of research group {}", i + 2, i),
                     ResizeNodes{std::vector<std::string>(static_cast<size_t>(i % 40 + 1), "gpu-worker-eu-west-1a-pool-0001"),
                                 "g6e.4xlarge", "", 4},
                     cents(900'000 - i * 2'900)));
    saving += r.findings.back().saving_per_month;
  }
  for (int i = 0; i < 150; ++i) {
    const Money part = cents(3'000'000 - i * 17'000);
    r.clients.push_back({fmt::format("client {}", i), part, part, Money(), Money(), Money(), Money(), Money(), Money(),
                         scale(part, 1, 3), 9000, 31});
  }
  for (int i = 0; i < 3000; ++i)
    r.holders.push_back({fmt::format("namespace-{}/a-rather-long-deployment-name-{}-7f9c6d5b8-x2x9z/main", i % 70, i),
                         fmt::format("client {}", i % 150), 744, 18, 40, Bytes::gibi(8.0), 96});
  r.idle_causes = {{"inactive", Money::units(911'000)}};
  r.totals = {true, Money::units(3'400'000), Money::units(3'400'000) - saving, saving, 24.1, 88, 1.4e6, cents(904), 1.0};
  return r;
}

/// The agency's figures under names somebody made to break out of the page, the table or the JSON.
inline AuditReport hostile_report() {
  AuditReport r = agency_report();
  const std::string evil =
      "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x1b[31m\xff\xe2\x80\xae" + std::string(300, 'W');
  for (NodeAudit& n : r.nodes)
    n.name = n.region = n.instance_type = n.gpu_model = n.client = n.category = n.provider = n.utilization_source = evil;
  for (HeatRow& h : r.heat)
    h.node = evil;
  for (CurvePoint& p : r.curve)
    p.node = evil;
  for (ClientSpend& c : r.clients)
    c.client = evil;
  for (HolderAudit& h : r.holders)
    h.name = h.client = evil;
  for (NamedAmount& a : r.categories)
    a.name = evil;
  for (ImportRecord& i : r.imports)
    i.source = i.kind = i.fingerprint = evil;
  r.notes = r.out_of_reach = {evil};
  for (Finding& f : r.findings) {
    f.title = evil;
    f.change = ResizeNodes{{evil, evil}, evil, evil, 1};
    f.evidence = {{evil, evil}};
    f.arithmetic = f.caveats = f.apply = {evil + "\nsecond line"};
    f.proof = make_proof(cents(1));
    f.proof->reason = evil;
    f.proof->notes = {evil};
  }
  return r;
}

}  // namespace stint::testing
