#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

std::vector<JobId> skipped(const World& world) {
  std::vector<JobId> ids;
  for (const World::Decided& d : world.last)
    if (d.kind == DecisionKind::kSkip) ids.push_back(d.job);
  return ids;
}

JobSpec of_array(World& world, int at_once) {
  JobSpec spec = world.job(1);
  spec.array = ArrayId(0);
  spec.at_once = at_once;
  return spec;
}

JobSpec making(World& world, uint32_t product) {
  JobSpec spec = world.job(1);
  spec.makes = ProductId(product);
  return spec;
}

TEST(Pipeline, AnArrayRunsAsManyAtOnceAsItMay) {
  World world(plain(Order::kFifo), 1);
  std::vector<JobId> jobs;
  for (int i = 0; i < 5; ++i)
    jobs.push_back(world.submit(at(0), of_array(world, 2)));
  EXPECT_TRUE(world.runs(jobs[1]));
  EXPECT_EQ(world.scheduler.explain(jobs[2]).obstacle, Obstacle::kArray);
  const JobId other = world.submit(at(1), world.job(1));
  EXPECT_TRUE(world.runs(other)) << "the array must not hold up others";
  world.step(at(2), {event(EventKind::kFinished, jobs[1])});
  EXPECT_THAT(world.started(), ElementsAre(jobs[2]));
  world.step(at(3), {event(EventKind::kCancel, jobs[3])});
  world.step(at(4), {event(EventKind::kFinished, jobs[0])});
  EXPECT_THAT(world.started(), ElementsAre(jobs[4])) << "one that was taken back takes no place";
}

TEST(Pipeline, AJobOfAnArrayThatFailsOrNeverFitsGivesItsPlace) {
  World world(plain(Order::kFifo), 1);
  const JobId first = world.submit(at(0), of_array(world, 1));
  JobSpec huge = of_array(world, 1);
  Request request;
  request.gpus = 16;
  huge.request = world.scheduler.intern(request);
  world.submit(at(0), huge);
  const JobId last = world.submit(at(0), of_array(world, 1));
  world.step(at(1), {event(EventKind::kFailed, first)});
  EXPECT_THAT(world.started(), ElementsAre(last));
}

TEST(Pipeline, WhatIsMadeIsNotMadeAgain) {
  World world(plain(Order::kFifo), 1);
  const JobId maker = world.submit(at(0), making(world, 3));
  const JobId same = world.submit(at(1), making(world, 3));
  JobSpec next = world.job(1);
  next.after = {same};
  const JobId user = world.submit(at(2), next);
  EXPECT_EQ(world.scheduler.explain(same).obstacle, Obstacle::kBeingMade);
  EXPECT_EQ(world.scheduler.explain(same).behind, maker);
  world.step(at(3), {event(EventKind::kFinished, maker)});
  EXPECT_THAT(skipped(world), ElementsAre(same));
  EXPECT_THAT(world.started(), ElementsAre(user)) << "a skipped stage has succeeded";
  const JobId late = world.submit(at(4), making(world, 3));
  EXPECT_THAT(skipped(world), ElementsAre(late));
  const JobId other = world.submit(at(4), making(world, 1));
  EXPECT_TRUE(world.runs(other));
}

TEST(Pipeline, TheNextMakesWhatTheFirstDidNot) {
  World world(plain(Order::kFifo), 1);
  const JobId first = world.submit(at(0), making(world, 0));
  const JobId second = world.submit(at(0), making(world, 0));
  const JobId third = world.submit(at(0), making(world, 0));
  world.step(at(1), {event(EventKind::kFailed, first)});
  EXPECT_THAT(world.started(), ElementsAre(second));
  world.step(at(2), {event(EventKind::kCancel, second)});
  world.let_go(at(3));
  EXPECT_THAT(world.started(), ElementsAre(third));
}

TEST(Pipeline, ALongChainNeedsNoDeepStack) {
  constexpr uint32_t kLength = 1'000'000;
  for (const bool first_succeeds : {false, true}) {
    World world(plain(Order::kFifo), 1);
    world.scheduler.reserve(kLength, kLength);
    const JobId first = world.scheduler.add(making(world, 0));
    std::vector<Event> events = {event(EventKind::kSubmit, first)};
    for (uint32_t i = 1; i < kLength; ++i) {
      JobSpec spec = making(world, 0);
      spec.after = {JobId(i - 1)};
      events.push_back(event(EventKind::kSubmit, world.scheduler.add(spec)));
    }
    world.step(at(0), events);
    EXPECT_THAT(world.started(), ElementsAre(first));
    world.step(at(1), {event(first_succeeds ? EventKind::kFinished : EventKind::kFailed, first)});
    EXPECT_THAT(world.last, SizeIs(kLength - 1));
    EXPECT_THAT(skipped(world), SizeIs(first_succeeds ? kLength - 1 : 0));
  }
}

}  // namespace
}  // namespace stint::sched
