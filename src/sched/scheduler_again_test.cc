// Jobs that did not fit are tried again as soon as they may: what can make room is more than others' leaving.
#include <gtest/gtest.h>

#include "sched/policy_text.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

World racked_world(int nodes) {
  World world(plain(Order::kFifoSkip), 0);
  NodeSpec node;
  node.gpus = 8;
  node.labels = {{"rack", "r0"}};
  for (int n = 0; n < nodes; ++n) {
    node.name = fmt::format("n{}", n);
    world.scheduler.add_node(node);
  }
  return world;
}

JobSpec asking(World& world, const Request& request) {
  JobSpec spec = world.job(1);
  spec.request = world.scheduler.intern(request);
  return spec;
}

TEST(TriedAgain, WhenAReservationFalls) {
  Policy policy = plain(Order::kFifoSkip);
  policy.backfill = Backfill::kEasy;
  World world(policy, 2);
  JobSpec wide = world.job(8);
  wide.expected = Duration::hours(10);
  world.submit(at(0), wide);
  const JobId reserved = world.submit(at(1), world.job(8, 2));
  Request half;
  half.milli = 500;
  JobSpec share = asking(world, half);
  share.expected = Duration::hours(20);
  const JobId waits = world.submit(at(2), share);
  ASSERT_FALSE(world.runs(waits));
  world.step(at(3), {event(EventKind::kCancel, reserved)});
  EXPECT_TRUE(world.runs(waits));
}

TEST(TriedAgain, WhenAWantedNeighbourStarts) {
  World world = racked_world(1);
  Request near;
  near.gpus = 1;
  near.affinity = {{{{"app", "b"}}, "node"}};
  const JobId waits = world.submit(at(0), asking(world, near));
  ASSERT_FALSE(world.runs(waits));
  Request b;
  b.gpus = 1;
  b.labels = {{"app", "b"}};
  world.submit(at(1), asking(world, b));
  EXPECT_TRUE(world.runs(waits));
}

// Under orders that look at each queue once, too, and where the neighbour refuses others like itself.
TEST(TriedAgain, WhenAWantedNeighbourStartsWhoRefusesItsLike) {
  for (const std::string_view policy : {"stint", "fair", "fifo-skip", "fifo-skip:backfill=easy"}) {
    World world(*parse_policy(policy), 0);
    NodeSpec node;
    node.gpus = 8;
    for (int n = 0; n < 4; ++n) {
      node.name = fmt::format("n{}", n);
      node.labels = {{"rack", n < 2 ? "r0" : "r1"}};
      world.scheduler.add_node(node);
    }
    Request near;
    near.gpus = 1;
    near.affinity = {{{{"app", "b"}}, "rack"}};
    const JobId waits = world.submit(at(0), asking(world, near));
    ASSERT_FALSE(world.runs(waits));
    Request b;
    b.gpus = 1;
    b.labels = {{"app", "b"}};
    b.anti_affinity = {{b.labels, "rack"}};
    const JobId wanted = world.submit(at(0), asking(world, b));
    EXPECT_TRUE(world.runs(wanted)) << policy;
    EXPECT_TRUE(world.runs(waits)) << policy;
  }
}

TEST(TriedAgain, WhenARefusedNeighbourIsLostWithItsNode) {
  World world = racked_world(2);
  Request a;
  a.gpus = 8;
  a.labels = {{"app", "a"}};
  world.submit(at(0), asking(world, a));
  world.submit(at(1), world.job(4));  // on the other node: the first cannot go there
  Request far;
  far.gpus = 4;
  far.anti_affinity = {{{{"app", "a"}}, "rack"}};
  const JobId waits = world.submit(at(2), asking(world, far));
  ASSERT_FALSE(world.runs(waits));
  world.step(at(3), {event(EventKind::kNodeDown, NodeId(0))});
  EXPECT_TRUE(world.runs(waits));
}

// It is promised the room of one that leaves; then the node takes no more jobs.
TEST(TriedAgain, WhenTheNodeOfAPromiseIsDrained) {
  Policy policy = plain(Order::kFifoSkip);
  World world(policy, 2);
  JobSpec low = world.job(8);
  low.priority = 25;
  world.submit(at(0), low);
  const JobId other = world.submit(at(1), low);
  const JobId urgent = world.submit(at(1'000), world.job(8));
  ASSERT_EQ(world.leaving.size(), 1U);
  const NodeId promised = world.last[0].places[0].node;
  const JobId stays = world.last[0].job == other ? JobId(0) : other;
  world.step(at(1'001), {event(EventKind::kNodeDrain, promised)});
  world.let_go(at(1'002));
  world.step(at(1'003), {event(EventKind::kFinished, stays)});
  EXPECT_TRUE(world.runs(urgent));
}

}  // namespace
}  // namespace stint::sched
