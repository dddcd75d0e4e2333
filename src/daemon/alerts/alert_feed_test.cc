// What the rules are fed from a running engine, and whose matter that is.
#include "daemon/alerts/alert_feed.h"

#include <gmock/gmock.h>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::UnorderedElementsAre;

class AlertFeedTest : public ::testing::Test {
 protected:
  AlertFeedTest() : daemon_(dir_ / "events.db"), feed_(default_alert_rules(), &live_) {}

  /// "NodeDown n0", "JobsFailed acme/vision": what fires after another look.
  std::vector<std::string> look() {
    const AlertWorld world = feed_.look(daemon_.engine(), seen_);
    if (!world.events.empty()) seen_ = world.events.back().number;
    feed_.take(world);
    feed_.take_minutes(daemon_.now());
    for (const AlertChange& c : feed_.evaluator().evaluate(daemon_.now())) {
      const AlertSubject& who = feed_.evaluator().subject(c.subject);
      const std::string name =
          fmt::format("{} {}{}{}", feed_.evaluator().rules()[c.rule].name, who.gpu.empty() ? who.node : "", who.gpu, who.name);
      if (c.firing)
        firing_.push_back(name);
      else
        std::erase(firing_, name);
    }
    return firing_;
  }
  static AlertSubject gpu(const std::string& node, const std::string& name) {
    return {.scope = AlertScope::kGpu, .node = node, .gpu = name, .name = {}};
  }

  ScratchDir dir_;
  TestingDaemon daemon_;
  LiveTelemetry live_;
  AlertFeed feed_;
  int64_t seen_ = 0;
  std::vector<std::string> firing_;
};

TEST_F(AlertFeedTest, JobsThatFailCountForTheirQueueForTenMinutes) {
  EXPECT_THAT(look(), UnorderedElementsAre());
  const int64_t job = daemon_.submit(testing_job(1, Duration::hours(1)));
  daemon_.engine().stage_report({.kind = ReportKind::kEnded,
                                 .key = {.job = job, .attempt = 0, .task = 0},
                                 .at = daemon_.now(),
                                 .status = {.code = 1, .signal = 0},
                                 .cause = EndCause::kItself,
                                 .detail = {}});
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_THAT(look(), UnorderedElementsAre("JobsFailed acme/vision"));
  EXPECT_EQ(feed_.client_of({.scope = AlertScope::kQueue, .node = {}, .gpu = {}, .name = "acme/vision"}), "acme");
  EXPECT_EQ(feed_.counters().failed_jobs.at("acme/vision"), 1);
  EXPECT_EQ(feed_.counters().failed_jobs.at("zoo"), 0) << "counters are there from the beginning";
  daemon_.pass(Duration::minutes(11));
  EXPECT_THAT(look(), UnorderedElementsAre());
}

TEST_F(AlertFeedTest, AMachineIsDownUntilItIsBack) {
  ASSERT_TRUE(daemon_.engine().stage_down("n1", {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_THAT(look(), UnorderedElementsAre("NodeDown n1"));
  ASSERT_TRUE(daemon_.engine().stage_up("n1", {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_THAT(look(), UnorderedElementsAre());
}

TEST_F(AlertFeedTest, OnlyJobsThatSaidTheyWouldSaveAreHeldToIt) {
  JobRequest saving = testing_job(1, Duration::hours(9));
  saving.checkpoint.interval = Duration::minutes(30);
  const int64_t job = daemon_.submit(saving);
  daemon_.submit(testing_job(1, Duration::hours(9)));
  look();
  daemon_.pass(Duration::minutes(119));
  EXPECT_THAT(look(), UnorderedElementsAre());
  ASSERT_TRUE(daemon_.engine().stage_checkpoint(job).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  daemon_.pass(Duration::minutes(119));
  EXPECT_THAT(look(), UnorderedElementsAre());
  daemon_.pass(Duration::minutes(2));
  EXPECT_THAT(look(), UnorderedElementsAre("NoCheckpoint " + public_id(daemon_.job(job))));
  EXPECT_EQ(feed_.client_of({.scope = AlertScope::kJob, .node = {}, .gpu = {}, .name = public_id(daemon_.job(job))}), "acme");
  // As after a restart: the events are read again.
  AlertFeed again(default_alert_rules(), nullptr);
  again.take(again.look(daemon_.engine(), 0));
  EXPECT_EQ(again.evaluator().evaluate(daemon_.now()).size(), 1U);
  ASSERT_TRUE(daemon_.engine().stage_cancel(job, {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  daemon_.pass(Duration::seconds(30));
  EXPECT_THAT(look(), UnorderedElementsAre());
}

TEST_F(AlertFeedTest, MinutesOfGpusAreFedOnceAndBelongToWhoHoldsThem) {
  daemon_.submit(testing_job(8, Duration::hours(9)));
  const size_t source = live_.add_source(LiveSourceKind::kSimulated, "test");
  const JobFilter running{.state = JobState::kRunning, .ended = {}, .queue = {}, .user = {}, .name = {}};
  live_.put_work({.nodes = daemon_.engine().nodes(), .running = daemon_.engine().jobs(running, {}, 100).jobs});
  const std::string held = daemon_.engine().nodes()[0].jobs.empty() ? "n1" : "n0";
  const auto position = live_.gpu({.node = held, .uuid = {}, .index = 0, .model = {}, .mig_profile = {}, .mig_instance = -1});
  ASSERT_TRUE(position);
  std::vector<std::string> seen;
  for (int minute = 0; minute < 4; ++minute) {
    live_.put(source, *position, Metric::kTemperature, daemon_.now(), 95);
    daemon_.pass(Duration::minutes(1));
    seen = look();
  }
  EXPECT_THAT(seen, UnorderedElementsAre(fmt::format("GpuTemperatureCritical {}:0", held)));
  EXPECT_EQ(feed_.client_of(gpu(held, held + ":0")), "acme");
  EXPECT_EQ(feed_.client_of(gpu(held == "n0" ? "n1" : "n0", held == "n0" ? "n1:0" : "n0:0")), "");
}

TEST_F(AlertFeedTest, UnusualDaysAndOldPricesOfTheLastAuditAreAlertsUntilAnotherSaysOtherwise) {
  AuditContents audit;
  audit.unusual = {{.client = "acme", .name = "acme: aws AmazonEC2", .deviations = 6.2},
                   {.client = "zoo", .name = "zoo: aws AmazonEC2", .deviations = -8}};
  audit.oldest_price = daemon_.now() - kHour * (24 * 180);
  feed_.take_audit(&audit, daemon_.now());
  EXPECT_THAT(look(), UnorderedElementsAre("SpendUnusual acme: aws AmazonEC2"));
  const AlertSubject spend{.scope = AlertScope::kSpend, .node = {}, .gpu = {}, .name = "acme: aws AmazonEC2"};
  EXPECT_EQ(feed_.client_of(spend), "acme");
  feed_.take_audit(&audit, daemon_.now() + kHour);  // now it is older than 180 days
  EXPECT_THAT(look(), UnorderedElementsAre("SpendUnusual acme: aws AmazonEC2", "PricesOld "));
  EXPECT_NEAR(*feed_.counters().price_age_days, 180 + 1.0 / 24, 1e-9);
  AuditContents later;
  feed_.take_audit(&later, daemon_.now());
  EXPECT_THAT(look(), UnorderedElementsAre());
}

TEST_F(AlertFeedTest, AServiceIsHeldAgainstItsOwnLatency) {
  const size_t source = live_.add_source(LiveSourceKind::kExporter, "test");
  const auto serve = [&](int minutes, double p99_ms) {
    std::vector<std::string> seen;
    for (int m = 0; m < minutes; ++m) {
      live_.put_service(source, daemon_.now(), {.service = "chat", .p99_ms = p99_ms, .headroom = {}, .per_second = {}});
      live_.put_service(source, daemon_.now(), {.service = "other", .p99_ms = 1000, .headroom = {}, .per_second = {}});
      daemon_.pass(Duration::minutes(1));
      seen = look();
    }
    return seen;
  };
  EXPECT_THAT(serve(120, 40), UnorderedElementsAre());
  EXPECT_THAT(serve(9, 210), UnorderedElementsAre("LatencyAboveBaseline chat"));
  EXPECT_THAT(serve(20, 40), UnorderedElementsAre());
}

TEST_F(AlertFeedTest, AProcessThatNoJobGaveTheGpuIsAlertedWhileItStays) {
  const int64_t job = daemon_.submit(testing_job(1, Duration::hours(9)));
  const TaskView task = daemon_.job(job).placed.front();
  const auto device = [&](int index) {
    return DeviceKey{.node = task.node, .uuid = {}, .index = index, .model = {}, .mig_profile = {}, .mig_instance = -1};
  };
  const int own = task.gpus.front(), other = own == 0 ? 1 : 0;
  const auto held = live_.gpu(device(own)), free = live_.gpu(device(other));
  ASSERT_TRUE(held && free);
  const JobFilter running{.state = JobState::kRunning, .ended = {}, .queue = {}, .user = {}, .name = {}};
  live_.put_work({.nodes = daemon_.engine().nodes(), .running = daemon_.engine().jobs(running, {}, 100).jobs});
  const LiveProcess its{.pid = 10, .command = "python3", .memory_used = {}, .job = job},
      foreign{.pid = 20, .command = "miner", .memory_used = {}};
  const auto passes = [&](std::vector<LiveProcess> on_held, std::vector<LiveProcess> on_free) {
    for (int minute = 0; minute < 4; ++minute) {
      daemon_.pass(Duration::minutes(1));
      live_.put_processes(*held, daemon_.now(), on_held);
      live_.put_processes(*free, daemon_.now(), on_free);
      (void)look();
    }
    return look();
  };
  const std::string on_own = fmt::format("ForeignProcess {}:{}", task.node, own),
                    on_other = fmt::format("ForeignProcess {}:{}", task.node, other);
  EXPECT_THAT(passes({its}, {}), UnorderedElementsAre());
  EXPECT_THAT(passes({its, foreign}, {}), UnorderedElementsAre(on_own));
  EXPECT_THAT(passes({its}, {its}), UnorderedElementsAre(on_other)) << "a job on a GPU that it was not given";
  EXPECT_THAT(passes({its}, {}), UnorderedElementsAre());
  live_.hold_back(task.node, other, "GPU 1: its memory was not scrubbed");
  EXPECT_THAT(passes({its}, {}), UnorderedElementsAre(fmt::format("GpuHeldBack {}:{}", task.node, other)));
  live_.hold_back(task.node, other, "");
  EXPECT_THAT(passes({its}, {}), UnorderedElementsAre());
}

}  // namespace
}  // namespace stint
