#include "advise/prove/prove.h"

#include <gmock/gmock.h>

#include "advise/prove/proof_weeks.h"
#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Instant hour(int64_t h) { return kJune.begin + kHour * h; }

/// A fleet with a History of the same machines, for jobs to be recorded in.
struct ProvenFleet : TestFleet {
  ProvenFleet() { history.period = kJune; }

  NodeFacts& machine(const std::string& name, const std::string& type, WorkloadKind kind) {
    NodeFacts& facts_of = add(name, "aws", type, kind, {{}});
    Node node;
    node.name = name;
    node.provider = facts_of.provider;
    node.region = facts_of.region;
    node.instance_type = type;
    node.gpu_model = facts_of.gpu_model;
    node.gpu_count = facts_of.gpu_count;
    node.market = Market::kOnDemand;
    node.kind = kind;
    history.nodes.push_back(node);
    return facts_of;
  }

  void run(const std::string& node, int64_t gpus, int64_t from_h, int64_t to_h) {
    Run run;
    run.id = fmt::format("{}", history.runs.size() + 1);
    run.name = "train";
    run.kind = WorkloadKind::kTraining;
    run.submitted = run.started = hour(from_h);
    run.ended = hour(to_h);
    run.allocations = {{node, {}, gpus}};
    history.runs.push_back(run);
  }

  /// One try on fresh books.
  Proof prove(const Change& change, ProofOptions options = {}) {
    const PriceLookup prices(catalog, facts.currency);
    const Books books(facts, prices);
    return Prover::create(history, facts, catalog, std::move(options)).value().try_change(change, books);
  }
};

/// Two machines of eight GPUs at 22 an hour; on the first a job of 12 h on all its GPUs every day, on the second nearly nothing.
ProvenFleet two_trainers() {
  ProvenFleet fleet;
  fleet.machine("busy", "p4d.24xlarge", WorkloadKind::kTraining);
  fleet.machine("spare", "p4d.24xlarge", WorkloadKind::kTraining);
  for (int64_t day = 0; day < 30; ++day)
    fleet.run("busy", 8, 24 * day, 24 * day + 12);
  fleet.run("spare", 8, 13, 20);
  return fleet;
}

TEST(ProofWeeks, AreWholeWeeksAndWhatIsLeft) {
  const auto days = [](std::vector<Instant> marks) {
    std::vector<int64_t> out;
    for (const Instant t : marks)
      out.push_back((t - kJune.begin).whole_seconds() / 86'400);
    return out;
  };
  EXPECT_THAT(days(week_marks(kJune)), ElementsAre(0, 7, 14, 21, 30));
  EXPECT_THAT(days(week_marks({kJune.begin, kJune.begin + kHour * (24 * 32)})), ElementsAre(0, 7, 14, 21, 28, 32));
  EXPECT_THAT(days(week_marks({kJune.begin, kJune.begin + kHour * 48})), ElementsAre(0, 2));
}

TEST(ProofWeeks, FiguresAreMeansAndTheirSpreadComesOfTheWeeks) {
  // Two weeks: in the first the change saves 100 and a job takes twice its hour, in the second it saves 300 and changes nothing.
  ProofGround ground{.marks = {hour(0), hour(168), hour(336)}, .block_of = {0, 1}, .work = {8, 8}, .hours = 336};
  ReplayTally before{.jobs = {{0, 3'600, 0, true}, {0, 3'600, 0, true}}, .paid = {1'000, 1'000}};
  ReplayTally after{.jobs = {{1'800, 7'200, 2, true}, {0, 3'600, 0, true}}, .paid = {900, 700}};
  const ProofComparison c = compare(ground, {&before, 1}, {&after, 1}, {}, {});
  EXPECT_DOUBLE_EQ(c.saving.mean, 400);
  EXPECT_DOUBLE_EQ(c.saving.p10, 200);  // the first week twice: a quarter of all drawings
  EXPECT_DOUBLE_EQ(c.saving.p90, 600);
  EXPECT_DOUBLE_EQ(c.waiting_s.mean, 900);
  EXPECT_DOUBLE_EQ(c.completion_pct.mean, 50);
  EXPECT_DOUBLE_EQ(c.completion_pct.p10, 0);
  EXPECT_DOUBLE_EQ(c.completion_pct.p90, 100);
  EXPECT_DOUBLE_EQ(c.throughput_pct.mean, 100);
  EXPECT_DOUBLE_EQ(c.after.lost_gpu_hours, 2);
  EXPECT_DOUBLE_EQ(c.after.completion_mean_s, 5'400);
  EXPECT_DOUBLE_EQ(c.after.completion_p95_s, 7'200);
  const std::vector<uint8_t> second = {0, 1};
  EXPECT_DOUBLE_EQ(compare(ground, {&before, 1}, {&after, 1}, second, {}).completion_pct.mean, 0);
}

TEST(ProofWorkload, FindsNoRoomThatNoJobHad) {
  ProvenFleet fleet = two_trainers();
  fleet.machine("service", "p4d.24xlarge", WorkloadKind::kRealtimeInference);
  NodeFacts& lab = fleet.machine("lab", "p3.2xlarge", WorkloadKind::kTraining);
  for (size_t h = 0; h < lab.timeline.size(); ++h)
    lab.timeline[h].active_gpus = h >= 10 && h < 15 ? 1 : 0;  // one stretch of five hours
  fleet.keep_on(fleet.facts.nodes[0], [](size_t h) { return h % 24 < 18; });
  const ProofWorkload made = proof_workload(fleet.history, fleet.facts).value();
  EXPECT_EQ(made.workload.nodes.size(), 3U);
  EXPECT_THAT(made.left_out.at("service"), HasSubstr("telemetry alone"));
  EXPECT_EQ(made.recorded_jobs, 31);
  EXPECT_EQ(made.seen_stretches, 1);
  double hours_away = 0;
  for (const sim::Outage& o : made.workload.outages)
    hours_away += intersect({o.down, o.up}, kJune).length().to_hours();
  EXPECT_DOUBLE_EQ(hours_away, 30 * 6);
  const auto stretch = std::ranges::find(made.workload.jobs, "work seen on lab, 1", &sim::SimJob::name);
  ASSERT_NE(stretch, made.workload.jobs.end());
  EXPECT_EQ(stretch->run_time, Duration::hours(5));
  EXPECT_EQ(stretch->spec.submitted, hour(10));
  EXPECT_THAT(made.workload.requests[stretch->spec.request.index()].allowed_nodes, ElementsAre("lab"));
}

TEST(Prover, AMachineThatWorksTwelveHoursADayCanBeOffForTheOthers) {
  // Jobs that save, from midnight to noon: with their checkpoints counted once they end at noon, as they did.
  ProvenFleet fleet = two_trainers();
  for (stint::Run& run : fleet.history.runs)
    run.checkpointable = true;
  WeekHours afternoons;
  for (size_t h = 0; h < afternoons.size(); ++h)
    afternoons[h] = h % 24 >= 12;
  const Proof proof = fleet.prove(ScheduleOff{{"busy"}, afternoons});
  EXPECT_EQ(proof.verdict, ProofVerdict::kSurvives) << proof.reason;
  EXPECT_EQ(proof.saving_per_month, usd("7920"));  // 22 × 360 h
  EXPECT_NEAR(proof.completion_pct.mean, 0, 0.01);
}

TEST(Prover, AnUnneededMachineSavesItsPrice) {
  ProvenFleet fleet = two_trainers();
  const Proof proof = fleet.prove(StopNodes{{"spare"}});
  EXPECT_EQ(proof.verdict, ProofVerdict::kSurvives) << proof.reason;
  EXPECT_EQ(proof.saving_per_month, usd("15840"));  // 22 × 720 h
  EXPECT_EQ(proof.saving_p10, proof.saving_p90);
  EXPECT_EQ(proof.jobs, 31);
  EXPECT_DOUBLE_EQ(proof.throughput_pct.mean, 100);
  EXPECT_EQ(proof.seeds, 1);
}

TEST(Prover, AMachineIdleSinceTheFourteenthIsStoppedAfterItsWork) {
  ProvenFleet fleet = two_trainers();
  for (int64_t day = 0; day < 13; ++day)
    fleet.run("spare", 8, 24 * day, 24 * day + 12);
  NodeFacts& spare = fleet.facts.nodes[1];
  for (size_t h = 0; h < kJuneHours; ++h)
    spare.timeline[h].active_gpus = h < size_t{12} * 24 + 12 && h % 24 < 12 ? 8 : 0;
  const Proof proof = fleet.prove(StopNodes{{"spare"}});
  EXPECT_EQ(proof.verdict, ProofVerdict::kSurvives) << proof.reason;
  EXPECT_EQ(proof.saving_per_month, usd("9240"));  // 22 × (720 − 300) h: what the month holds of it
  EXPECT_NEAR(proof.completion_pct.mean, 0, 0.01);
  EXPECT_THAT(proof.notes, Contains(HasSubstr("when its last work had ended")));
}

TEST(Prover, ADelayOfFewDoesNotDrownInTheMeanOfAll) {
  // The job of the spare machine would wait from hour 1 to hour 12, where the mean of all 31 grows by a few minutes only.
  ProvenFleet fleet = two_trainers();
  fleet.history.runs.pop_back();
  fleet.run("spare", 8, 1, 8);
  const Proof proof = fleet.prove(StopNodes{{"spare"}});
  EXPECT_EQ(proof.verdict, ProofVerdict::kRejected);
  EXPECT_THAT(proof.reason, HasSubstr("the 1 jobs of these machines take 157 % longer"));  // 18 h in place of 7
}

TEST(Prover, WorkThatDoesNotGetDoneIsNoSaving) {
  // Half as many GPUs: a job that needs eight never runs.
  ProvenFleet fleet = two_trainers();
  const Proof proof = fleet.prove(ResizeNodes{{"busy", "spare"}, "p3.8xlarge", "", 2});
  EXPECT_EQ(proof.verdict, ProofVerdict::kRejected);
  EXPECT_THAT(proof.reason, HasSubstr("do not finish"));
}

TEST(Prover, SpotIsTriedAsTheFindingAssumesIt) {
  ProvenFleet fleet = two_trainers();
  const Proof proof = fleet.prove(SwitchMarket{{"busy"}, Market::kSpot});
  EXPECT_EQ(proof.verdict, ProofVerdict::kSurvives) << proof.reason;
  EXPECT_EQ(proof.seeds, 5);
  // At most what the price alone would save: (22 − 7) × 720 h; on-demand stands in for an hour in twenty-one.
  EXPECT_LT(proof.saving_per_month, usd("10800"));
  EXPECT_GT(proof.saving_per_month, usd("9500"));
  EXPECT_GT(proof.completion_pct.mean, 0);
  EXPECT_LT(proof.completion_pct.mean, 25);
  EXPECT_THAT(proof.notes, Contains(HasSubstr("assumed to save every")));
  EXPECT_THAT(proof.notes, Contains(HasSubstr("on demand meanwhile")));
}

TEST(Prover, TheOrderInWhichReplaysRunChangesNothing) {
  ProvenFleet fleet = two_trainers();
  ProofOptions backwards;
  backwards.run = [](size_t count, const std::function<void(size_t)>& task) {
    for (size_t i = count; i > 0; --i)
      task(i - 1);
  };
  const Change change = SwitchMarket{{"busy"}, Market::kSpot};
  const Proof a = fleet.prove(change);
  const Proof b = fleet.prove(change, backwards);
  EXPECT_EQ(a.saving_per_month, b.saving_per_month);
  EXPECT_EQ(a.saving_p10, b.saving_p10);
  EXPECT_EQ(a.completion_pct.p90, b.completion_pct.p90);
}

TEST(Prover, ChangesAreTriedOnTopOfThoseKept) {
  ProvenFleet fleet = two_trainers();
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  Prover prover = Prover::create(fleet.history, fleet.facts, fleet.catalog, {}).value();
  ASSERT_EQ(prover.try_change(StopNodes{{"spare"}}, books).verdict, ProofVerdict::kSurvives);
  prover.keep();
  EXPECT_THAT(prover.try_change(StopNodes{{"spare"}}, books).reason, HasSubstr("no node 'spare'"));
  EXPECT_THAT(prover.try_change(StopNodes{{"busy"}}, books).reason, HasSubstr("no node would be left"));
  EXPECT_EQ(prover.whole().saving_per_month, usd("15840"));
  EXPECT_EQ(prover.together({StopNodes{{"spare"}}}, 1).saving_per_month, usd("15840"));
}

TEST(Prover, CommitmentsAreBilledAgain) {
  ProvenFleet fleet;
  fleet.machine("a", "p3.2xlarge", WorkloadKind::kRealtimeInference);
  Commit commit{"aws", "us-east-1", "p3.2xlarge", 1, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"a"}};
  const Proof proof = fleet.prove(commit);
  EXPECT_EQ(proof.verdict, ProofVerdict::kSurvives);
  EXPECT_EQ(proof.method, ProofMethod::kBill);
  EXPECT_NEAR(proof.saving_per_month.to_double(), (3.06 - 1.82) * 720, 1e-6);
  EXPECT_EQ(proof.saving_per_month, fleet.saving(commit).value()) << "as the books have it";
  // On for half of the hours it loses: 3.06 × 360 h is less than 1.82 × 720 h.
  fleet.keep_on(fleet.facts.nodes[0], [](size_t h) { return h % 24 < 12; });
  EXPECT_EQ(fleet.prove(commit).verdict, ProofVerdict::kRejected);
}

TEST(Prover, ASavingsPlanIsBilledAgain) {
  ProvenFleet fleet;
  fleet.machine("a", "p3.2xlarge", WorkloadKind::kRealtimeInference);
  SavingsPlan plan{"aws", usd("2"), CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {{"", "p3.2xlarge", usd("2.5")}}, {"a"}};
  const Proof proof = fleet.prove(plan);
  EXPECT_EQ(proof.verdict, ProofVerdict::kSurvives);
  EXPECT_EQ(proof.method, ProofMethod::kBill);
  // 2 of 2.5 an hour are paid by the plan, the fifth that is left at 3.06.
  EXPECT_NEAR(proof.saving_per_month.to_double(), (3.06 - 2 - 3.06 / 5) * 720, 1e-5);
  EXPECT_NEAR(fleet.saving(plan).value().to_double(), (3.06 - 2 - 3.06 / 5) * 720, 1e-5) << "as the books have it";
  fleet.keep_on(fleet.facts.nodes[0], [](size_t h) { return h % 24 < 12; });
  EXPECT_EQ(fleet.prove(plan).verdict, ProofVerdict::kRejected);
}

TEST(Prover, GivingBackAServiceThatRanIsNotProven) {
  ProvenFleet fleet = two_trainers();
  fleet.machine("service", "p4d.24xlarge", WorkloadKind::kRealtimeInference);
  const Proof proof = fleet.prove(StopNodes{{"service"}});
  EXPECT_EQ(proof.verdict, ProofVerdict::kArithmetic);
  EXPECT_THAT(proof.reason, HasSubstr("whether users wait for it is not known"));
  EXPECT_FALSE(Prover::create(fleet.history, fleet.facts, fleet.catalog, {.policy = "magic"}).ok());
}

}  // namespace
}  // namespace stint
