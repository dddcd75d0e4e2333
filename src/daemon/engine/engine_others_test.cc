// Jobs that others gave to the cluster: they wait in the same queues under the same rules, hold their room where they run, and end on both
// sides.
#include <gmock/gmock.h>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A cluster that has jobs of others; what is started on it takes a minute.
class SharedCluster final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "cluster"; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }
  void submit(std::vector<Order> orders) override {
    for (const Order& order : orders) {
      if (order.launch) started.push_back(order.launch->others_job);
      if (order.kind == OrderKind::kDismiss) dismissed.push_back(order.others_job);
    }
    simulated_.submit(std::move(orders));
  }
  std::vector<BackendEvent> drain(Instant now) override {
    std::vector<BackendEvent> events = simulated_.drain(now);
    for (OthersJob& job : std::exchange(told, {}))
      events.emplace_back(std::move(job));
    if (there) events.emplace_back(*std::exchange(there, std::nullopt));
    return events;
  }
  [[nodiscard]] std::optional<Instant> next_event_at() const override {
    return told.empty() && !there ? simulated_.next_event_at() : std::optional(Instant());
  }
  [[nodiscard]] std::vector<LaunchKey> running() const override { return simulated_.running(); }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override { return simulated_.read_log(query); }

  std::vector<OthersJob> told;       ///< with the next drain
  std::optional<OthersThere> there;  ///< likewise
  std::vector<std::string> started, dismissed;

 private:
  SimulatedBackend simulated_;
};

class EngineOthers : public ::testing::Test {
 protected:
  EngineOthers() { open(testing_fleet()); }
  void open(const FleetConfig& fleet) {
    engine_.reset();
    log_.reset();
    auto log = EventLog::open(dir_ / "log.db");
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(*log));
    auto engine = Engine::open(*log_, cluster_, fleet, {}, now_);
    CHECK(engine.ok(), "{}", engine.error().message);
    engine_.emplace(std::move(*engine));
  }
  void pass(Duration time) {
    for (const Instant until = now_ + time; now_ < until; now_ = now_ + Duration::seconds(1)) {
      engine_->poll_backend(now_);
      if (!engine_->has_staged() && engine_->next_wakeup() > now_) continue;
      const Status committed = engine_->commit(now_);
      CHECK(committed.ok(), "{}", committed.error().message);
    }
  }
  static OthersJob others(std::string name, int gpus, OthersJob::State state = OthersJob::State::kWaits) {
    OthersJob job;
    job.name = std::move(name);
    job.submitted = kDaemonStart - Duration::minutes(1);
    job.state = state;
    job.queue = "acme";
    job.user = "bob";
    job.title = "train";
    job.gpus = gpus;
    job.grace = Duration::seconds(30);
    if (state == OthersJob::State::kRuns) job.machines = {"n0"};
    return job;
  }
  void hear(OthersJob job) {
    cluster_.told.push_back(std::move(job));
    pass(Duration::seconds(3));
  }
  int64_t submit(int gpus) {
    const auto id = engine_->stage_submit(testing_job(gpus, kHour), {.actor = "ada", .idempotency_key = ""});
    CHECK(id.ok(), "{}", id.error().message);
    pass(Duration::seconds(3));
    return *id;
  }
  JobView job(int64_t id) { return *engine_->job(id); }
  std::vector<std::string> events() {
    std::vector<std::string> all;
    for (const EventView& event : engine_->events_since(0, 1'000))
      all.push_back(event.kind + " " + event.detail);
    return all;
  }

  ScratchDir dir_;
  SharedCluster cluster_;
  Instant now_ = kDaemonStart;
  std::optional<EventLog> log_;
  std::optional<Engine> engine_;
};

TEST_F(EngineOthers, AJobOfOthersIsAJobOfTheBooksAndRunsThere) {
  hear(others("17", 8));
  const JobView known = job(1);
  EXPECT_EQ(known.queue, "acme");
  EXPECT_EQ(known.user, "bob");
  EXPECT_EQ(known.state, JobState::kRunning);
  EXPECT_THAT(cluster_.started, ElementsAre("17"));
  pass(Duration::minutes(2));
  EXPECT_EQ(job(1).state, JobState::kSucceeded);
  hear(others("17", 8, OthersJob::State::kEnded));
  EXPECT_EQ(engine_->overview().running, 0);
  open(testing_fleet());
  hear(others("17", 8));
  EXPECT_FALSE(engine_->job(2).has_value()) << "told again after a restart it is the same job";
}

TEST_F(EngineOthers, ItWaitsInTheSameLineAsWhatIsSubmitted) {
  const int64_t first = submit(8), second = submit(8);
  EXPECT_EQ(job(second).state, JobState::kRunning);
  hear(others("17", 8));
  EXPECT_EQ(job(3).state, JobState::kWaiting);
  EXPECT_EQ(job(first).state, JobState::kRunning);
  ASSERT_TRUE(engine_->stage_cancel(first, {}).ok());
  pass(Duration::minutes(1));
  EXPECT_EQ(job(3).state, JobState::kRunning);
}

TEST_F(EngineOthers, WhatRunsAlreadyHoldsItsRoom) {
  hear(others("17", 8, OthersJob::State::kRuns));
  EXPECT_EQ(job(1).state, JobState::kRunning);
  EXPECT_THAT(cluster_.started, ElementsAre("17")) << "the cluster is asked to say what becomes of it";
  const int64_t own = submit(8), waits = submit(8);
  EXPECT_EQ(job(own).state, JobState::kRunning);
  EXPECT_EQ(job(waits).state, JobState::kWaiting) << "n0 is taken";
  const std::vector<NodeView> nodes = engine_->nodes();
  EXPECT_THAT(nodes[0].jobs, ElementsAre(1));
  open(testing_fleet());
  pass(Duration::seconds(3));
  EXPECT_EQ(job(1).state, JobState::kRunning) << "the record says where";
}

TEST_F(EngineOthers, WhatFindsNoRoomInTheBooksIsOnHoldUntilItDoes) {
  const int64_t own = submit(8);
  const std::string node = job(own).placed.front().node;
  OthersJob runs = others("17", 8, OthersJob::State::kRuns);
  runs.machines = {node};
  hear(runs);
  EXPECT_EQ(job(2).state, JobState::kOnHold);
  EXPECT_THAT(events(), Contains(HasSubstr("there is no room for it in the books")));
  ASSERT_TRUE(engine_->stage_cancel(own, {}).ok());
  pass(Duration::minutes(3));
  EXPECT_EQ(job(2).state, JobState::kSucceeded) << "it took up its room within a minute, and ran for one";
}

TEST_F(EngineOthers, CancelledOnOneSideItIsCancelledOnTheOther) {
  submit(8);
  submit(8);
  hear(others("17", 8));
  hear(others("18", 8));
  ASSERT_TRUE(engine_->stage_cancel(3, {}).ok());
  pass(Duration::seconds(3));
  EXPECT_THAT(cluster_.dismissed, ElementsAre("17"));
  hear(others("18", 8, OthersJob::State::kEnded));
  EXPECT_EQ(job(4).state, JobState::kCancelled);
}

TEST_F(EngineOthers, TakenBackWhileTheDaemonWasAwayItIsCancelled) {
  submit(8);
  submit(8);
  hear(others("17", 8));
  hear(others("18", 8));
  open(testing_fleet());
  cluster_.told = {others("18", 8), others("19", 8)};
  cluster_.there = OthersThere{.names = {"18", "19"}};
  pass(Duration::seconds(3));
  EXPECT_EQ(job(3).state, JobState::kCancelled);
  EXPECT_EQ(job(4).state, JobState::kWaiting);
  EXPECT_EQ(job(5).state, JobState::kWaiting);
  EXPECT_EQ(job(1).state, JobState::kRunning) << "it is no job of the cluster's";
}

TEST_F(EngineOthers, TakenBackInTheStepThatTakesItInItIsCancelled) {
  submit(8);
  submit(8);
  cluster_.told = {others("17", 8), others("17", 8, OthersJob::State::kEnded)};
  pass(Duration::seconds(3));
  EXPECT_EQ(job(3).state, JobState::kCancelled);
}

TEST_F(EngineOthers, HeldThereItIsHeldHere) {
  hear(others("17", 8, OthersJob::State::kOnHold));
  EXPECT_EQ(job(1).state, JobState::kOnHold);
  hear(others("17", 8));
  EXPECT_EQ(job(1).state, JobState::kRunning);
}

TEST_F(EngineOthers, WhatTheRulesRefuseStaysThereIsSaidOnceAndAskedAgain) {
  open(governed(R"({"budgets": [{"name": "b", "queue": "acme", "per_month": "1"}]})"));
  hear(others("17", 8));
  pass(Duration::minutes(5));
  EXPECT_FALSE(engine_->job(1).has_value());
  int said = 0;
  for (const std::string& event : events())
    said += event.starts_with("job.kept-out cluster job 17") ? 1 : 0;
  EXPECT_EQ(said, 1);
  ASSERT_TRUE(engine_->stage_fleet(testing_fleet(), {}).ok());
  pass(Duration::minutes(2));
  EXPECT_TRUE(engine_->job(1).has_value());
}

TEST_F(EngineOthers, WhatEndsThereKeptOutIsForgotten) {
  open(governed(R"({"budgets": [{"name": "b", "queue": "acme", "per_month": "1"}]})"));
  const auto said = [&] {
    return std::ranges::count_if(events(), [](const std::string& e) { return e.starts_with("job.kept-out cluster job 17"); });
  };
  hear(others("17", 8));
  pass(Duration::minutes(2));
  EXPECT_EQ(said(), 1);
  hear(others("17", 8, OthersJob::State::kEnded));
  pass(Duration::minutes(2));
  OthersJob another = others("17", 8);  // the cluster counts anew
  another.submitted = now_;
  hear(another);
  pass(Duration::minutes(2));
  EXPECT_EQ(said(), 2);
}

TEST_F(EngineOthers, NobodySubmitsAJobAsOneOfTheClusters) {
  JobRequest request = testing_job(1, kHour);
  request.tags = {{"stint.cluster-job", "17"}};
  const auto refused = engine_->stage_submit(request, {.actor = "mallory", .idempotency_key = ""});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("stint.cluster-job"));
  EXPECT_THAT(cluster_.started, IsEmpty());
}

// Who starts it there asks no one here; its budget pays all the same.
TEST_F(EngineOthers, WhatNeededApprovalAndRunsThereIsPromisedAndPaid) {
  open(governed(R"({"approval_above":"1","budgets":[{"name":"b","queue":"acme","per_month":"100"}]})"));
  OthersJob waits = others("17", 8);
  waits.time_limit = kHour;
  hear(waits);
  EXPECT_EQ(job(1).state, JobState::kNeedsApproval);
  EXPECT_EQ(engine_->budgets()[0].promised, Money::units(0));
  OthersJob runs = others("17", 8, OthersJob::State::kRuns);
  runs.time_limit = kHour;
  hear(runs);
  EXPECT_EQ(job(1).state, JobState::kRunning);
  EXPECT_EQ(engine_->budgets()[0].promised + engine_->budgets()[0].spent, Money::units(16));
  pass(Duration::minutes(2));
  EXPECT_TRUE(has_ended(job(1).state));
  EXPECT_EQ(engine_->budgets()[0].promised, Money::units(0));
}

}  // namespace
}  // namespace stint
