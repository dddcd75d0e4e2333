#include "sim/checkers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "sim/replay.h"
#include "sim/toy_scheduler.h"

namespace stint::sim {
namespace {

const Instant kBegin = Instant::from_seconds(1'000'000);

// Two nodes of two GPUs, one queue, jobs a minute apart that run for an hour.
class Small {
 public:
  explicit Small(int jobs = 6) {
    workload.queues.push_back({.name = "q"});
    workload.requests.push_back({.gpus = 1});
    for (int n = 0; n < 2; ++n) {
      SimNode node;
      node.node.name = "n" + std::to_string(n);
      node.node.gpus = 2;
      node.rate = Rate::per_hour(Money::units(3));
      workload.nodes.push_back(node);
    }
    for (int j = 0; j < jobs; ++j) {
      SimJob job;
      job.spec.queue = sched::QueueId(0);
      job.spec.request = sched::RequestId(0);
      job.spec.submitted = kBegin + Duration::minutes(j);
      job.run_time = Duration::hours(1);
      workload.jobs.push_back(job);
    }
  }
  sched::JobSpec& job(size_t j) { return workload.jobs[j].spec; }
  void outage(uint32_t node, Duration after, Duration length) {
    workload.outages.push_back(
        {NodeId(node), OutageCause::kNodeFailure, kBegin + after, kBegin + after, kBegin + after + length});
  }
  /// The rule that is broken; "" = none.
  std::string_view broken(Defect defect, const CheckOptions& options = {}) {
    CHECK(check_workload(workload).ok(), "{}", check_workload(workload).error().message);
    ToyScheduler toy(defect);
    load(toy, workload);
    World world(workload, {});
    Checker checker(workload, options);
    Watcher* const watchers[] = {&checker};
    drive(toy, world, watchers);
    if (!checker.violation()) checker.ended(world.finish());
    if (checker.violation()) what = checker.violation()->what;
    return checker.violation() ? checker.violation()->rule : "";
  }
  Workload workload;
  std::string what;
};

// A scenario with every feature the toy knows, and nothing to complain about.
Small whole() {
  Small s(8);
  s.workload.queues[0].limit.gpu_milli = 4'000;
  s.workload.queues[0].deserved.gpu_milli = 2'000;
  s.job(1).preemptible = false;
  s.job(2).tasks = s.job(2).min_tasks = 3;
  s.job(3).not_before = kBegin + Duration::hours(3);
  s.job(4).after = {sched::JobId(0), sched::JobId(2)};
  s.job(5).priority = 90;
  s.job(6).min_runtime = Duration::minutes(30);
  s.outage(0, Duration::minutes(100), Duration::minutes(10));
  return s;
}

TEST(Checkers, FindNothingWrongWithASchedulerThatIsRight) {
  Small s = whole();
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
}

TEST(Checkers, CatchDoubleBooking) { EXPECT_EQ(Small().broken(Defect::kDoubleBooking), "room"); }

TEST(Checkers, CatchPlacesOnANodeThatIsDown) {
  Small s;
  s.outage(0, Duration::minutes(3), Duration::hours(1));
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kDownNode), "room");
}

TEST(Checkers, CatchAPartialGang) {
  Small s;
  s.job(2).tasks = s.job(2).min_tasks = 3;
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kPartialGang), "gang");
}

TEST(Checkers, CatchALostJob) { EXPECT_EQ(Small().broken(Defect::kLostJob), "lost"); }

TEST(Checkers, CatchAJobStartedTwice) { EXPECT_EQ(Small().broken(Defect::kDuplicate), "state"); }

TEST(Checkers, CatchAnIgnoredLimitAtEveryLevel) {
  Small s;
  s.workload.queues[0].limit.gpu_milli = 2'000;
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kIgnoredLimit), "limit");
  // The same limit on a parent.
  s.workload.queues.push_back({.name = "child", .parent = sched::QueueId(0)});
  for (SimJob& job : s.workload.jobs)
    job.spec.queue = sched::QueueId(1);
  EXPECT_EQ(s.broken(Defect::kIgnoredLimit), "limit");
}

TEST(Checkers, CatchAStartInAQueueThatHasSpentItsBudget) {
  Small s;  // jobs of an hour, a minute apart, on four GPUs of 1.50 an hour: 5.85 are spent when the fifth starts
  s.workload.queues[0].budget = sched::Budget{.amount = Money::units(7), .period = {}, .from = {}};
  EXPECT_EQ(s.broken(Defect::kNone), "");
  s.workload.queues[0].budget->amount = Money::units(5);
  EXPECT_EQ(s.broken(Defect::kNone), "budget");
  s.workload.queues[0].budget->period = Duration::minutes(62);  // renewed two minutes before the first hour is over
  s.workload.queues[0].budget->from = kBegin - Duration::minutes(4);
  EXPECT_EQ(s.broken(Defect::kNone), "");
  s.workload.queues.push_back({.name = "below"});
  s.workload.queues[1].parent = sched::QueueId(0);
  s.workload.queues[0].budget->period = {};
  for (SimJob& job : s.workload.jobs)
    job.spec.queue = sched::QueueId(1);
  EXPECT_EQ(s.broken(Defect::kNone), "budget");
}

TEST(Checkers, CatchAStartInAQueueThatIsClosed) {
  Small s;  // jobs come from 13:46 on, a Monday; the last of them start an hour later
  s.workload.queues[0].closed[12] = s.workload.queues[0].closed[16] = s.workload.queues[0].closed[24 + 13] = true;
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  s.workload.queues[0].closed[14] = true;
  EXPECT_EQ(s.broken(Defect::kNone), "hours");
  s.workload.queues[0].closed[14] = false;
  s.workload.queues[0].closed[13] = true;
  EXPECT_EQ(s.broken(Defect::kNone), "hours");
}

TEST(Checkers, CatchFirmJobsAboveWhatTheirQueueDeserves) {
  Small s;
  s.workload.queues[0].deserved.gpu_milli = 1'000;
  for (SimJob& job : s.workload.jobs)
    job.spec.preemptible = false;
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kFirmAboveDeserved), "guarantee");
}

TEST(Checkers, CatchAStartThatIsTooEarly) {
  Small s;
  s.job(1).not_before = kBegin + Duration::hours(5);
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kTooEarly), "not-before");
}

TEST(Checkers, CatchAStartBeforeWhatItWaitsFor) {
  Small s;
  s.job(1).after = {sched::JobId(0)};
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kNoDependencies), "dependency");
}

TEST(Checkers, CatchTheEvictionOfAJobThatCannotBePreempted) {
  Small s;
  for (size_t j = 0; j < 4; ++j)
    s.job(j).preemptible = false;
  s.job(5).priority = 90;
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kEvictsFirm), "eviction");
}

TEST(Checkers, CatchAnEvictionBeforeTheMinimumRunTime) {
  Small s;
  for (size_t j = 0; j < 5; ++j)
    s.job(j).min_runtime = Duration::hours(1);
  s.job(5).priority = 90;
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kNoMinRuntime), "eviction");
}

TEST(Checkers, CatchRoomThatWasFreedForAJobThatDoesNotGetIt) {
  Small s(8);
  s.job(5).priority = 90;
  s.job(7).not_before = kBegin + Duration::hours(40);
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kBrokenPromise), "promise");
}

TEST(Checkers, CatchAGangOfWhichATaskIsStopped) {
  Small s;
  s.job(0).tasks = s.job(0).min_tasks = 4;
  s.job(1).priority = 90;
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kHalfEvicted), "gang");
}

TEST(Checkers, CatchARejectionOfWhatFits) { EXPECT_EQ(Small().broken(Defect::kRejectsAll), "lost"); }

TEST(Checkers, CatchASchedulerThatDoesNotLetTimePass) { EXPECT_EQ(Small().broken(Defect::kSpins), "spin"); }

TEST(Checkers, CatchAJobThatIsPassedForEver) {
  Small s(12);
  for (size_t j = 1; j < 12; ++j)
    s.job(j).submitted = kBegin + Duration::hours(static_cast<int64_t>(j));
  const CheckOptions options = {.starved_after = Duration::hours(6)};
  EXPECT_EQ(s.broken(Defect::kNone, options), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kStarves, {.starved_after = Duration::hours(20)}), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kStarves, options), "starved");
}

TEST(Checkers, CatchAStartThatIsTakenBackAtOnce) {
  Small s(5);
  s.job(0).preemptible = s.job(1).preemptible = s.job(2).preemptible = false;
  s.job(4).tasks = s.job(4).min_tasks = 2;
  s.job(4).priority = 90;
  s.job(4).submitted = s.job(3).submitted;
  s.workload.jobs[0].run_time = Duration::hours(2);
  EXPECT_EQ(s.broken(Defect::kNone), "") << s.what;
  EXPECT_EQ(s.broken(Defect::kTakesBack), "taken-back");
}

TEST(Checkers, CatchJobsThatStopEachOther) { EXPECT_EQ(Small().broken(Defect::kSwaps), "thrash"); }

// What the toy cannot give out is given out here by hand.
class ByHand {
 public:
  ByHand() { s_.workload.requests.clear(); }
  sched::Request& request(size_t job) {
    s_.workload.requests.resize(std::max(s_.workload.requests.size(), job + 1));
    s_.job(job).request = sched::RequestId(static_cast<uint32_t>(job));
    return s_.workload.requests[job];
  }
  Workload& workload() { return s_.workload; }
  /// Submits jobs 0 … and starts each task in turn at the next of `places`. @return the rule that breaks; "" = none.
  std::string_view broken(std::vector<sched::Place> places) {
    Checker checker(s_.workload, {});
    std::vector<sched::Event> events;
    std::vector<sched::Decision> decisions;
    uint32_t task = 0;
    for (uint32_t j = 0; task < places.size(); ++j) {
      events.push_back({.kind = sched::EventKind::kSubmit, .job = sched::JobId(j), .task = {}, .node = {}, .until = {}});
      const uint32_t first = task;
      for (int32_t t = 0; t < s_.job(j).tasks; ++t, ++task)
        places[task].task = sched::TaskId(task);
      decisions.push_back({.job = sched::JobId(j), .for_job = {}, .places = std::span(places).subspan(first, task - first)});
    }
    checker.saw(kBegin, events, decisions);
    return checker.violation() ? checker.violation()->rule : "";
  }

 private:
  Small s_;
};
sched::Place slice(uint32_t node, uint32_t gpu, int profile, int start) {
  return {{}, NodeId(node), uint64_t{1} << gpu, 0, static_cast<int16_t>(profile), static_cast<int16_t>(start)};
}
sched::Place whole_gpu(uint32_t node, uint32_t gpu) { return {{}, NodeId(node), uint64_t{1} << gpu}; }

TEST(Checkers, CatchSlicesThatOverlapAndLayoutsThatAreNotLegal) {
  ByHand hand;
  for (SimNode& node : hand.workload().nodes) {
    node.node.gpu_model = "A100-40GB";
    node.node.repartition = true;
  }
  const MigGeometry& geometry = *find_mig_geometry("A100-40GB");
  const auto profile = [&](std::string_view name) {
    return static_cast<int>(std::ranges::find(geometry.profiles, name, &MigProfile::name) - geometry.profiles.begin());
  };
  for (size_t j = 0; j < 4; ++j)
    hand.request(j).mig = {{"3g.20gb", 1}};
  const int half = profile("3g.20gb");
  EXPECT_EQ(hand.broken({slice(0, 0, half, 0), slice(0, 0, half, 4), slice(0, 1, half, 0), slice(1, 0, half, 4)}), "");
  EXPECT_EQ(hand.broken({slice(0, 0, half, 0), slice(0, 0, half, 0)}), "room");
  EXPECT_EQ(hand.broken({slice(0, 0, half, 2)}), "room");
  EXPECT_EQ(hand.broken({slice(0, 0, profile("1g.5gb"), 0)}), "room");  // not what was asked for
  // A GPU is cut, or given out whole.
  hand.request(1) = {.gpus = 1};
  EXPECT_EQ(hand.broken({slice(0, 0, half, 0), whole_gpu(0, 1)}), "");
  EXPECT_EQ(hand.broken({slice(0, 0, half, 0), whole_gpu(0, 0)}), "room");
  std::swap(hand.workload().requests[0], hand.workload().requests[1]);
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), slice(0, 0, half, 0)}), "room");
}

TEST(Checkers, CatchMoreInstancesThanANodeHas) {
  ByHand hand;
  hand.workload().nodes[0].node.static_mig = {{"1g.5gb", 2}, {"3g.20gb", 1}};
  for (size_t j = 0; j < 4; ++j)
    hand.request(j).mig = {{j == 1 ? "3g.20gb" : "1g.5gb", 1}};
  const sched::Place there = {{}, NodeId(0)};
  EXPECT_EQ(hand.broken({there, there, there}), "");
  EXPECT_EQ(hand.broken({there, there, there, there}), "room");
  EXPECT_EQ(hand.broken({{{}, NodeId(1)}}), "room");
}

TEST(Checkers, CatchNeighboursThatAreNotWantedOrMissing) {
  ByHand hand;
  for (size_t n = 0; n < 2; ++n)
    hand.workload().nodes[n].node.labels = {{"rack", n == 0 ? "a" : "b"}};
  hand.request(0) = {.gpus = 1};
  hand.request(0).labels = {{"app", "x"}};
  hand.request(1) = {.gpus = 1};
  hand.request(1).anti_affinity = {{{{"app", "x"}}, "rack"}};
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), whole_gpu(1, 0)}), "");
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), whole_gpu(0, 1)}), "affinity");
  std::swap(hand.workload().requests[0], hand.workload().requests[1]);  // who refuses is there first
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), whole_gpu(0, 1)}), "affinity");
  hand.request(0) = {.gpus = 1};
  hand.request(0).affinity = {{{{"app", "x"}}, "rack"}};
  EXPECT_EQ(hand.broken({whole_gpu(0, 0)}), "affinity");  // no task is there yet
  hand.request(0).labels = {{"app", "x"}};
  EXPECT_EQ(hand.broken({whole_gpu(0, 0)}), "");  // the first of its kind
  hand.request(1) = hand.request(0);
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), whole_gpu(0, 1)}), "");
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), whole_gpu(1, 0)}), "affinity");
}

TEST(Checkers, CatchPartsOfOneGpuOfThoseWhoDoNotShare) {
  ByHand hand;
  for (size_t job = 0; job < 2; ++job) {
    hand.request(job) = {.milli = 300};
    hand.request(job).shares_with = "acme";
  }
  const sched::Place part{.task = {}, .node = NodeId(0), .gpus = 1, .milli = 300};
  const sched::Place beside{.task = {}, .node = NodeId(0), .gpus = 2, .milli = 300};
  EXPECT_EQ(hand.broken({part, part}), "");
  hand.request(1).shares_with = "zoo";
  EXPECT_EQ(hand.broken({part, part}), "room");
  EXPECT_EQ(hand.broken({part, beside}), "");
}

TEST(Checkers, CatchASlowdownThatIsMoreThanWasAllowed) {
  ByHand hand;
  for (size_t job = 0; job < 2; ++job)
    hand.request(job) = {.milli = 300};
  const sched::Place part{.task = {}, .node = NodeId(0), .gpus = 1, .milli = 300};
  const sched::Place beside{.task = {}, .node = NodeId(0), .gpus = 2, .milli = 300};
  hand.request(0).max_slowdown_percent = 25;
  EXPECT_EQ(hand.broken({part, part}), "room") << "nothing was measured";
  EXPECT_EQ(hand.broken({part, beside}), "");
  hand.request(0).slowdowns = {{.beside = "train", .percent = 20}};
  hand.request(1).work_kind = "train";
  EXPECT_EQ(hand.broken({part, part}), "");
  hand.request(0).max_slowdown_percent = 19;
  EXPECT_EQ(hand.broken({part, part}), "room");
  std::swap(hand.workload().requests[0], hand.workload().requests[1]);  // who bears less is there second
  EXPECT_EQ(hand.broken({part, part}), "room");
}

TEST(Checkers, CatchAGangThatIsSpreadOverDomains) {
  ByHand hand;
  for (size_t n = 0; n < 2; ++n)
    hand.workload().nodes[n].node.labels = {{"rack", n == 0 ? "a" : "b"}};
  hand.request(0) = {.gpus = 1};
  hand.workload().jobs[0].spec.tasks = hand.workload().jobs[0].spec.min_tasks = 2;
  hand.workload().jobs[0].spec.gang = sched::GangId(0);
  sched::Gang& gang = hand.workload().gangs.emplace_back();
  gang.topology = {.required_level = "rack", .preferred_level = {}, .levels = {"rack"}};
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), whole_gpu(0, 1)}), "");
  EXPECT_EQ(hand.broken({whole_gpu(0, 0), whole_gpu(1, 1)}), "topology");
}

TEST(Checkers, CatchMoneyAndWorkThatDoNotAddUp) {
  Small s;
  ToyScheduler toy;
  load(toy, s.workload);
  World world(s.workload, {});
  Checker honest(s.workload, {});
  Watcher* const watchers[] = {&honest};
  drive(toy, world, watchers);
  const ReplayResult result = world.finish();
  const auto rule_for = [&](const auto& forge) {
    ReplayResult forged = result;
    forge(forged);
    Checker checker = honest;
    checker.ended(forged);
    return checker.violation() ? checker.violation()->rule : "";
  };
  const Money nano = Money::nanos(1);
  EXPECT_EQ(rule_for([](ReplayResult&) {}), "");
  EXPECT_EQ(rule_for([&](ReplayResult& r) { r.money.total += nano; }), "money");
  EXPECT_EQ(rule_for([&](ReplayResult& r) { r.money.idle += nano; }), "money");
  EXPECT_EQ(rule_for([&](ReplayResult& r) { r.jobs[0].cost += nano; }), "money");
  EXPECT_EQ(rule_for([](ReplayResult& r) { r.gpu_hours.useful -= 0.01; }), "work");
  EXPECT_EQ(rule_for([](ReplayResult& r) { r.gpu_hours.lost += 0.01; }), "work");
  EXPECT_EQ(rule_for([](ReplayResult& r) { r.jobs[1].gpu_hours += 0.01; }), "work");
  EXPECT_EQ(rule_for([](ReplayResult& r) { r.jobs[1].ending = JobEnding::kWaiting; }), "lost");
}

}  // namespace
}  // namespace stint::sim
