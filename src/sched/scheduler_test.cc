#include "sched/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

TEST(Scheduler, PlacesOnTheFullestNodeThatFits) {
  World world(plain(Order::kFifo), 3);
  world.submit(at(0), world.job(5));
  world.submit(at(0), world.job(6));
  world.submit(at(0), world.job(2));
  ASSERT_EQ(world.last.size(), 1U);
  EXPECT_EQ(world.last[0].places[0].node, NodeId(1));  // 2 left there, 3 on the first
  EXPECT_EQ(world.last[0].places[0].gpus, 0b1100'0000U);
}

TEST(Scheduler, GangStartsWholeOrNotAtAll) {
  World world(plain(Order::kFifoSkip), 2);
  const JobId blocker = world.submit(at(0), world.job(1));
  const JobId gang = world.submit(at(1), world.job(8, 2));
  EXPECT_THAT(world.started(), IsEmpty());
  world.step(at(2), {event(EventKind::kFinished, blocker)});
  EXPECT_THAT(world.started(), ElementsAre(gang));
  EXPECT_EQ(world.last[0].places.size(), 2U);
}

TEST(Scheduler, HigherPriorityGoesFirst) {
  World world(plain(Order::kFifo), 1);
  const JobId first = world.submit(at(0), world.job(8));
  const JobId low = world.submit(at(1), world.job(8));
  JobSpec urgent = world.job(8);
  urgent.priority = 100;
  const JobId high = world.submit(at(2), urgent);
  world.step(at(3), {event(EventKind::kFinished, first)});
  EXPECT_THAT(world.started(), ElementsAre(high));
  world.step(at(4), {event(EventKind::kFinished, high)});
  EXPECT_THAT(world.started(), ElementsAre(low));
}

TEST(Scheduler, WaitsForDependenciesAndItsTime) {
  World world(plain(Order::kFifo), 1);
  const JobId first = world.submit(at(0), world.job(1));
  JobSpec second = world.job(1);
  second.after = {first};
  second.not_before = at(100);
  const JobId later = world.submit(at(1), second);
  EXPECT_EQ(world.scheduler.explain(later).obstacle, Obstacle::kDependency);
  world.step(at(10), {event(EventKind::kFinished, first)});
  EXPECT_THAT(world.started(), IsEmpty());
  EXPECT_EQ(world.scheduler.next_wakeup(), at(100));
  world.step(at(100), {});
  EXPECT_THAT(world.started(), ElementsAre(later));
}

TEST(Scheduler, RejectsWhatDependsOnAFailure) {
  World world(plain(Order::kFifo), 1);
  const JobId first = world.submit(at(0), world.job(1));
  JobSpec needs = world.job(1);
  needs.after = {first};
  const JobId second = world.submit(at(0), needs);
  needs.after = {second};
  const JobId third = world.submit(at(0), needs);
  world.step(at(1), {event(EventKind::kFailed, first)});
  ASSERT_EQ(world.last.size(), 2U);
  EXPECT_EQ(world.last[0].job, second);
  EXPECT_EQ(world.last[0].reason, Reason::kDependencyFailed);
  EXPECT_EQ(world.last[1].job, third);
}

TEST(Scheduler, RetriesAsOftenAsAllowed) {
  World world(plain(Order::kFifo), 1);
  JobSpec spec = world.job(1);
  spec.retries = 1;
  const JobId job = world.submit(at(0), spec);
  world.step(at(1), {event(EventKind::kFailed, job)});
  EXPECT_THAT(world.started(), ElementsAre(job));
  world.step(at(2), {event(EventKind::kFailed, job)});
  EXPECT_THAT(world.started(), IsEmpty());
  EXPECT_EQ(world.scheduler.explain(job).standing, Standing::kEnded);
}

TEST(Scheduler, RejectsWhatNeverFits) {
  World world(plain(Order::kFifo), 2);
  world.submit(at(0), world.job(8, 3));
  ASSERT_EQ(world.last.size(), 1U);
  EXPECT_EQ(world.last[0].reason, Reason::kNeverFits);
}

TEST(Scheduler, TimeLimitEndsAJobForGood) {
  World world(plain(Order::kFifo), 1);
  JobSpec spec = world.job(8);
  spec.time_limit = Duration::seconds(50);
  const JobId job = world.submit(at(0), spec);
  const JobId next = world.submit(at(1), world.job(8));
  EXPECT_EQ(world.scheduler.next_wakeup(), at(50));
  world.step(at(50), {});
  ASSERT_EQ(world.last.size(), 1U);
  EXPECT_EQ(world.last[0].reason, Reason::kTimeLimit);
  EXPECT_FALSE(world.runs(next));  // the room is still held
  world.let_go(at(55));
  EXPECT_THAT(world.started(), ElementsAre(next));
  EXPECT_EQ(world.scheduler.explain(job).standing, Standing::kEnded);
}

TEST(Scheduler, LostNodeSendsTheWholeGangBack) {
  World world(plain(Order::kFifo), 3);
  const JobId gang = world.submit(at(0), world.job(8, 2));
  world.step(at(10), {event(EventKind::kNodeDown, NodeId(0))});
  ASSERT_EQ(world.last.size(), 1U);  // the other task leaves; nothing starts while it does
  EXPECT_EQ(world.last[0].reason, Reason::kStaleGang);
  world.let_go(at(11));
  EXPECT_THAT(world.started(), ElementsAre(gang));  // on the nodes that are left
  for (const Place& place : world.last[0].places)
    EXPECT_NE(place.node, NodeId(0));
}

TEST(Scheduler, AMachineThatIsGoneGivesItsIdToTheNext) {
  World world(plain(Order::kFifo), 2, 4);
  const JobId first = world.submit(at(0), world.job(4));
  const JobId second = world.submit(at(0), world.job(4));
  world.step(at(10), {event(EventKind::kNodeGone, NodeId(0))});
  EXPECT_THAT(world.last, IsEmpty());
  EXPECT_EQ(world.scheduler.explain(first).standing, Standing::kWaiting);
  EXPECT_TRUE(world.runs(second));
  EXPECT_EQ(world.scheduler.add_node(World::node("larger", 8)), NodeId(0));
  world.step(at(20), {});
  EXPECT_THAT(world.started(), ElementsAre(first));
  const JobId large = world.submit(at(21), world.job(8));
  world.step(at(30), {event(EventKind::kFinished, first)});
  EXPECT_THAT(world.started(), ElementsAre(large));
  EXPECT_EQ(world.scheduler.add_node(World::node("third", 1)), NodeId(2));
}

TEST(Scheduler, DoesNotGrowWithMachinesThatCameAndWent) {
  World world(plain(Order::kStint), 4, 4);
  Request together;
  together.gpus = 1;
  together.labels = {{"app", "db"}};
  together.anti_affinity = {{{{"app", "db"}}, "node"}};
  JobSpec spec = world.job(1);
  spec.request = world.scheduler.intern(together);
  const auto come_and_go = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const NodeId n(static_cast<uint32_t>(i % 3));
      const JobId job = world.submit(at(i * 10), spec);
      EXPECT_FALSE(world.started().empty());
      world.step(at(i * 10 + 1), {event(EventKind::kFinished, job)});
      world.step(at(i * 10 + 2), {event(EventKind::kNodeGone, n)});
      EXPECT_EQ(world.scheduler.add_node(World::node(fmt::format("machine-{:06}", i), 4)), n);
      world.scheduler.forget(std::vector<bool>(1, true));
    }
    return world.scheduler.save().size();
  };
  const size_t early = come_and_go(0, 100);
  EXPECT_LE(come_and_go(100, 3'000), early + 64);
}

TEST(Scheduler, WorkThatWaitedInVainIsTriedOnANewMachine) {
  World world(plain(Order::kStint), 1, 4);
  Request fed;
  fed.gpus = 4;
  fed.cpu_milli = 8'000;
  JobSpec spec = world.job(4);
  spec.request = world.scheduler.intern(fed);
  world.submit(at(0), spec);
  const JobId waits = world.submit(at(1), spec);
  world.scheduler.add_node(World::node("second", 4));
  world.step(at(2), {});
  EXPECT_THAT(world.started(), ElementsAre(waits));
}

TEST(Scheduler, WhatIsTooLargeWaitsWhereMachinesMayCome) {
  World world(plain(Order::kStint), 1, 4);
  world.scheduler.expect_machines();
  const JobId large = world.submit(at(0), world.job(8));
  EXPECT_EQ(world.scheduler.explain(large).standing, Standing::kWaiting);
  const JobId small = world.submit(at(1), world.job(4));
  EXPECT_THAT(world.started(), ElementsAre(small));
  world.scheduler.add_node(World::node("larger", 8));
  world.step(at(2), {});
  EXPECT_THAT(world.started(), ElementsAre(large));
}

// Two of three nodes of a gang go at the same instant: the first loss tells the other two tasks to leave, one of which is
// lost as well then. With all three gone no job is told anything.
TEST(Scheduler, WhatIsLostAtTheSameInstantIsNotToldToLeave) {
  for (const uint32_t lost : {2U, 3U}) {
    World world(plain(Order::kFifo), 3);
    const JobId gang = world.submit(at(0), world.job(8, 3));
    std::vector<Event> losses;
    for (uint32_t n = 0; n < lost; ++n)
      losses.push_back(event(EventKind::kNodeDown, NodeId(n)));
    world.step(at(10), losses);
    if (lost == 2) {
      ASSERT_EQ(world.last.size(), 1U);
      EXPECT_EQ(world.last[0].kind, DecisionKind::kEvict);
      ASSERT_EQ(world.last[0].places.size(), 1U);
      EXPECT_EQ(world.last[0].places[0].node, NodeId(2));
      world.let_go(at(11));
    } else {
      EXPECT_THAT(world.last, IsEmpty());
    }
    for (uint32_t n = 0; n < lost; ++n)
      losses[n].kind = EventKind::kNodeUp;
    world.step(at(20), losses);
    EXPECT_THAT(world.started(), ElementsAre(gang));
  }
}

TEST(Scheduler, TasksLostTogetherAreNotToldToLeave) {
  World world(plain(Order::kFifo), 3);
  world.submit(at(0), world.job(8, 3));
  ASSERT_EQ(world.last.size(), 1U);
  const std::vector<Place> places = world.last[0].places;
  std::vector<Event> losses(2, event(EventKind::kLost, JobId(0)));
  losses[0].task = places[0].task;
  losses[1].task = places[1].task;
  world.step(at(10), losses);
  ASSERT_EQ(world.last.size(), 1U);
  ASSERT_EQ(world.last[0].places.size(), 1U);
  EXPECT_EQ(world.last[0].places[0].task, places[2].task);
}

TEST(Scheduler, SpotNoticeMovesJobsAway) {
  World world(plain(Order::kFifo), 2);
  const JobId job = world.submit(at(0), world.job(4));
  world.step(at(10), {event(EventKind::kSpotNotice, NodeId(0))});
  ASSERT_EQ(world.last.size(), 1U);
  EXPECT_EQ(world.last[0].reason, Reason::kSpotNotice);
  world.let_go(at(20));
  ASSERT_THAT(world.started(), ElementsAre(job));
  EXPECT_EQ(world.last[0].places[0].node, NodeId(1));
}

TEST(Scheduler, CancelledJobLeavesAndDoesNotComeBack) {
  World world(plain(Order::kFifo), 1);
  const JobId running = world.submit(at(0), world.job(8));
  const JobId waiting = world.submit(at(1), world.job(8));
  const JobId last = world.submit(at(2), world.job(8));
  world.step(at(3), {event(EventKind::kCancel, running), event(EventKind::kCancel, waiting)});
  world.let_go(at(4));
  EXPECT_THAT(world.started(), ElementsAre(last));
}

TEST(Scheduler, ElasticJobGrowsIntoWhatNoJobWaitsFor) {
  World world(plain(Order::kFifoSkip), 1);
  const JobId other = world.submit(at(0), world.job(4));
  JobSpec elastic = world.job(2, 4);
  elastic.min_tasks = 1;
  const JobId job = world.submit(at(1), elastic);
  EXPECT_EQ(world.last[0].places.size(), 2U);
  world.step(at(2), {event(EventKind::kFinished, other)});
  ASSERT_EQ(world.last.size(), 2U);
  EXPECT_EQ(world.last[0].kind, DecisionKind::kGrow);
  EXPECT_EQ(world.last[1].job, job);
}

TEST(Scheduler, QueueLimitHoldsAtEveryLevelAndOpensAgain) {
  World world(plain(Order::kFair), 2);
  QueueSpec department;
  department.name = "department";
  department.limit.gpu_milli = 8000;
  const QueueId above = world.scheduler.add_queue(department);
  QueueSpec team;
  team.name = "team";
  team.parent = above;
  const QueueId below = world.scheduler.add_queue(team);
  JobSpec spec = world.job(6);
  spec.queue = below;
  const JobId first = world.submit(at(0), spec);
  const JobId second = world.submit(at(1), spec);
  const Explanation why = world.scheduler.explain(second);
  EXPECT_EQ(why.obstacle, Obstacle::kQueueLimit);
  EXPECT_EQ(why.at_queue, above);
  ASSERT_FALSE(why.remedies.empty());
  EXPECT_EQ(why.remedies[0].kind, RemedyKind::kRaiseLimit);
  EXPECT_EQ(why.remedies[0].amount, 4000);  // 12 GPUs asked for in sum, 8 allowed
  world.step(at(2), {event(EventKind::kFinished, first)});
  EXPECT_THAT(world.started(), ElementsAre(second));
}

TEST(Scheduler, FairGivesTheQueueWithLessItsTurn) {
  World world(plain(Order::kFair), 1);
  QueueSpec other;
  other.name = "other";
  other.created = 1;
  const QueueId b = world.scheduler.add_queue(other);
  const JobId a1 = world.submit(at(0), world.job(4));
  const JobId a2 = world.submit(at(1), world.job(4));
  const JobId a3 = world.submit(at(2), world.job(4));
  JobSpec spec = world.job(4);
  spec.queue = b;
  const JobId b1 = world.submit(at(3), spec);
  world.step(at(4), {event(EventKind::kFinished, a1)});
  EXPECT_THAT(world.started(), ElementsAre(b1));
  world.step(at(5), {event(EventKind::kFinished, a2)});
  EXPECT_THAT(world.started(), ElementsAre(a3));
}

TEST(Scheduler, StableWhenNothingHappens) {
  // Two long jobs that cannot run together: whoever runs is left alone for a quantum, and rounds without news change nothing.
  World world(plain(Order::kStint), 1);
  world.submit(at(0), world.job(8));
  world.submit(at(10), world.job(8));
  for (int round = 0; round < 20; ++round) {
    world.step(at(20), {});
    EXPECT_THAT(world.last, IsEmpty());
  }
}

TEST(Scheduler, MoreThanWholeGpusIsPlacedByTheCluster) {
  World world(plain(Order::kFifoSkip), 1, 1);
  Request half;
  half.milli = 600;
  half.cpu_milli = 1000;
  JobSpec spec = world.job(1);
  spec.request = world.scheduler.intern(half);
  const JobId first = world.submit(at(0), spec);
  EXPECT_THAT(world.started(), ElementsAre(first));
  const JobId second = world.submit(at(1), spec);
  EXPECT_THAT(world.started(), IsEmpty());
  half.milli = 400;
  spec.request = world.scheduler.intern(half);
  const JobId third = world.submit(at(2), spec);
  EXPECT_THAT(world.started(), ElementsAre(third));
  world.step(at(3), {event(EventKind::kFinished, first)});
  EXPECT_THAT(world.started(), ElementsAre(second));
}

TEST(Scheduler, FollowsThePlacementPolicy) {
  for (const auto& [placement, node] :
       {std::pair{Placement::kSpread, 1U}, {Placement::kBestFit, 0U}, {Placement::kFirstFit, 0U}}) {
    Policy policy = plain(Order::kFifo);
    policy.placement = placement;
    World world(policy, 2);
    world.submit(at(0), world.job(2));
    world.submit(at(1), world.job(2));
    ASSERT_EQ(world.last.size(), 1U);
    EXPECT_EQ(world.last[0].places[0].node, NodeId(node)) << name_of(placement);
  }
}

TEST(Scheduler, ExplainsWhatWouldStartAJob) {
  Policy policy = plain(Order::kFifo);
  policy.preempt = false;
  World world(policy, 1);
  JobSpec low = world.job(6);
  low.priority = 10;
  low.time_limit = Duration::seconds(500);
  const JobId running = world.submit(at(0), low);
  const JobId ahead = world.submit(at(1), world.job(4));
  const JobId job = world.submit(at(2), world.job(5));
  const Explanation why = world.scheduler.explain(job);
  EXPECT_EQ(why.standing, Standing::kWaiting);
  EXPECT_EQ(why.obstacle, Obstacle::kNoRoom);
  EXPECT_EQ(why.missing_gpu_milli, 3000);
  EXPECT_EQ(why.jobs_ahead, 1);
  EXPECT_EQ(why.behind, ahead);
  ASSERT_EQ(why.remedies.size(), 2U);
  EXPECT_EQ(why.remedies[0].kind, RemedyKind::kEvictLower);
  EXPECT_EQ(why.remedies[0].job, running);
  EXPECT_EQ(why.remedies[1].kind, RemedyKind::kMoreGpus);
  EXPECT_EQ(why.remedies[1].amount, 3);
}

// Priority counts inside a queue: a thousand of it does not start a job where another queue's has the room, and `why` says so.
TEST(Scheduler, ExplainsThatPriorityCountsInsideAQueue) {
  for (const bool same_queue : {true, false}) {
    World world(plain(Order::kStint), 1);
    JobSpec low = world.job(8);
    low.priority = 10;
    low.checkpoint = {};
    low.min_runtime = Duration::hours(1);
    const JobId running = world.submit(at(0), low);
    JobSpec high = world.job(8);
    QueueSpec other;
    other.name = "other";
    if (!same_queue) high.queue = world.scheduler.add_queue(other);
    high.priority = 5;
    const Explanation lower = world.scheduler.explain(world.submit(at(1), high));
    const auto is_priority = [](const Remedy& r) { return r.kind == RemedyKind::kHigherPriority; };
    EXPECT_EQ(std::ranges::count_if(lower.remedies, is_priority), same_queue ? 1 : 0);
    high.priority = 1'000;
    const Explanation why = world.scheduler.explain(world.submit(at(2), high));
    const auto stop = std::ranges::find(why.remedies, RemedyKind::kEvictLower, &Remedy::kind);
    ASSERT_NE(stop, why.remedies.end());
    EXPECT_EQ(stop->job, running);
    EXPECT_EQ(stop->other_queue.valid(), !same_queue);
    world.step(at(7'200), {});
    EXPECT_EQ(world.leaving.empty(), !same_queue);
  }
}

TEST(Order, WhatWaitedBeforeItWasSubmittedHereHasWaitedSince) {
  World world(testing_world::plain(Order::kStint), 1);
  world.submit(at(0), world.job(8));
  const JobId young = world.submit(at(1), world.job(1));
  JobSpec spec = world.job(1);
  spec.submitted = at(0) - Duration::hours(1);
  const JobId old = world.submit(at(2), spec);
  EXPECT_EQ(world.scheduler.waiting_line(), (std::vector<JobId>{old, young}));
}

}  // namespace
}  // namespace stint::sched
