#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/prng.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::event;
using testing_world::plain;
using testing_world::World;

std::string text_of(const Place& p) {
  return fmt::format("{}/{:x}/{}/{}/{}", p.node.index(), p.gpus, p.milli, p.mig_profile, p.mig_start);
}

/// Ids of the twin that forgets are turned into those of the one that does not.
struct Twin {
  Scheduler scheduler;
  std::vector<JobId> known;  ///< the other's id of each job
};

template <typename Decisions>
std::vector<std::string> texts_of(const Decisions& decisions, const Scheduler& s, const std::vector<JobId>* known) {
  std::vector<std::string> texts;
  for (const auto& d : decisions) {
    std::string text = fmt::format("{} {} job {}", static_cast<int>(d.kind), static_cast<int>(d.reason),
                                   known == nullptr ? d.job.index() : (*known)[d.job.index()].index());
    for (const Place& p : d.places)
      text +=
          fmt::format(" task {} at {}",
                      p.task.index() - static_cast<uint32_t>(s.tasks_of(d.job).data() - s.cluster().tasks().data()), text_of(p));
    texts.push_back(text);
  }
  return texts;
}

/// A random life with gangs, shares of GPUs, MIG instances, arrays, dependencies, budgets, losses and orders to leave.
class TwoLives {
 public:
  TwoLives(const Policy& policy, uint64_t seed) : random_(seed), world_(policy, 6), policy_(policy) {
    QueueSpec paid;
    paid.name = "paid";
    paid.deserved.gpu_milli = 16'000;
    paid.budget = Budget{.amount = Money::units(2'000), .period = Duration::hours(24), .from = {}};
    queues_ = {world_.queue, world_.scheduler.add_queue(paid)};
    twin_ = {world_.scheduler, {}};
  }

  /// One step of both. @param saved  the twin goes through bytes before. @param forgets  and forgets what has ended.
  void step(bool saved, bool forgets) {
    if (forgets) forget();
    if (saved) {
      auto read = Scheduler::load(policy_, twin_.scheduler.save());
      ASSERT_TRUE(read);
      ASSERT_EQ(read->fingerprint(), twin_.scheduler.fingerprint());
      twin_.scheduler = std::move(*read);
    }
    now_ = now_ + Duration::seconds(static_cast<int64_t>(random_.below(400)));
    std::vector<Event> events = draw();
    std::vector<Event> of_twin = events;
    for (Event& e : of_twin) {
      if (e.task.valid()) e.task = twin_task(e.task);
      if (e.job.valid()) e.job = twin_job(e.job);
    }
    world_.step(now_, events);
    const auto expected = texts_of(world_.last, world_.scheduler, nullptr);
    ASSERT_EQ(texts_of(twin_.scheduler.step(now_, of_twin), twin_.scheduler, &twin_.known), expected);
    if (forgotten_) return;  // it knows of fewer jobs, and no longer wakes up for timers of those that have ended
    ASSERT_EQ(twin_.scheduler.next_wakeup(), world_.scheduler.next_wakeup());
    ASSERT_EQ(twin_.scheduler.fingerprint(), world_.scheduler.fingerprint());
  }
  [[nodiscard]] size_t jobs() const { return jobs_.size(); }
  [[nodiscard]] size_t kept() const { return twin_.known.size(); }

 private:
  [[nodiscard]] JobId twin_job(JobId j) const {
    const auto at = std::ranges::lower_bound(twin_.known, j);
    return at != twin_.known.end() && *at == j ? JobId(static_cast<uint32_t>(at - twin_.known.begin())) : JobId();
  }
  [[nodiscard]] TaskId twin_task(TaskId t) const {
    const JobId j = world_.scheduler.cluster().task(t).job;
    const auto first = static_cast<uint32_t>(world_.scheduler.tasks_of(j).data() - world_.scheduler.cluster().tasks().data());
    const Scheduler& s = twin_.scheduler;
    return TaskId(static_cast<uint32_t>(s.tasks_of(twin_job(j)).data() - s.cluster().tasks().data()) + t.index() - first);
  }

  void forget() {
    std::vector<bool> gone(twin_.known.size());
    for (uint32_t j = 0; j < gone.size(); ++j)
      gone[j] = twin_.scheduler.may_forget(JobId(j)) && random_.below(4) > 0;
    arrays_ = twin_.scheduler.forget(gone);
    std::vector<JobId> kept;
    for (uint32_t j = 0; j < gone.size(); ++j)
      if (!gone[j]) kept.push_back(twin_.known[j]);
    twin_.known = std::move(kept);
    forgotten_ = true;
  }

  std::vector<Event> draw() {
    std::vector<Event> events;
    if (random_.below(2) == 0) add_jobs(events);
    for (uint32_t i = 0; i < jobs_.size(); ++i) {
      const auto tasks = world_.scheduler.tasks_of(jobs_[i]);
      if (std::ranges::none_of(tasks, [](const Task& t) { return t.state == TaskState::kRunning; })) continue;
      if (random_.below(8) == 0)
        events.push_back(event(random_.below(5) == 0 ? EventKind::kFailed : EventKind::kFinished, jobs_[i]));
      if (random_.below(8) == 0) events.push_back(event(EventKind::kCheckpoint, jobs_[i]));
    }
    if (random_.below(15) == 0 && !twin_.known.empty())
      events.push_back(event(EventKind::kCancel, twin_.known[random_.below(twin_.known.size())]));
    const auto node = [&] { return NodeId(static_cast<uint32_t>(random_.below(6))); };
    if (random_.below(25) == 0) events.push_back(event(EventKind::kNodeDown, node()));
    replace_node(events);
    if (random_.below(20) == 0) events.push_back(event(EventKind::kSpotNotice, node()));
    if (random_.below(4) == 0) events.push_back(event(EventKind::kNodeUp, node()));
    for (const TaskId t : std::exchange(world_.leaving, {})) {
      if (!twin_job(world_.scheduler.cluster().task(t).job).valid()) continue;  // lost with its node, and its job has ended
      if (random_.below(2) == 0)
        events.push_back({.kind = EventKind::kEvicted, .job = {}, .task = t, .node = {}, .until = {}});
      else
        world_.leaving.push_back(t);
    }
    return events;
  }

  /// The last machine goes for good, and later another comes in its place.
  void replace_node(std::vector<Event>& events) {
    const NodeId last(5);
    if (world_.scheduler.cluster().node(last).name.empty()) {
      if (random_.below(5) != 0) return;
      const int gpus = 1 + static_cast<int>(random_.below(8));
      for (Scheduler* s : {&world_.scheduler, &twin_.scheduler})
        EXPECT_EQ(s->add_node(World::node("another", gpus)), last);
    } else if (random_.below(30) == 0) {
      events.push_back(event(EventKind::kNodeGone, last));
    }
  }

  void add_jobs(std::vector<Event>& events) {
    constexpr int kSizes[] = {1, 1, 2, 3, 4, 8};
    Request whole;
    whole.gpus = kSizes[random_.below(std::size(kSizes))];
    JobSpec spec = world_.job(whole.gpus);
    EXPECT_EQ(twin_.scheduler.intern(whole), spec.request);
    Request part;
    part.milli = static_cast<int32_t>(200 + random_.below(7) * 100);
    part.cpu_milli = static_cast<int64_t>(random_.below(2) * 400'000);
    const bool in_part = random_.below(4) == 0;
    if (in_part) spec.request = world_.scheduler.intern(part);
    if (random_.below(4) == 0) spec.tasks = spec.min_tasks = static_cast<int32_t>(1 + random_.below(3));
    if (random_.below(6) == 0) spec.tasks += 2;
    spec.queue = queues_[random_.below(2)];
    spec.priority = random_.below(5) == 0 ? 100 : 50;
    if (random_.below(3) > 0) spec.kin = {.user = 1 + random_.below(2), .name = 1 + random_.below(3), .script = random_.below(2)};
    spec.retries = static_cast<int32_t>(random_.below(2));
    spec.submitted = now_;
    if (random_.below(2) == 0) spec.checkpoint = {Duration::minutes(20), Duration::seconds(10), Duration::seconds(30)};
    if (random_.below(2) == 0) spec.time_limit = Duration::minutes(static_cast<int64_t>(10 + random_.below(200)));
    if (random_.below(6) == 0) spec.not_before = now_ + Duration::minutes(static_cast<int64_t>(random_.below(100)));
    // Of those that both know: whoever forgets jobs knows how they ended, and asks for no other.
    if (random_.below(5) == 0 && !twin_.known.empty()) spec.after = {twin_.known[random_.below(twin_.known.size())]};
    const bool array = random_.below(8) == 0;
    JobSpec twin = spec;
    if (in_part) twin.request = twin_.scheduler.intern(part);
    for (JobId& after : twin.after)
      after = twin_job(after);
    if (array) {
      spec.at_once = twin.at_once = 2;
      spec.array = ArrayId(all_arrays_++);
      twin.array = ArrayId(arrays_++);
    }
    for (int i = 0; i < (array ? 5 : 1); ++i) {
      jobs_.push_back(world_.scheduler.add(spec));
      twin_.scheduler.add(twin);
      twin_.known.push_back(jobs_.back());
      events.push_back(event(EventKind::kSubmit, jobs_.back()));
    }
  }

  Prng random_;
  World world_;
  Policy policy_;
  Twin twin_{Scheduler(Policy()), {}};
  std::vector<QueueId> queues_;
  std::vector<JobId> jobs_;
  uint32_t arrays_ = 0, all_arrays_ = 0;
  Instant now_;
  bool forgotten_ = false;
};

std::vector<Policy> policies() {
  std::vector<Policy> all;
  for (const Order order : {Order::kFifoSkip, Order::kFair, Order::kStint})
    for (const Backfill backfill : {Backfill::kNone, Backfill::kEasy, Backfill::kConservative}) {
      Policy policy = plain(order);
      policy.backfill = backfill;
      policy.placement = backfill == Backfill::kEasy   ? Placement::kStint
                         : backfill == Backfill::kNone ? Placement::kFgd
                                                       : Placement::kRandom;
      policy.preempt = policy.reclaim = policy.consolidate = order != Order::kFair;
      if (backfill == Backfill::kEasy) policy.durations = Durations::kLearnt;
      all.push_back(policy);
    }
  return all;
}

TEST(SchedulerSnapshot, GoesOnAsTheOneThatWasSaved) {
  for (const Policy& policy : policies())
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(fmt::format("{}, {}, seed {}", name_of(policy.order), name_of(policy.backfill), seed));
      TwoLives lives(policy, seed);
      for (int i = 0; i < 250; ++i) {
        lives.step(i % 7 == 0, false);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
}

TEST(SchedulerSnapshot, OneThatForgetsDecidesAsOneThatRemembers) {
  for (const Policy& policy : policies())
    for (uint64_t seed = 11; seed <= 13; ++seed) {
      SCOPED_TRACE(fmt::format("{}, {}, seed {}", name_of(policy.order), name_of(policy.backfill), seed));
      TwoLives lives(policy, seed);
      for (int i = 0; i < 250; ++i) {
        lives.step(i % 13 == 0, i % 9 == 8);
        if (testing::Test::HasFatalFailure()) return;
      }
      EXPECT_LT(lives.kept(), lives.jobs());
    }
}

TEST(SchedulerSnapshot, BytesThatAreNoSchedulerAreRefused) {
  World world(plain(Order::kStint), 3);
  const std::string saved = world.scheduler.save();
  EXPECT_TRUE(Scheduler::load(plain(Order::kStint), saved));
  EXPECT_FALSE(Scheduler::load(plain(Order::kStint), ""));
  EXPECT_FALSE(Scheduler::load(plain(Order::kStint), saved + "x"));
  for (size_t length = 0; length < saved.size(); length += 7)
    EXPECT_FALSE(Scheduler::load(plain(Order::kStint), std::string_view(saved).substr(0, length))) << length;
}

}  // namespace
}  // namespace stint::sched
