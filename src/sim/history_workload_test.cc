#include "sim/history_workload.h"

#include <gtest/gtest.h>

#include "sched/scheduler.h"
#include "sim/replay.h"

namespace stint::sim {
namespace {

const Interval kPeriod = {Instant::from_seconds(1'800'000'000), Instant::from_seconds(1'800'000'000 + 86'400)};
Instant at(int64_t minutes) { return kPeriod.begin + Duration::minutes(minutes); }

Node node(const char* name, int64_t gpus, const char* model) {
  Node n;
  n.name = name;
  n.gpu_count = gpus;
  n.gpu_model = model;
  return n;
}

Run run(const char* id, int64_t begin, int64_t end, std::vector<RunAllocation> allocations) {
  Run r;
  r.id = id;
  r.submitted = at(begin - 5);
  r.started = at(begin);
  r.ended = at(end);
  r.allocations = std::move(allocations);
  return r;
}

History history() {
  History h;
  h.period = kPeriod;
  h.nodes = {node("big", 8, "A100-80GB"), node("small", 2, "L4"), node("store", 0, "")};
  return h;
}

const PriceOfNode kNoPrice = [](const Node&) { return std::optional<Rate>(); };

TEST(HistoryWorkload, KeepsWhatTheRecordsSay) {
  History h = history();
  h.runs = {run("7", 10, 70, {{"small", {0}, 1}})};
  h.runs[0].tenant.client = "acme";
  h.runs[0].kind = WorkloadKind::kRealtimeInference;
  h.nodes[1].rate = Rate::per_hour(Money::nanos(1'500'000'000));
  const HistoryWorkload made = workload_of(h, kNoPrice).value();
  ASSERT_EQ(made.workload.nodes.size(), 2U);  // the one without GPUs is no place for work
  EXPECT_EQ(made.nodes_without_price, 1);
  EXPECT_EQ(made.workload.nodes[1].rate, *h.nodes[1].rate);
  ASSERT_EQ(made.workload.jobs.size(), 1U);
  const SimJob& job = made.workload.jobs[0];
  EXPECT_EQ(job.run_time, Duration::minutes(60));
  EXPECT_EQ(job.spec.submitted, at(5));
  EXPECT_FALSE(job.spec.preemptible);
  EXPECT_EQ(made.workload.queues[job.spec.queue.index()].name, "acme");
  const sched::Request& request = made.workload.requests[job.spec.request.index()];
  EXPECT_EQ(request.gpus, 1);
  EXPECT_EQ(request.gpu_models, std::vector<std::string>{"L4"});
}

TEST(HistoryWorkload, CheckpointsArePartOfTheTimeThatAJobTook) {
  History h = history();
  h.runs = {run("7", 0, 720, {{"small", {0}, 1}})};  // twelve hours, saving every hour for a minute
  h.runs[0].checkpointable = true;
  const Workload w = workload_of(h, kNoPrice).value().workload;
  EXPECT_EQ(w.jobs.at(0).run_time, Duration::minutes(720 - 11));
  sched::Scheduler scheduler{sched::Policy{}};
  const ReplayResult result = replay(scheduler, w, {});
  EXPECT_EQ(result.jobs.at(0).ended - result.jobs.at(0).first_start, Duration::minutes(720));
}

TEST(HistoryWorkload, WorkAndItsCheckpointsAreTheTimeTaken) {
  const sched::CheckpointBehaviour saves = {.interval = Duration::minutes(10), .save = Duration::minutes(1), .restart = {}};
  const auto work = [&](int64_t minutes) { return work_within(Duration::minutes(minutes), saves); };
  EXPECT_EQ(work(5), Duration::minutes(5));
  EXPECT_EQ(work(10), Duration::minutes(10));  // it ends before it would save
  EXPECT_EQ(work(11), Duration::minutes(10));  // no whole work takes eleven: the nearest below takes ten
  EXPECT_EQ(work(12), Duration::minutes(11));
  EXPECT_EQ(work(21), Duration::minutes(20));
  EXPECT_EQ(work(120), Duration::minutes(110));  // ten checkpoints
  EXPECT_EQ(work_within(Duration::hours(12), {}), Duration::hours(12));
}

TEST(HistoryWorkload, AMachineThatWasAbsentIsAway) {
  History h = history();
  h.runs = {run("7", 10, 70, {{"small", {0}, 1}})};
  h.nodes[1].absent = {{at(100), at(200)}};
  const HistoryWorkload made = workload_of(h, kNoPrice).value();
  ASSERT_EQ(made.workload.outages.size(), 1U);
  const Outage& away = made.workload.outages[0];
  EXPECT_EQ(made.workload.nodes[away.node.index()].node.name, "small");
  EXPECT_EQ(away.cause, OutageCause::kMaintenance);
  EXPECT_EQ(away.down, at(100));
  EXPECT_EQ(away.up, at(200));
}

TEST(HistoryWorkload, AJobOverSeveralNodesIsAGangOfAsManyTasks) {
  History h = history();
  h.nodes.push_back(node("big2", 8, "A100-80GB"));
  h.runs = {run("1", 0, 60, {{"big", {}, 4}, {"big2", {}, 4}})};
  const SimJob job = workload_of(h, kNoPrice).value().workload.jobs.at(0);
  EXPECT_EQ(job.spec.tasks, 2);
  EXPECT_EQ(job.spec.min_tasks, 2);
}

TEST(HistoryWorkload, WhatCannotBeReplayedIsCounted) {
  History h = history();
  h.runs = {run("cpu", 0, 60, {}), run("never", 0, 60, {{"big", {}, 1}}), run("none", 10, 10, {{"big", {}, 1}}),
            run("good", 0, 60, {{"big", {}, 8}})};
  h.runs[1].started = std::nullopt;
  const HistoryWorkload made = workload_of(h, kNoPrice).value();
  EXPECT_EQ(made.runs, 4);
  EXPECT_EQ(made.workload.jobs.size(), 1U);
  EXPECT_EQ(made.left_out.at("runs without GPUs"), 1);
  EXPECT_EQ(made.left_out.at("runs that never started"), 1);
  EXPECT_EQ(made.left_out.at("runs of no length"), 1);
}

TEST(HistoryWorkload, WithoutMachinesOrJobsItSaysWhatToImport) {
  History h = history();
  EXPECT_NE(workload_of(h, kNoPrice).error().message.find("sacct"), std::string::npos);
  h.nodes.clear();
  EXPECT_NE(workload_of(h, kNoPrice).error().message.find("inventory"), std::string::npos);
}

}  // namespace
}  // namespace stint::sim
