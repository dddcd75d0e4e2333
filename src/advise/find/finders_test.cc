#include <gmock/gmock.h>

#include "advise/testing_fleet.h"
#include "sim/spot_math.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Use = TestFleet::Use;
const Use kIdle{.mean = 0, .p95 = 0, .idle = 100, .memory_gib = 0};

void make_idle(NodeFacts& node) {
  for (NodeHour& hour : node.timeline)
    hour.active_gpus = hour.used_gpus = 0;
}

TEST(FindStop, StopsWhatIsIdleAllMonth) {
  TestFleet fleet;
  make_idle(fleet.add("zombie", "aws", "p3.2xlarge", WorkloadKind::kUnknown, {kIdle}));
  const Proposals found = fleet.propose(find_stop);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(found.advised[0].confidence, Level::kHigh);
  // 3.06 × 720
  EXPECT_EQ(fleet.saving(found.advised[0].change).value(), usd("2203.2"));
}

TEST(FindStop, MissingTelemetryIsNotIdleness) {
  TestFleet fleet;
  make_idle(fleet.add("unseen", "aws", "p3.2xlarge", WorkloadKind::kUnknown, {}));
  NodeFacts& half = fleet.add("half-seen", "aws", "p3.2xlarge", WorkloadKind::kUnknown, {kIdle});
  make_idle(half);
  half.coverage_pct = 40;
  half.quality = telemetry_quality(40);
  make_idle(fleet.add("three-of-four-unseen", "aws", "p3.8xlarge", WorkloadKind::kUnknown, {kIdle}));
  for (const auto find : {find_stop, find_schedule, find_limit, find_offgpu, find_resize, find_share})
    EXPECT_THAT(fleet.propose(find).advised, IsEmpty());
}

TEST(FindStop, AsksWhoHoldsAnIdleMachineAndLeavesServicesToTheirOwner) {
  TestFleet fleet;
  for (const auto kind : {WorkloadKind::kNotebook, WorkloadKind::kRealtimeInference}) {
    NodeFacts& node = fleet.add(std::string(name_of(kind)), "aws", "p3.2xlarge", kind, {kIdle});
    make_idle(node);
    node.named_holder = true;
  }
  const Proposals found = fleet.propose(find_stop);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_THAT(nodes_of(found.advised[0].change), ElementsAre("notebook"));
  EXPECT_EQ(found.advised[0].confidence, Level::kMedium);
  ASSERT_THAT(found.rejected, SizeIs(1));
  EXPECT_EQ(found.rejected[0].alone_per_month, usd("2203.2"));
}

// Work of 12 hours a day until the 14th, then none.
TEST(FindStop, StopsWhatIsIdleSinceTheFourteenth) {
  const auto fleet_idle_from = [](size_t last_work) {
    TestFleet fleet;
    NodeFacts& node = fleet.add("left", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8));
    node.checkpointable = true;
    for (size_t h = 0; h < kJuneHours; ++h)
      node.timeline[h].active_gpus = node.timeline[h].used_gpus = h < last_work && h % 24 < 12 ? 8 : 0;
    return fleet;
  };
  const Proposals found = fleet_idle_from(13 * 24).propose(find_stop);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(found.advised[0].title, "Stop left: idle since 2026-06-13");  // from noon
  EXPECT_EQ(found.advised[0].confidence, Level::kMedium);
  EXPECT_EQ(fleet_idle_from(13 * 24).saving(found.advised[0].change).value(), usd("15840"));  // 22 × 720
  EXPECT_THAT(fleet_idle_from(24 * 24).propose(find_stop).advised, IsEmpty()) << "six days are no sign";

  TestFleet dark = fleet_idle_from(13 * 24);
  dark.facts.nodes[0].timeline[400].seen_s = 0;
  EXPECT_THAT(dark.propose(find_stop).advised, IsEmpty()) << "it may have worked in that hour";
  TestFleet monthly = fleet_idle_from(13 * 24);
  for (size_t h = 24; h < 12 * 24; ++h)
    monthly.facts.nodes[0].timeline[h].active_gpus = 0;
  EXPECT_THAT(monthly.propose(find_stop).advised, IsEmpty()) << "it has rested for eleven days before and worked again";
}

// A batch machine that works 22:00–06:00 UTC every day: 8 of 24 hours.
TEST(FindSchedule, SwitchesOffTheHoursThatAreIdleEveryWeek) {
  TestFleet fleet;
  NodeFacts& node = fleet.add("batch", "aws", "p3.2xlarge", WorkloadKind::kBatchInference, {Use{}});
  for (size_t h = 0; h < kJuneHours; ++h)
    node.timeline[h].active_gpus = h % 24 >= 22 || h % 24 < 6 ? 1 : 0;
  const Proposals found = fleet.propose(find_schedule);
  ASSERT_THAT(found.advised, SizeIs(1));
  const auto& change = std::get<ScheduleOff>(found.advised[0].change);
  EXPECT_EQ(change.off.count(), 7U * 16U);
  EXPECT_FALSE(change.off[5]);
  EXPECT_TRUE(change.off[6]);
  EXPECT_TRUE(change.off[21]);
  // 3.06 × 720 × 16/24
  EXPECT_EQ(fleet.saving(change).value(), usd("1468.8"));
}

TEST(FindSchedule, NeverForRealTimeServicesNorForShortGapsNorForHoursARunHolds) {
  TestFleet fleet;
  const auto idle_from = [&](NodeFacts& node, size_t first, size_t count, bool reserved) {
    for (size_t h = 0; h < kJuneHours; ++h)
      if (h % 24 >= first && h % 24 < first + count) {
        node.timeline[h].active_gpus = 0;
        node.timeline[h].reserved = reserved;
      }
  };
  idle_from(fleet.add("live", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}}), 0, 8, false);
  idle_from(fleet.add("gaps", "aws", "p3.2xlarge", WorkloadKind::kTraining, {Use{}}), 9, 3, false);
  idle_from(fleet.add("held", "aws", "p3.2xlarge", WorkloadKind::kTraining, {Use{}}), 0, 8, true);
  const Proposals found = fleet.propose(find_schedule);
  EXPECT_THAT(found.advised, IsEmpty());
  ASSERT_THAT(found.rejected, SizeIs(1));
  EXPECT_THAT(nodes_of(found.rejected[0].change), ElementsAre("live"));
}

// The weekly evaluation of the platform story: Saturdays, 24 hours provisioned, 8 hours of work.
TEST(FindLimit, CutsTheWeeklyEvaluationToWhatItUses) {
  TestFleet fleet;
  for (const char* name : {"eval-1", "eval-2"}) {
    NodeFacts& node = fleet.add(name, "aws", "p4d.24xlarge", WorkloadKind::kEvaluation, std::vector<Use>(8));
    for (size_t h = 0; h < kJuneHours; ++h)
      node.timeline[h].active_gpus = h % 24 < 8 ? 8 : 0;
    fleet.keep_on(node, [](size_t h) { return h % 168 >= 5 * 24 && h % 168 < 6 * 24; });
    node.workload = "weekly-eval";
  }
  const Proposals found = fleet.propose(find_limit);
  ASSERT_THAT(found.advised, SizeIs(1));
  const auto& change = std::get<LimitReservation>(found.advised[0].change);
  EXPECT_EQ(change.from, Duration::hours(24));
  EXPECT_EQ(change.to, Duration::hours(9));  // 8 h × 1.1, rounded up
  EXPECT_THAT(change.nodes, ElementsAre("eval-1", "eval-2"));
  // Two machines, four Saturdays, 22 an hour: 2 × 96 × 22 = 4,224; 15/24 of it goes.
  EXPECT_EQ(fleet.saving(change).value(), usd("2640"));
}

TEST(FindLimit, SaysThatAnAlwaysOnMachineSavesNothingByShorterRuns) {
  TestFleet fleet;
  NodeFacts& node = fleet.add("train", "aws", "p3.2xlarge", WorkloadKind::kTraining, {Use{}});
  for (size_t h = 0; h < kJuneHours; ++h) {
    node.timeline[h].reserved = true;
    node.timeline[h].active_gpus = h < 360 ? 1 : 0;
  }
  const Proposals found = fleet.propose(find_limit);
  EXPECT_THAT(found.advised, IsEmpty());
  ASSERT_THAT(found.rejected, SizeIs(1));
  EXPECT_EQ(found.rejected[0].alone_per_month, usd("1101.6"));  // 360 h × 3.06
}

TEST(FindOffGpu, MovesCpuWorkToTheCheapestCpuType) {
  TestFleet fleet;
  NodeFacts& node = fleet.add("etl", "aws", "p3.2xlarge", WorkloadKind::kUnknown, {kIdle});
  make_idle(node);
  node.host_cpu_pct = 60;  // of 8 CPUs, a quarter to spare: 6
  EXPECT_THAT(fleet.propose(find_stop).advised, IsEmpty());
  const Proposals found = fleet.propose(find_offgpu);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(std::get<MoveOffGpu>(found.advised[0].change).to_instance_type, "c7i.2xlarge");
  EXPECT_EQ(fleet.saving(found.advised[0].change).value(), usd("1944"));  // (3.06 − 0.36) × 720
}

// The platform story's labs: p3.8xlarge (4 × V100) of which one GPU works.
TEST(FindResize, KeepsOnlyTheGpusThatAreEverBusyAtOnce) {
  TestFleet fleet;
  for (const char* name : {"lab-1", "lab-2"}) {
    NodeFacts& node = fleet.add(name, "aws", "p3.8xlarge", WorkloadKind::kTraining,
                                {Use{.mean = 45, .p95 = 90, .idle = 30, .memory_gib = 11}, kIdle, kIdle, kIdle});
    node.checkpointable = true;
  }
  const Proposals found = fleet.propose(find_resize);
  ASSERT_THAT(found.advised, SizeIs(1));
  const auto& change = std::get<ResizeNodes>(found.advised[0].change);
  EXPECT_EQ(change.to_instance_type, "p3.2xlarge");
  EXPECT_EQ(change.to_count, 2);
  EXPECT_EQ(found.advised[0].risk, Level::kLow);
  EXPECT_EQ(fleet.saving(change).value(), usd("13219.2"));  // 2 × (12.24 − 3.06) × 720
}

// L4 against V100 by roofline: min(121/125, 300/900) = 0.333; with 0.7 headroom 0.233 of a V100.
TEST(FindResize, ChangesTheGpuOnlyWithHeadroomAndMemory) {
  const auto target = [](Use use, WorkloadKind kind) -> std::string {
    TestFleet fleet;
    fleet.add("node", "aws", "p3.2xlarge", kind, {use});
    const Proposals found = fleet.propose(find_resize);
    return found.advised.empty() ? "" : std::get<ResizeNodes>(found.advised[0].change).to_instance_type;
  };
  const WorkloadKind batch = WorkloadKind::kBatchInference;
  EXPECT_EQ(target({.mean = 10, .p95 = 23, .idle = 10, .memory_gib = 12}, batch), "g6.xlarge");
  EXPECT_EQ(target({.mean = 10, .p95 = 24, .idle = 10, .memory_gib = 12}, batch), "");
  EXPECT_EQ(target({.mean = 10, .p95 = 23, .idle = 10, .memory_gib = 22}, batch), "");  // 24.2 GiB with margin
  // Batches may take three times as long; requests may not.
  EXPECT_EQ(target({.mean = 10, .p95 = 23, .idle = 10, .memory_gib = 12}, WorkloadKind::kRealtimeInference), "");
}

// 40 A100 40GB serving at 20 %, p95 35 %: each needs 0.42 of the compute and 8.8 GiB, a 3g.20gb. Two fit on a GPU:
// 20 GPUs in place of 40, three machines of eight in place of five.
TEST(FindShare, MigHalvesTheGpusOfLightServices) {
  TestFleet fleet;
  for (int n = 1; n <= 5; ++n)
    fleet.add(fmt::format("serve-{}", n), "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, std::vector<Use>(8));
  const Proposals found = fleet.propose(find_share);
  ASSERT_THAT(found.advised, SizeIs(1));
  const auto& change = std::get<ShareGpus>(found.advised[0].change);
  EXPECT_EQ(change.mode, SharingMode::kMig);
  EXPECT_THAT(change.nodes, SizeIs(5));
  EXPECT_THAT(change.keep, ElementsAre("serve-1", "serve-2", "serve-3"));
  EXPECT_THAT(change.placements, SizeIs(40));
  std::map<std::pair<std::string, int>, int> per_gpu;
  for (const auto& p : change.placements) {
    EXPECT_EQ(p.mig_profile, "3g.20gb");
    ++per_gpu[{p.to_node, p.to_gpu}];
  }
  EXPECT_THAT(per_gpu, SizeIs(20));
  EXPECT_EQ(fleet.saving(change).value(), usd("31680"));  // 2 × 22 × 720
}

TEST(FindShare, DifferentClientsShareOnlyByMig) {
  TestFleet v100;
  for (const char* name : {"a", "b"}) {
    NodeFacts& node = v100.add(name, "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
                               {Use{.mean = 10, .p95 = 30, .idle = 10, .memory_gib = 6}});
    node.gpus[0].client = name;
  }
  EXPECT_THAT(v100.propose(find_share).advised, IsEmpty());  // no MIG on a V100

  for (NodeFacts& node : v100.facts.nodes)
    node.gpus[0].client = "acme";
  const Proposals trusted = v100.propose(find_share);
  ASSERT_THAT(trusted.advised, SizeIs(1));
  EXPECT_EQ(std::get<ShareGpus>(trusted.advised[0].change).mode, SharingMode::kMps);

  TestFleet a100;
  for (const char* name : {"a", "b"})
    a100.add(name, "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {Use{}}).gpus[0].client = name;
  const Proposals apart = a100.propose(find_share);
  ASSERT_THAT(apart.advised, SizeIs(1));
  EXPECT_EQ(std::get<ShareGpus>(apart.advised[0].change).mode, SharingMode::kMig);
}

TEST(FindShare, LeavesGangsAloneAndTrainingOut) {
  TestFleet fleet;
  for (const char* name : {"a", "b"})
    fleet.add(name, "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {Use{}}).gpus[0].in_gang = true;
  fleet.add("c", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {Use{}});
  EXPECT_THAT(fleet.propose(find_share).advised, IsEmpty());
}

// What the data's transfer and the distance cost is not known, so no move counts as a saving.
TEST(FindRegion, ShowsMovesOutsideThePlanWhereTheDataMayBe) {
  TestFleet fleet;
  fleet.add("node", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {Use{}});
  const Proposals unknown = fleet.propose(find_region);
  EXPECT_THAT(unknown.advised, IsEmpty());
  ASSERT_THAT(unknown.rejected, SizeIs(1));
  EXPECT_EQ(unknown.rejected[0].alone_per_month, usd("504"));  // (3.7 − 3) × 720
  EXPECT_THAT(unknown.rejected[0].caveats.front(), HasSubstr("residency not known"));

  fleet.allowed_regions = {"europe-*"};
  const Proposals allowed = fleet.propose(find_region);
  EXPECT_THAT(allowed.advised, IsEmpty());
  ASSERT_THAT(allowed.rejected, SizeIs(1));
  EXPECT_EQ(std::get<MoveRegion>(allowed.rejected[0].change).to_region, "europe-west4");
  EXPECT_EQ(allowed.rejected[0].alone_per_month, usd("504"));
  EXPECT_THAT(allowed.rejected[0].caveats.front(), HasSubstr("neither the transfer of the data nor the distance"));

  fleet.allowed_regions = {"asia-*"};
  EXPECT_THAT(fleet.propose(find_region).rejected, IsEmpty());
}

TEST(FindSpot, PricesTheMixAndTheInterruptions) {
  TestFleet fleet;
  fleet.add("train", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8)).checkpointable = true;
  const Proposals found = fleet.propose(find_spot);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(found.advised[0].confidence, Level::kHigh);
  // 20 h on spot, one away with a machine on demand, six minutes in which neither is paid.
  const double after = (20.0 * 7 + 1.0 * 22) / 21.1 * 720;
  EXPECT_NEAR(fleet.saving(found.advised[0].change)->to_double(), 22 * 720 - after, 0.1);
}

TEST(FindSpot, TheChangeNamesTheMachinesThatMove) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"})
    fleet.add(name, "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8)).checkpointable = true;
  const Proposals found = fleet.propose(find_spot);
  ASSERT_THAT(found.advised, SizeIs(1));
  // 15 % of seven are one whole machine: it stays on demand, and six move.
  EXPECT_THAT(nodes_of(found.advised[0].change), ::testing::ElementsAre("b", "c", "d", "e", "f", "g"));
  EXPECT_EQ(found.advised[0].title, "Run the training experiments on 6 of 7 × p4d.24xlarge on spot");
}

TEST(FindSpot, NotForServingShortRunsOrWorkThatCannotResume) {
  TestFleet fleet;
  fleet.add("serve", "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, std::vector<Use>(8));
  fleet.add("lab", "aws", "p4d.24xlarge", WorkloadKind::kNotebook, std::vector<Use>(8));
  fleet.add("stiff", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8)).checkpointable = false;
  fleet.add("short", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8));
  fleet.add("unpriced", "aws", "p3.2xlarge", WorkloadKind::kTraining, {Use{}});
  stint::Run run;
  run.started = kJune.begin;
  run.ended = kJune.begin + Duration::minutes(20);
  run.allocations.push_back({"short", {}, 8});
  fleet.history.runs.push_back(run);
  const Proposals found = fleet.propose(find_spot);
  EXPECT_THAT(found.advised, IsEmpty());
  EXPECT_THAT(found.rejected, SizeIs(3));
}

TEST(FindSpot, UnknownCheckpointsLowerTheConfidence) {
  TestFleet fleet;
  fleet.add("train", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8));
  const Proposals found = fleet.propose(find_spot);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(found.advised[0].confidence, Level::kMedium);
}

// 3.06 on demand, 1.82 committed: break-even 59.5 % of the hours. Two machines always on, one on half of the time.
TEST(FindCommit, CommitsToWhatIsUsedBeyondBreakEven) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  fleet.keep_on(fleet.facts.nodes[2], [](size_t h) { return h % 24 < 12; });
  const Proposals found = fleet.propose(find_commit);
  ASSERT_THAT(found.advised, SizeIs(1));
  const auto& change = std::get<Commit>(found.advised[0].change);
  EXPECT_EQ(change.count, 2);
  EXPECT_EQ(change.payment, PaymentOption::kNoUpfront);
  EXPECT_EQ(fleet.saving(change).value(), usd("1785.6"));  // 2 × (3.06 − 1.82) × 720
  EXPECT_THAT(found.advised[0].arithmetic, ::testing::Contains(HasSubstr("59.5 %")));

  fleet.facts.nodes[2].timeline = fleet.facts.nodes[0].timeline;
  fleet.keep_on(fleet.facts.nodes[2], [](size_t h) { return h % 24 < 15; });  // 62.5 %: beyond break-even
  EXPECT_EQ(std::get<Commit>(fleet.propose(find_commit).advised.at(0).change).count, 3);
}

// Three machines that ran for a day have shown nothing of the year.
TEST(FindCommit, ADayOfUseIsNoYear) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  fleet.facts.period.end = fleet.facts.period.begin + Duration::hours(24);
  const Proposals found = fleet.propose(find_commit);
  EXPECT_THAT(found.advised, SizeIs(0));
  ASSERT_THAT(found.on_few_days, SizeIs(1));
  EXPECT_THAT(found.on_few_days[0].caveats.at(0), HasSubstr("rests on 1 day of use: fewer than 90"));
  EXPECT_EQ(found.on_few_days[0].risk, Level::kHigh);
}

// A month counts for those alone who say so, at a high risk; three months count.
TEST(FindCommit, AsManyDaysAsAreAskedFor) {
  TestFleet fleet;
  fleet.add("a", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  const Proposals allowed = fleet.propose(find_commit);
  ASSERT_THAT(allowed.advised, SizeIs(1));
  EXPECT_EQ(allowed.advised[0].risk, Level::kHigh);
  EXPECT_EQ(allowed.advised[0].confidence, Level::kLow);
  EXPECT_THAT(allowed.advised[0].caveats.at(0), HasSubstr("rests on 30 days of use"));
  fleet.commit_on_days = kDaysToCommit;
  const Proposals month = fleet.propose(find_commit);
  EXPECT_THAT(month.advised, IsEmpty());
  ASSERT_THAT(month.on_few_days, SizeIs(1));
  EXPECT_THAT(month.on_few_days[0].remedy, HasSubstr("90 days of use"));
  fleet.facts.period.end = fleet.facts.period.begin + Duration::hours(90 * 24);
  const Proposals enough = fleet.propose(find_commit);
  ASSERT_THAT(enough.advised, SizeIs(1));
  EXPECT_EQ(enough.advised[0].risk, Level::kMedium);
  EXPECT_EQ(enough.advised[0].confidence, Level::kMedium);
  EXPECT_THAT(enough.advised[0].caveats, ::testing::Each(::testing::Not(HasSubstr("days of use"))));
  fleet.commit_on_days = 180;
  EXPECT_THAT(fleet.propose(find_commit).on_few_days, SizeIs(1)) << "who asks for half a year gets it";
}

// 1.6 a year paid at once beats 1.82 paid monthly; three years at 1.1 are there for who wants them, at a higher risk, and for all three
// machines: the third is used for half of the hours, and 1.1 / 3.06 is 36 %.
TEST(FindCommit, ChoosesPaymentAndOffersTermsAsAlternatives) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  fleet.keep_on(fleet.facts.nodes[2], [](size_t h) { return h % 24 < 12; });
  fleet.commitment_price(CommitmentTerm::kOneYear, PaymentOption::kAllUpfront, "1.6");
  fleet.commitment_price(CommitmentTerm::kThreeYears, PaymentOption::kNoUpfront, "1.1");
  const Proposals year = fleet.propose(find_commit);
  ASSERT_THAT(year.advised, SizeIs(1));
  EXPECT_EQ(std::get<Commit>(year.advised[0].change).payment, PaymentOption::kAllUpfront);
  EXPECT_EQ(fleet.saving(year.advised[0].change).value(), usd("2102.4"))
      << "2 × (3.06 − 1.6) × 720, at the price of that payment";
  EXPECT_THAT(year.advised[0].caveats, ::testing::Contains(HasSubstr("28,032.00 USD are paid at once")));

  fleet.longest_term = CommitmentTerm::kThreeYears;
  fleet.facts.period.end = fleet.facts.period.begin + Duration::hours(90 * 24);
  const Proposals both = fleet.propose(find_commit);
  ASSERT_THAT(both.advised, SizeIs(2));
  const Commit& longer = std::get<Commit>(both.advised[0].change);
  EXPECT_EQ(longer.term, CommitmentTerm::kThreeYears);
  EXPECT_EQ(longer.count, 3);
  EXPECT_EQ(both.advised[0].risk, Level::kHigh);
  EXPECT_EQ(both.advised[1].risk, Level::kMedium);
  // 36 months × 36 %, each instance in use for 5/6 of the hours: 15.5 months.
  EXPECT_THAT(both.advised[0].arithmetic, ::testing::Contains(HasSubstr("15.5 months of the same use")));
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  ASSERT_TRUE(books.apply(both.advised[0].change).ok());
  EXPECT_THAT(books.saving_of(both.advised[1].change).error().message, HasSubstr("bought another way"));
}

// A V100 at 3.06 around the clock and one by day, an L4 at 0.8 around the clock; 25 % and 40 % below. Worth of a unit an hour: the L4 is
// first (0.8 / 0.48), then the V100s (3.06 / 2.295 = 4/3 of a unit): by day only half of it, which does not pay. 0.48 + 2.295 = 2.775.
TEST(FindSavingsPlan, CommitsToWhatPaysInEveryHour) {
  TestFleet fleet;
  fleet.add("a", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  fleet.keep_on(fleet.add("b", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}}),
                [](size_t h) { return h % 24 < 12; });
  fleet.add("c", "aws", "g6.xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  fleet.add("elsewhere", "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {Use{}});
  EXPECT_THAT(fleet.propose(find_savings_plan).advised, IsEmpty()) << "it is not said what a plan costs";
  fleet.savings_plans = {{.provider = "aws", .discount_pct = 25, .rates = {{"us-east-1", "g6.xlarge", usd("0.48")}}}};
  EXPECT_EQ(fleet.propose(find_savings_plan).advised.at(0).risk, Level::kHigh) << "on a month of use";
  fleet.facts.period.end = fleet.facts.period.begin + Duration::hours(90 * 24);
  const Proposals found = fleet.propose(find_savings_plan);
  ASSERT_THAT(found.advised, SizeIs(1));
  const auto& plan = std::get<SavingsPlan>(found.advised[0].change);
  EXPECT_EQ(plan.per_hour, usd("2.775"));
  EXPECT_THAT(plan.nodes, ::testing::UnorderedElementsAre("a", "b", "c"));
  ASSERT_NE(rate_of(plan, "us-east-1", "p3.2xlarge"), nullptr);
  EXPECT_EQ(*rate_of(plan, "us-east-1", "p3.2xlarge"), usd("2.295"));
  EXPECT_EQ(fleet.saving(plan).value(), usd("781.2")) << "(0.8 − 0.48 + 3.06 − 2.295) × 720";
  EXPECT_EQ(found.advised[0].risk, Level::kMedium);
  EXPECT_THAT(found.advised[0].arithmetic, ::testing::Contains(HasSubstr("100.0 % is used")));
  EXPECT_THAT(found.advised[0].caveats, ::testing::Contains(HasSubstr("the rates are those given")));
}

// One of two V100s is committed to; the plan takes the other: 720 × 1.82 + 720 × 2.295 in place of 2 × 720 × 3.06.
TEST(FindSavingsPlan, TakesWhatCommitmentsLeave) {
  TestFleet fleet;
  for (const char* name : {"a", "b"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  fleet.savings_plans = {{.provider = "aws", .discount_pct = 25, .rates = {}}};
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  const Money before = books.total();
  ASSERT_TRUE(
      books.apply(Commit{"aws", "us-east-1", "p3.2xlarge", 1, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"a", "b"}})
          .ok());
  const Proposals found = find_savings_plan({fleet.facts, books, prices, fleet.history, fleet.allowed_regions, fleet.longest_term,
                                             fleet.savings_plans, nullptr, fleet.commit_on_days});
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(std::get<SavingsPlan>(found.advised[0].change).per_hour, usd("2.295"));
  EXPECT_EQ(std::get<SavingsPlan>(found.advised[0].change).nodes, std::vector<std::string>{"b"});
  ASSERT_TRUE(books.apply(found.advised[0].change).ok());
  EXPECT_EQ(before - books.total(), usd("1443.6")) << "(3.06 − 1.82 + 3.06 − 2.295) × 720";
  EXPECT_THAT(books.saving_of(found.advised[0].change).error().message, HasSubstr("bought another way"));
  EXPECT_FALSE(
      books.saving_of(Commit{"aws", "us-east-1", "p3.2xlarge", 1, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"b"}})
          .ok());
}

TEST(FindCommit, SaysWhichReservedPriceIsMissing) {
  TestFleet fleet;
  fleet.add("serve", "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {Use{}});
  const Proposals found = fleet.propose(find_commit);
  EXPECT_THAT(found.advised, IsEmpty());
  ASSERT_THAT(found.rejected, SizeIs(1));
  EXPECT_THAT(found.rejected[0].caveats.front(), HasSubstr("no reserved price known for a2-highgpu-1g"));
}

}  // namespace
}  // namespace stint
