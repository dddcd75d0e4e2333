#include "sched/place/cluster.h"

#include <gtest/gtest.h>

#include <map>

#include "base/prng.h"
#include "sched/place/place_gang.h"

namespace stint::sched {
namespace {

NodeSpec machine(std::string name, int gpus, std::vector<Label> labels = {}) {
  NodeSpec n;
  n.name = std::move(name);
  n.gpu_model = "A100-40GB";
  n.gpus = gpus;
  n.gpu_memory = Bytes::mebi(40960);
  n.cpu_milli = 64'000;
  n.memory = Bytes::gibi(int64_t{256});
  n.labels = std::move(labels);
  return n;
}

Request whole(int gpus) {
  Request r;
  r.gpus = gpus;
  r.cpu_milli = 1000;
  return r;
}

Request fraction(int milli) {
  Request r;
  r.milli = milli;
  r.cpu_milli = 1000;
  return r;
}

Request part_of(int milli, std::string sharer) {
  Request r = fraction(milli);
  r.shares_with = std::move(sharer);
  return r;
}

Request slice(std::string profile, int count = 1) {
  Request r;
  r.mig.push_back({std::move(profile), count});
  return r;
}

/// A cluster and short ways to put tasks on it.
struct Bench {
  Cluster cluster;
  TaskId task(const Request& r) { return cluster.add_task(JobId(0), cluster.intern(r)); }
  bool run(TaskId t, uint32_t node) {
    const auto place = cluster.fit(cluster.task(t).request, NodeId(node), Room::kFree);
    if (place) cluster.run(t, *place);
    return place.has_value();
  }
  bool nominate(TaskId t, uint32_t node) {
    const auto place = cluster.fit(cluster.task(t).request, NodeId(node), Room::kComing);
    if (place) cluster.nominate(t, *place);
    return place.has_value();
  }
};

TEST(Cluster, EqualRequestsHaveOneId) {
  Bench b;
  const RequestId r = b.cluster.intern(whole(2));
  EXPECT_EQ(b.cluster.intern(whole(2)), r);
  EXPECT_NE(b.cluster.intern(whole(3)), r);
  EXPECT_EQ(b.cluster.request_count(), 2U);
}

TEST(Cluster, ALeavingTasksRoomIsPromisedBeforeItIsFree) {
  Bench b;
  b.cluster.add_node(machine("n", 1));
  const TaskId old = b.task(whole(1));
  const TaskId next = b.task(whole(1));
  ASSERT_TRUE(b.run(old, 0));
  EXPECT_FALSE(b.nominate(next, 0));
  b.cluster.leave(old);
  EXPECT_FALSE(b.run(next, 0));
  ASSERT_TRUE(b.nominate(next, 0));
  EXPECT_FALSE(b.cluster.can_run_nominated(next));
  const TaskId third = b.task(whole(1));
  EXPECT_FALSE(b.nominate(third, 0)) << "promised already";
  b.cluster.gone(old, TaskState::kDone);
  EXPECT_TRUE(b.cluster.can_run_nominated(next));
  EXPECT_FALSE(b.run(third, 0)) << "free, but held for the nominated task";
  b.cluster.run(next, b.cluster.task(next).place);
  EXPECT_EQ(b.cluster.free()[NodeId(0)].whole_free, 0);
}

TEST(Cluster, FractionsShareOneGpuOrSpreadOverSeveral) {
  Bench b;
  const NodeId n = b.cluster.add_node(machine("n", 2));
  ASSERT_TRUE(b.run(b.task(fraction(400)), 0));
  const RequestId half = b.cluster.intern(fraction(500));
  EXPECT_EQ(b.cluster.fit(half, n, Room::kFree, SharedGpu::kPack)->gpus, 1U);
  EXPECT_EQ(b.cluster.fit(half, n, Room::kFree, SharedGpu::kSpread)->gpus, 2U);
  const RequestId most = b.cluster.intern(fraction(700));
  EXPECT_EQ(b.cluster.fit(most, n, Room::kFree, SharedGpu::kPack)->gpus, 2U);
  EXPECT_FALSE(b.cluster.fit(b.cluster.intern(whole(2)), n, Room::kFree));
}

TEST(Cluster, TwoPromisesOnOneGpuMayHaveToWaitForEachOther) {
  Bench b;
  b.cluster.add_node(machine("n", 1));
  const TaskId old = b.task(fraction(500));
  ASSERT_TRUE(b.run(old, 0));
  b.cluster.leave(old);
  const TaskId first = b.task(fraction(500));
  const TaskId second = b.task(fraction(500));
  ASSERT_TRUE(b.nominate(first, 0));
  ASSERT_TRUE(b.nominate(second, 0));
  EXPECT_TRUE(b.cluster.can_run_nominated(second));
  b.cluster.run(first, b.cluster.task(first).place);
  EXPECT_FALSE(b.cluster.can_run_nominated(second)) << "half the GPU is still held by who leaves";
  b.cluster.gone(old, TaskState::kDone);
  EXPECT_TRUE(b.cluster.can_run_nominated(second));
}

TEST(Cluster, GpuMemoryIsAShareOfTheNodesGpuRoundedUp) {
  Bench b;
  const NodeId n = b.cluster.add_node(machine("n", 1));
  Request r;
  r.gpu_memory = Bytes::mebi(4097);  // 100.02 thousandths of 40960
  EXPECT_EQ(b.cluster.fit(b.cluster.intern(r), n, Room::kFree)->milli, 101);
  r.gpu_memory = Bytes::mebi(40960);
  EXPECT_EQ(b.cluster.fit(b.cluster.intern(r), n, Room::kFree)->milli, 0) << "the whole GPU";
  r.gpu_memory = Bytes::mebi(40961);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(r), n, Room::kFree), Misfit::kConstraint);
}

TEST(Cluster, SaysWhyARequestDoesNotFit) {
  Bench b;
  NodeSpec small = machine("n", 1, {{"zone", "east"}});
  small.max_tasks = 2;
  small.cpu_milli = 4000;
  const NodeId n = b.cluster.add_node(small);
  Request r = whole(1);
  r.node_labels = {{"zone", "west"}};
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(r), n, Room::kFree), Misfit::kConstraint);
  r = whole(0);
  r.only_allowed_nodes = true;
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(r), n, Room::kFree), Misfit::kConstraint);
  r.allowed_nodes = {"n"};
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(r), n, Room::kFree), Misfit::kFits);
  ASSERT_TRUE(b.run(b.task(whole(1)), 0));
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(whole(1)), n, Room::kFree), Misfit::kGpus);
  Request cpu;
  cpu.cpu_milli = 3500;
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(cpu), n, Room::kFree), Misfit::kCpu);
  ASSERT_TRUE(b.run(b.task(Request{}), 0));
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(Request{}), n, Room::kFree), Misfit::kTasks);
  b.cluster.set_usable(n, false);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(Request{}), n, Room::kFree), Misfit::kUnusable);
}

TEST(Cluster, ANodeMayRefuseSharesOfItsGpus) {
  Bench b;
  NodeSpec node = machine("n", 2);
  node.shared_gpus = false;
  const NodeId n = b.cluster.add_node(node);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(fraction(100)), n, Room::kFree), Misfit::kConstraint);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(whole(2)), n, Room::kFree), Misfit::kFits);
}

TEST(Cluster, StaticMigInstancesAreCounted) {
  Bench b;
  NodeSpec node = machine("n", 1);
  node.whole_gpus = false;
  node.static_mig = {{"1g.5gb", 2}, {"3g.20gb", 1}};
  const NodeId n = b.cluster.add_node(node);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(whole(1)), n, Room::kFree), Misfit::kConstraint);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(slice("1g.5gb", 3)), n, Room::kFree), Misfit::kConstraint);
  const TaskId both = b.task(slice("1g.5gb", 2));
  ASSERT_TRUE(b.run(both, 0));
  EXPECT_FALSE(b.run(b.task(slice("1g.5gb")), 0));
  b.cluster.leave(both);
  EXPECT_TRUE(b.nominate(b.task(slice("1g.5gb")), 0));
  EXPECT_TRUE(b.run(b.task(slice("3g.20gb")), 0));
  EXPECT_EQ(b.cluster.amounts(b.cluster.intern(slice("3g.20gb", 2))).gpu_milli, 2 * 428) << "of seven slices";
  EXPECT_EQ(b.cluster.amounts(b.cluster.intern(slice("1g.6gb"))).gpu_milli, 250) << "of the four of an A30";
  Cluster by_slices(MigCount::kSlices);
  EXPECT_EQ(by_slices.amounts(by_slices.intern(slice("3g.20gb", 2))).gpu_milli, 6000);
}

TEST(Cluster, AGpuIsCutOrWholeNeverBoth) {
  Bench b;
  NodeSpec node = machine("n", 2);
  node.repartition = true;
  const NodeId n = b.cluster.add_node(node);
  const TaskId cut = b.task(slice("3g.20gb"));
  ASSERT_TRUE(b.run(cut, 0));
  EXPECT_EQ(b.cluster.free()[n].whole_free, 1);
  EXPECT_FALSE(b.cluster.fit(b.cluster.intern(fraction(600)), n, Room::kFree)->gpus == b.cluster.task(cut).place.gpus);
  const TaskId second = b.task(slice("3g.20gb"));
  ASSERT_TRUE(b.run(second, 0));
  EXPECT_EQ(b.cluster.task(second).place.gpus, b.cluster.task(cut).place.gpus) << "the GPU that is cut already";
  ASSERT_TRUE(b.run(b.task(whole(1)), 0));
  EXPECT_FALSE(b.run(b.task(slice("1g.5gb")), 0)) << "two 3g instances use all memory slices";
  b.cluster.gone(cut, TaskState::kDone);
  EXPECT_EQ(b.cluster.free()[n].whole_free, 0);
  b.cluster.gone(second, TaskState::kDone);
  EXPECT_EQ(b.cluster.free()[n].whole_free, 1);
}

TEST(Cluster, AntiAffinityHoldsBothWays) {
  Bench b;
  b.cluster.add_node(machine("a", 2, {{"zone", "east"}}));
  b.cluster.add_node(machine("b", 2, {{"zone", "west"}}));
  Request loner = whole(1);
  loner.anti_affinity = {{{{"app", "web"}}, "zone"}};
  Request web = whole(1);
  web.labels = {{"app", "web"}};
  ASSERT_TRUE(b.run(b.task(loner), 0));
  EXPECT_FALSE(b.run(b.task(web), 0)) << "refused by who is there";
  ASSERT_TRUE(b.run(b.task(web), 1));
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(loner), NodeId(1), Room::kFree), Misfit::kAffinity);
}

TEST(Cluster, TheFirstOfItsKindGoesAnywhereOthersFollow) {
  Bench b;
  b.cluster.add_node(machine("a", 4, {{"zone", "east"}}));
  b.cluster.add_node(machine("b", 4, {{"zone", "west"}}));
  b.cluster.add_node(machine("c", 4));
  Request together = whole(1);
  together.labels = {{"app", "db"}};
  together.affinity = {{{{"app", "db"}}, "zone"}};
  const TaskId first = b.task(together);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(together), NodeId(2), Room::kFree), Misfit::kAffinity) << "no such label";
  ASSERT_TRUE(b.run(first, 1));
  EXPECT_FALSE(b.run(b.task(together), 0));
  EXPECT_TRUE(b.run(b.task(together), 1));
}

TEST(Cluster, TermsOfLaterRequestsSeeEarlierTasks) {
  Bench b;
  b.cluster.add_node(machine("a", 4, {{"zone", "east"}}));
  Request web = whole(1);
  web.labels = {{"app", "web"}};
  const TaskId early = b.task(web);
  ASSERT_TRUE(b.run(early, 0));
  Request loner = whole(1);
  loner.anti_affinity = {{{{"app", "web"}}, "zone"}};
  EXPECT_FALSE(b.run(b.task(loner), 0));
  b.cluster.gone(early, TaskState::kDone);
  EXPECT_TRUE(b.run(b.task(loner), 0));
}

/// Recomputes from the tasks alone what the tables should say.
void expect_sums_hold(const Cluster& c) {
  for (uint32_t n = 0; n < c.node_count(); ++n) {
    for (const Room room : {Room::kFree, Room::kComing}) {
      const NodeRecord& record = room == Room::kFree ? c.free()[NodeId(n)] : c.coming()[NodeId(n)];
      int64_t cpu = c.node(NodeId(n)).cpu_milli;
      std::map<int, int64_t> milli;
      std::map<int, MigLayout> layouts;
      size_t listed = 0;
      for (const Task& t : c.tasks()) {
        if (!t.on_node() || t.place.node != NodeId(n)) continue;
        ++listed;
        if (t.state == (room == Room::kFree ? TaskState::kNominated : TaskState::kReleasing)) continue;
        cpu -= c.request(t.request).cpu_milli;
        for (int g = 0; g < 16; ++g) {
          if ((t.place.gpus >> g & 1) == 0) continue;
          if (t.place.mig_profile >= 0)
            layouts[g].push_back({t.place.mig_start, t.place.mig_profile});
          else
            milli[g] += t.place.milli > 0 ? t.place.milli : kMilli;
        }
      }
      EXPECT_EQ(record.cpu_free, cpu);
      for (auto& [g, layout] : layouts) {
        EXPECT_EQ(milli[g], 0) << "cut and whole at once";
        milli[g] = kMilli;
        std::sort(layout.begin(), layout.end());
        EXPECT_TRUE(check_layout(*find_mig_geometry("A100-40GB"), layout).ok());
      }
      int32_t sum = 0;
      for (int g = 0; g < record.gpus; ++g) {
        EXPECT_LE(milli[g], kMilli) << "booked twice";
        EXPECT_EQ(record.gpu_free[static_cast<size_t>(g)], kMilli - milli[g]);
        sum += record.gpu_free[static_cast<size_t>(g)];
      }
      EXPECT_EQ(record.milli_free, sum);
      size_t seen = 0;
      c.for_each_on(NodeId(n), [&](TaskId t) {
        ++seen;
        EXPECT_EQ(c.task(t).place.node, NodeId(n));
      });
      EXPECT_EQ(seen, listed);
    }
  }
}

/// Any change that is allowed, to any task.
void change_something(Bench& b, Prng& prng) {
  const TaskId t(static_cast<uint32_t>(prng.below(b.cluster.tasks().size())));
  const auto node = static_cast<uint32_t>(prng.below(b.cluster.node_count()));
  switch (b.cluster.task(t).state) {
    case TaskState::kPending:
      if (prng.below(2) == 0)
        b.run(t, node);
      else
        b.nominate(t, node);
      break;
    case TaskState::kNominated:
      if (b.cluster.can_run_nominated(t))
        b.cluster.run(t, b.cluster.task(t).place);
      else if (prng.below(2) == 0)
        b.nominate(t, node);
      else
        b.cluster.gone(t, TaskState::kPending);
      break;
    case TaskState::kRunning: b.cluster.leave(t); break;
    case TaskState::kReleasing: b.cluster.gone(t, TaskState::kPending); break;
    default: break;
  }
  if (prng.below(20) == 0) b.cluster.set_usable(NodeId(node), prng.below(3) != 0);
}

void random_trials(Bench& b, Prng& prng, int depth) {
  for (int i = 0; i < 12; ++i) {
    change_something(b, prng);
    if (depth == 0 || prng.below(4) != 0) continue;
    const Cluster before = b.cluster;
    const Cluster::Trial trial = b.cluster.open_trial();
    random_trials(b, prng, depth - 1);
    if (prng.below(3) == 0) {
      b.cluster.keep(trial);
    } else {
      b.cluster.undo(trial);
      ASSERT_TRUE(b.cluster.same_state(before));
    }
  }
}

/// As many as really fit, one after the other.
int64_t fit_one_by_one(Cluster& cluster, RequestId r, NodeId n, Room room) {
  std::vector<TaskId> tasks;
  for (int i = 0; i < 30; ++i)
    tasks.push_back(cluster.add_task(JobId(), r));
  int64_t placed = 0;
  const Attempt trial(cluster);
  for (const TaskId t : tasks) {
    const std::optional<Place> place = cluster.fit(r, n, room);
    if (!place) break;
    room == Room::kFree ? cluster.run(t, *place) : cluster.nominate(t, *place);
    ++placed;
  }
  return placed;
}

TEST(Cluster, CountsNoFewerThanFit) {
  int64_t counted = 0, fitting = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    Bench b;
    for (int n = 0; n < 3; ++n) {
      NodeSpec node = machine("n" + std::to_string(n), 2 + n);
      node.repartition = n == 0;
      if (n == 2) node.static_mig = {{"1g.5gb", 3}};
      b.cluster.add_node(node);
    }
    Request loner = whole(1);
    loner.labels = {{"app", "y"}};
    loner.anti_affinity = {{{{"app", "y"}}, "node"}};
    const std::vector<Request> kinds = {whole(1), whole(2), fraction(300), slice("1g.5gb"), slice("3g.20gb"), loner};
    for (int i = 0; i < 24; ++i)
      b.task(kinds[prng.below(kinds.size())]);
    for (int i = 0; i < 40; ++i)
      change_something(b, prng);
    for (const Request& kind : kinds)
      for (uint32_t n = 0; n < 3; ++n)
        for (const Room room : {Room::kFree, Room::kComing}) {
          const RequestId r = b.cluster.intern(kind);
          const int64_t fit = std::min<int64_t>(30, fit_one_by_one(b.cluster, r, NodeId(n), room));
          const int64_t most = b.cluster.most_that_fit(r, NodeId(n), room);
          EXPECT_GE(most, fit);
          counted += most;
          fitting += fit;
        }
  }
  EXPECT_LT(counted, fitting * 3 / 2) << "a bound that says little";
}

TEST(Cluster, PartsOfOneGpuAreOfThoseWhoShare) {
  Bench b;
  b.cluster.add_node(machine("n", 2));
  ASSERT_TRUE(b.run(b.task(part_of(300, "acme")), 0));
  const auto theirs = b.cluster.fit(b.cluster.intern(part_of(300, "zoo")), NodeId(0), Room::kFree);
  ASSERT_TRUE(theirs.has_value());
  EXPECT_EQ(theirs->gpus, 0b10U) << "the first GPU has room, but acme's part is there";
  EXPECT_EQ(b.cluster.fit(b.cluster.intern(part_of(300, "acme")), NodeId(0), Room::kFree)->gpus, 0b01U);
  EXPECT_EQ(b.cluster.fit(b.cluster.intern(fraction(300)), NodeId(0), Room::kFree)->gpus, 0b10U) << "of no known owner";
  ASSERT_TRUE(b.run(b.task(part_of(900, "zoo")), 0));
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(part_of(300, "zoo")), NodeId(0), Room::kFree), Misfit::kOthersShares);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(part_of(800, "zoo")), NodeId(0), Room::kFree), Misfit::kGpus);
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(part_of(300, "acme")), NodeId(0), Room::kFree), Misfit::kFits);
}

TEST(Cluster, APartIsTheirsUntilTheyHaveLeft) {
  Bench b;
  b.cluster.add_node(machine("n", 1));
  const TaskId old = b.task(part_of(300, "acme"));
  const TaskId next = b.task(part_of(300, "zoo"));
  ASSERT_TRUE(b.run(old, 0));
  EXPECT_FALSE(b.nominate(next, 0));
  b.cluster.leave(old);
  EXPECT_FALSE(b.run(next, 0)) << "it is still there";
  ASSERT_TRUE(b.nominate(next, 0));
  EXPECT_FALSE(b.cluster.can_run_nominated(next));
  EXPECT_FALSE(b.cluster.fit(b.cluster.intern(part_of(300, "acme")), NodeId(0), Room::kFree)) << "zoo's part is coming";
  b.cluster.gone(old, TaskState::kDone);
  EXPECT_TRUE(b.cluster.can_run_nominated(next));
}

Request measured(std::string kind, int most = -1, std::vector<Slowdown> slowdowns = {}) {
  Request r = fraction(100);
  r.work_kind = std::move(kind);
  r.max_slowdown_percent = most;
  r.slowdowns = std::move(slowdowns);
  return r;
}

TEST(Cluster, APartOfAGpuGoesWhereNobodyIsSlowedByMoreThanItBears) {
  Bench b;
  b.cluster.add_node(machine("n", 1));
  const Request bert = measured("bert", 50, {{"resnet", 40}, {"lm", 10}});
  const auto why_not = [&](const Request& r) { return b.cluster.why_not(b.cluster.intern(r), NodeId(0), Room::kFree); };
  ASSERT_TRUE(b.run(b.task(bert), 0));
  EXPECT_EQ(why_not(measured("")), Misfit::kSlowed) << "what was not measured may slow it more than seven times";
  EXPECT_EQ(why_not(measured("bert")), Misfit::kSlowed);
  const TaskId resnet = b.task(measured("resnet"));
  ASSERT_TRUE(b.run(resnet, 0));
  EXPECT_EQ(why_not(measured("resnet")), Misfit::kSlowed) << "40 and 40 percent";
  EXPECT_FALSE(b.cluster.may_share(b.cluster.intern(measured("resnet")), NodeId(0), 1, Room::kFree));
  ASSERT_TRUE(b.run(b.task(measured("lm")), 0)) << "40 and 10 percent";
  EXPECT_EQ(why_not(measured("lm")), Misfit::kSlowed);
  EXPECT_EQ(why_not(measured("tiny", 60, {{"bert", 20}, {"resnet", 20}, {"lm", 20}})), Misfit::kSlowed) << "bert is slowed";
  b.cluster.leave(resnet);
  EXPECT_EQ(why_not(measured("lm")), Misfit::kSlowed) << "it is still there";
  EXPECT_EQ(b.cluster.why_not(b.cluster.intern(measured("lm")), NodeId(0), Room::kComing), Misfit::kFits);
  b.cluster.gone(resnet, TaskState::kDone);
  EXPECT_EQ(why_not(measured("lm")), Misfit::kFits);
  EXPECT_EQ(why_not(measured("lm", 5, {{"bert", 3}, {"lm", 3}})), Misfit::kSlowed) << "it bears 5 percent";
  EXPECT_EQ(why_not(measured("lm", 6, {{"bert", 3}, {"lm", 3}})), Misfit::kFits);
  EXPECT_EQ(why_not(whole(1)), Misfit::kGpus);
}

// Promised a part next to those that stay, it does not run beside one that leaves and would slow it too much.
TEST(Cluster, WhoSlowsItMustBeGoneBeforeItRuns) {
  Bench b;
  b.cluster.add_node(machine("n", 1));
  const TaskId leaves = b.task(measured("resnet"));
  ASSERT_TRUE(b.run(leaves, 0));
  ASSERT_TRUE(b.run(b.task(measured("lm")), 0));
  b.cluster.leave(leaves);
  const TaskId next = b.task(measured("bert", 30, {{"resnet", 40}, {"lm", 10}}));
  ASSERT_TRUE(b.nominate(next, 0));
  EXPECT_FALSE(b.cluster.can_run_nominated(next)) << "40 and 10 percent";
  const TaskId behind = b.task(measured("lm"));
  ASSERT_TRUE(b.nominate(behind, 0));
  EXPECT_TRUE(b.cluster.can_run_nominated(behind)) << "who is promised a part is not slowed yet";
  b.cluster.gone(leaves, TaskState::kDone);
  EXPECT_TRUE(b.cluster.can_run_nominated(next)) << "10 percent";
}

TEST(Cluster, AGpuMayBeGivenOutInEqualParts) {
  Bench b;
  NodeSpec thirds = machine("n", 1);
  thirds.gpu_parts = 3;
  b.cluster.add_node(thirds);
  const TaskId first = b.task(fraction(100));
  ASSERT_TRUE(b.run(first, 0));
  EXPECT_EQ(b.cluster.task(first).place.milli, 333);
  ASSERT_TRUE(b.run(b.task(fraction(333)), 0));
  EXPECT_FALSE(b.run(b.task(fraction(334)), 0)) << "two of three";
  EXPECT_TRUE(b.run(b.task(fraction(1)), 0));
  EXPECT_FALSE(b.run(b.task(fraction(1)), 0)) << "nothing is left but a thousandth";
}

TEST(Cluster, WithoutBoundsNobodyIsKeptApart) {
  Bench b;
  b.cluster.add_node(machine("n", 1));
  ASSERT_TRUE(b.run(b.task(measured("bert")), 0));
  EXPECT_TRUE(b.run(b.task(measured("resnet")), 0));
}

TEST(Cluster, MigInstancesOfOneGpuMayBeAnybodys) {
  Bench b;
  NodeSpec node = machine("n", 1);
  node.repartition = true;
  b.cluster.add_node(node);
  Request acme = slice("1g.5gb");
  acme.shares_with = "acme";
  Request zoo = slice("1g.5gb");
  zoo.shares_with = "zoo";
  EXPECT_TRUE(b.run(b.task(acme), 0));
  EXPECT_TRUE(b.run(b.task(zoo), 0));
}

TEST(Cluster, RandomChangesNeverDoubleBookAndUndoRestoresTheState) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    Bench b;
    for (int n = 0; n < 4; ++n) {
      NodeSpec node = machine("n" + std::to_string(n), 2 + n, {{"zone", n < 2 ? "east" : "west"}});
      node.repartition = n % 2 == 0;
      if (n == 3) node.static_mig = {{"1g.5gb", 3}};
      b.cluster.add_node(node);
    }
    Request social = fraction(200);
    social.labels = {{"app", "x"}};
    social.affinity = {{{{"app", "x"}}, "zone"}};
    Request loner = whole(1);
    loner.labels = {{"app", "y"}};
    loner.anti_affinity = {{{{"app", "y"}}, "node"}};
    const std::vector<Request> kinds = {whole(1),
                                        whole(2),
                                        fraction(300),
                                        fraction(700),
                                        slice("1g.5gb"),
                                        slice("2g.10gb"),
                                        slice("3g.20gb"),
                                        part_of(200, "acme"),
                                        part_of(400, "zoo"),
                                        social,
                                        loner};
    for (int i = 0; i < 40; ++i)
      b.task(kinds[prng.below(kinds.size())]);
    for (int round = 0; round < 6; ++round) {
      random_trials(b, prng, 3);
      expect_sums_hold(b.cluster);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace stint::sched
