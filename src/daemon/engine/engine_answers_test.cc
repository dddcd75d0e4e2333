// Orders and answers that come late, twice, in another order or not at all, with restarts in between: every job ends once, as it would
// have, and no two tasks have a GPU at the same time.
#include <gmock/gmock.h>

#include "backends/testing_faulty_backend.h"
#include "daemon/testing_daemon.h"

namespace stint {
namespace {

constexpr BackendFaults kFaults = {.lost = 0.15, .twice = 0.15, .late = 0.5, .delay = Duration::seconds(90)};

/// Looks at what really runs.
class WatchingBackend final : public Backend {
 public:
  explicit WatchingBackend(Backend& backend) : backend_(backend) {}
  [[nodiscard]] std::string_view name() const override { return backend_.name(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }
  void submit(std::vector<Order> orders) override {
    for (const Order& order : orders)
      if (order.launch) launches_.insert_or_assign(order.key, *order.launch);
    backend_.submit(std::move(orders));
  }
  std::vector<BackendEvent> drain(Instant now) override {
    std::vector<BackendEvent> events = backend_.drain(now);
    for (const BackendEvent& event : events)
      if (const auto* report = std::get_if<Report>(&event); report != nullptr && report->kind == ReportKind::kEnded)
        ends_.emplace(report->key, *report);  // the first: what is forgotten and stopped again has ended by that
    look();
    return events;
  }
  [[nodiscard]] std::optional<Instant> next_event_at() const override { return backend_.next_event_at(); }
  [[nodiscard]] std::vector<LaunchKey> running() const override { return backend_.running(); }
  [[nodiscard]] std::vector<MachineReport> machines() const override { return backend_.machines(); }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override { return backend_.read_log(query); }

  /// How often each task of a job ran to its end by itself.
  [[nodiscard]] std::map<std::pair<int64_t, int32_t>, int> whole_runs() const {
    std::map<std::pair<int64_t, int32_t>, int> runs;
    for (const auto& [key, report] : ends_)
      if (report.cause == EndCause::kItself && report.status.code == 0 && report.status.signal == 0) ++runs[{key.job, key.task}];
    return runs;
  }

 private:
  void look() {
    std::map<std::pair<std::string, int>, LaunchKey> used;
    std::map<std::pair<int64_t, int32_t>, LaunchKey> tasks;
    for (const LaunchKey& key : backend_.running()) {
      const auto [task, once] = tasks.emplace(std::pair(key.job, key.task), key);
      EXPECT_TRUE(once) << format_key(key) << " runs beside " << format_key(task->second);
      for (const GrantedGpu& gpu : launches_.at(key).gpus) {
        const auto [by, free] = used.emplace(std::pair(launches_.at(key).node, gpu.index), key);
        EXPECT_TRUE(free) << format_key(key) << " has a GPU of " << format_key(by->second);
      }
    }
  }
  Backend& backend_;
  std::map<LaunchKey, Launch> launches_;
  std::map<LaunchKey, Report> ends_;
};

class Trial {
 public:
  explicit Trial(uint64_t seed) : random_(seed), watched_(simulated_), faulty_(watched_, kFaults, seed) { open(); }

  void open() {
    engine_.reset();
    log_.reset();
    auto log = EventLog::open(dir_ / "log.db");
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(*log));
    auto engine = Engine::open(*log_, faulty_, testing_fleet(), {}, now_);
    CHECK(engine.ok(), "{}", engine.error().message);
    engine_.emplace(std::move(*engine));
  }
  void crash() {
    faulty_.crash();
    open();
  }
  void pass(Duration time) {
    for (const Instant until = now_ + time; now_ < until; now_ = now_ + Duration::seconds(5)) {
      engine_->poll_backend(now_);
      if (!engine_->has_staged() && engine_->next_wakeup() > now_) continue;
      ASSERT_TRUE(engine_->commit(now_).ok());
    }
  }
  void submit() {
    JobRequest job = testing_job(1 << random_.below(4), Duration::minutes(static_cast<int64_t>(1 + random_.below(40))),
                                 random_.below(2) == 0 ? "zoo" : "acme/vision");
    if (random_.below(4) == 0) job.tasks = 2;
    if (random_.below(4) == 0) job.priority = 90;
    // One that ends by itself while its order to leave is under way runs again, as without faults.
    job.min_runtime = Duration::hours(10);
    ASSERT_TRUE(engine_->stage_submit(job, {.actor = "ada", .idempotency_key = ""}).ok());
    ASSERT_TRUE(engine_->commit(now_).ok());
    ++jobs_;
  }
  void cancel() {
    (void)engine_->stage_cancel(1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(jobs_))), {});
    ASSERT_TRUE(engine_->commit(now_).ok());
  }
  /// What has not ended, and where it hangs.
  [[nodiscard]] std::string open_jobs() const {
    std::string open;
    for (int64_t id = 1; id <= jobs_; ++id) {
      const JobView job = *engine_->job(id);
      if (has_ended(job.state)) continue;
      open += fmt::format("job {} is {}", id, name_of(job.state));
      for (const TaskView& task : job.placed)
        open += fmt::format(" {}.{}.{} on {}", id, task.attempt, task.task, task.node);
      open += "\n";
    }
    if (open.empty()) return open;
    for (const LaunchKey& key : simulated_.running())
      open += fmt::format("{} runs\n", format_key(key));
    return open;
  }

  Prng random_;
  ScratchDir dir_;
  Instant now_ = kDaemonStart;
  SimulatedBackend simulated_;
  WatchingBackend watched_;
  FaultyBackend faulty_;
  std::optional<EventLog> log_;
  std::optional<Engine> engine_;
  int64_t jobs_ = 0;
};

TEST(EngineAnswers, WhateverGetsLostOnTheWayEveryJobRunsOnceToItsEnd) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Trial trial(seed);
    for (int i = 0; i < 60; ++i) {
      const uint64_t what = trial.random_.below(10);
      if (what < 7) trial.submit();
      if (what == 7 && trial.jobs_ > 0) trial.cancel();
      if (what == 8) trial.crash();
      trial.pass(Duration::seconds(static_cast<int64_t>(trial.random_.below(600))));
    }
    for (int i = 0; i < 200 && !trial.open_jobs().empty(); ++i)
      trial.pass(Duration::minutes(10));
    ASSERT_EQ(trial.open_jobs(), "") << format_utc(trial.now_);
    const auto runs = trial.watched_.whole_runs();
    int64_t succeeded = 0;
    for (int64_t id = 1; id <= trial.jobs_; ++id) {
      const JobView job = *trial.engine_->job(id);
      if (job.state == JobState::kSucceeded) ++succeeded;
      EXPECT_TRUE(job.state == JobState::kSucceeded || job.state == JobState::kCancelled)
          << "job " << id << " is " << name_of(job.state);
      for (int32_t task = 0; task < job.tasks; ++task) {
        const auto found = runs.find({id, task});
        const int times = found == runs.end() ? 0 : found->second;
        EXPECT_LE(times, 1) << "task " << task << " of job " << id;
        EXPECT_TRUE(times == 1 || job.state != JobState::kSucceeded) << "task " << task << " of job " << id;
      }
    }
    EXPECT_GT(succeeded, trial.jobs_ / 2);
    // What is over is known to be over: nothing is left running.
    trial.faulty_.heal();
    trial.pass(Duration::minutes(5));
    EXPECT_TRUE(trial.simulated_.running().empty());
  }
}

}  // namespace
}  // namespace stint
