// Budgets of queues: who may start, what it says to those that may not, and what prices do.
#include <gtest/gtest.h>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using namespace testing_world;

constexpr int64_t kHourS = 3600;

/// Eight GPUs at 2.00 an hour each; two teams below a department.
class Spenders {
 public:
  explicit Spenders(std::optional<Budget> department, std::optional<Budget> team_a) : scheduler(policy()) {
    NodeSpec node;
    node.gpus = 8;
    node.gpu_rate = Rate::per_hour(Money::units(2));
    scheduler.add_node(node);
    QueueSpec spec;
    spec.budget = department;
    top = scheduler.add_queue(spec);
    spec.parent = top;
    spec.budget = team_a;
    a = scheduler.add_queue(spec);
    spec.budget.reset();
    b = scheduler.add_queue(spec);
  }
  JobId submit(Instant now, QueueId queue, int gpus, int32_t min_tasks = 1, int32_t tasks = 1) {
    Request request;
    request.gpus = gpus;
    JobSpec spec;
    spec.queue = queue;
    spec.request = scheduler.intern(request);
    spec.tasks = tasks;
    spec.min_tasks = min_tasks;
    spec.expected = Duration::hours(3);
    const JobId id = scheduler.add(spec);
    step(now, {event(EventKind::kSubmit, id)});
    return id;
  }
  void step(Instant now, const std::vector<Event>& events) {
    grown = 0;
    for (const Decision& d : scheduler.step(now, events))
      grown += d.kind == DecisionKind::kGrow ? 1 : 0;
  }
  void end(Instant now, JobId j) { step(now, {event(EventKind::kFinished, j)}); }
  [[nodiscard]] bool runs(JobId j) const { return scheduler.explain(j).standing == Standing::kRunning; }

  Scheduler scheduler;
  QueueId top, a, b;
  int grown = 0;

 private:
  static Policy policy() {
    Policy p;
    p.order = Order::kFifoSkip;
    p.backfill = Backfill::kNone;
    return p;
  }
};

Budget units(int64_t amount, Duration period = {}) { return {.amount = Money::units(amount), .period = period, .from = {}}; }

TEST(Budgets, MigDevicesThatStayAsTheyAreCostTheirSlices) {
  Spenders s({}, units(6));
  NodeSpec node;
  node.gpu_model = "A100-80GB";
  node.gpus = 1;
  node.whole_gpus = false;
  node.static_mig = {{"3g.40gb", 2}};
  node.gpu_rate = Rate::per_hour(Money::units(7));
  s.scheduler.add_node(node);
  Request request;
  request.mig = {{"3g.40gb", 1}};
  JobSpec spec;
  spec.queue = s.a;
  spec.request = s.scheduler.intern(request);
  const JobId slice = s.scheduler.add(spec);
  s.step(at(0), {event(EventKind::kSubmit, slice)});  // 3 an hour
  ASSERT_TRUE(s.runs(slice));
  EXPECT_TRUE(s.runs(s.submit(at(kHourS), s.a, 1)));  // 3 of 6 are spent
  EXPECT_FALSE(s.runs(s.submit(at(2 * kHourS), s.a, 1)));
}

TEST(Budgets, ASpentBudgetLetsNothingStartAndWhatRunsGoOn) {
  Spenders s({}, units(12));
  const JobId first = s.submit(at(0), s.a, 2);  // 4 an hour
  const JobId early = s.submit(at(2 * kHourS), s.a, 1);
  EXPECT_TRUE(s.runs(early));  // 8 of 12 are spent
  const JobId late = s.submit(at(3 * kHourS), s.a, 1);
  EXPECT_FALSE(s.runs(late));  // 8 + 4 + 2 are
  EXPECT_TRUE(s.runs(first));
  EXPECT_TRUE(s.runs(s.submit(at(3 * kHourS), s.b, 1)));  // its sister spends what it likes
  s.end(at(4 * kHourS), first);
  EXPECT_FALSE(s.runs(late));
  EXPECT_EQ(s.scheduler.next_wakeup(), kNever);  // it is never renewed
}

TEST(Budgets, WhoseBudgetIsSpentStandsInNoLine) {
  Spenders s({}, units(2));
  s.submit(at(0), s.a, 8);  // 16 an hour
  const JobId other = s.submit(at(1), s.b, 1);
  const JobId unpaid = s.submit(at(2), s.a, 1);
  EXPECT_EQ(s.scheduler.waiting_line(), (std::vector<JobId>{other, unpaid}));
  s.step(at(kHourS), {});
  EXPECT_EQ(s.scheduler.waiting_line(), (std::vector<JobId>{other}));
}

TEST(Budgets, TheBudgetOfADepartmentHoldsForAllBelow) {
  Spenders s(units(10), units(1000));
  s.submit(at(0), s.b, 5);  // 10 an hour
  EXPECT_TRUE(s.runs(s.submit(at(kHourS - 1), s.a, 1)));
  const JobId late = s.submit(at(kHourS), s.a, 1);
  EXPECT_FALSE(s.runs(late));
  EXPECT_EQ(s.scheduler.explain(late).at_queue, s.top);
}

TEST(Budgets, ARenewedBudgetLetsThemStart) {
  Spenders s({}, units(6, Duration::hours(24)));
  const JobId first = s.submit(at(20 * kHourS), s.a, 2);
  const JobId late = s.submit(at(22 * kHourS), s.a, 1);
  EXPECT_FALSE(s.runs(late));
  EXPECT_EQ(s.scheduler.next_wakeup(), at(24 * kHourS));
  s.step(at(24 * kHourS), {});
  EXPECT_TRUE(s.runs(late));
  // What the first goes on burning is the new period's: with the other's 2, 6 within the first hour of it.
  EXPECT_TRUE(s.runs(s.submit(at(25 * kHourS) - Duration::seconds(1), s.a, 1)));
  EXPECT_FALSE(s.runs(s.submit(at(25 * kHourS), s.a, 1)));
  s.end(at(26 * kHourS), first);
}

TEST(Budgets, ExplainsWhoIsOverdrawnByHowMuchAndUntilWhen) {
  Spenders s({}, units(6, Duration::hours(24)));
  s.submit(at(20 * kHourS), s.a, 2);
  const JobId late = s.submit(at(22 * kHourS), s.a, 1);
  const Explanation why = s.scheduler.explain(late);
  EXPECT_EQ(why.standing, Standing::kWaiting);
  EXPECT_EQ(why.obstacle, Obstacle::kBudget);
  ASSERT_TRUE(why.budget.has_value());
  EXPECT_EQ(why.budget->queue, s.a);
  EXPECT_EQ(why.budget->budget, Money::units(6));
  EXPECT_EQ(why.budget->spent, Money::units(8));
  EXPECT_EQ(why.budget->burn.per_hour(), Money::units(4));
  EXPECT_EQ(why.budget->runs_out_at, at(22 * kHourS));  // it has
  EXPECT_EQ(why.budget->renewed_at, at(24 * kHourS));
  EXPECT_EQ(why.starts_at, at(24 * kHourS));
  ASSERT_EQ(why.remedies.size(), 2U);
  EXPECT_EQ(why.remedies[0].kind, RemedyKind::kWait);
  EXPECT_EQ(why.remedies[0].cost, Money::units(0));
  EXPECT_EQ(why.remedies[1].kind, RemedyKind::kRaiseBudget);
  EXPECT_EQ(why.remedies[1].cost, Money::units(2 + 3 * 2));  // overdrawn by 2, and three hours of one GPU
}

TEST(Budgets, ForecastsWhenItRunsOut) {
  Spenders s({}, units(12, Duration::hours(24)));
  s.submit(at(0), s.a, 2);
  s.step(at(kHourS), {});
  const BudgetStanding standing = s.scheduler.budget_of(s.a).value();
  EXPECT_EQ(standing.spent, Money::units(4));
  EXPECT_EQ(standing.runs_out_at, at(3 * kHourS));
  EXPECT_FALSE(s.scheduler.budget_of(s.b).has_value());
  s.step(at(23 * kHourS), {event(EventKind::kFinished, JobId(0))});
  EXPECT_EQ(s.scheduler.budget_of(s.a)->spent, Money::units(23 * 4));
  s.step(at(24 * kHourS), {});
  EXPECT_EQ(s.scheduler.budget_of(s.a)->spent, Money::units(0));
  EXPECT_FALSE(s.scheduler.budget_of(s.a)->runs_out_at.has_value());
}

TEST(Budgets, AreKnownForALaterInstantThanTheLastStep) {
  Spenders s({}, units(20, Duration::hours(24)));
  s.submit(at(0), s.a, 2);  // 4 an hour
  EXPECT_EQ(s.scheduler.budget_of(s.a, at(kHourS / 2))->spent, Money::units(2));
  EXPECT_EQ(s.scheduler.budget_of(s.a, at(kHourS / 2))->runs_out_at, at(5 * kHourS));
  EXPECT_EQ(s.scheduler.budget_of(s.a, at(6 * kHourS))->spent, Money::units(24));
  // Its next day has begun an hour ago, whether a step has noticed or not.
  EXPECT_EQ(s.scheduler.budget_of(s.a, at(25 * kHourS))->spent, Money::units(4));
  EXPECT_EQ(s.scheduler.budget_of(s.a, at(25 * kHourS))->renewed_at, at(48 * kHourS));
  EXPECT_EQ(s.scheduler.budget_of(s.a)->spent, Money::units(0));
}

TEST(Budgets, AnotherPriceBurnsAnotherAmountFromThenOn) {
  Spenders s({}, units(1000));
  s.submit(at(0), s.a, 4);
  Event price = {.kind = EventKind::kPrice, .node = NodeId(0)};
  price.price = Rate::per_hour(Money::nanos(500'000'000));
  s.step(at(kHourS), {price});
  s.step(at(3 * kHourS), {});
  EXPECT_EQ(s.scheduler.budget_of(s.a)->spent, Money::units(8 + 4));
  EXPECT_EQ(s.scheduler.budget_of(s.a)->burn.per_hour(), Money::units(2));
}

TEST(Budgets, ElasticJobsDoNotGrowOnMoneyThatIsSpent) {
  Spenders s({}, units(16));
  const JobId other = s.submit(at(0), s.b, 4);
  s.submit(at(0), s.a, 2, 1, 3);  // starts with two tasks: 8 an hour
  EXPECT_EQ(s.scheduler.budget_of(s.a)->burn.per_hour(), Money::units(8));
  s.end(at(2 * kHourS), other);
  EXPECT_EQ(s.grown, 0);
  Spenders rich({}, units(17));
  const JobId there = rich.submit(at(0), rich.b, 4);
  rich.submit(at(0), rich.a, 2, 1, 3);
  rich.end(at(2 * kHourS), there);
  EXPECT_EQ(rich.grown, 1);
  EXPECT_EQ(rich.scheduler.budget_of(rich.a)->burn.per_hour(), Money::units(12));
}

TEST(Budgets, ALostNodeCostsNothingMore) {
  Spenders s({}, units(1000));
  s.submit(at(0), s.a, 4);
  s.step(at(kHourS), {event(EventKind::kNodeDown, NodeId(0))});
  EXPECT_EQ(s.scheduler.budget_of(s.a)->burn.per_hour(), Money::units(0));
  s.step(at(5 * kHourS), {});
  EXPECT_EQ(s.scheduler.budget_of(s.a)->spent, Money::units(8));
}

TEST(Budgets, ACopyGoesOnAlike) {
  Spenders s(units(20), units(12));
  s.submit(at(0), s.a, 3);
  Scheduler copy(s.scheduler);
  EXPECT_EQ(copy.fingerprint(), s.scheduler.fingerprint());
  s.step(at(kHourS), {});
  copy.step(at(kHourS), {});
  EXPECT_EQ(copy.budget_of(s.top)->spent, Money::units(6));
  EXPECT_EQ(copy.fingerprint(), s.scheduler.fingerprint());
}

// Remedies and what they cost.

TEST(Remedies, CostWhatTheMachinesOrTheLostWorkCost) {
  Policy policy = plain(Order::kFifo);
  policy.preempt = false;
  Scheduler scheduler(policy);
  NodeSpec node;
  node.gpus = 8;
  node.gpu_rate = Rate::per_hour(Money::units(3));
  scheduler.add_node(node);
  const QueueId queue = scheduler.add_queue({});
  Request six, four;
  six.gpus = 6;
  four.gpus = 4;
  JobSpec low;
  low.queue = queue;
  low.request = scheduler.intern(six);
  low.priority = 10;
  low.time_limit = Duration::hours(9);
  low.checkpoint = {.interval = Duration::hours(1), .save = {}, .restart = Duration::minutes(10)};
  JobSpec waiting;
  waiting.queue = queue;
  waiting.request = scheduler.intern(four);
  waiting.expected = Duration::hours(5);
  const JobId running = scheduler.add(low);
  const JobId job = scheduler.add(waiting);
  scheduler.step(at(0), std::vector<Event>{event(EventKind::kSubmit, running)});
  scheduler.step(at(kHourS), std::vector<Event>{event(EventKind::kCheckpoint, running), event(EventKind::kSubmit, job)});
  scheduler.step(at(kHourS + 20 * 60), {});
  const Explanation why = scheduler.explain(job);
  ASSERT_EQ(why.obstacle, Obstacle::kNoRoom);
  ASSERT_EQ(why.remedies.size(), 2U);  // this policy keeps no count of when running jobs end
  // Six GPUs have worked for 20 minutes since the checkpoint and would need 10 to restart: 3 GPU-hours.
  EXPECT_EQ(why.remedies[0].kind, RemedyKind::kEvictLower);
  EXPECT_EQ(why.remedies[0].lost_gpu_seconds, 3 * kHourS);
  EXPECT_EQ(why.remedies[0].cost, Money::units(9));
  // Two more GPUs come with a whole machine: 24 an hour, for five hours.
  EXPECT_EQ(why.remedies[1].kind, RemedyKind::kMoreGpus);
  EXPECT_EQ(why.remedies[1].amount, 2);
  EXPECT_EQ(why.remedies[1].machines, 1);
  EXPECT_EQ(why.remedies[1].per_hour, Rate::per_hour(Money::units(24)));
  EXPECT_EQ(why.remedies[1].cost, Money::units(120));
}

TEST(Remedies, WithoutPricesTheLostWorkIsStillSaid) {
  Policy policy = plain(Order::kFifo);
  policy.preempt = false;
  World world(policy, 1);
  JobSpec low = world.job(6);
  low.priority = 10;
  world.submit(at(0), low);
  const JobId job = world.submit(at(0), world.job(4));
  world.step(at(100), {});
  const Explanation why = world.scheduler.explain(job);
  ASSERT_FALSE(why.remedies.empty());
  EXPECT_EQ(why.remedies[0].lost_gpu_seconds, 600);
  EXPECT_FALSE(why.remedies[0].cost.has_value());
}

// Found by exploration (seed 474).
TEST(Budgets, RoomThatOthersLeaveAnywayIsForThoseWhoseQueueCanStillPay) {
  for (const bool in_time : {true, false}) {
    Policy policy;
    policy.order = Order::kFifoSkip;
    policy.backfill = Backfill::kNone;
    Scheduler scheduler(policy);
    NodeSpec node;
    node.gpus = 8;
    node.cpu_milli = 8000;
    node.gpu_rate = Rate::per_hour(Money::units(2));
    scheduler.add_node(node);
    QueueSpec spec;
    const QueueId rich = scheduler.add_queue(spec);
    spec.budget = units(8);
    const QueueId poor = scheduler.add_queue(spec);
    const auto add = [&](QueueId queue, int32_t priority, int64_t cpu_milli) {
      Request request;
      request.gpus = 4;
      request.cpu_milli = cpu_milli;
      JobSpec job;
      job.queue = queue;
      job.request = scheduler.intern(request);
      job.priority = priority;
      return scheduler.add(job);
    };
    const JobId leaves = add(rich, 50, 0);
    const JobId low = add(poor, 10, 0);  // 8 an hour
    const JobId high = add(poor, 90, 1000);
    const auto submit = [](JobId j) { return event(EventKind::kSubmit, j); };
    scheduler.step(at(0), std::vector<Event>{submit(leaves), submit(low)});
    const std::vector<Event> half_an_hour = {event(EventKind::kCancel, leaves), submit(high)};
    for (const Decision& d : scheduler.step(at(kHourS / 2), half_an_hour))
      EXPECT_TRUE(d.kind == DecisionKind::kEvict && d.job == leaves);
    EXPECT_EQ(scheduler.explain(high).standing, Standing::kNominated);
    Event left = event(EventKind::kEvicted, leaves);
    left.task = scheduler.tasks_of(leaves).front().place.task;
    scheduler.step(at(in_time ? kHourS - 1 : kHourS), {&left, 1});
    EXPECT_EQ(scheduler.explain(low).standing, Standing::kRunning);
    EXPECT_EQ(scheduler.explain(high).standing, in_time ? Standing::kRunning : Standing::kWaiting);
    if (!in_time) {
      EXPECT_EQ(scheduler.explain(high).obstacle, Obstacle::kBudget);
    }
  }
}

}  // namespace
}  // namespace stint::sched
