#include "sim/apply_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
