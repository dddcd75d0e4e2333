#include "sim/apply_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/change_text.h"
#include "sim/fleet_text.h"

namespace stint::sim {
namespace {

using testing::HasSubstr;

// A Monday.
const Instant kStart = from_civil({.year = 2026, .month = 10, .day = 5});

/// Three p4d.24xlarge at on-demand prices, "a", "b" and "c"; one job of an hour; c fails on Monday at 22:00 for an hour.
Workload sample() {
  Workload w;
  w.nodes = parse_fleet("3xp4d.24xlarge@us-east-1", Catalog::built_in()).value();
  w.nodes[0].node.name = "a";
  w.nodes[1].node.name = "b";
  w.nodes[2].node.name = "c";
  w.queues.emplace_back().name = "q";
  w.requests.emplace_back().gpus = 8;
  w.requests[0].gpu_models = {w.nodes[0].node.gpu_model};
  SimJob job;
  job.name = "train (17)";
  job.run_time = Duration::hours(1);
  job.spec.queue = sched::QueueId(0);
  job.spec.request = sched::RequestId(0);
  job.spec.submitted = kStart;
  w.jobs.push_back(job);
  const Instant down = kStart + Duration::hours(22);
  w.outages.push_back({.node = NodeId(2), .notice = down, .down = down, .up = down + kHour});
  return w;
}

Status apply(Workload& w, std::string_view text) {
  TRY_ASSIGN(const Change change, parse_change(text));
  const ChangeSettings settings{.catalog = &Catalog::built_in(), .spot_mean_between = sched::kUnlimited};
  TRY(apply_change(w, change, settings));
  return {};
}

TEST(ApplyChange, StoppedNodesGoAndOutagesFollowTheirNodes) {
  Workload w = sample();
  ASSERT_TRUE(apply(w, "stop:a").ok());
  ASSERT_EQ(w.nodes.size(), 2U);
  EXPECT_EQ(w.outages[0].node, NodeId(1));
  ASSERT_TRUE(apply(w, "stop:c").ok());
  EXPECT_TRUE(w.outages.empty());
  EXPECT_THAT(apply(w, "stop:b").error().message, HasSubstr("no node would be left"));
  EXPECT_EQ(w.nodes.size(), 1U) << "an error changes nothing";
}

TEST(ApplyChange, NodesAreOffInTheHoursNamed) {
  Workload w = sample();
  ASSERT_TRUE(apply(w, "schedule-off:a,c=20-7").ok());
  std::vector<Outage> of_a;
  for (const Outage& o : w.outages)
    if (o.node == NodeId(0)) of_a.push_back(o);
  // From Monday 0:00 to the next Monday 1:00: seven whole nights, cut at both ends.
  ASSERT_EQ(of_a.size(), 8U);
  EXPECT_EQ(of_a[0].up, kStart + Duration::hours(7));
  EXPECT_EQ(of_a[1].down, kStart + Duration::hours(20));
  EXPECT_EQ(of_a[1].up, kStart + Duration::hours(31));
  // c's failure on the first evening stays and takes that night's place.
  EXPECT_EQ(std::ranges::count(w.outages, NodeId(2), &Outage::node), 8);
  EXPECT_TRUE(check_workload(w).ok());
}

TEST(ApplyChange, MarketAndRegionChangeThePriceAlone) {
  Workload w = sample();
  const Rate before = w.nodes[1].rate;
  ASSERT_TRUE(apply(w, "switch-market:b=spot").ok());
  EXPECT_EQ(w.nodes[1].market, Market::kSpot);
  EXPECT_LT(w.nodes[1].rate, before);
  EXPECT_EQ(w.nodes[0].rate, before);
  EXPECT_EQ(w.outages.size(), 1U);
  EXPECT_FALSE(apply(w, "switch-market:b=owned").ok());
  EXPECT_FALSE(apply(w, "move-region:b=nowhere-1").ok());
}

TEST(ApplyChange, AnotherTypeTakesTheWorkOfTheOld) {
  Workload w = sample();
  ASSERT_TRUE(apply(w, "resize:a,b,c=2xp3.2xlarge").ok());
  ASSERT_EQ(w.nodes.size(), 2U);
  EXPECT_EQ(w.nodes[0].node.gpus, 1);
  EXPECT_EQ(w.nodes[1].node.name, "b") << "in the place of another, under its name";
  EXPECT_TRUE(w.outages.empty());
  EXPECT_EQ(w.requests[0].gpu_models.back(), w.nodes[0].node.gpu_model);
}

TEST(ApplyChange, ReservationsAreCutToTheLengthNamed) {
  Workload w = sample();
  ASSERT_TRUE(apply(w, "limit-reservation:train=15m").ok());
  EXPECT_EQ(w.jobs[0].run_time, Duration::minutes(15));
  EXPECT_THAT(apply(w, "limit-reservation:trai=15m").error().message, HasSubstr("no job is called 'trai'"));
}

void off(Workload& w, uint32_t node, int64_t from_h, int64_t to_h) {
  const Instant down = kStart + Duration::hours(from_h);
  w.outages.push_back({.node = NodeId(node),
                       .cause = OutageCause::kMaintenance,
                       .notice = down,
                       .down = down,
                       .up = kStart + Duration::hours(to_h)});
}

double hours_off(const Workload& w, const std::string& name) {
  double hours = 0;
  for (const Outage& o : w.outages)
    if (w.nodes[o.node.index()].node.name == name && o.cause == OutageCause::kMaintenance) hours += (o.up - o.down).to_hours();
  return hours;
}

TEST(ApplyChange, HoursOffJoinThoseThatAreThere) {
  Workload w = sample();
  off(w, 0, 22, 30);  // Monday 22:00 to Tuesday 06:00
  ASSERT_TRUE(apply(w, "schedule-off:a=20-7").ok());
  // Seven hours of the first morning, seven nights of eleven, the last one cut at the horizon: an hour of work and 40 minutes of backlog
  // (twice 8 GPU-hours on 24 GPUs) after a week, in whole hours.
  EXPECT_DOUBLE_EQ(hours_off(w, "a"), 7 + 6 * 11 + 6);
  EXPECT_TRUE(check_workload(w).ok());
}

TEST(ApplyChange, AReplacementIsThereWhenTheOldOneWas) {
  Workload w = sample();
  w.nodes[1].node.labels = {{.key = "cluster", .value = "east"}};
  off(w, 1, 10, 20);
  ASSERT_TRUE(apply(w, "resize:b=1xp3.2xlarge").ok());
  EXPECT_DOUBLE_EQ(hours_off(w, "b"), 10);
  EXPECT_EQ(w.nodes.back().node.labels.front().value, "east");
  EXPECT_TRUE(check_workload(w).ok());
}

TEST(ApplyChange, FewerMachinesAreThereWheneverSoManyOfAllWere) {
  Workload w = sample();
  w.nodes[0].present_until = kStart + Duration::hours(10);
  w.nodes[1].present_from = kStart + Duration::hours(5);
  w.nodes[1].present_until = kStart + Duration::hours(30);
  off(w, 1, 12, 16);
  w.nodes[2].present_from = kStart + Duration::hours(40);
  w.nodes[2].present_until = kStart + Duration::hours(50);
  w.nodes[0].present_from = kStart;
  w.outages.erase(w.outages.begin());
  ASSERT_TRUE(apply(w, "resize:a,b,c=2xp3.2xlarge").ok());
  // The first is there from 0 to 12, from 16 to 30 and from 40 to 50; the second while two of the old ones were: from 5 to 10.
  EXPECT_EQ(w.nodes[0].present_from, kStart);
  EXPECT_EQ(w.nodes[0].present_until, kStart + Duration::hours(50));
  EXPECT_DOUBLE_EQ(hours_off(w, "a"), 4 + 10);
  EXPECT_EQ(w.nodes[1].present_from, kStart + Duration::hours(5));
  EXPECT_EQ(w.nodes[1].present_until, kStart + Duration::hours(10));
  EXPECT_DOUBLE_EQ(hours_off(w, "b"), 0);
  EXPECT_TRUE(check_workload(w).ok());
}

TEST(ApplyChange, AMachineThatWasNeverNeededIsNeverThere) {
  Workload w = sample();
  for (size_t n = 0; n < 3; ++n) {
    w.nodes[n].present_from = kStart + Duration::hours(static_cast<int64_t>(10 * n));
    w.nodes[n].present_until = kStart + Duration::hours(static_cast<int64_t>(10 * n + 10));
  }
  ASSERT_TRUE(apply(w, "resize:a,b,c=2xp3.2xlarge").ok());
  EXPECT_DOUBLE_EQ(hours_off(w, "a"), 0);
  EXPECT_EQ(w.nodes[0].present_until - w.nodes[0].present_from, Duration::hours(30));
  EXPECT_DOUBLE_EQ(hours_off(w, "b"), 30);
}

TEST(ApplyChange, ASharedMachineIsThereWheneverAnyOfTheOldOnesWas) {
  Workload w = sample();
  w.requests[0].gpus = 1;
  w.jobs[0].ran_on = {"b"};
  w.nodes[0].present_from = kStart;
  w.nodes[0].present_until = kStart + Duration::hours(10);
  w.nodes[1].present_from = kStart + Duration::hours(8);
  w.nodes[1].present_until = kStart + Duration::hours(30);
  const ShareGpus share{
      .mode = SharingMode::kMps,
      .nodes = {"a", "b"},
      .keep = {"a"},
      .placements = {{.workload = "train", .from_node = "b", .to_node = "a", .mig_profile = "", .parts = kWholeDevice / 2}}};
  ASSERT_TRUE(apply_change(w, share, {.catalog = &Catalog::built_in()}).ok());
  ASSERT_EQ(w.nodes.size(), 2U);
  EXPECT_EQ(w.nodes[0].present_until, kStart + Duration::hours(30));
}

TEST(ApplyChange, MachinesThatComeAndGoAreGivenBackWhenTheirReservationEnds) {
  Workload w = sample();
  w.jobs[0].run_time = Duration::hours(24);
  off(w, 0, 0, 24);
  off(w, 0, 48, 200);
  const LimitReservation limit{.workload = "train", .nodes = {"a", "b"}, .from = Duration::hours(24), .to = Duration::hours(9)};
  const ChangeSettings settings{.catalog = &Catalog::built_in()};
  ASSERT_TRUE(apply_change(w, limit, settings).ok());
  // There from hour 24 to 48, now to 33; and from 200, which is not cut: the horizon comes before 209 would be over.
  EXPECT_DOUBLE_EQ(hours_off(w, "a"), 24 + 15 + 152);
  EXPECT_DOUBLE_EQ(hours_off(w, "b"), 0) << "is always there: who would give it back?";
}

TEST(ApplyChange, OnDemandStandsInWhileSpotIsAway) {
  Workload w = sample();
  for (SimNode& node : w.nodes)
    node.market = Market::kOnDemand;
  const Rate on_demand = w.nodes[0].rate;
  const SwitchMarket change{.nodes = {"a", "b"}, .to = Market::kSpot};
  ChangeSettings settings{.catalog = &Catalog::built_in(), .spot_mean_between = Duration::hours(2), .spot_gap = SpotGap::kAway};
  Workload away = w;
  ASSERT_TRUE(apply_change(away, change, settings).ok());
  settings.spot_gap = SpotGap::kOnDemand;
  ASSERT_TRUE(apply_change(w, change, settings).ok());
  const auto hours_away = [](const Workload& of) {
    double hours = 0;
    for (const Outage& o : of.outages)
      if (o.cause == OutageCause::kSpotInterruption) hours += (o.up - o.down).to_hours();
    return hours;
  };
  // Absences of an hour on average become five minutes, and one more when the work moves back.
  EXPECT_LT(hours_away(w), hours_away(away) / 4);
  const auto& points = w.prices[static_cast<size_t>(w.nodes[0].prices)].points;
  ASSERT_GE(points.size(), 2U);
  for (size_t i = 0; i < points.size(); ++i)
    EXPECT_EQ(points[i].rate, i % 2 == 0 ? on_demand : w.nodes[0].rate) << i;
}

TEST(ApplyChange, AnotherChangeLeavesTheLuckOfSpotNodesAsItIs) {
  const auto interruptions = [](const char* first) {
    Workload w = sample();
    const ChangeSettings settings{.catalog = &Catalog::built_in(), .spot_mean_between = Duration::hours(3)};
    if (*first != '\0') {
      EXPECT_TRUE(apply_change(w, parse_change(first).value(), settings).ok());
    }
    EXPECT_TRUE(apply_change(w, SwitchMarket{.nodes = {"c"}, .to = Market::kSpot}, settings).ok());
    std::vector<Instant> at;
    for (const Outage& o : w.outages)
      if (o.cause == OutageCause::kSpotInterruption && w.nodes[o.node.index()].node.name == "c") at.push_back(o.notice);
    return at;
  };
  const std::vector<Instant> alone = interruptions("");
  ASSERT_GT(alone.size(), 3U);
  // "c" becomes another node of the list, and others go to spot beside it.
  EXPECT_EQ(interruptions("stop:a"), alone);
  EXPECT_EQ(interruptions("switch-market:b=spot"), alone);
}

TEST(ApplyChange, WorkThatRanOnMachinesThatMoveSavesFromThenOn) {
  Workload w = sample();
  w.jobs[0].ran_on = {"b"};
  w.jobs[0].spec.time_limit = Duration::hours(5);
  const SwitchMarket change{.nodes = {"b"}, .to = Market::kSpot};
  const auto notes = apply_change(w, change, {.catalog = &Catalog::built_in()});
  ASSERT_TRUE(notes.ok());
  EXPECT_NE(notes->front().find("1 job of which no record says that they save"), std::string::npos) << notes->front();
  // Daly: 20 h between interruptions, a minute to save.
  const Duration interval = w.jobs[0].spec.checkpoint.interval;
  EXPECT_NEAR(interval.to_hours(), best_checkpoint_interval_h({}), 1e-6);
  EXPECT_EQ(w.jobs[0].spec.time_limit, sched::kUnlimited);
}

TEST(ApplyChange, WorkThatWouldLoseEverythingStaysOffSpotUnlessItRanThere) {
  Workload w = sample();
  w.jobs[0].ran_on = {"a"};
  w.jobs.push_back(w.jobs[0]);
  w.jobs.push_back(w.jobs[0]);
  w.jobs[1].ran_on = {"b"};
  w.jobs[2].spec.checkpoint.interval = Duration::hours(1);
  const SwitchMarket change{.nodes = {"b"}, .to = Market::kSpot};
  const ChangeSettings settings{
      .catalog = &Catalog::built_in(), .spot_mean_between = sched::kUnlimited, .unsaved = UnsavedJobs::kSaveOrKeepOff};
  ASSERT_TRUE(apply_change(w, change, settings).ok());
  const auto may_run_on = [&](size_t job, size_t node) {
    const auto& wanted = w.requests[w.jobs[job].spec.request.index()].node_labels;
    const auto& labels = w.nodes[node].node.labels;
    return std::ranges::all_of(wanted, [&](const auto& l) { return std::ranges::find(labels, l) != labels.end(); });
  };
  EXPECT_TRUE(may_run_on(0, 0));
  EXPECT_FALSE(may_run_on(0, 1));
  EXPECT_TRUE(may_run_on(1, 1));
  EXPECT_TRUE(may_run_on(2, 1));
}

// Two changes, one after another: the job that could not be saved at the first can be at the second, and follows its nodes.
TEST(ApplyChange, WorkThatIsSavedByNowMayGoToSpot) {
  Workload w = sample();
  w.jobs[0].ran_on = {"a"};
  const ChangeSettings settings{
      .catalog = &Catalog::built_in(), .spot_mean_between = sched::kUnlimited, .unsaved = UnsavedJobs::kSaveOrKeepOff};
  const auto to_spot = [&](const char* node) {
    return apply_change(w, SwitchMarket{.nodes = {node}, .to = Market::kSpot}, settings);
  };
  const auto labels = [&] { return w.requests[w.jobs[0].spec.request.index()].node_labels; };
  ASSERT_TRUE(to_spot("b").ok());
  EXPECT_FALSE(labels().empty());
  w.jobs[0].spec.checkpoint.interval = Duration::hours(1);
  ASSERT_TRUE(to_spot("a").ok());
  EXPECT_TRUE(labels().empty()) << "no node is left that it was bound to";
}

TEST(ApplyChange, NamesAreText) {
  const auto list = parse_changes("commit:1xp4d\xd2\xcd\xcb=1y");  // found by fuzzing: it could not be kept as JSON
  ASSERT_FALSE(list.ok());
  EXPECT_THAT(list.error().message, HasSubstr("not UTF-8"));
}

TEST(ApplyChange, WhatCannotBeReplayedIsNamed) {
  Workload w = sample();
  EXPECT_THAT(apply(w, "stop:z").error().message, HasSubstr("no node 'z'"));
  EXPECT_THAT(apply(w, "halt:z=1").error().message, HasSubstr("no kind of change is called 'halt'"));
  EXPECT_THAT(apply(w, "share:a=mps:0.5").error().message, HasSubstr("ran_on"));
  EXPECT_THAT(apply(w, "move-off-gpu:a=c7i.2xlarge").error().message, HasSubstr("ran_on"));
  EXPECT_THAT(apply(w, "commit:1xp3.2xlarge=1y").error().message, HasSubstr("no node is a p3.2xlarge"));
  w.jobs[0].ran_on = {"b"};
  EXPECT_THAT(apply(w, "share:a=mps:0.5").error().message, HasSubstr("no recorded job held one GPU of a"));
  EXPECT_THAT(apply(w, "share:a=mig:9g.1gb").error().message, HasSubstr("no MIG profile '9g.1gb'"));
  EXPECT_THAT(apply(w, "move-off-gpu:b=p3.2xlarge").error().message, HasSubstr("has GPUs"));
  w.nodes[0].instance_type.clear();
  EXPECT_THAT(apply(w, "move-region:a=us-east-2").error().message, HasSubstr("no instance type"));
  for (const char* wrong : {"",
                            "stop",
                            "stop:",
                            "schedule-off:a",
                            "schedule-off:a=7",
                            "schedule-off:a=20-20",
                            "schedule-off:a=25-3",
                            "resize:a=p3.2xlarge",
                            "resize:a=0xp3.2xlarge",
                            "switch-market:a=",
                            "limit-reservation:train=soon",
                            "commit:2=1y",
                            "commit:0xp4d.24xlarge=1y",
                            "commit:1xp4d.24xlarge=",
                            "commit:1xp4d.24xlarge=2y",
                            "commit:1xp4d.24xlarge=1y,late",
                            "savings-plan:aws=5,1y",
                            "savings-plan:aws=0,1y,p4d.24xlarge:12",
                            "savings-plan:aws=5,2y,p4d.24xlarge:12",
                            "savings-plan:aws=5,1y,late,p4d.24xlarge:12",
                            "savings-plan:aws=5,1y,p4d.24xlarge",
                            "savings-plan:aws=5,1y,:12",
                            "share:a=mps",
                            "share:a=mps:1",
                            "share:a=mps:0",
                            "share:a=mig:",
                            "share:a=half:0.5",
                            "share:a=mps:0.5@"})
    EXPECT_FALSE(apply(w, wrong).ok()) << wrong;
}

}  // namespace
}  // namespace stint::sim
