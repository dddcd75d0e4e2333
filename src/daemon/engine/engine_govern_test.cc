// Budgets, quotas and approvals through the engine: what is decided at the door, and that all of it comes back after a crash.
#include <gmock/gmock.h>

#include "daemon/engine/governance.h"
#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobRequest limited_job(int gpus, Duration runs, Duration limit, const std::string& queue = "acme/vision") {
  JobRequest job = testing_job(gpus, runs, queue);
  job.time_limit = limit;
  return job;
}

std::string refusal(TestingDaemon& daemon, const JobRequest& job) {
  const auto id = daemon.engine().stage_submit(job, {.actor = "ada", .idempotency_key = ""});
  if (id.ok()) CHECK(daemon.commit().ok(), "a step was not written");
  return id.ok() ? "" : id.error().message;
}

std::vector<std::string> told(const Engine& engine, std::string_view kind) {
  std::vector<std::string> details;
  for (const EventView& event : engine.events_since(0, 100'000))
    if (event.kind == kind) details.push_back(event.detail);
  return details;
}

/// Everything of the books that can be seen, as text.
std::string books(const Engine& engine) {
  std::string out;
  for (const BudgetView& b : engine.budgets())
    out += fmt::format("{} {} {} {} {}\n", b.name, b.spent.to_decimal(), b.promised.to_decimal(), b.reached_percent,
                       b.forecast_over);
  for (const JobView& j : engine.approvals())
    out += fmt::format("{} {}\n", j.id, j.approval->why);
  for (const EventView& e : engine.events_since(0, 100'000))
    out += fmt::format("{} {} {}\n", e.number, e.kind, e.detail);
  return out;
}

TEST(EngineBudget, HoldsTheBooksOfAMonth) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"100"}]})"));
  // 8 GPUs × 2 an hour, limit 3 h: 48 promised.
  const int64_t id = daemon.submit(limited_job(8, Duration::hours(2), Duration::hours(3)));
  BudgetView budget = daemon.engine().budgets()[0];
  EXPECT_EQ(budget.spent, Money::units(0));
  EXPECT_EQ(budget.promised, Money::units(48));
  daemon.pass(Duration::hours(1));
  ASSERT_TRUE(daemon.commit().ok());  // views are as of the last step
  budget = daemon.engine().budgets()[0];
  EXPECT_EQ(budget.spent, Money::units(16));
  EXPECT_EQ(budget.promised, Money::units(32));
  daemon.pass(Duration::hours(1));
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
  budget = daemon.engine().budgets()[0];
  EXPECT_EQ(budget.spent, Money::units(32));
  EXPECT_EQ(budget.promised, Money::units(0));
  // A job of another client is none of its business.
  daemon.submit(limited_job(8, Duration::hours(1), Duration::hours(1), "zoo"));
  EXPECT_EQ(daemon.engine().budgets()[0].promised, Money::units(0));
}

TEST(EngineBudget, RefusesWhatCouldOverrunItAlsoWithinOneStep) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"100"}]})"));
  const JobRequest job = limited_job(8, Duration::hours(3), Duration::hours(3));  // 48
  EXPECT_TRUE(daemon.engine().stage_submit(job, {}).ok());
  EXPECT_TRUE(daemon.engine().stage_submit(job, {}).ok());
  const auto third = daemon.engine().stage_submit(job, {});
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().message, HasSubstr("96.00 USD promised"));
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_NE(refusal(daemon, job), "");
  EXPECT_EQ(refusal(daemon, limited_job(8, Duration::hours(3), Duration::hours(3), "zoo")), "");
  // What was promised and not used comes back.
  for (const int64_t id : {1, 2})
    ASSERT_TRUE(daemon.engine().stage_cancel(id, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::minutes(1));
  EXPECT_EQ(refusal(daemon, job), "");
}

TEST(EngineBudget, TellsOfThresholdsAndForecastOnceAMonth) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"40","at_limit":"warn",
                                                    "thresholds":[50,80,100]}]})"));
  daemon.submit(limited_job(8, Duration::hours(5), Duration::hours(5)));  // 16 an hour: 80 in all
  daemon.pass(Duration::seconds(2));
  EXPECT_EQ(told(daemon.engine(), "budget.forecast").size(), 1U);
  daemon.pass(Duration::hours(1));
  EXPECT_EQ(told(daemon.engine(), "budget.threshold").size(), 0U);
  daemon.pass(Duration::minutes(17));  // 50 % after 75 minutes
  ASSERT_EQ(told(daemon.engine(), "budget.threshold").size(), 1U);
  EXPECT_THAT(told(daemon.engine(), "budget.threshold")[0], HasSubstr("50 % of 40.00 USD"));
  daemon.pass(Duration::hours(5));
  EXPECT_THAT(told(daemon.engine(), "budget.threshold"), ElementsAre(HasSubstr("50 %"), HasSubstr("80 %"), HasSubstr("100 %")));
  EXPECT_EQ(told(daemon.engine(), "budget.forecast").size(), 1U);
  const std::string before = books(daemon.engine());
  daemon.restart();
  EXPECT_EQ(books(daemon.engine()), before);
}

TEST(EngineBudget, TheForecastGoesOnAtTheRateOfNow) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db",
                       governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"200","at_limit":"warn"}]})"));
  JobRequest job = limited_job(8, Duration::hours(2000), Duration::hours(3));
  job.time_limit = sched::kUnlimited;
  daemon.submit(job);  // 16 an hour, on and on
  daemon.pass(Duration::hours(1));
  ASSERT_TRUE(daemon.commit().ok());
  const BudgetView budget = daemon.engine().budgets()[0];
  EXPECT_EQ(budget.burn_per_hour, Money::units(16));
  EXPECT_TRUE(budget.forecast_over);
  EXPECT_GT(budget.month_end, Money::units(200));
  ASSERT_TRUE(budget.runs_out.has_value());
  // 184 are left: eleven and a half hours.
  EXPECT_EQ(*budget.runs_out - daemon.now(), Duration::minutes(690));
  EXPECT_EQ(told(daemon.engine(), "budget.forecast").size(), 1U);
}

TEST(EngineBudget, ABurnRateThatOutlastsTheBudgetIsNotWithinIt) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"200"}]})"));
  // 16 an hour for three hours at most: 48 are promised, but a month at this rate is far more.
  daemon.submit(limited_job(8, Duration::hours(2), Duration::hours(3)));
  daemon.pass(Duration::minutes(30));
  ASSERT_TRUE(daemon.commit().ok());
  const BudgetView budget = daemon.engine().budgets()[0];
  EXPECT_TRUE(budget.forecast_over);
  EXPECT_EQ(*budget.runs_out - daemon.now(), Duration::minutes(720));  // 192 left
  // Nothing is promised that it cannot pay: no event.
  EXPECT_TRUE(told(daemon.engine(), "budget.forecast").empty());
}

/// An approver need not remember what the budget has room for again.
TEST(EngineBudget, JobsThatWaitForApprovalAreLetInWhenItHasRoomAgain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"approval_above":"90","budgets":[
      {"name":"b","queue":"acme","per_month":"100","at_limit":"approve"}]})"));
  const JobRequest job = limited_job(8, Duration::hours(3), Duration::hours(3));  // 48
  const int64_t first = daemon.submit(job), second = daemon.submit(job), third = daemon.submit(job), fourth = daemon.submit(job);
  const int64_t dear =
      daemon.submit(limited_job(8, Duration::hours(6), Duration::hours(6)));  // 96: somebody must approve it anyway
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
  daemon.pass(Duration::minutes(1));
  for (const int64_t id : {third, fourth, dear})
    EXPECT_EQ(daemon.job(id).state, JobState::kNeedsApproval) << id;
  ASSERT_TRUE(daemon.engine().stage_cancel(first, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::minutes(1));
  EXPECT_EQ(daemon.job(third).state, JobState::kRunning) << "the oldest";
  EXPECT_EQ(daemon.job(third).approval->by, "stint itself");
  EXPECT_EQ(daemon.job(fourth).state, JobState::kNeedsApproval) << "what it may cost is promised to the third now";
  ASSERT_TRUE(daemon.engine().stage_cancel(second, {}).ok());
  ASSERT_TRUE(daemon.engine().stage_cancel(third, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::minutes(1));
  EXPECT_EQ(daemon.job(fourth).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(dear).state, JobState::kNeedsApproval);
  const std::string before = books(daemon.engine());
  daemon.restart();
  EXPECT_EQ(books(daemon.engine()), before);
}

TEST(EngineBudget, IsSpentBetweenSteps) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"100000"}]})"));
  daemon.submit(limited_job(8, Duration::hours(500), Duration::hours(500)));  // 16 an hour: 8,000 in all
  daemon.engine().look(kDaemonStart + kHour);
  EXPECT_EQ(daemon.engine().budgets()[0].spent, Money::units(16));
  EXPECT_EQ(daemon.engine().budgets()[0].promised, Money::units(8'000 - 16));
  // kDaemonStart is 2027-01-15T08:00Z: the month ends 400 hours later. An hour into the next.
  daemon.engine().look(kDaemonStart + Duration::hours(401));
  EXPECT_EQ(daemon.engine().budgets()[0].month, month_of(kDaemonStart + Duration::hours(401)));
  EXPECT_EQ(daemon.engine().budgets()[0].spent, Money::units(16));
  EXPECT_EQ(daemon.engine().budgets()[0].promised, Money::units(8'000 - 401 * 16));
}

FleetConfig paying(const std::string& govern) {
  FleetConfig fleet = governed(govern);
  fleet.attempts_paid = AttemptsPaid::kAll;
  return fleet;
}

/// Its first task fails now.
void fail(TestingDaemon& daemon, int64_t job) {
  daemon.engine().stage_report({.kind = ReportKind::kEnded,
                                .key = {.job = job, .attempt = daemon.job(job).placed.at(0).attempt, .task = 0},
                                .at = daemon.now(),
                                .status = {.code = 1, .signal = 0}});
  ASSERT_TRUE(daemon.commit().ok());
}

// An attempt costs 16 at most and 8 each time: a third could end at 32.
TEST(EngineBudget, IsNotOverrunByAttemptsOfWhatFails) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", paying(R"({"budgets":[{"name":"b","queue":"acme","per_month":"30"}]})"));
  JobRequest job = limited_job(8, Duration::hours(1), Duration::hours(1));
  job.retries = 1'000;
  const int64_t id = daemon.submit(job);
  JobRequest behind = testing_job(0, Duration::minutes(1));
  behind.after = {id};
  const int64_t waits = daemon.submit(behind);
  daemon.pass(Duration::minutes(30));
  fail(daemon, id);
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(id).starts, 2);
  EXPECT_EQ(daemon.engine().budgets()[0].promised, Money::units(16)) << "of the second attempt";
  daemon.pass(Duration::minutes(30));
  fail(daemon, id);
  EXPECT_EQ(daemon.job(id).state, JobState::kFailed);
  EXPECT_EQ(daemon.job(id).cost, Money::units(16));
  EXPECT_EQ(daemon.engine().budgets()[0].promised, Money::units(0));
  EXPECT_EQ(daemon.job(waits).state, JobState::kDependencyFailed);
  daemon.restart();
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.job(id).starts, 2);
}

TEST(EngineBudget, ThatOnlyWarnsLetsItBeTriedAgain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", paying(R"({"budgets":[{"name":"b","queue":"acme","per_month":"20","at_limit":"warn"}]})"));
  JobRequest job = limited_job(8, Duration::hours(1), Duration::hours(1));
  job.retries = 1'000;
  const int64_t id = daemon.submit(job);
  daemon.pass(Duration::minutes(30));
  fail(daemon, id);
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
}

/// A job of project p that costs 16 at most has run for half an hour (8) when a more urgent one takes its machine.
class EngineBudgetAgain : public ::testing::Test {
 protected:
  static JobRequest paid_job(int gpus) {
    JobRequest job = limited_job(gpus, Duration::hours(1), Duration::hours(1));
    job.tags = {{"project", "p"}};
    job.priority = 10;
    job.preemptible = true;
    return job;
  }
  void preempt(int32_t array = 0) {
    JobRequest job = paid_job(array > 0 ? 8 / array : 8);
    job.array = array;
    id_ = daemon_.submit(job);
    daemon_.pass(Duration::minutes(30));
    JobRequest urgent = limited_job(8, Duration::hours(1), Duration::hours(1));
    urgent.priority = 90;
    urgent_ = daemon_.submit(urgent);
    daemon_.pass(Duration::minutes(10));
    ASSERT_EQ(daemon_.job(urgent_).state, JobState::kRunning);
  }
  BudgetView budget() { return daemon_.engine().budgets()[0]; }
  void set_budget(const std::string& amount) {
    fleet_.govern.budgets[0].per_month = *Money::parse(amount, fleet_.currency);
    ASSERT_TRUE(daemon_.engine().stage_fleet(fleet_, {}).ok());
    ASSERT_TRUE(daemon_.commit().ok());
    daemon_.pass(Duration::seconds(2));
    daemon_.engine().poll_backend(daemon_.now());  // as the service does all the time
    ASSERT_TRUE(daemon_.commit().ok());
  }

  FleetConfig fleet_ = [] {
    FleetConfig fleet = governed(R"({"budgets":[{"name":"b","project":"p","per_month":"20"}]})", 1);
    fleet.attempts_paid = AttemptsPaid::kAll;
    return fleet;
  }();
  ScratchDir dir_;
  TestingDaemon daemon_{dir_ / "log.db", fleet_};
  int64_t id_ = 0, urgent_ = 0;
};

TEST_F(EngineBudgetAgain, WhatWasPreemptedWaitsUntilTheBudgetHasRoom) {
  preempt();
  EXPECT_EQ(daemon_.job(id_).state, JobState::kNeedsApproval);
  EXPECT_THAT(*daemon_.engine().why(id_), HasSubstr("budget b has no room for what that may cost: 16.00 USD"));
  EXPECT_EQ(budget().spent, Money::units(8));
  EXPECT_EQ(budget().promised, Money::units(0));
  daemon_.pass(Duration::hours(2));
  EXPECT_EQ(daemon_.job(urgent_).state, JobState::kSucceeded);
  EXPECT_EQ(daemon_.job(id_).state, JobState::kNeedsApproval) << "the machine is free, the budget is not";
  const std::string before = books(daemon_.engine());
  daemon_.restart();
  EXPECT_EQ(books(daemon_.engine()), before);
  set_budget("24");
  EXPECT_EQ(daemon_.job(id_).state, JobState::kRunning);
  EXPECT_EQ(daemon_.job(id_).approval->by, kApprovedByItself);
  EXPECT_EQ(budget().promised + budget().spent, Money::units(24));
  daemon_.pass(Duration::hours(2));
  EXPECT_EQ(daemon_.job(id_).state, JobState::kSucceeded);
  EXPECT_EQ(budget().spent, Money::units(24));
}

TEST_F(EngineBudgetAgain, APersonMayLetItRunOrEndIt) {
  preempt();
  ASSERT_TRUE(daemon_.engine().stage_approve(id_, {.actor = "bob"}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_EQ(daemon_.job(id_).state, JobState::kWaiting);
  EXPECT_EQ(budget().promised, Money::units(16));
  ASSERT_TRUE(daemon_.engine().stage_cancel(id_, {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_EQ(budget().promised, Money::units(0));
}

TEST_F(EngineBudgetAgain, SoDoesWhatWasLostWithItsMachine) {
  id_ = daemon_.submit(paid_job(8));
  daemon_.pass(Duration::minutes(30));
  ASSERT_TRUE(daemon_.engine().stage_down("n0", {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_EQ(daemon_.job(id_).state, JobState::kNeedsApproval);
  ASSERT_TRUE(daemon_.engine().stage_refuse(id_, "no money", {.actor = "bob"}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_EQ(daemon_.job(id_).state, JobState::kRefused);
  EXPECT_EQ(budget().promised, Money::units(0));
}

// Of two that cost 8 each and have spent 4 each, 12 are left: one more fits at first, the other does not.
TEST_F(EngineBudgetAgain, OfAnArrayThoseWaitThatHaveNoRoom) {
  preempt(2);
  EXPECT_EQ(daemon_.job(id_).state, JobState::kWaiting);
  EXPECT_EQ(daemon_.job(id_ + 1).state, JobState::kNeedsApproval);
  EXPECT_EQ(daemon_.job(id_ + 1).approval->most_cost, Money::units(8));
  daemon_.pass(Duration::hours(2));
  EXPECT_EQ(daemon_.job(id_).state, JobState::kSucceeded);
  EXPECT_EQ(daemon_.job(id_ + 1).state, JobState::kNeedsApproval);
  EXPECT_EQ(budget().spent, Money::units(16));
  set_budget("24");
  daemon_.pass(Duration::hours(2));
  EXPECT_EQ(daemon_.job(id_ + 1).state, JobState::kSucceeded);
}

TEST_F(EngineBudgetAgain, LogsFromBeforeGoOnAsTheyWereDecided) {
  FleetConfig before = fleet_;
  before.attempts_paid = AttemptsPaid::kFailed;
  EXPECT_EQ(parse_fleet_config(to_json(before), "log")->attempts_paid, AttemptsPaid::kFailed);
  EXPECT_EQ(parse_fleet_config(to_json(fleet_), "log")->attempts_paid, AttemptsPaid::kAll);
  ASSERT_TRUE(daemon_.engine().stage_fleet(before, {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  preempt();
  EXPECT_EQ(daemon_.job(id_).state, JobState::kWaiting);
}

TEST(EngineBudget, AMonthEndsAndTheBooksBeginAnew) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"100000"}]})"));
  // kDaemonStart is 2027-01-15T08:00Z: the month ends 400 hours later.
  const Duration until_end = month_of(kDaemonStart).end - kDaemonStart;
  daemon.pass(until_end - Duration::hours(2));
  daemon.submit(limited_job(8, Duration::hours(5), Duration::hours(5)));
  daemon.pass(Duration::hours(3));
  EXPECT_EQ(daemon.engine().budgets()[0].spent, Money::units(16));  // the hour of the new month
  daemon.pass(Duration::hours(3));
  EXPECT_EQ(daemon.engine().budgets()[0].spent, Money::units(48));  // posted: three of five hours
  EXPECT_EQ(daemon.engine().budgets()[0].promised, Money::units(0));
}

TEST(EngineBudget, IsSetAndRemovedByCommandAndStaysOverARestart) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"fixed","queue":"zoo","per_month":"9"}]})"));
  const auto set = [&](const BudgetRule& rule) { return daemon.engine().stage_budget(rule, {.actor = "op"}); };
  ASSERT_TRUE(set({.name = "b", .queue = "acme", .project = "p", .per_month = Money::units(7)}).ok());
  EXPECT_EQ(set({.name = "fixed", .queue = "zoo", .per_month = Money::units(7)}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(set({.name = "c", .queue = "none", .per_month = Money::units(7)}).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(set({.name = "c", .queue = "acme"}).ok());  // of nothing
  ASSERT_TRUE(daemon.commit().ok());
  daemon.restart();
  ASSERT_EQ(daemon.engine().budgets().size(), 2U);
  JobRequest job = limited_job(8, Duration::hours(1), Duration::hours(1));
  EXPECT_EQ(refusal(daemon, job), "");  // of no project
  job.tags = {{"project", "p"}};
  EXPECT_THAT(refusal(daemon, job), HasSubstr("budget b"));
  // The configuration takes the name over: there is one of it, as the file says.
  ASSERT_TRUE(daemon.engine()
                  .stage_fleet(governed(R"({"budgets":[{"name":"fixed","queue":"zoo","per_month":"9"},)"
                                        R"({"name":"fresh","queue":"acme","project":"p","per_month":"1"}]})"),
                               {})
                  .ok());
  ASSERT_TRUE(set({.name = "b", .queue = "acme", .project = "p", .per_month = Money::units(8)}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.engine().budgets().size(), 3U);
  EXPECT_THAT(refusal(daemon, job), HasSubstr("budget fresh"));
  ASSERT_TRUE(daemon.engine().stage_fleet(governed(R"({"budgets":[{"name":"b","queue":"zoo","per_month":"9"}]})"), {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  ASSERT_EQ(daemon.engine().budgets().size(), 1U);
  EXPECT_EQ(refusal(daemon, job), "");
  ASSERT_TRUE(set({.name = "c", .queue = "acme", .per_month = Money::units(1)}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_THAT(refusal(daemon, job), HasSubstr("budget c"));
  ASSERT_TRUE(daemon.engine().stage_remove_budget("c", {}).ok());
  EXPECT_FALSE(daemon.engine().stage_remove_budget("b", {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(refusal(daemon, job), "");
}

TEST(EngineApproval, AnExpensiveJobWaitsUntilItIsApproved) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"approval_above":"30"})"));
  const int64_t id = daemon.submit(limited_job(8, Duration::hours(1), Duration::hours(2)));  // 32 at most
  EXPECT_EQ(daemon.job(id).state, JobState::kNeedsApproval);
  EXPECT_THAT(daemon.job(id).approval->why, HasSubstr("above 30.00 USD"));
  EXPECT_THAT(*daemon.engine().why(id), HasSubstr("stint approval approve acme-1"));
  daemon.restart();
  ASSERT_EQ(daemon.engine().approvals().size(), 1U);
  // Released is not approved.
  ASSERT_TRUE(daemon.engine().stage_release(id, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).state, JobState::kNeedsApproval);
  ASSERT_TRUE(daemon.engine().stage_approve(id, {.actor = "bob"}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(id).approval->by, "bob");
  EXPECT_EQ(daemon.engine().approvals().size(), 0U);
  EXPECT_EQ(daemon.engine().stage_approve(id, {}).error().code, ErrorCode::kConflict);
  const std::string before = books(daemon.engine());
  daemon.restart();
  EXPECT_EQ(books(daemon.engine()), before);
  EXPECT_EQ(daemon.job(id).approval->by, "bob");
}

TEST(EngineApproval, ARefusedJobHasEndedAndItsWaitersWithIt) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"approval_above":"30"})"));
  const int64_t id = daemon.submit(limited_job(8, Duration::hours(1), Duration::hours(2)));
  JobRequest later = limited_job(1, Duration::minutes(1), Duration::minutes(2));
  later.after = {id};
  const int64_t waits = daemon.submit(later);
  ASSERT_TRUE(daemon.engine().stage_refuse(id, "too dear", {.actor = "bob"}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).state, JobState::kRefused);
  EXPECT_EQ(daemon.job(id).approval->reason, "too dear");
  EXPECT_EQ(daemon.job(waits).state, JobState::kDependencyFailed);
  EXPECT_THAT(told(daemon.engine(), "job.refused"), ElementsAre("by bob: too dear"));
}

TEST(EngineApproval, AnArrayIsApprovedAsOneAndAHeldJobStaysHeld) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"approval_above":"30"})"));
  JobRequest array = limited_job(1, Duration::hours(1), Duration::hours(8));  // 16 each
  array.array = 3;
  array.on_hold = true;
  const int64_t first = daemon.submit(array);
  EXPECT_EQ(daemon.engine().approvals().size(), 1U);
  ASSERT_TRUE(daemon.engine().stage_cancel(first, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  ASSERT_TRUE(daemon.engine().stage_approve(first + 1, {.actor = "bob"}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(first).state, JobState::kCancelled);
  for (const int64_t id : {first + 1, first + 2})
    EXPECT_EQ(daemon.job(id).state, JobState::kOnHold);
  ASSERT_TRUE(daemon.engine().stage_release(first + 1, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(first + 1).state, JobState::kRunning);
}

TEST(EngineApproval, WhatWasDecidedHoldsWhenTheRulesHaveChanged) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"approval_above":"30"})"));
  const int64_t dear = daemon.submit(limited_job(8, Duration::hours(1), Duration::hours(2)));
  const int64_t cheap = daemon.submit(limited_job(1, Duration::hours(1), Duration::hours(2)));
  ASSERT_TRUE(daemon.engine().stage_fleet(governed(R"({"approval_above":"1"})"), {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(daemon.submit(limited_job(1, Duration::hours(1), Duration::hours(2)))).state, JobState::kNeedsApproval);
  const std::string before = books(daemon.engine());
  const uint64_t fingerprint = daemon.engine().fingerprint();
  // Read again under the first rules: the restart takes those over only after the log.
  daemon.restart();
  EXPECT_EQ(daemon.job(dear).state, JobState::kNeedsApproval);
  EXPECT_EQ(daemon.job(cheap).state, JobState::kRunning);
  EXPECT_EQ(books(daemon.engine()), before);
  EXPECT_EQ(daemon.engine().fingerprint(), fingerprint);
}

TEST(EngineQuota, CountsJobsThatWaitAndRun) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db",
                       governed(R"({"clients":[{"name":"acme","max_gpus":24,"user_max_gpus":20,"max_waiting":2}]})"));
  EXPECT_EQ(refusal(daemon, testing_job(8, Duration::hours(1))), "");
  EXPECT_EQ(refusal(daemon, testing_job(8, Duration::hours(1))), "");
  EXPECT_THAT(refusal(daemon, testing_job(8, Duration::hours(1))), HasSubstr("user ada in client acme may ask for 20 GPUs"));
  JobRequest other = testing_job(8, Duration::hours(1));
  other.user = "bob";
  EXPECT_EQ(refusal(daemon, other), "");  // waits: 24 in all
  EXPECT_THAT(refusal(daemon, other), HasSubstr("client acme may ask for 24 GPUs"));
  JobRequest cpu = testing_job(0, Duration::hours(1));
  cpu.on_hold = true;
  EXPECT_EQ(refusal(daemon, cpu), "");
  EXPECT_THAT(refusal(daemon, cpu), HasSubstr("2 jobs waiting"));
  daemon.pass(Duration::hours(3));
  EXPECT_EQ(refusal(daemon, testing_job(8, Duration::hours(1))), "");
}

TEST(EngineQuota, AnArrayThatRunsAFewAtATimeAsksForThose) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"clients":[{"name":"acme","max_gpus":8}]})"));
  JobRequest array = testing_job(4, Duration::hours(1));
  array.array = 6;
  EXPECT_NE(refusal(daemon, array), "");
  array.at_once = 2;
  EXPECT_EQ(refusal(daemon, array), "");
  EXPECT_NE(refusal(daemon, testing_job(1, Duration::hours(1))), "");
  daemon.pass(Duration::hours(4));
  EXPECT_EQ(refusal(daemon, testing_job(1, Duration::hours(1))), "");
}

TEST(EngineDedicated, AClientsMachineTakesThatClientsWorkAlone) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db",
                       governed(R"({"clients":[{"name":"zoo","dedicated_nodes":["n1"],"only_dedicated":true}]})", 2));
  for (int i = 0; i < 3; ++i) {
    daemon.submit(testing_job(4, Duration::hours(1), "acme"));
    daemon.submit(testing_job(4, Duration::hours(1), "zoo"));
  }
  for (int64_t id = 1; id <= 6; ++id) {
    const JobView job = daemon.job(id);
    if (id <= 4) {
      ASSERT_EQ(job.placed.size(), 1U) << id;
      EXPECT_EQ(job.placed[0].node, job.client == "zoo" ? "n1" : "n0");
    } else {
      EXPECT_EQ(job.state, JobState::kWaiting);  // each has its machine full
    }
  }
}

TEST(EnginePipeline, IsTakenWholeOrNotAtAll) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"budgets":[{"name":"b","queue":"acme","per_month":"100"}]})"));
  std::vector<PipelineStage> stages(3);
  stages[0].request = limited_job(1, Duration::hours(1), Duration::hours(2));
  stages[0].request.array = 2;
  stages[1] = {limited_job(8, Duration::hours(1), Duration::hours(2)), {0}};
  stages[2] = {limited_job(8, Duration::hours(1), Duration::hours(4)), {0, 1}};  // 8 + 32 + 64: more than 100
  const auto refused = daemon.engine().stage_pipeline(stages, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("stage 'train'"));
  EXPECT_FALSE(daemon.engine().has_staged());
  stages[2].request.time_limit = Duration::hours(2);
  const auto ids = daemon.engine().stage_pipeline(stages, {.actor = "ada", .idempotency_key = "k"});
  ASSERT_TRUE(ids.ok()) << ids.error().message;
  EXPECT_THAT(*ids, ElementsAre(1, 3, 4));
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_THAT(*daemon.engine().stage_pipeline(stages, {.actor = "ada", .idempotency_key = "k"}), ElementsAre(1, 3, 4));
  EXPECT_THAT(daemon.job(4).after, ElementsAre("acme-1_0", "acme-1_1", "acme-3"));
  EXPECT_EQ(daemon.job(1).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(3).state, JobState::kWaiting);
  daemon.restart();
  daemon.pass(Duration::hours(4));
  for (int64_t id = 1; id <= 4; ++id)
    EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded) << id;
  EXPECT_LT(*daemon.job(3).ended, *daemon.job(4).first_started + Duration::seconds(1));
}

TEST(EngineShares, ClientsShareNoGpuUnlessTheOperatorAllowsIt) {
  const auto part = [](const std::string& queue) {
    JobRequest job = testing_job(0, Duration::hours(10), queue);
    job.gpu_milli = 300;
    return job;
  };
  FleetConfig fleet = testing_fleet(1);
  fleet.govern.share_across_clients = false;
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", fleet);
  daemon.submit(testing_job(7, Duration::hours(10)));
  const int64_t first = daemon.submit(part("acme/vision"));
  const int64_t theirs = daemon.submit(part("zoo"));
  const int64_t of_same_client = daemon.submit(part("acme"));
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(theirs).state, JobState::kWaiting);
  EXPECT_EQ(daemon.engine().explain(theirs)->obstacle, sched::Obstacle::kOthersShares);
  EXPECT_EQ(daemon.job(of_same_client).state, JobState::kRunning) << "another queue, the same client";
  daemon.restart();
  EXPECT_EQ(daemon.job(theirs).state, JobState::kWaiting);

  fleet.govern.share_across_clients = true;
  const ScratchDir other;
  TestingDaemon allowed(other / "log.db", fleet);
  allowed.submit(testing_job(7, Duration::hours(10)));
  allowed.submit(part("acme/vision"));
  EXPECT_EQ(allowed.job(allowed.submit(part("zoo"))).state, JobState::kRunning);
}

TEST(EngineShares, ALogFromBeforeTheRuleGoesOnAsItWasDecided) {
  const auto before = parse_fleet_config(R"({"policy":"stint","nodes":[],"queues":[{"name":"acme"}]})", "log");
  ASSERT_TRUE(before.ok());
  EXPECT_TRUE(before->govern.share_across_clients);
  FleetConfig now = *before;
  now.govern.share_across_clients = false;
  EXPECT_FALSE(parse_fleet_config(to_json(now), "log")->govern.share_across_clients);
}

}  // namespace
}  // namespace stint
