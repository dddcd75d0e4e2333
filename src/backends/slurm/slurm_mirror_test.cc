#include "backends/slurm/slurm_mirror.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "backends/slurm/slurm_orders.h"
#include "sched/policy_text.h"

namespace stint {
namespace {

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }

/// A Slurm in a few lines: machines of 8 GPUs, jobs, and what the orders make of them.
class World {
 public:
  explicit World(int machines, const std::string& policy = "stint:backfill=none", DriveRules rules = {}) {
    for (int i = 1; i <= machines; ++i)
      view.machines.push_back({.name = fmt::format("n{}", i),
                               .gres = {{.name = "gpu", .type = "h200", .count = 8, .indexes = {}}},
                               .cpus = 64,
                               .memory = Bytes::gibi(int64_t{500}),
                               .partitions = {"main"},
                               .features = {},
                               .state = "IDLE"});
    rules.policy = *sched::parse_policy(policy);
    rules_ = std::move(rules);
    mirror.emplace(rules_);
    mirror->begin(at(0), view, {});
  }

  SlurmEntry& job(const std::string& id, int gpus, int nodes = 1) {
    SlurmEntry& entry = view.entries.emplace_back();
    entry.id = id;
    entry.state = RunState::kPending;
    entry.reason = "JobHeldUser";
    entry.held = true;
    entry.account = "acme";
    entry.partition = "main";
    entry.nodes = nodes;
    entry.requeue = true;
    entry.submitted = at(0);
    if (gpus > 0) entry.per_node = fmt::format("gres:gpu:{}", gpus);
    return entry;
  }

  /// What Slurm does with the orders at once.
  std::vector<SlurmOrder> pass(int64_t seconds, bool carry_out = true) {
    const std::vector<SlurmOrder> orders = mirror->pass(at(seconds), view);
    for (const SlurmOrder& order : carry_out ? orders : std::vector<SlurmOrder>()) {
      SlurmEntry& entry = find(order.job);
      entry.admin_comment = to_text(order.note);
      switch (order.kind) {
        case SlurmOrderKind::kPlace:
          entry.held = false;
          entry.required_nodes = entry.on_nodes = fmt::format("{}", fmt::join(order.nodes, ","));
          entry.state = RunState::kRunning;
          entry.started = at(seconds);
          break;
        case SlurmOrderKind::kSignal: break;
        case SlurmOrderKind::kRequeue: requeue(entry); break;
        case SlurmOrderKind::kTakeBack: entry.held = true; break;
        default: ADD_FAILURE() << "of jobs that Slurm places: " << name_of(order.kind);
      }
    }
    return orders;
  }
  static void requeue(SlurmEntry& entry) {
    entry.state = RunState::kPending;
    entry.held = true;
    entry.on_nodes.clear();
    entry.started.reset();
    ++entry.restarts;
  }
  void restart(int64_t seconds, std::span<const Run> past = {}) {
    mirror.emplace(rules_);
    mirror->begin(at(seconds), view, past);
  }
  SlurmEntry& find(const std::string& id) { return *std::ranges::find(view.entries, id, &SlurmEntry::id); }
  static std::vector<std::string> placed(const std::vector<SlurmOrder>& orders) {
    std::vector<std::string> out;
    for (const SlurmOrder& order : orders)
      out.push_back(fmt::format("{} {} {}", name_of(order.kind), order.job, fmt::join(order.nodes, ",")));
    return out;
  }

  SlurmView view;
  std::optional<SlurmMirror> mirror;

 private:
  DriveRules rules_;
};

using Orders = std::vector<std::string>;

TEST(SlurmMirror, HeldJobsArePlacedWhereRoomIsAndOthersWait) {
  World world(1);
  world.job("1", 6);
  world.job("2", 4);
  world.job("3", 2);
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 1 n1", "place 3 n1"}));
  EXPECT_EQ(world.mirror->waiting(), 1);
  EXPECT_TRUE(world.pass(2).empty()) << "all is as it should be";
  world.find("1").state = RunState::kCompleted;
  EXPECT_EQ(World::placed(world.pass(3)), (Orders{"place 2 n1"}));
}

TEST(SlurmMirror, AMachineWhoseGpusSlurmHasLostCountOfIsPassedOver) {
  World world(2);
  world.view.machines[0].gpus_used = 8;
  world.job("1", 8);
  world.job("2", 8);
  EXPECT_EQ(World::placed(world.pass(0)), (Orders{"place 1 n2"})) << "Slurm would not start it on n1";
  EXPECT_TRUE(world.pass(60).empty());
  EXPECT_TRUE(world.mirror->notes().empty()) << "a job may be leaving";
  EXPECT_TRUE(world.pass(61).empty());
  ASSERT_EQ(world.mirror->notes().size(), 1U);
  EXPECT_EQ(world.mirror->notes()[0],
            "machine n1: Slurm counts 8 GPUs as used and no job is on it, so it starts nothing there: restart slurmctld");
  world.view.machines[0].gpus_used = 0;
  EXPECT_EQ(World::placed(world.pass(62)), (Orders{"place 2 n1"}));
  EXPECT_TRUE(world.mirror->notes().empty());
  world.view.machines[0].gpus_used = 8;  // by job 2
  world.pass(63);
  EXPECT_TRUE(world.pass(200).empty());
  EXPECT_TRUE(world.mirror->notes().empty());
}

TEST(SlurmMirror, ADrainedMachineWhoseGpusSlurmHasLostCountOfIsNotNamedBeforeItTakesWorkAgain) {
  World world(2);
  world.view.machines[0].gpus_used = 8;
  world.view.machines[0].takes_work = false;
  world.pass(0);
  world.pass(61);
  EXPECT_TRUE(world.mirror->notes().empty()) << "it would get no work anyway";
  world.view.machines[0].takes_work = true;
  world.job("1", 8);
  EXPECT_EQ(World::placed(world.pass(62)), (Orders{"place 1 n2"}));
  EXPECT_EQ(world.mirror->notes().size(), 1U);
}

TEST(SlurmMirror, AnOrderThatDidNotReachSlurmIsGivenAgain) {
  World world(1);
  world.job("1", 8);
  EXPECT_EQ(World::placed(world.pass(1, false)), (Orders{"place 1 n1"}));
  EXPECT_EQ(World::placed(world.pass(2, false)), (Orders{"place 1 n1"}));
}

TEST(SlurmMirror, APlacedJobIsNotPlacedAgainAfterARestart) {
  World world(2);
  world.job("1", 8);
  world.pass(1);
  world.restart(2);
  EXPECT_TRUE(world.pass(2).empty());
  world.job("2", 8);
  EXPECT_EQ(World::placed(world.pass(3)), (Orders{"place 2 n2"}));
}

TEST(SlurmMirror, AJobWhoseMachineIsLostIsPlacedElsewhereAtOnce) {
  World world(2);
  SlurmEntry& job = world.job("1", 8);
  world.pass(1);
  ASSERT_EQ(job.on_nodes, "n1");
  World::requeue(job);  // by Slurm: it is not held, and put off
  job.held = false;
  job.reason = "BeginTime";
  job.begins = at(200);
  EXPECT_EQ(World::placed(world.pass(100)), (Orders{"take back 1 "}));
  EXPECT_EQ(World::placed(world.pass(101)), (Orders{"place 1 n2"}))
      << "n1 seems to be there, but a machine that was lost may be so again";
}

TEST(SlurmMirror, WaitingCountsFromBeforeTheBooksWereBegun) {
  DriveRules rules;
  rules.qos["urgent"] = 100;  // worth two days of waiting
  World world(1, "stint:backfill=none", rules);
  world.job("2", 8).qos = "urgent";
  world.job("1", 8).submitted = at(-3 * 24 * 3600);
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 1 n1"}));
}

TEST(SlurmMirror, ARestartBetweenReleaseAndBeginKeepsTheRoom) {
  World world(1);
  world.job("1", 8);
  world.pass(1);
  SlurmEntry& entry = world.find("1");
  entry.state = RunState::kPending;  // released, not begun
  entry.on_nodes.clear();
  entry.started.reset();
  world.restart(5);
  world.job("2", 8);
  EXPECT_TRUE(world.pass(5).empty());
  EXPECT_EQ(world.mirror->running(), 1);
}

TEST(SlurmMirror, AJobThatDoesNotBeginIsTakenBackAndRests) {
  World world(1);
  world.job("1", 8);
  world.pass(1);
  SlurmEntry& entry = world.find("1");
  entry.state = RunState::kPending;
  entry.on_nodes.clear();
  entry.started.reset();
  entry.reason = "AssocGrpGRES";
  EXPECT_TRUE(world.pass(61).empty()) << "it has a minute";
  world.job("2", 8);
  EXPECT_EQ(World::placed(world.pass(62)), (Orders{"take back 1 ", "place 2 n1"}));
  EXPECT_TRUE(world.pass(63).empty());
  world.find("2").state = RunState::kCompleted;
  EXPECT_TRUE(world.pass(64).empty()) << "it rests";
  EXPECT_EQ(World::placed(world.pass(62 + 300)), (Orders{"place 1 n1"}));
}

TEST(SlurmMirror, WhatDidNotBeginOnAMachineIsTriedOnAnother) {
  World world(2);
  world.job("1", 8);
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 1 n1"}));
  SlurmEntry& entry = world.find("1");
  entry.state = RunState::kPending;
  entry.on_nodes.clear();
  entry.started.reset();
  EXPECT_EQ(World::placed(world.pass(62)), (Orders{"take back 1 "}));
  EXPECT_EQ(World::placed(world.pass(62 + 300)), (Orders{"place 1 n2"}));
}

TEST(SlurmMirror, WhereThereIsNoRoomElsewhereItIsTriedWhereItWas) {
  World world(2);
  world.job("1", 8);
  world.job("2", 8);
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 1 n1", "place 2 n2"}));
  SlurmEntry& entry = world.find("1");
  entry.state = RunState::kPending;
  entry.on_nodes.clear();
  entry.started.reset();
  EXPECT_EQ(World::placed(world.pass(62)), (Orders{"take back 1 "}));
  EXPECT_TRUE(world.pass(62 + 300).empty()) << "n2 is in use";
  EXPECT_EQ(World::placed(world.pass(62 + 360)), (Orders{"place 1 n1"}));
}

TEST(SlurmMirror, WhatSomebodyElseRunsHoldsItsRoom) {
  World world(2);
  SlurmEntry& foreign = world.job("7", 8);
  foreign.held = false;
  foreign.state = RunState::kRunning;
  foreign.on_nodes = "n1";
  foreign.started = at(-100);
  world.job("8", 8);
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 8 n2"}));
}

TEST(SlurmMirror, AJobThatRunsElsewhereThanItWasPutIsFoundThere) {
  World world(2);
  world.job("1", 8);
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 1 n1"}));
  world.find("1").on_nodes = "n2";
  world.job("2", 8);
  EXPECT_EQ(World::placed(world.pass(2)), (Orders{"place 2 n1"}));
}

TEST(SlurmMirror, AnotherQosComesFirstAndTheStoppedJobIsSignalledBefore) {
  DriveRules rules;
  rules.qos = {{"high", 100}};
  World world(1, "stint:backfill=none", rules);
  SlurmEntry& low = world.job("1", 8);
  low.comment = "stint:checkpoint=1m,signal=USR1,grace=30s";
  world.pass(1);
  world.job("2", 8).qos = "high";
  const auto orders = world.pass(600);
  ASSERT_EQ(World::placed(orders), (Orders{"signal 1 "}));
  EXPECT_EQ(orders[0].signal, "USR1");
  EXPECT_EQ(orders[0].note.leaves, at(630));
  EXPECT_TRUE(world.pass(620).empty());
  EXPECT_EQ(World::placed(world.pass(630)), (Orders{"requeue 1 "}));
  EXPECT_EQ(World::placed(world.pass(631)), (Orders{"place 2 n1"}));
}

TEST(SlurmMirror, TheTimeToSaveRunsOnOverARestart) {
  DriveRules rules;
  rules.qos = {{"high", 100}};
  World world(1, "stint:backfill=none", rules);
  world.job("1", 8).comment = "stint:checkpoint=1m,signal=USR1,grace=30s";
  world.pass(1);
  world.job("2", 8).qos = "high";
  world.pass(600);
  world.restart(610);
  EXPECT_TRUE(world.pass(610).empty()) << "it is not told twice";
  EXPECT_EQ(World::placed(world.pass(640)), (Orders{"requeue 1 "}));
  EXPECT_EQ(World::placed(world.pass(641)), (Orders{"place 2 n1"}));
  world.find("2").state = RunState::kCompleted;
  EXPECT_EQ(World::placed(world.pass(700)), (Orders{"place 1 n1"}));
}

TEST(SlurmMirror, AJobMayNotBeStoppedThatSlurmMayNotRequeue) {
  DriveRules rules;
  rules.qos = {{"high", 100}};
  World world(1, "stint:backfill=none", rules);
  world.job("1", 8).requeue = false;
  world.pass(1);
  world.job("2", 8).qos = "high";
  EXPECT_TRUE(world.pass(600).empty());
}

TEST(SlurmMirror, GangsTakeAsManyMachinesAsTheyAskFor) {
  World world(4);
  world.job("1", 4, 3);
  const auto orders = world.pass(1);
  ASSERT_EQ(orders.size(), 1);
  std::vector<std::string> nodes = orders[0].nodes;
  std::ranges::sort(nodes);
  EXPECT_EQ(std::ranges::unique(nodes).begin() - nodes.begin(), 3) << "two tasks of 4 would fit on one machine";
}

TEST(SlurmMirror, GpusOverAllTheJobBecomeMachines) {
  World world(4);
  world.job("1", 0).per_job = "gres:gpu:24";
  const auto orders = world.pass(1);
  ASSERT_EQ(orders.size(), 1);
  EXPECT_EQ(orders[0].nodes.size(), 3);
  EXPECT_TRUE(orders[0].set_nodes);
}

TEST(SlurmMirror, TasksOfAnArrayStartAsFarAsItsLimit) {
  World world(1);
  SlurmEntry& array = world.job("5", 1);
  array.array = "5";
  array.array_tasks = "0-3%2";
  array.array_limit = 2;
  EXPECT_EQ(World::placed(world.pass(1, false)), (Orders{"place 5_0 n1", "place 5_1 n1"}));
  array.array_tasks = "2-3%2";
  for (const char* id : {"5_0", "5_1"}) {
    SlurmEntry& task = world.job(id, 1);
    task.array = "5";
    task.held = false;
    task.state = RunState::kRunning;
    task.on_nodes = "n1";
    task.started = at(1);
    task.admin_comment = "stint/placed=1800000001";
  }
  EXPECT_TRUE(world.pass(2, false).empty());
  world.find("5_0").state = RunState::kCompleted;
  EXPECT_EQ(World::placed(world.pass(3, false)), (Orders{"place 5_2 n1"}));
}

TEST(SlurmMirror, DependenciesBeginTimesAndOwnersHoldsKeepAJobHeld) {
  World world(1);
  world.job("1", 1).dependency = "afterok:9(unfulfilled)";
  world.job("2", 1).begins = at(100);
  world.job("3", 1).comment = "stint:hold";
  EXPECT_TRUE(world.pass(1).empty());
  world.find("1").dependency.clear();
  EXPECT_EQ(World::placed(world.pass(2)), (Orders{"place 1 n1"}));
  EXPECT_EQ(World::placed(world.pass(100)), (Orders{"place 2 n1"}));
}

TEST(SlurmMirror, DrainedMachinesTakeNothingAndComeBack) {
  World world(1);
  world.view.machines[0].takes_work = false;
  world.job("1", 8);
  EXPECT_TRUE(world.pass(1).empty());
  world.view.machines[0].takes_work = true;
  EXPECT_EQ(World::placed(world.pass(2)), (Orders{"place 1 n1"}));
  world.view.machines[0].takes_work = false;  // down: Slurm requeues by itself
  World::requeue(world.find("1"));
  EXPECT_TRUE(world.pass(3).empty());
  world.view.machines[0].takes_work = true;
  const auto again = world.pass(4);
  ASSERT_EQ(World::placed(again), (Orders{"place 1 n1"}));
  EXPECT_TRUE(again[0].begin_now) << "Slurm puts off what it requeued";
}

TEST(SlurmMirror, AnOwnersListOfNodesIsKeptOverPlacements) {
  World world(2);
  world.job("1", 8).required_nodes = "n2";
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 1 n2"}));
  EXPECT_EQ(parse_slurm_note(world.find("1").admin_comment).wants, "n2");
  World::requeue(world.find("1"));
  EXPECT_EQ(World::placed(world.pass(2)), (Orders{"place 1 n2"}));
}

TEST(SlurmMirror, OtherPartitionsAreLeftAloneAndWhatCannotBeDrivenIsNamed) {
  DriveRules rules;
  rules.partitions = {"main"};
  World world(1, "stint", rules);
  world.job("1", 1).partition = "night";
  world.job("2", 1).heterogeneous = true;
  world.job("3", 1).comment = "stint:chekpoint=1m";
  EXPECT_TRUE(world.pass(1).empty());
  ASSERT_EQ(world.mirror->notes().size(), 2);
  EXPECT_EQ(world.mirror->notes()[0], "job 2 stays held: it is heterogeneous");
}

TEST(SlurmMirror, PartsOfGpusAndInstancesAreCounted) {
  World world(1);
  SlurmMachine& machine = world.view.machines[0];
  machine.gres = {{.name = "gpu", .type = "h200", .count = 1, .indexes = {}},
                  {.name = "gpu", .type = "1g.18gb", .count = 1, .indexes = {}},
                  {.name = "shard", .type = "", .count = 4, .indexes = {}}};
  world.restart(0);
  world.job("1", 0).per_node = "gres:shard:3";
  world.job("2", 0).per_node = "gres:shard:2";
  world.job("3", 0).per_node = "gres:gpu:1g.18gb:1";
  world.job("4", 0).per_node = "gres:gpu:1g.18gb:1";
  world.job("5", 0).per_node = "gres:shard:1";
  EXPECT_EQ(World::placed(world.pass(1)), (Orders{"place 1 n1", "place 3 n1", "place 5 n1"}));
}

TEST(SlurmMirror, WhatRanBeforeCountsInBudgets) {
  DriveRules rules;
  rules.rates = {{"n1", Rate::per_hour(*Money::parse("8"))}};
  sched::QueueSpec acme;
  acme.name = "acme";
  acme.budget = sched::Budget{.amount = *Money::parse("10"), .period = {}, .from = {}};
  rules.queues = {acme};
  World world(1, "stint", rules);
  // 8 GPUs at 1 an hour each: 4 for half an hour is 2, all 8 for one hour is 8.
  stint::Run half;
  half.holder.account = "acme";
  half.started = at(0);
  half.ended = at(1800);
  half.allocations = {{.node = "n1", .gpu_indexes = {}, .gpu_count = 4}};
  stint::Run whole = half;
  whole.started = at(1800);
  whole.ended = at(5400);
  whole.allocations[0].gpu_count = 8;
  const std::vector<stint::Run> past = {whole, half};
  world.restart(6000, past);
  EXPECT_EQ(world.mirror->budgets().at("acme").spent, *Money::parse("10"));
  world.job("1", 1);
  world.job("2", 1).account = "zoo";
  EXPECT_EQ(World::placed(world.pass(6000)), (Orders{"place 2 n1"}));
}

TEST(SlurmMirror, AccountsWithEqualBudgetsAndOtherPricesSpendTheSame) {
  DriveRules rules;
  rules.rates = {{"n1", Rate::per_hour(*Money::parse("32"))}, {"n2", Rate::per_hour(*Money::parse("8"))}};
  for (const char* name : {"acme", "zoo"}) {
    sched::QueueSpec& queue = rules.queues.emplace_back();
    queue.name = name;
    queue.budget = sched::Budget{.amount = *Money::parse("500"), .period = {}, .from = {}};
  }
  World world(2, "stint", rules);
  world.view.machines[0].partitions = {"fast"};
  world.view.machines[1].partitions = {"slow"};
  world.restart(0);
  // Each has always more to run: jobs of ten minutes on one GPU, eight at a time on its own machine.
  std::map<std::string, int64_t> gpu_seconds;
  int number = 0;
  constexpr int64_t kPass = 120, kRun = 600;
  for (int64_t t = 0; t < 70 * 3600; t += kPass) {
    for (SlurmEntry& entry : world.view.entries)
      if (entry.state == RunState::kRunning && at(t) - *entry.started >= Duration::seconds(kRun)) {
        entry.state = RunState::kCompleted;
        gpu_seconds[entry.account] += kRun;
      }
    if (t > 0) world.pass(t);
    std::erase_if(world.view.entries, [](const SlurmEntry& entry) { return entry.state == RunState::kCompleted; });
    for (const auto& [account, partition] : {std::pair{"acme", "fast"}, {"zoo", "slow"}}) {
      auto waiting =
          std::ranges::count_if(world.view.entries, [&](const SlurmEntry& e) { return e.account == account && e.held; });
      for (; waiting < 8; ++waiting) {
        SlurmEntry& entry = world.job(std::to_string(++number), 1);
        entry.account = account;
        entry.partition = partition;
      }
    }
  }
  const double acme = static_cast<double>(gpu_seconds["acme"]) / 3600 * 4;  // a GPU of n1 costs 4 an hour
  const double zoo = static_cast<double>(gpu_seconds["zoo"]) / 3600 * 1;
  EXPECT_GE(acme, 500);
  EXPECT_GE(zoo, 500);
  EXPECT_LT(std::abs(acme - zoo) / std::max(acme, zoo), 0.02) << acme << " and " << zoo;
}

TEST(SlurmOrders, AreWordsThatSlurmAndAShellTakeAsTheyAre) {
  const auto place = commands_of({.kind = SlurmOrderKind::kPlace,
                                  .job = "5_1",
                                  .nodes = {"n1", "n2"},
                                  .set_nodes = true,
                                  .begin_now = true,
                                  .note = {.placed = Instant::from_seconds(7), .wants = "n[1-2]"}});
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(scontrol_lines(*place),
            "update JobId=5_1 AdminComment=stint/placed=7/wants=n[1-2] ReqNodeList=n1,n2 NumNodes=2 StartTime=now\n"
            "release 5_1\n");
  EXPECT_EQ(shell_line(place->front()),
            "scontrol update JobId=5_1 'AdminComment=stint/placed=7/wants=n[1-2]' ReqNodeList=n1,n2 NumNodes=2 StartTime=now");
  EXPECT_FALSE(commands_of({.kind = SlurmOrderKind::kRequeue, .job = "1; rm -rf"}).ok());
  EXPECT_FALSE(commands_of({.kind = SlurmOrderKind::kPlace, .job = "1", .nodes = {"n1\nshutdown"}}).ok());
}

TEST(SlurmNotes, AreReadAsTheyAreWritten) {
  const SlurmNote note{.placed = at(1), .leaves = at(2), .rests = at(3), .wants = "n[1-2],m7"};
  const SlurmNote read = parse_slurm_note(to_text(note));
  EXPECT_EQ(read.placed, note.placed);
  EXPECT_EQ(read.leaves, note.leaves);
  EXPECT_EQ(read.rests, note.rests);
  EXPECT_EQ(read.wants, note.wants);
  EXPECT_FALSE(parse_slurm_note("placed=1").placed) << "an operator's own words";
}

/// A slurmctld that was killed comes back with an older state, hears of machines later, runs again what it lost, holds, and loses count.
class UnsteadySlurm {
 public:
  explicit UnsteadySlurm(uint32_t seed) : random_(seed), world_(4) {}

  void run(int passes) {
    for (int i = 0; i < passes; ++i) {
      if (world_.view.entries.size() < 12) submit();
      if (chance(5)) older_ = world_.view;
      for (SlurmEntry& entry : world_.view.entries)
        if (chance(4)) change(entry);
      for (SlurmMachine& machine : world_.view.machines)
        if (chance(10)) change(machine);
      if (chance(15) && older_) world_.view = *older_;
      if (chance(30)) std::erase_if(world_.view.entries, [&](const SlurmEntry&) { return chance(3); });
      time_ += pick(20);
      if (chance(40)) world_.restart(time_);
      (void)world_.pass(time_, !chance(6));
      for (SlurmEntry& entry : world_.view.entries)  // released, and does not begin yet
        if (entry.state == RunState::kRunning && chance(3)) entry.state = RunState::kPending, entry.on_nodes.clear();
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool chance(int one_in) { return pick(one_in) == 0; }
  void submit() {
    SlurmEntry& entry = world_.job(std::to_string(++jobs_), pick(9), 1 + pick(2));
    entry.submitted = at(time_);
    if (chance(4)) entry.admin_comment = to_text({.rests = at(time_ + pick(30))});
    if (chance(4)) entry.time_limit = Duration::seconds(1 + pick(100));
    if (chance(4)) entry.comment = "stint:checkpoint=1s,signal=USR1,grace=5s";
    if (chance(5)) entry.qos = "urgent";
  }
  void change(SlurmEntry& entry) {
    switch (pick(8)) {
      case 0: entry.state = RunState::kCompleted; break;
      case 1: entry.state = RunState::kFailed; break;
      case 2: World::requeue(entry); break;
      case 3:
        World::requeue(entry);
        entry.held = chance(2);
        entry.begins = at(time_ + 120);
        break;
      case 4: entry.held = !entry.held; break;
      case 5:
        entry.state = RunState::kRunning;
        entry.on_nodes = fmt::format("n{}", 1 + pick(5));
        break;
      case 6: entry.state = RunState::kPending; break;
      case 7: entry.on_nodes.clear(); break;
      default: break;
    }
  }
  void change(SlurmMachine& machine) {
    machine.takes_work = chance(2);
    machine.gpus_used = pick(3) * 4;
    machine.state = chance(3) ? "IDLE+COMPLETING" : "IDLE";
  }

  std::mt19937 random_;
  World world_;
  std::optional<SlurmView> older_;
  int jobs_ = 0;
  int64_t time_ = 1;
};

TEST(SlurmMirror, GoesOnWhateverSlurmSaysNext) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    UnsteadySlurm(seed).run(80);
  }
}

}  // namespace
}  // namespace stint
