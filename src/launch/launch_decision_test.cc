// Launches decided by hand: a book that hears what the test says, a record beside it.
#include "launch/launch_decision.h"

#include <gmock/gmock.h>

#include "launch/testing_launch.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kSpotA = "p4d.24xlarge/us-east-1a/spot";
const std::string kSpotB = "p4d.24xlarge/us-east-1b/spot";
const std::string kOnDemandA = "p4d.24xlarge/us-east-1a/on-demand";

class LaunchDecisionTest : public ::testing::Test {
 protected:
  LaunchDecision decide() {
    return decide_launch(
        {.now = now_, .plan = plan_, .record = record_, .book = book(), .reports = reports_, .last_words = last_words_});
  }

  /// One turn as the controller has it. @return the order it gave.
  std::optional<CreateOrder> turn(CapacityHeard heard = {}) {
    LaunchDecision decided = decide();
    if (decided.end) {
      record_.finish(*decided.end);
      decided = decide();
    }
    why_ = decided.why;
    const CapacityStep step = book().step(now_, decided.ask, heard);
    record_.update(now_, book(), step.news, reports_);
    for (const DestroyOrder& order : step.destroys)
      for (const DestroyOrder::Target& target : order.targets)
        destroyed_.push_back({order.call, target.name});
    EXPECT_LE(step.creates.size(), 1U);
    if (step.creates.empty()) return std::nullopt;
    EXPECT_THAT(step.creates.front().names, SizeIs(1));
    return step.creates.front();
  }
  /// The order is answered so, and what comes of that in the same moment.
  std::optional<CreateOrder> answer(const CreateOrder& order, CapacityOutcome outcome, const std::string& detail = "") {
    return turn({.answers = {{.call = order.call, .name = order.names.front(), .outcome = outcome, .detail = detail}},
                 .lists = {},
                 .offers = {},
                 .notices = {}});
  }
  /// A machine that runs. @return its name.
  std::string run_one() {
    const auto order = turn();
    EXPECT_TRUE(order.has_value());
    if (!order) return "";
    (void)answer(*order, CapacityOutcome::kReady);
    report(order->names.front(), {.state = ReportedState::kRunning});
    (void)turn();
    return order->names.front();
  }
  void report(const std::string& machine, const LaunchReport& report) { reports_[machine] = {.report = report, .heard = now_}; }
  /// Orders to end are answered well.
  void all_end() {
    CapacityHeard heard;
    for (const auto& [call, name] : std::exchange(destroyed_, {}))
      heard.answers.push_back({.call = call, .name = name, .outcome = CapacityOutcome::kGone, .detail = {}});
    reports_.clear();
    (void)turn(heard);
  }
  void pass(Duration time) { now_ = now_ + time; }
  CapacityBook& book() {
    if (!book_) {
      CapacityRules rules = capacity_rules_of(plan_);
      rules.lists = false;
      book_.emplace(rules);
    }
    return *book_;
  }

  LaunchPlan plan_ = whole_launch_plan();
  LaunchRecord record_;
  std::map<std::string, HeardReport> reports_;
  Instant now_ = plan_.begun;
  std::string why_;
  bool last_words_ = true;
  std::vector<std::pair<int64_t, std::string>> destroyed_;

 private:
  std::optional<CapacityBook> book_;
};

TEST_F(LaunchDecisionTest, TheBestSpotOfferFirst) {
  const auto order = turn();
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->pool, kSpotA);
  EXPECT_EQ(order->names, std::vector<std::string>{"night-1"});
  EXPECT_EQ(order->owner, "stint-launch-1234");
  EXPECT_EQ(order->ends_after, Duration::hours(24)) << "the dead man's switch";
  EXPECT_FALSE(turn().has_value()) << "one machine";
}

TEST_F(LaunchDecisionTest, OutOfStockTheNextZoneIsTried) {
  auto order = turn();
  order = answer(*order, CapacityOutcome::kStockout);
  if (!order) order = turn();
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->pool, kSpotB);
}

TEST_F(LaunchDecisionTest, EarlyItWaitsForSpotAndBehindThePaceItDoesNot) {
  auto order = turn();
  (void)answer(*order, CapacityOutcome::kStockout);
  order = turn();
  if (order) (void)answer(*order, CapacityOutcome::kStockout);
  // 0 h done of 5 in 10 h: at the beginning the pace is kept, a minute later it is not.
  for (int i = 0; i < 4 && !(order = turn()); ++i)
    pass(Duration::minutes(1));
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->pool, kOnDemandA);
  EXPECT_THAT(why_, HasSubstr("the deadline"));
}

TEST_F(LaunchDecisionTest, WithoutADeadlineItWaitsForSpotHoweverLong) {
  plan_.deadline.reset();
  auto order = turn();
  (void)answer(*order, CapacityOutcome::kStockout);
  order = turn();
  if (order) (void)answer(*order, CapacityOutcome::kStockout);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(turn().has_value());
    pass(Duration::minutes(1));
  }
  EXPECT_THAT(why_, HasSubstr("waits for a spot machine"));
  pass(Duration::minutes(5));
  order = turn();
  ASSERT_TRUE(order.has_value()) << "its pool is asked again";
  EXPECT_EQ(order->pool, kSpotA);
}

TEST_F(LaunchDecisionTest, WithinTwoStartsOfTheLastMomentItIsOnDemandAlthoughThereIsSpot) {
  pass(Duration::hours(5) - Duration::minutes(10));  // 5 h 10 min are left for 5 h: less than two starts of 10 min
  const auto order = turn();
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->pool, kOnDemandA);
}

TEST_F(LaunchDecisionTest, SavedWorkCounts) {
  const std::string machine = run_one();
  report(machine, {.state = ReportedState::kEnded, .interrupted = true, .saved = Duration::hours(2)});
  pass(Duration::hours(6));  // 4 h are left for 3: spot may be tried, and would not without what was saved
  (void)turn();
  all_end();
  const auto order = turn();
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->pool, kSpotB);
}

TEST_F(LaunchDecisionTest, InterruptedItGoesToAnotherZoneAndComesBackLater) {
  const std::string first = run_one();
  pass(kHour);
  report(first, {.state = ReportedState::kEnded, .interrupted = true, .exit_code = 143, .saved = kHour});
  EXPECT_FALSE(turn().has_value()) << "one at a time: the first is still there";
  all_end();
  EXPECT_EQ(book().machines().size(), 0U);
  const std::string second = run_one();
  EXPECT_EQ(book().machines().at(second).pool, kSpotB);
  report(second, {.state = ReportedState::kEnded, .interrupted = true});
  (void)turn();
  all_end();
  EXPECT_EQ(turn()->pool, kSpotA) << "both were taken back: better one of them than none";
}

TEST_F(LaunchDecisionTest, AMachineGoneWithoutAWordIsReplacedElsewhere) {
  const std::string first = run_one();
  (void)book().step(
      now_, decide().ask,
      {.answers = {},
       .lists = {},
       .offers = {},
       .notices = {{.name = first, .until = now_ + Duration::minutes(2), .maintenance = false, .detail = "taken"}}});
  record_.update(now_, book(), {{.event = CapacityEvent::kDraining, .machine = first, .until = now_, .detail = "taken"}}, {});
  reports_.clear();
  pass(Duration::minutes(3));
  (void)turn();
  all_end();
  EXPECT_EQ(turn()->pool, kSpotB);
  EXPECT_TRUE(record_.machines().front().interrupted);
}

TEST_F(LaunchDecisionTest, TheCommandsEndIsTheLaunchs) {
  const std::string machine = run_one();
  report(machine, {.state = ReportedState::kEnded, .exit_code = 3});
  (void)turn();
  ASSERT_TRUE(record_.end().has_value());
  EXPECT_EQ(record_.end()->code, 3);
  ASSERT_THAT(destroyed_, SizeIs(1));
  EXPECT_EQ(destroyed_[0].second, machine);
  all_end();
  EXPECT_THAT(book().machines(), IsEmpty());
  EXPECT_FALSE(turn().has_value()) << "nothing more is bought";
}

TEST_F(LaunchDecisionTest, AMachineThatWentBeforeItsLastWordWasHeardIsNotReplaced) {
  const std::string machine = run_one();
  last_words_ = false;
  (void)turn({.answers = {},
              .lists = {},
              .offers = {},
              .notices = {{.name = machine, .until = now_, .maintenance = false, .detail = "going"}}});
  all_end();
  ASSERT_THAT(book().machines(), IsEmpty());
  EXPECT_FALSE(turn().has_value()) << "the command may have ended there";
  report(machine, {.state = ReportedState::kEnded, .exit_code = 0});
  last_words_ = true;
  EXPECT_FALSE(turn().has_value());
  ASSERT_TRUE(record_.end().has_value());
  EXPECT_EQ(record_.end()->code, 0);
  (void)turn();
  EXPECT_FALSE(record_.machines().front().interrupted);
}

TEST_F(LaunchDecisionTest, StoppedItGivesAllBack) {
  (void)run_one();
  record_.stop(now_);
  EXPECT_FALSE(turn().has_value());
  EXPECT_THAT(destroyed_, SizeIs(1));
  all_end();
  EXPECT_FALSE(turn().has_value());
}

TEST_F(LaunchDecisionTest, WhoTellsNothingIsGivenUp) {
  const std::string machine = run_one();
  pass(kLaunchSilent);
  (void)turn();
  EXPECT_THAT(destroyed_, IsEmpty());
  pass(Duration::seconds(1));
  (void)turn();
  ASSERT_THAT(destroyed_, SizeIs(1));
  all_end();
  const auto order = turn();
  ASSERT_TRUE(order.has_value());
  (void)answer(*order, CapacityOutcome::kReady);
  pass(plan_.ready_within * 2 + Duration::seconds(1));
  (void)turn();
  EXPECT_THAT(destroyed_, SizeIs(1)) << "it was ready, and never reported";
}

TEST_F(LaunchDecisionTest, MachinesThatDoNotBeginAreNotBoughtForEver) {
  for (int i = 0; i < kMostFailedStarts; ++i) {
    const auto order = turn();
    ASSERT_TRUE(order.has_value()) << i;
    (void)answer(*order, CapacityOutcome::kReady);
    report(order->names.front(), {.state = ReportedState::kUnfit, .detail = "7 GPUs of 8"});
    (void)turn();
    all_end();
  }
  EXPECT_FALSE(turn().has_value());
  ASSERT_TRUE(record_.end().has_value());
  EXPECT_EQ(record_.end()->code, 1);
  EXPECT_THAT(record_.end()->why, HasSubstr("7 GPUs of 8"));
}

TEST_F(LaunchDecisionTest, AQuotaIsNoStockout) {
  // On every pool: there is nothing to wait for, and it says what to do.
  std::optional<CreateOrder> order = turn();
  for (int i = 0; i < 10 && !record_.end(); ++i) {
    if (order) order = answer(*order, CapacityOutcome::kQuota, "VcpuLimitExceeded: ask AWS for a higher one (Service Quotas)");
    if (!order) pass(Duration::minutes(1));
    if (!order) order = turn();
  }
  ASSERT_TRUE(record_.end().has_value());
  EXPECT_THAT(record_.end()->why, HasSubstr("quota: VcpuLimitExceeded: ask AWS for a higher one"));
}

TEST(LaunchDeadline, OneThatCannotBeMetIsSaidBeforeAnythingIsBought) {
  LaunchPlan plan = whole_launch_plan();
  EXPECT_TRUE(check_deadline(plan).ok());
  plan.takes = Duration::hours(10);
  EXPECT_THAT(check_deadline(plan).error().message, HasSubstr("cannot be met: 10.0 h of work and 0.2 h to start"));
}

}  // namespace
}  // namespace stint
