#include "sched/place/place_gang.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/prng.h"

namespace stint::sched {
namespace {

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

struct Bench {
  Cluster cluster;
  PlaceRules rules;

  NodeId node(int gpus, std::vector<Label> labels = {}) {
    NodeSpec n;
    n.name = "n" + std::to_string(cluster.node_count());
    n.gpus = gpus;
    n.gpu_memory = Bytes::mebi(100);
    n.cpu_milli = 64'000;
    n.labels = std::move(labels);
    return cluster.add_node(n);
  }
  TaskId task(const Request& r, int32_t group = -1) { return cluster.add_task(JobId(0), cluster.intern(r), group); }
  std::vector<TaskId> tasks(int count, const Request& r, int32_t group = -1) {
    std::vector<TaskId> out;
    for (int i = 0; i < count; ++i)
      out.push_back(task(r, group));
    return out;
  }
  void occupy(NodeId n, int gpus) {
    const TaskId t = cluster.add_task(JobId(1), cluster.intern(whole(gpus)));
    cluster.run(t, *cluster.fit(cluster.task(t).request, n, Room::kFree));
  }
  bool place(const std::vector<TaskId>& tasks, const Gang* gang = nullptr, Room room = Room::kFree) {
    std::vector<Task> mates;
    for (const Task& t : cluster.tasks())
      if (t.job == JobId(0)) mates.push_back(t);
    return place_gang(cluster, tasks,
                      [&](const Cluster& c, RequestId r, Room in, const Scope& s) { return pick_by_rules(c, r, in, s, rules); },
                      {.gang = gang, .mates = mates, .room = room, .now = {}, .within = {}});
  }
  std::vector<uint32_t> nodes_of(const std::vector<TaskId>& tasks) const {
    std::vector<uint32_t> out;
    for (const TaskId t : tasks)
      out.push_back(cluster.task(t).place.node.index());
    return out;
  }
};

using Nodes = std::vector<uint32_t>;

Gang gang_of(std::vector<std::string> levels, std::string required, std::string preferred = "") {
  Gang g;
  g.topology = {std::move(required), std::move(preferred), std::move(levels)};
  return g;
}

TEST(PlaceByRules, PackTakesTheFullestNodeSpreadTheEmptiest) {
  Bench b;
  for (int i = 0; i < 3; ++i)
    b.node(4);
  b.occupy(NodeId(1), 2);
  b.occupy(NodeId(2), 1);
  const auto packed = b.tasks(3, whole(1));
  ASSERT_TRUE(b.place(packed));
  EXPECT_EQ(b.nodes_of(packed), (Nodes{1, 1, 2}));
  b.rules.gpu_tasks = NodeOrder::kSpread;
  const auto spread = b.tasks(3, whole(1));
  ASSERT_TRUE(b.place(spread));
  EXPECT_EQ(b.nodes_of(spread), (Nodes{0, 0, 0}));
}

TEST(PlaceByRules, FractionsShareGpusBeforeTheyBreakWholeOnes) {
  Bench b;
  b.node(1);
  b.node(4);
  const TaskId first = b.task(fraction(500));
  b.cluster.run(first, *b.cluster.fit(b.cluster.task(first).request, NodeId(1), Room::kFree));
  const auto second = b.tasks(1, fraction(500));
  ASSERT_TRUE(b.place(second));
  EXPECT_EQ(b.nodes_of(second), (Nodes{1}));
  EXPECT_EQ(b.cluster.task(second[0]).place.gpus, b.cluster.task(first).place.gpus);
  b.rules.shared_gpu = SharedGpu::kSpread;
  const auto apart = b.tasks(2, fraction(250));
  ASSERT_TRUE(b.place(apart));
  EXPECT_NE(b.cluster.task(apart[0]).place, b.cluster.task(apart[1]).place);
}

TEST(PlaceByRules, CpuTasksKeepOffGpuNodes) {
  Bench b;
  b.node(4);
  b.node(0);
  Request cpu;
  cpu.cpu_milli = 1000;
  const auto tasks = b.tasks(1, cpu);
  ASSERT_TRUE(b.place(tasks));
  EXPECT_EQ(b.nodes_of(tasks), (Nodes{1}));
}

TEST(PlaceGang, AllOrNothing) {
  Bench b;
  b.node(2);
  b.node(2);
  const Cluster before = b.cluster;
  const auto five = b.tasks(5, whole(1));
  EXPECT_FALSE(b.place(five));
  for (const TaskId t : five)
    EXPECT_EQ(b.cluster.task(t).state, TaskState::kPending);
  EXPECT_TRUE(std::ranges::equal(b.cluster.free().all(), before.free().all()));
  EXPECT_TRUE(b.place({five.begin(), five.begin() + 4}));
}

TEST(PlaceGang, IsNominatedWhereTasksLeave) {
  Bench b;
  b.node(2);
  b.occupy(NodeId(0), 2);
  const auto gang = b.tasks(2, whole(1));
  EXPECT_FALSE(b.place(gang, nullptr, Room::kComing));
  b.cluster.leave(TaskId(0));
  EXPECT_FALSE(b.place(gang));
  ASSERT_TRUE(b.place(gang, nullptr, Room::kComing));
  EXPECT_EQ(b.cluster.task(gang[1]).state, TaskState::kNominated);
}

TEST(PlaceGang, ARequiredLevelBindsAllToOneDomain) {
  Bench b;
  for (int i = 0; i < 4; ++i)
    b.node(1, {{"rack", i < 2 ? "r1" : "r2"}});
  b.occupy(NodeId(0), 1);
  const Gang gang = gang_of({"rack"}, "rack");
  const auto pair = b.tasks(2, whole(1));
  ASSERT_TRUE(b.place(pair, &gang));
  EXPECT_EQ(b.nodes_of(pair), (Nodes{2, 3}));
  EXPECT_FALSE(b.place(b.tasks(1, whole(1)), &gang)) << "its mates are in the other rack, which is full";
}

TEST(PlaceGang, APreferredLevelGivesWay) {
  Bench b;
  for (int i = 0; i < 4; ++i)
    b.node(1, {{"zone", "z"}, {"rack", i < 2 ? "r1" : "r2"}});
  b.node(8, {{"zone", "other"}, {"rack", "r3"}});
  b.occupy(NodeId(4), 7);
  const Gang gang = gang_of({"zone", "rack"}, "zone", "rack");
  auto two = b.tasks(2, whole(1));
  {
    Attempt attempt(b.cluster);
    ASSERT_TRUE(b.place(two, &gang));
    EXPECT_EQ(b.nodes_of(two), (Nodes{0, 1}));
  }
  const auto three = b.tasks(3, whole(1));
  ASSERT_TRUE(b.place(three, &gang)) << "no rack holds three, the zone does";
  EXPECT_EQ(b.nodes_of(three), (Nodes{0, 1, 2}));
  EXPECT_FALSE(b.place(b.tasks(2, whole(1)), &gang)) << "the zone is required";
}

TEST(PlaceGang, BeyondAPreferredLevelAsFewDomainsAsItTakes) {
  Bench b;
  // Racks of 1, 2, 4 and 3 GPUs on nodes of one; six tasks need at least two of them: 4 and 2, which fits exactly.
  for (const char* rack : {"a", "b", "b", "c", "c", "c", "c", "d", "d", "d"})
    b.node(1, {{"rack", rack}});
  const Gang gang = gang_of({"rack"}, "", "rack");
  const auto six = b.tasks(6, whole(1));
  ASSERT_TRUE(b.place(six, &gang));
  EXPECT_EQ(b.nodes_of(six), (Nodes{3, 4, 5, 6, 1, 2}));
  EXPECT_FALSE(b.place(b.tasks(5, whole(1)), &gang));
  EXPECT_TRUE(b.place(b.tasks(4, whole(1)), &gang));
}

TEST(PlaceGang, EqualRackNamesInTwoZonesAreTwoRacks) {
  Bench b;
  b.node(1, {{"zone", "a"}, {"rack", "r"}});
  b.node(1, {{"zone", "b"}, {"rack", "r"}});
  const Gang gang = gang_of({"zone", "rack"}, "rack");
  EXPECT_FALSE(b.place(b.tasks(2, whole(1)), &gang));
  EXPECT_TRUE(b.place(b.tasks(1, whole(1)), &gang));
}

TEST(PlaceGang, ASmallGroupLeavesTheOnlyRackALargeOneFits) {
  Bench b;
  b.node(2, {{"rack", "small"}});
  b.node(3, {{"rack", "large"}});
  b.occupy(NodeId(0), 1);
  Gang gang;
  const TopologyWish rack{"rack", "", {"rack"}};
  gang.groups = {{-1, 1, rack}, {-1, 3, rack}};
  auto tasks = b.tasks(1, whole(1), 0);
  for (const TaskId t : b.tasks(3, whole(1), 1))
    tasks.push_back(t);
  ASSERT_TRUE(b.place(tasks, &gang));
  EXPECT_EQ(b.nodes_of(tasks), (Nodes{0, 1, 1, 1}));
}

TEST(PlaceGang, GroupsOfOneRackInsideARequiredZone) {
  Bench b;
  for (const char* zone : {"a", "b"})
    for (const char* rack : {"1", "2"})
      b.node(2, {{"zone", zone}, {"rack", rack}});
  b.occupy(NodeId(0), 1);
  Gang gang;
  gang.topology = {"zone", "", {"zone", "rack"}};
  const TopologyWish rack{"rack", "", {"zone", "rack"}};
  gang.groups = {{-1, 2, rack}, {-1, 2, rack}};
  auto tasks = b.tasks(2, whole(1), 0);
  for (const TaskId t : b.tasks(2, whole(1), 1))
    tasks.push_back(t);
  ASSERT_TRUE(b.place(tasks, &gang));
  const Nodes nodes = b.nodes_of(tasks);
  EXPECT_EQ(nodes[0], nodes[1]);
  EXPECT_EQ(nodes[2], nodes[3]);
  EXPECT_EQ((std::set<uint32_t>(nodes.begin(), nodes.end())), (std::set<uint32_t>{2, 3})) << "zone a has three GPUs left";
}

TEST(NextTasks, FirstTheMinimumOfEveryLeafThenOneByOne) {
  Bench b;
  b.node(8);
  Gang gang;
  gang.groups = {{-1, 2, {}}, {-1, 1, {}}};
  const TaskId first = b.task(whole(1), 0);
  b.tasks(2, whole(1), 0);
  const TaskId lone = b.task(whole(1), 1);
  const auto start = next_tasks(b.cluster, first, 4, &gang, 3);
  EXPECT_EQ(start, (std::vector<TaskId>{first, TaskId(first.index() + 1), lone}));
  ASSERT_TRUE(b.place(start));
  EXPECT_EQ(next_tasks(b.cluster, first, 4, &gang, 3), (std::vector<TaskId>{TaskId(first.index() + 2)}));
}

TEST(NextTasks, NothingWhenTheMinimumIsOutOfReach) {
  Bench b;
  b.node(8);
  const auto tasks = b.tasks(3, whole(1));
  EXPECT_EQ(next_tasks(b.cluster, tasks[0], 3, nullptr, 2).size(), 2U);
  b.cluster.gone(tasks[0], TaskState::kFailed);
  b.cluster.gone(tasks[1], TaskState::kFailed);
  EXPECT_TRUE(next_tasks(b.cluster, tasks[0], 3, nullptr, 2).empty());
}

/// Every assignment of tasks to nodes and, for fractions, GPUs.
bool exists_assignment(std::vector<std::vector<int>> free, const std::vector<Request>& left, size_t i,
                       const std::vector<std::vector<uint32_t>>& allowed) {
  if (i == left.size()) return true;
  for (const uint32_t n : allowed[i]) {
    std::vector<int>& gpus = free[n];
    if (left[i].gpus > 0) {
      const std::vector<int> before = gpus;
      int wanted = left[i].gpus;
      for (int& g : gpus)
        if (g == kMilli && wanted > 0) g = 0, --wanted;
      if (wanted == 0 && exists_assignment(free, left, i + 1, allowed)) return true;
      gpus = before;
    } else {
      for (int& g : gpus) {
        if (g < left[i].milli) continue;
        g -= left[i].milli;
        if (exists_assignment(free, left, i + 1, allowed)) return true;
        g += left[i].milli;
      }
    }
  }
  return false;
}

TEST(PlaceGang, FindsAPlacementExactlyWhenThereIsOne) {
  int possible = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    Bench b;
    std::vector<std::vector<int>> free;
    const auto nodes = static_cast<uint32_t>(2 + prng.below(2));
    for (uint32_t n = 0; n < nodes; ++n) {
      const auto gpus = static_cast<int>(1 + prng.below(3));
      b.node(gpus);
      free.emplace_back(gpus, kMilli);
    }
    std::vector<Request> asked;
    std::vector<TaskId> tasks;
    std::vector<std::vector<uint32_t>> allowed;
    const auto count = 2 + prng.below(4);
    for (uint64_t i = 0; i < count; ++i) {
      Request r =
          prng.below(2) == 0 ? whole(static_cast<int>(1 + prng.below(2))) : fraction(static_cast<int>(200 * (1 + prng.below(4))));
      allowed.emplace_back();
      r.only_allowed_nodes = prng.below(2) == 0;
      for (uint32_t n = 0; n < nodes; ++n) {
        if (r.only_allowed_nodes && prng.below(2) == 0) continue;
        allowed.back().push_back(n);
        if (r.only_allowed_nodes) r.allowed_nodes.push_back("n" + std::to_string(n));
      }
      asked.push_back(r);
      tasks.push_back(b.task(r));
    }
    const bool expected = exists_assignment(free, asked, 0, allowed);
    possible += expected;
    EXPECT_EQ(b.place(tasks), expected);
  }
  EXPECT_GT(possible, 400) << "the cases are too hard to say much";
  EXPECT_LT(possible, 1600) << "the cases are too easy to say much";
}

TEST(PlaceGang, FindsDomainsForGroupsExactlyWhenThereAreSome) {
  int possible = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    Bench b;
    std::vector<std::vector<int>> free;
    std::vector<int> zone_of;
    std::vector<int> rack_of;  // numbered through
    for (int n = 0; n < 5; ++n) {
      zone_of.push_back(static_cast<int>(prng.below(2)));
      rack_of.push_back(2 * zone_of.back() + static_cast<int>(prng.below(2)));
      const auto gpus = static_cast<int>(1 + prng.below(2));
      b.node(gpus, {{"zone", std::to_string(zone_of.back())}, {"rack", std::to_string(rack_of.back() % 2)}});
      free.emplace_back(gpus, kMilli);
    }
    const bool one_zone = prng.below(2) == 0;
    const std::array<bool, 2> one_rack = {prng.below(3) != 0, prng.below(3) != 0};
    Gang gang;
    if (one_zone) gang.topology = {"zone", prng.below(2) == 0 ? "rack" : "", {"zone", "rack"}};
    for (const bool wish : one_rack)
      gang.groups.push_back({-1, 1, wish ? TopologyWish{"rack", "", {"zone", "rack"}} : TopologyWish{}});
    std::vector<Request> asked;
    std::vector<TaskId> tasks;
    std::vector<size_t> group_of;
    for (size_t g = 0; g < 2; ++g) {
      const auto count = 2 + prng.below(2);
      for (uint64_t i = 0; i < count; ++i) {
        asked.push_back(prng.below(3) == 0 ? fraction(500) : whole(1));
        tasks.push_back(b.task(asked.back(), static_cast<int32_t>(g)));
        group_of.push_back(g);
      }
    }
    // Every zone for the job (2 = any) and every rack for each group (4 = any).
    bool expected = false;
    for (int zone = one_zone ? 0 : 2; zone < (one_zone ? 2 : 3) && !expected; ++zone)
      for (int racks = 0; racks < 25 && !expected; ++racks) {
        const std::array<int, 2> rack = {racks % 5, racks / 5};
        if ((rack[0] == 4) == one_rack[0] || (rack[1] == 4) == one_rack[1]) continue;
        std::vector<std::vector<uint32_t>> allowed;
        for (size_t i = 0; i < tasks.size(); ++i) {
          allowed.emplace_back();
          for (uint32_t n = 0; n < 5; ++n)
            if ((zone == 2 || zone_of[n] == zone) && (rack[group_of[i]] == 4 || rack_of[n] == rack[group_of[i]]))
              allowed.back().push_back(n);
        }
        expected = exists_assignment(free, asked, 0, allowed);
      }
    possible += expected;
    EXPECT_EQ(b.place(tasks, &gang), expected);
  }
  EXPECT_GT(possible, 200);
  EXPECT_LT(possible, 900);
}

}  // namespace
}  // namespace stint::sched
