// The deep decisions: small situations counted by hand, and random clusters under rules that must hold whatever is decided.
#include <gtest/gtest.h>

#include <array>

#include "base/prng.h"
#include "cycles/action_consolidate.h"
#include "cycles/action_preempt.h"
#include "cycles/action_reclaim.h"
#include "cycles/action_stale.h"
#include "cycles/cycle.h"
#include "sched/search/allocate.h"

namespace stint::sched {
namespace {

constexpr Instant kNow = Instant::from_seconds(1'000'000'000);

struct Asked {
  int32_t gpus = 1;
  int32_t tasks = 1;
  int32_t min_tasks = 1;
  int32_t priority = 50;
  bool preemptible = true;
};

/// A State with plain nodes and jobs.
class World {
 public:
  explicit World(VictimOrder victims = VictimOrder::kPriorityYoungest) : state(rules(victims)) { state.set_now(kNow); }

  void nodes(int count, int32_t gpus) {
    for (int i = 0; i < count; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(state.cluster().node_count());
      node.gpus = gpus;
      node.cpu_milli = 1'000'000;
      node.memory = Bytes::gibi(int64_t{1000});
      state.cluster().add_node(node);
    }
  }
  QueueId queue(int64_t deserved_gpus, double weight = 1, QueueId parent = {}) {
    QueueSpec spec;
    spec.parent = parent;
    spec.deserved.gpu_milli = deserved_gpus * kMilli;
    spec.over_quota_weight = weight;
    return state.queues().add(spec);
  }
  JobId job(QueueId queue, const Asked& asked) {
    Request request;
    request.gpus = asked.gpus;
    request.cpu_milli = 1;
    JobSpec spec;
    spec.queue = queue;
    spec.request = state.cluster().intern(request);
    spec.tasks = asked.tasks;
    spec.min_tasks = asked.min_tasks;
    spec.priority = asked.priority;
    spec.preemptible = asked.preemptible;
    return state.add_job(spec);
  }
  TaskId task(JobId j, int32_t i = 0) const { return TaskId(state.job(j).first.index() + static_cast<uint32_t>(i)); }
  void run_on(JobId j, int32_t i, uint32_t node) {
    const auto place = state.cluster().fit(state.job(j).spec.request, NodeId(node), Room::kFree);
    ASSERT_TRUE(place.has_value());
    Place at = *place;
    at.task = task(j, i);
    state.run_at(at.task, at);
  }
  JobId running(QueueId queue, uint32_t node, const Asked& asked = {}) {
    const JobId j = job(queue, asked);
    for (int32_t i = 0; i < asked.tasks; ++i)
      run_on(j, i, node);
    return j;
  }
  TaskState state_of(JobId j, int32_t i = 0) const { return state.cluster().task(task(j, i)).state; }
  uint32_t node_of(JobId j, int32_t i = 0) const { return state.cluster().task(task(j, i)).place.node.index(); }
  /// Promises lapse, those who were told to leave have left.
  void settle() {
    for (uint32_t t = 0; t < state.cluster().tasks().size(); ++t) {
      const TaskState s = state.cluster().task(TaskId(t)).state;
      if (s == TaskState::kNominated || s == TaskState::kReleasing) state.gone(TaskId(t), TaskState::kPending);
    }
  }

  State state;

 private:
  static StateRules rules(VictimOrder victims) {
    StateRules rules;
    rules.victims = victims;
    rules.pick = [](const Cluster& c, RequestId r, Room room, const Scope& scope) {
      return pick_by_rules(c, r, room, scope, {});
    };
    return rules;
  }
};

TEST(Preempt, StopsTheYoungestOfLowerPriorityAndNoMoreThanNeeded) {
  World w;
  w.nodes(1, 4);
  const QueueId q = w.queue(4);
  const JobId oldest = w.running(q, 0, {.gpus = 2, .priority = 10});
  const JobId middle = w.running(q, 0, {.gpus = 1, .priority = 10});
  const JobId youngest = w.running(q, 0, {.gpus = 1, .priority = 10});
  const JobId urgent = w.job(q, {.gpus = 2, .priority = 20});
  const auto plan = preempt_for(w.state, urgent);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->victims, (std::vector<TaskId>{w.task(youngest), w.task(middle)}));
  EXPECT_EQ(w.state_of(oldest), TaskState::kRunning);
  EXPECT_EQ(w.state_of(urgent), TaskState::kNominated);
}

TEST(Preempt, NeverTouchesEqualPriorityOrFirmJobs) {
  World w;
  w.nodes(1, 2);
  const QueueId q = w.queue(2);
  w.running(q, 0, {.priority = 20});
  w.running(q, 0, {.priority = 10, .preemptible = false});
  EXPECT_FALSE(preempt_for(w.state, w.job(q, {.priority = 20})).has_value());
  EXPECT_EQ(w.state.queues().held(q).gpu_milli, 2000);
}

TEST(Preempt, LeavesEverybodyWhereTheyAreWhenTheJobWouldNotFitAnyway) {
  World w;
  w.nodes(2, 2);
  const QueueId q = w.queue(4);
  w.running(q, 0, {.priority = 10});
  w.running(q, 1, {.priority = 10});
  const Cluster before = w.state.cluster();
  EXPECT_FALSE(preempt_for(w.state, w.job(q, {.gpus = 3, .priority = 20})).has_value());
  EXPECT_EQ(w.state.queues().held(q).gpu_milli, 2000);
  for (uint32_t n = 0; n < 2; ++n)
    EXPECT_EQ(w.state.cluster().free()[NodeId(n)].whole_free, before.free()[NodeId(n)].whole_free);
}

TEST(Preempt, TakesSurplusOfElasticJobsBeforeWholeJobs) {
  World w;
  w.nodes(1, 4);
  const QueueId q = w.queue(4);
  const JobId elastic = w.running(q, 0, {.tasks = 3, .min_tasks = 1, .priority = 10});
  const JobId small = w.running(q, 0, {.priority = 10});
  ASSERT_TRUE(preempt_for(w.state, w.job(q, {.gpus = 2, .priority = 20})).has_value());
  EXPECT_EQ(w.state_of(small), TaskState::kRunning);
  EXPECT_EQ(w.state.active(elastic), 1);
}

TEST(Preempt, AGangGivesWayAsAWhole) {
  World w;
  w.nodes(1, 2);
  const QueueId q = w.queue(2);
  const JobId gang = w.running(q, 0, {.tasks = 2, .min_tasks = 2, .priority = 10});
  ASSERT_TRUE(preempt_for(w.state, w.job(q, {.priority = 20})).has_value());
  EXPECT_EQ(w.state.active(gang), 0);
}

TEST(Preempt, MayStopWhomItLosesLeastWith) {
  World w(VictimOrder::kLeastLostWork);
  w.nodes(1, 2);
  const QueueId q = w.queue(2);
  const JobId saved_just_now = w.running(q, 0, {.priority = 10});
  const JobId young = w.running(q, 0, {.priority = 10});
  w.state.job(saved_just_now).started = kNow - Duration::hours(10);
  w.state.job(saved_just_now).saved = kNow - Duration::minutes(1);
  w.state.job(young).started = kNow - Duration::minutes(30);
  ASSERT_TRUE(preempt_for(w.state, w.job(q, {.priority = 20})).has_value());
  EXPECT_EQ(w.state_of(saved_just_now), TaskState::kReleasing);
  EXPECT_EQ(w.state_of(young), TaskState::kRunning);
}

TEST(Preempt, SparesJobsThatHaveJustStarted) {
  World w;
  w.nodes(1, 1);
  const QueueId q = w.queue(1);
  const JobId j = w.running(q, 0, {.priority = 10});
  w.state.job(j).spec.min_runtime = Duration::minutes(10);
  w.state.job(j).started = kNow - Duration::minutes(9);
  const JobId urgent = w.job(q, {.priority = 20});
  EXPECT_FALSE(preempt_for(w.state, urgent).has_value());
  w.state.job(j).started = kNow - Duration::minutes(10);
  EXPECT_TRUE(preempt_for(w.state, urgent).has_value());
}

TEST(Reclaim, BringsALentGpuBackAndStopsThere) {
  World w;
  w.nodes(1, 4);
  const QueueId lender = w.queue(2);
  const QueueId borrower = w.queue(2);
  for (int i = 0; i < 4; ++i)
    w.running(borrower, 0);
  for (int i = 0; i < 3; ++i)
    w.job(lender, {});
  w.state.divide_shares();
  EXPECT_EQ(reclaim_all(w.state).size(), 2U);  // what it deserves, not what it wants
  EXPECT_EQ(w.state.queues().held(lender).gpu_milli, 2000);
  EXPECT_EQ(w.state.queues().held(borrower).gpu_milli, 2000);
}

TEST(Reclaim, TakesNothingThatItsOwnerWouldGetBackFirst) {
  // The second queue's older job wants more than its share, so the freed GPU would go to the first queue again.
  World w;
  w.nodes(1, 4);
  const QueueId a = w.queue(2);
  const QueueId b = w.queue(2);
  w.running(a, 0, {.gpus = 2});
  w.running(a, 0);
  w.running(b, 0);
  w.job(b, {.gpus = 3});
  w.job(b, {});
  w.state.divide_shares();
  EXPECT_TRUE(reclaim_all(w.state).empty());
}

TEST(Consolidate, MovesTheSmallOneSoThatTheLargeOneFits) {
  World w;
  w.nodes(2, 4);
  const QueueId q = w.queue(8);
  const JobId a = w.running(q, 0, {.gpus = 2});
  const JobId b = w.running(q, 1, {.gpus = 2});
  const JobId large = w.job(q, {.gpus = 4});
  const auto plan = consolidate_for(w.state, large);
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->victims.empty());
  EXPECT_EQ(plan->moved, std::vector<TaskId>{w.task(b)});
  EXPECT_EQ(w.node_of(a), 0U);
  EXPECT_EQ(w.node_of(b), 0U);
  EXPECT_EQ(w.node_of(large), 1U);
}

TEST(Consolidate, DoesNothingWhenSomebodyWouldLose) {
  World w;
  w.nodes(2, 4);
  const QueueId q = w.queue(8);
  w.running(q, 0, {.gpus = 3});
  w.running(q, 1, {.gpus = 3});
  EXPECT_FALSE(consolidate_for(w.state, w.job(q, {.gpus = 3})).has_value());
}

TEST(StaleGang, LeavesAfterItsGraceAndNotBefore) {
  World w;
  w.nodes(1, 2);
  const QueueId q = w.queue(2);
  const JobId gang = w.running(q, 0, {.tasks = 2, .min_tasks = 2});
  w.state.gone(w.task(gang, 1), TaskState::kFailed);
  w.state.job(gang).broken_since = kNow + Duration::seconds(1);
  EXPECT_FALSE(evict_if_stale(w.state, gang));
  w.state.job(gang).broken_since = kNow;
  EXPECT_TRUE(evict_if_stale(w.state, gang));
  EXPECT_EQ(w.state_of(gang), TaskState::kReleasing);
}

/// What must hold after every cycle, counted from the tasks alone.
void check_rules(const World& w, const std::vector<QueueId>& queues) {
  std::vector<int64_t> held(queues.size());
  for (uint32_t j = 0; j < w.state.job_count(); ++j) {
    const JobSpec& spec = w.state.job(JobId(j)).spec;
    const int32_t active = w.state.active(JobId(j));
    ASSERT_TRUE(active == 0 || active >= spec.min_tasks) << "job " << j << " has " << active << " tasks";
    held[spec.queue.index()] += int64_t{active} * w.state.cluster().amounts(spec.request).gpu_milli;
  }
  for (const QueueId q : queues)
    ASSERT_EQ(w.state.queues().held(q).gpu_milli, held[q.index()]);
}

TEST(Cycles, KeepGangsWholeStopNoJobForNothingAndComeToRest) {
  constexpr std::array kSteps = {Step::kAllocate, Step::kConsolidate, Step::kReclaim, Step::kPreempt, Step::kStaleGang};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    World w;
    w.nodes(2 + static_cast<int>(random.below(3)), 4);
    std::vector<QueueId> queues;
    for (int q = 0; q < 3; ++q) {
      const auto weight = static_cast<double>(random.below(3));  // drawn one by one: compilers differ in the order of arguments
      queues.push_back(w.queue(static_cast<int64_t>(random.below(5)), weight));
    }
    for (int j = 0; j < 14; ++j) {
      const auto tasks = static_cast<int32_t>(1 + random.below(3));
      const Asked asked = {.gpus = static_cast<int32_t>(1 + random.below(3)),
                           .tasks = tasks,
                           .min_tasks = static_cast<int32_t>(1 + random.below(static_cast<uint64_t>(tasks))),
                           .priority = random.below(2) == 0 ? 50 : 75,
                           .preemptible = random.below(4) != 0};
      w.job(queues[random.below(queues.size())], asked);
    }
    int quiet = 0;
    for (int cycle = 0; cycle < 30 && quiet < 2; ++cycle) {
      int64_t stopped = 0;
      int64_t promised = 0;
      run_cycle(w.state, kSteps);
      check_rules(w, queues);
      for (const Task& task : w.state.cluster().tasks()) {
        stopped += task.state == TaskState::kReleasing ? 1 : 0;
        promised += task.state == TaskState::kNominated ? 1 : 0;
      }
      ASSERT_TRUE(stopped == 0 || promised > 0) << "cycle " << cycle;
      quiet = stopped + promised == 0 ? quiet + 1 : 0;
      w.settle();
    }
    EXPECT_EQ(quiet, 2) << "still moving jobs about after 30 cycles";
  }
}

}  // namespace
}  // namespace stint::sched
