#include "backends/slurm/slurm_advice.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/slurm/slurm_orders.h"
#include "sched/policy_text.h"

namespace stint {
namespace {

using Numbers = std::vector<std::optional<int64_t>>;
using Words = std::vector<std::string>;

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }

TEST(PrioritiesFor, AnOrderThatIsThereNeedsNone) {
  const std::vector<SlurmStanding> by_number = {{100, 1}, {100, 2}, {99, 3}};
  EXPECT_EQ(priorities_for(by_number, 1), (Numbers{{}, {}, {}}));
  EXPECT_TRUE(priorities_for({}, 1).empty());
}

TEST(PrioritiesFor, OneThatMovesIsOneNumber) {
  const std::vector<SlurmStanding> last_goes_second = {{100, 1}, {10, 4}, {90, 2}, {80, 3}};
  EXPECT_EQ(priorities_for(last_goes_second, 1), (Numbers{{}, 99, {}, {}}));
  EXPECT_EQ(priorities_for(last_goes_second, 3), (Numbers{{}, 97, {}, {}}));
}

TEST(PrioritiesFor, WhereNeighboursLeaveNoRoomMoreMove) {
  // Slurm's own priority/basic: one below the other.
  const std::vector<SlurmStanding> fourth_goes_second = {{100, 1}, {97, 4}, {99, 2}, {98, 3}};
  EXPECT_EQ(priorities_for(fourth_goes_second, 1), (Numbers{{}, {}, 96, 95}));
}

TEST(PrioritiesFor, AtTheLowestPriorityTheyRise) {
  const std::vector<SlurmStanding> backwards = {{1, 3}, {1, 2}, {1, 1}};
  EXPECT_EQ(priorities_for(backwards, 10), (Numbers{21, 11, {}}));
}

TEST(PrioritiesFor, NothingRisesAboveTheTop) {
  const std::vector<SlurmStanding> lowest_goes_first = {{1, 2}, {0xffff'fffd, 1}};
  EXPECT_EQ(priorities_for(lowest_goes_first, 1), (Numbers{3, 2}));
}

/// Two machines of two types, all jobs Slurm's own.
class World {
 public:
  explicit World(const std::string& policy = "stint") {
    machine("h1", "h200", {"h200"}, "32");
    machine("l1", "l40s", {"l40s"}, "8");
    rules.policy = *sched::parse_policy(policy);
    rules.drives = false;
  }
  SlurmMachine& machine(const std::string& name, const std::string& type, Words features, const std::string& per_hour) {
    view.machines.push_back({.name = name,
                             .gres = {{.name = "gpu", .type = type, .count = 8, .indexes = {}}},
                             .cpus = 64,
                             .memory = Bytes::gibi(int64_t{500}),
                             .partitions = {"main"},
                             .features = std::move(features),
                             .state = "IDLE"});
    rules.rates[name] = Rate::per_hour(*Money::parse(per_hour, Currency()));
    return view.machines.back();
  }
  SlurmEntry& job(const std::string& id, const std::string& account, const std::string& gpus = "gres:gpu:h200:8") {
    SlurmEntry& entry = view.entries.emplace_back();
    entry.id = id;
    entry.state = RunState::kPending;
    entry.account = account;
    entry.partition = "main";
    entry.qos = "normal";
    entry.priority = 1000 - job_number(id);
    entry.requeue = true;
    entry.submitted = at(-100 + job_number(id));
    entry.per_node = gpus;
    return entry;
  }
  std::vector<SlurmOrder> advise(SlurmMeans means = SlurmMeans::kPriorities) {
    SlurmMirror mirror(rules);
    mirror.begin(at(0), view, past);
    driven = mirror.pass(at(0), view);
    const SlurmLine line = mirror.line(at(0), view);
    notes = line.notes;
    return advise_on(line, view.machines, rules, means);
  }
  Words said(SlurmMeans means = SlurmMeans::kPriorities) {
    Words out;
    for (const SlurmOrder& order : advise(means)) {
      out.push_back("# " + order.why);
      const std::vector<SlurmCommand> commands = *commands_of(order);
      for (const SlurmCommand& command : commands)
        out.push_back(shell_line(command));
    }
    return out;
  }

  SlurmView view;
  DriveRules rules;
  std::vector<Run> past;
  std::vector<SlurmOrder> driven;
  Words notes;
};

TEST(SlurmAdvice, AccountsTakeTurnsByWhatTheyHold) {
  World world;
  world.job("1", "acme");
  world.job("2", "acme");
  world.job("3", "zoo");
  // acme would hold eight GPUs with its first job, so that the job of zoo comes before its second.
  EXPECT_EQ(world.said(),
            (Words{"# 3 of 3 in line, after 3: account zoo is further below its share than acme, what goes before counted",
                   "scontrol update JobId=2 Priority=996"}));
}

TEST(SlurmAdvice, ByNiceSlurmGoesOnToReckon) {
  World world;
  world.job("1", "acme").priority = 5000;
  SlurmEntry& second = world.job("2", "acme");
  second.priority = 4000;
  second.nice = 100;
  world.job("3", "zoo").priority = 3000;
  EXPECT_EQ(world.said(SlurmMeans::kNice),
            (Words{"# 3 of 3 in line, after 3: account zoo is further below its share than acme, what goes before counted",
                   "scontrol update JobId=2 Nice=1110"}))
      << "2990 = 4000 + 100 - 1110";
}

TEST(SlurmAdvice, WhatANiceHasCutOffGetsAPriority) {
  World world;
  world.job("1", "acme").priority = 5000;
  world.job("2", "acme").priority = 4000;
  SlurmEntry& third = world.job("3", "zoo");
  third.priority = 1;
  third.nice = 5000;
  EXPECT_EQ(world.said(SlurmMeans::kNice).back(), "scontrol update JobId=3 Priority=4990");
}

TEST(SlurmAdvice, AQosGoesFirstAndWhatIsToldIsDone) {
  World world;
  world.rules.qos["urgent"] = 100;
  world.job("1", "acme").priority = 500;
  world.job("2", "acme").priority = 400;
  world.job("3", "acme").priority = 300;
  world.view.entries[2].qos = "urgent";
  EXPECT_EQ(world.said(), (Words{"# 1 of 3 in line, before 1: QOS urgent goes before normal: 100 against 50",
                                 "scontrol update JobId=3 Priority=501"}));
  world.view.entries[2].priority = 501;
  EXPECT_EQ(world.said(), Words());
}

TEST(SlurmAdvice, WhatHasNoPlaceInTheLineIsLeftAlone) {
  World world;
  world.job("4", "acme");
  world.job("1", "zoo").dependency = "afterok:4(unfulfilled)";
  world.job("2", "zoo").begins = at(100);
  world.job("3", "zoo").heterogeneous = true;
  world.job("5", "zoo").held = true;
  EXPECT_EQ(world.said(), Words());
  EXPECT_EQ(world.notes, (Words{"job 3 keeps its place in line: it is heterogeneous"}));
  EXPECT_EQ(world.driven.size(), 1U) << "the one that is held is driven";
}

TEST(SlurmAdvice, WhoseAccountHasSpentItsBudgetIsHeldUntilItHasMoneyAgain) {
  World world;
  sched::QueueSpec zoo;
  zoo.name = "zoo";
  zoo.budget = sched::Budget{.amount = Money::units(10), .period = Duration::hours(24), .from = at(-3600 * 2)};
  world.rules.queues = {zoo};
  stint::Run run;
  run.id = "1";
  run.holder.account = "zoo";
  run.started = at(-3600);
  run.ended = at(-60);
  run.allocations = {{.node = "h1", .gpu_indexes = {}, .gpu_count = 8}};
  world.past = {run};
  SlurmEntry& job = world.job("2", "zoo");
  job.required_nodes = "h1";
  EXPECT_EQ(world.said(), (Words{"# account zoo has spent its budget", "scontrol hold 2",
                                 "scontrol update JobId=2 AdminComment=stint/unpaid/wants=h1"}));
  job.held = true;
  job.admin_comment = "stint/unpaid/wants=h1";
  EXPECT_EQ(world.said(), Words()) << "it is";
  EXPECT_TRUE(world.driven.empty());
  world.past.clear();
  EXPECT_EQ(world.said(), (Words{"# account zoo has money again", "scontrol update JobId=2 AdminComment=stint/wants=h1",
                                 "scontrol release 2"}));
}

TEST(SlurmAdvice, AJobThatNamesNoTypeIsKeptToTheCheapestMachinesWithRoom) {
  World world;
  world.job("1", "acme", "gres:gpu:6");
  world.job("2", "acme", "gres:gpu:2");
  world.job("3", "acme", "gres:gpu:1");
  EXPECT_EQ(world.said(),
            (Words{"# it names no type of GPU, and machines at 1 a GPU-hour have room for it now; others cost up to 4",
                   "scontrol update JobId=1 Features=l40s",
                   "# it names no type of GPU, and machines at 1 a GPU-hour have room for it now; others cost up to 4",
                   "scontrol update JobId=2 Features=l40s"}));
  world.view.machines[1].gpus_used = 8;
  EXPECT_EQ(world.said(), Words()) << "no job is to wait for a cheap machine";
  world.view.machines[1].gpus_used = 0;
  world.view.machines[1].features = {};
  EXPECT_EQ(world.said(), Words()) << "there is no word for it";
}

TEST(SlurmAdvice, WhatIsNotToBeRunAgainIsKeptOffSpotMachines) {
  World world;
  world.machine("h2", "h200", {"h200", "spot"}, "12");
  world.view.machines[0].features = {"h200", "on-demand"};
  world.view.machines[1].features = {"l40s", "on-demand"};
  world.job("1", "acme");
  SlurmEntry& once = world.job("2", "acme");
  once.requeue = false;
  EXPECT_EQ(world.said(), (Words{"# it is not to be run again (--no-requeue), and a spot machine may be taken away",
                                 "scontrol update JobId=2 Features=on-demand"}));
  once.features = "h200";
  EXPECT_EQ(world.said(), Words()) << "its owner has said where";
  once.features.clear();
  once.per_node = "gres:gpu:1";
  EXPECT_EQ(world.said().back(), "scontrol update JobId=2 'Features=on-demand&l40s'");
}

}  // namespace
}  // namespace stint
