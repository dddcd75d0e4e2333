#include <gtest/gtest.h>

#include <array>

#include "base/prng.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::event;
using testing_world::plain;
using testing_world::World;

/// Random jobs, ends, failures, cancellations, lost nodes: what must hold does hold after every step.
class RandomLife {
 public:
  RandomLife(Policy policy, uint64_t seed) : random_(seed), world_(policy, 6) {
    QueueSpec other;
    other.name = "other";
    queues_ = {world_.queue, world_.scheduler.add_queue(other)};
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ = now_ + Duration::seconds(static_cast<int64_t>(random_.below(400)));
      std::vector<Event> events;
      if (random_.below(2) == 0) events.push_back(event(EventKind::kSubmit, new_job()));
      for (const JobId j : running())
        if (random_.below(8) == 0) events.push_back(event(random_.below(5) == 0 ? EventKind::kFailed : EventKind::kFinished, j));
      if (random_.below(30) == 0)
        events.push_back(event(EventKind::kCancel, JobId(static_cast<uint32_t>(random_.below(jobs_.size() + 1)))));
      if (random_.below(25) == 0) events.push_back(event(EventKind::kNodeDown, NodeId(static_cast<uint32_t>(random_.below(6)))));
      if (world_.scheduler.cluster().node(NodeId(5)).name.empty())
        world_.scheduler.add_node(World::node("another", 1 + static_cast<int>(random_.below(8))));
      else if (random_.below(40) == 0)
        events.push_back(event(EventKind::kNodeGone, NodeId(5)));
      if (random_.below(20) == 0)
        events.push_back(event(EventKind::kSpotNotice, NodeId(static_cast<uint32_t>(random_.below(6)))));
      if (random_.below(4) == 0) events.push_back(event(EventKind::kNodeUp, NodeId(static_cast<uint32_t>(random_.below(6)))));
      std::erase_if(events, [&](const Event& e) { return e.kind == EventKind::kCancel && e.job.index() >= jobs_.size(); });
      for (const TaskId t : std::exchange(world_.leaving, {})) {
        if (random_.below(2) == 0)
          events.push_back({.kind = EventKind::kEvicted, .job = {}, .task = t, .node = {}, .until = {}});
        else
          world_.leaving.push_back(t);
      }
      world_.step(now_, events);
      check();
    }
  }

  [[nodiscard]] const Scheduler& scheduler() const { return world_.scheduler; }

 private:
  JobId new_job() {
    constexpr int kSizes[] = {1, 1, 2, 3, 4, 8};
    JobSpec spec = world_.job(kSizes[random_.below(std::size(kSizes))]);
    if (random_.below(4) == 0) {
      Request part;
      part.milli = static_cast<int32_t>(200 + random_.below(7) * 100);
      part.cpu_milli = static_cast<int64_t>(random_.below(2) * 400'000);
      spec.request = world_.scheduler.intern(part);
    }
    if (random_.below(4) == 0) spec.tasks = spec.min_tasks = static_cast<int32_t>(1 + random_.below(3));
    if (random_.below(6) == 0) spec.tasks += 2;
    spec.queue = queues_[random_.below(2)];
    spec.priority = random_.below(5) == 0 ? 100 : 50;
    spec.retries = static_cast<int32_t>(random_.below(2));
    if (random_.below(2) == 0) spec.time_limit = Duration::minutes(static_cast<int64_t>(10 + random_.below(200)));
    if (random_.below(5) == 0 && !jobs_.empty()) spec.after = {jobs_[random_.below(jobs_.size())]};
    jobs_.push_back(world_.scheduler.add(spec));
    specs_.push_back(spec);
    return jobs_.back();
  }

  [[nodiscard]] std::vector<JobId> running() const {
    std::vector<JobId> found;
    for (const JobId j : jobs_)
      for (const Task& t : world_.scheduler.tasks_of(j))
        if (t.state == TaskState::kRunning && (found.empty() || found.back() != j)) found.push_back(j);
    return found;
  }

  void check() const {
    std::array<std::array<int32_t, 8>, 6> taken{};
    for (size_t i = 0; i < jobs_.size(); ++i) {
      int32_t active = 0;
      int32_t leaving = 0;
      for (const Task& t : world_.scheduler.tasks_of(jobs_[i])) {
        active += t.state == TaskState::kRunning ? 1 : 0;
        leaving += t.state == TaskState::kReleasing ? 1 : 0;
        if (t.state != TaskState::kRunning && t.state != TaskState::kReleasing) continue;
        for (size_t g = 0; g < 8; ++g)
          if ((t.place.gpus >> g & 1) != 0) taken[t.place.node.index()][g] += t.place.milli > 0 ? t.place.milli : kMilli;
      }
      ASSERT_TRUE(active == 0 || active >= specs_[i].min_tasks) << "partial gang of job " << i;
      const bool shrinks = specs_[i].min_tasks < specs_[i].tasks;  // an elastic job gives up surplus tasks
      ASSERT_TRUE(active == 0 || leaving == 0 || shrinks) << "job " << i << " runs and leaves";
    }
    for (const auto& node : taken)
      for (const int32_t milli : node)
        ASSERT_LE(milli, kMilli) << "GPU booked twice";
  }

  Prng random_;
  World world_;
  std::vector<QueueId> queues_;
  std::vector<JobId> jobs_;
  std::vector<JobSpec> specs_;
  Instant now_;
};

TEST(RandomLifeOfAScheduler, KeepsItsPromisesInARandomLife) {
  for (const Order order : {Order::kFifo, Order::kFifoSkip, Order::kFair, Order::kStint}) {
    for (const Backfill backfill : {Backfill::kNone, Backfill::kEasy, Backfill::kConservative}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(testing::Message() << name_of(order) << ", " << name_of(backfill) << ", seed " << seed);
        Policy policy = plain(order);
        policy.backfill = backfill;
        RandomLife life(policy, seed);
        life.run(300);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(RandomLifeOfAScheduler, ACopyGoesOnAlike) {
  RandomLife life(plain(Order::kStint), 9);
  life.run(150);
  RandomLife copy = life;
  EXPECT_EQ(copy.scheduler().fingerprint(), life.scheduler().fingerprint());
  life.run(100);
  const uint64_t after = life.scheduler().fingerprint();
  EXPECT_NE(copy.scheduler().fingerprint(), after);
  copy.run(100);
  EXPECT_EQ(copy.scheduler().fingerprint(), after);
}

}  // namespace
}  // namespace stint::sched
