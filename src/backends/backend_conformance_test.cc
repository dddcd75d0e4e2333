// What every backend promises, tested on each: a key starts once, an end is told until it is recorded, order is kept.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>

#include "backends/local_backend.h"
#include "backends/simulated_backend.h"
#include "host/clock.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A backend and the little the suite needs to know about it.
class Bench {
 public:
  virtual ~Bench() = default;
  /// A fresh object on the same state, as after a restart of the daemon; then what its caller repeats.
  virtual Backend& restarted() = 0;
  virtual Backend& backend() = 0;
  /// Time passes.
  virtual Instant wait() = 0;
  virtual Instant time() = 0;
  /// A launch that ends with `code` soon, or runs until stopped.
  virtual Launch ends(int64_t job, int code) = 0;
  virtual Launch runs(int64_t job) = 0;
};

class SimulatedBench final : public Bench {
 public:
  Backend& restarted() override {
    backend_ = std::make_unique<SimulatedBackend>();
    return *backend_;
  }
  Backend& backend() override { return *backend_; }
  Instant wait() override { return now_ = now_ + Duration::seconds(1); }
  Instant time() override { return now_; }
  Launch ends(int64_t job, int code) override { return launch(job, {.duration = Duration::seconds(3), .exit_code = code}); }
  Launch runs(int64_t job) override {
    return launch(job, {.duration = Duration::hours(1000), .leaving_time = Duration::seconds(2)});
  }

 private:
  static Launch launch(int64_t job, SimulatedRun run) {
    Launch l;
    l.key = {.job = job, .attempt = 0, .task = 0};
    l.command = {"true"};
    l.simulated = run;
    return l;
  }
  std::unique_ptr<SimulatedBackend> backend_ = std::make_unique<SimulatedBackend>();
  Instant now_ = Instant::from_seconds(1'800'000'000);
};

class LocalBench final : public Bench {
 public:
  LocalBench() { restarted(); }
  Backend& restarted() override {
    backend_.reset();
    auto made = LocalBackend::create({.state_folder = dir_ / "state", .keeper = {STINT_TEST_KEEPER}, .cgroup = "", .clear = {}});
    CHECK(made.ok(), "{}", made.error().message);
    backend_ = std::move(made).value();
    return *backend_;
  }
  Backend& backend() override { return *backend_; }
  Instant wait() override {
    usleep(5000);
    return now();
  }
  Instant time() override { return now(); }
  Launch ends(int64_t job, int code) override { return launch(job, {"sh", "-c", "exit " + std::to_string(code)}); }
  Launch runs(int64_t job) override { return launch(job, {"sleep", "1000"}); }

 private:
  static Launch launch(int64_t job, std::vector<std::string> command) {
    Launch l;
    l.key = {.job = job, .attempt = 0, .task = 0};
    l.command = std::move(command);
    return l;
  }
  ScratchDir dir_;
  std::unique_ptr<LocalBackend> backend_;
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Bench>()> make;
};

class BackendConformance : public ::testing::TestWithParam<Kind> {
 protected:
  /// Collects reports until there are `count`, or patience is at its end.
  std::vector<Report> reports(size_t count) {
    std::vector<Report> all;
    for (int i = 0; i < 2000 && all.size() < count; ++i) {
      for (Report& r : bench_->backend().poll(bench_->time()))
        all.push_back(std::move(r));
      if (all.size() < count) bench_->wait();
    }
    return all;
  }
  Status start(const Launch& launch) { return bench_->backend().start(launch, bench_->time()); }
  std::unique_ptr<Bench> bench_ = GetParam().make();
};

TEST_P(BackendConformance, TellsTheStartAndTheEnd) {
  ASSERT_TRUE(start(bench_->ends(1, 7)).ok());
  const auto told = reports(2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].kind, ReportKind::kStarted);
  EXPECT_EQ(told[1].kind, ReportKind::kEnded);
  EXPECT_EQ(told[1].status.code, 7);
  EXPECT_EQ(told[1].cause, EndCause::kItself);
  EXPECT_LE(told[0].at, told[1].at);
  EXPECT_LE(told[1].at, bench_->time());
  EXPECT_THAT(bench_->backend().poll(bench_->wait()), IsEmpty()) << "nothing is told twice";
}

TEST_P(BackendConformance, StartsAKeyOnce) {
  const Launch launch = bench_->ends(1, 0);
  ASSERT_TRUE(start(launch).ok());
  ASSERT_TRUE(start(launch).ok());
  EXPECT_EQ(reports(2).size(), 2U);
  ASSERT_TRUE(start(launch).ok()) << "also after its end";
  EXPECT_THAT(bench_->backend().poll(bench_->wait()), IsEmpty());
}

TEST_P(BackendConformance, KnowsWhatRunsInOrderOfKeys) {
  for (const int64_t job : {3, 1, 2})
    ASSERT_TRUE(start(bench_->runs(job)).ok());
  EXPECT_EQ(reports(3).size(), 3U);
  EXPECT_THAT(bench_->backend().running(), ElementsAre(LaunchKey{1, 0, 0}, LaunchKey{2, 0, 0}, LaunchKey{3, 0, 0}));
  for (const int64_t job : {1, 2, 3})
    ASSERT_TRUE(bench_->backend().stop({job, 0, 0}, Duration(), bench_->time()).ok());
  EXPECT_EQ(reports(3).size(), 3U);
  EXPECT_THAT(bench_->backend().running(), IsEmpty());
}

TEST_P(BackendConformance, StopsOnRequestAndByForce) {
  ASSERT_TRUE(start(bench_->runs(1)).ok());
  ASSERT_EQ(reports(1).size(), 1U);
  ASSERT_TRUE(bench_->backend().stop({1, 0, 0}, Duration::hours(1), bench_->time()).ok());
  const auto left = reports(1);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].cause, EndCause::kStopped);
  EXPECT_EQ(left[0].status.signal, SIGTERM);
  ASSERT_TRUE(bench_->backend().stop({1, 0, 0}, Duration(), bench_->time()).ok()) << "one that has ended needs no stop";

  ASSERT_TRUE(start(bench_->runs(2)).ok());
  ASSERT_EQ(reports(1).size(), 1U);
  ASSERT_TRUE(bench_->backend().signal({2, 0, 0}, SIGKILL).ok());
  const auto killed = reports(1);
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_EQ(killed[0].status.signal, SIGKILL);
}

TEST_P(BackendConformance, RefusesWhatItDoesNotKnow) {
  const LaunchKey stranger{99, 0, 0};
  EXPECT_EQ(bench_->backend().stop(stranger, Duration(), bench_->time()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(bench_->backend().signal(stranger, SIGTERM).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(bench_->backend().forget(stranger).error().code, ErrorCode::kNotFound);
  Launch empty = bench_->ends(1, 0);
  empty.command.clear();
  EXPECT_EQ(start(empty).error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(bench_->backend().poll(bench_->wait()), IsEmpty()) << "nothing of it is left behind";
  EXPECT_EQ(bench_->backend().forget(empty.key).error().code, ErrorCode::kNotFound);
}

TEST_P(BackendConformance, AfterARestartTellsAgainWhatIsNotForgotten) {
  const Launch ends = bench_->ends(1, 5);
  const Launch runs = bench_->runs(2);
  const Launch done = bench_->ends(3, 0);
  const Instant began = bench_->time();
  for (const Launch* launch : {&ends, &runs, &done})
    ASSERT_TRUE(start(*launch).ok());
  ASSERT_EQ(reports(5).size(), 5U);
  EXPECT_EQ(bench_->backend().forget(runs.key).error().code, ErrorCode::kConflict) << "it runs";
  ASSERT_TRUE(bench_->backend().forget(done.key).ok());

  bench_->restarted();
  for (const Launch* launch : {&ends, &runs})
    ASSERT_TRUE(bench_->backend().start(*launch, began).ok());
  const auto told = reports(3);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(std::count_if(told.begin(), told.end(), [&](const Report& r) { return r.key == done.key; }), 0);
  const auto end = std::find_if(told.begin(), told.end(), [](const Report& r) { return r.kind == ReportKind::kEnded; });
  ASSERT_NE(end, told.end());
  EXPECT_EQ(end->key, ends.key);
  EXPECT_EQ(end->status.code, 5);
  EXPECT_THAT(bench_->backend().running(), ElementsAre(runs.key));
  ASSERT_TRUE(bench_->backend().stop(runs.key, Duration(), bench_->time()).ok());
  EXPECT_EQ(reports(1).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(, BackendConformance,
                         ::testing::Values(Kind{"simulated", [] { return std::make_unique<SimulatedBench>(); }},
                                           Kind{"local", [] { return std::make_unique<LocalBench>(); }}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace stint
