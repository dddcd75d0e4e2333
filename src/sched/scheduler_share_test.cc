// Shares at work: whose jobs start when queues have a past, or ask for CPUs beside GPUs.
#include <gtest/gtest.h>

#include <algorithm>

#include "sched/scheduler.h"

namespace stint::sched {
namespace {

constexpr Duration kHalfLife = Duration::hours(168);

Instant at(int64_t hours) { return Instant::from_seconds(1'800'000'000) + Duration::hours(hours); }

/// Jobs of one task that all end together.
class Fleet {
 public:
  Fleet(const Policy& policy, int nodes, int64_t cpus_per_node = 0) : scheduler(policy) {
    NodeSpec node;
    node.gpus = 8;
    node.cpu_milli = cpus_per_node * 1000;
    for (int n = 0; n < nodes; ++n)
      scheduler.add_node(node);
  }

  void submit(Instant now, QueueId queue, int count, int64_t cpus = 0) {
    Request request;
    request.gpus = 1;
    request.cpu_milli = cpus * 1000;
    JobSpec spec;
    spec.queue = queue;
    spec.request = scheduler.intern(request);
    for (int i = 0; i < count; ++i) {
      owner_.push_back(queue);
      happened_.push_back({.kind = EventKind::kSubmit, .job = scheduler.add(spec), .task = {}, .node = {}, .until = {}});
    }
    step(now);
  }
  void end_all(Instant now) {
    for (const JobId j : running_)
      happened_.push_back({.kind = EventKind::kFinished, .job = j, .task = {}, .node = {}, .until = {}});
    running_.clear();
    step(now);
  }
  [[nodiscard]] int64_t running(QueueId queue) const {
    return std::ranges::count_if(running_, [&](JobId j) { return owner_[j.index()] == queue; });
  }

  Scheduler scheduler;

 private:
  void step(Instant now) {
    for (const Decision& d : scheduler.step(now, happened_))
      if (d.kind == DecisionKind::kStart) running_.push_back(d.job);
    happened_.clear();
  }
  std::vector<QueueId> owner_;
  std::vector<JobId> running_;
  std::vector<Event> happened_;
};

Policy sharing(Order order, Duration half_life) {
  Policy policy;
  policy.order = order;
  policy.backfill = Backfill::kNone;
  policy.usage_half_life = half_life;
  return policy;
}

TEST(Shares, AQueueThatHadTheFleetForAWeekYieldsUntilTheOtherHasCaughtUp) {
  for (const Order order : {Order::kFair, Order::kStint}) {
    Fleet fleet(sharing(order, kHalfLife), 2);
    const QueueId busy = fleet.scheduler.add_queue({});
    const QueueId fresh = fleet.scheduler.add_queue({});
    fleet.submit(at(0), busy, 16);
    EXPECT_EQ(fleet.running(busy), 16);
    fleet.submit(at(1), busy, 100);
    fleet.submit(at(2), fresh, 100);
    // It has used 8 GPUs on average, the other none: 8 + 4 = 0 + 12. A half-life later they stand alike.
    fleet.end_all(at(168));
    EXPECT_EQ(fleet.running(busy), 4);
    EXPECT_EQ(fleet.running(fresh), 12);
    fleet.end_all(at(2 * 168));
    EXPECT_EQ(fleet.running(busy), 8);
    EXPECT_EQ(fleet.running(fresh), 8);
  }
}

TEST(Shares, WithoutAHalfLifeThePastDoesNotCount) {
  Fleet fleet(sharing(Order::kFair, Duration()), 2);
  const QueueId busy = fleet.scheduler.add_queue({});
  const QueueId fresh = fleet.scheduler.add_queue({});
  fleet.submit(at(0), busy, 16);
  fleet.submit(at(1), busy, 100);
  fleet.submit(at(2), fresh, 100);
  fleet.end_all(at(168));
  EXPECT_EQ(fleet.running(busy), 8);
  EXPECT_EQ(fleet.running(fresh), 8);
}

TEST(Shares, APastThatDiffersIsAnotherState) {
  Fleet one(sharing(Order::kFair, kHalfLife), 1);
  const QueueId first = one.scheduler.add_queue({});
  Fleet other(sharing(Order::kFair, kHalfLife), 1);
  other.scheduler.add_queue({});
  one.submit(at(0), first, 4);
  other.submit(at(0), first, 4);
  EXPECT_EQ(one.scheduler.fingerprint(), other.scheduler.fingerprint());
  one.end_all(at(10));
  other.end_all(at(20));
  one.submit(at(30), first, 0);
  other.submit(at(30), first, 0);
  EXPECT_NE(one.scheduler.fingerprint(), other.scheduler.fingerprint());
}

/// Ghodsi et al. 2011: equal dominant shares, not equal GPUs. 16 GPUs and 64 CPUs; one queue's jobs take a sixteenth of the
/// GPUs and an eighth of the CPUs (their dominant resource), the other's a sixteenth of the GPUs alone. With x and y jobs
/// x/8 = y/16: 5 and 10 of them stand alike, and the sixteenth GPU goes to the older queue.
TEST(Shares, TheLargestPartOfAnyResourceCounts) {
  Fleet fleet(sharing(Order::kFair, Duration()), 2, 32);
  const QueueId hungry = fleet.scheduler.add_queue({});
  const QueueId modest = fleet.scheduler.add_queue({});
  const QueueId blocker = fleet.scheduler.add_queue({});
  fleet.submit(at(0), blocker, 16);
  fleet.submit(at(1), hungry, 40, 8);
  fleet.submit(at(1), modest, 40);
  fleet.end_all(at(2));
  EXPECT_EQ(fleet.running(hungry), 6);
  EXPECT_EQ(fleet.running(modest), 10);
}

/// What stands before a job in line counts as held: queues take turns. The third holds a GPU, so its job comes when the others
/// would have one, too.
TEST(WaitingLine, QueuesTakeTurnsByWhatTheyHoldAndWouldHold) {
  Fleet fleet(sharing(Order::kFair, Duration()), 1);
  const QueueId third = fleet.scheduler.add_queue({});
  const QueueId blocker = fleet.scheduler.add_queue({});
  const QueueId first = fleet.scheduler.add_queue({.created = 1});
  const QueueId second = fleet.scheduler.add_queue({.created = 2});
  fleet.submit(at(0), third, 1);    // job 0
  fleet.submit(at(0), blocker, 7);  // 1 to 7
  fleet.submit(at(1), second, 2);   // 8, 9
  fleet.submit(at(1), first, 2);    // 10, 11
  fleet.submit(at(1), third, 1);    // 12
  const uint64_t before = fleet.scheduler.fingerprint();
  EXPECT_EQ(fleet.scheduler.waiting_line(), (std::vector<JobId>{JobId(10), JobId(8), JobId(12), JobId(11), JobId(9)}));
  EXPECT_EQ(fleet.scheduler.fingerprint(), before);
}

}  // namespace
}  // namespace stint::sched
