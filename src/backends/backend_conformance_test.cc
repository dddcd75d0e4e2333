// What every backend promises, tested on each: a key starts once, an end is told until it is recorded, order is kept.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iterator>
#include <memory>
#include <ostream>
#include <thread>

#include "backends/backend_thread.h"
#include "backends/local/local_backend.h"
#include "backends/simulated_backend.h"
#include "backends/slurm/testing_fake_slurm.h"
#include "backends/starter/starter_backend.h"
#include "backends/starter/starter_server.h"
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
  Backend& restarted() override {
    backend_.reset();
    backend_ = make();
    return *backend_;
  }
  std::unique_ptr<Backend> make() {
    auto made = LocalBackend::create({.state_folder = dir_ / "state", .keeper = {STINT_TEST_KEEPER}, .cgroup = "", .clear = {}});
    CHECK(made.ok(), "{}", made.error().message);
    return std::move(made).value();
  }
  Backend& backend() override { return backend_ ? *backend_ : restarted(); }
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
  std::unique_ptr<Backend> backend_;
};

/// The same on a thread of its own.
class ThreadBench final : public Bench {
 public:
  ThreadBench() { ThreadBench::restarted(); }
  Backend& restarted() override {
    backend_.reset();
    backend_ = std::make_unique<BackendThread>(local_.make(), now());
    return *backend_;
  }
  Backend& backend() override { return *backend_; }
  Instant wait() override { return local_.wait(); }
  Instant time() override { return now(); }
  Launch ends(int64_t job, int code) override { return local_.ends(job, code); }
  Launch runs(int64_t job) override { return local_.runs(job); }

 private:
  LocalBench local_;
  std::unique_ptr<BackendThread> backend_;
};

/// The same behind the privileged starter: with every restart that, too, is another one.
class StarterBench final : public Bench {
 public:
  StarterBench() { StarterBench::restarted(); }
  ~StarterBench() override {
    backend_.reset();
    end_server();
  }
  Backend& restarted() override {
    backend_.reset();
    end_server();
    auto listener = listen_on_socket(dir_ / "socket", std::nullopt);
    CHECK(listener.ok(), "{}", listener.error().message);
    StarterPolicy policy{.client = ::geteuid(), .gpus = {}, .jobs = {}};
    policy.jobs.state_folder = dir_ / "state";
    policy.jobs.keeper = {STINT_TEST_KEEPER};
    server_ = std::make_unique<StarterServer>(std::move(policy), std::move(*listener), [](const std::string&) {});
    serves_ = std::thread([this] { server_->run(); });
    auto backend = StarterBackend::connect({.socket = dir_ / "socket"});
    CHECK(backend.ok(), "{}", backend.error().message);
    backend_ = std::move(*backend);
    return *backend_;
  }
  Backend& backend() override { return *backend_; }
  Instant wait() override { return local_.wait(); }
  Instant time() override { return now(); }
  Launch ends(int64_t job, int code) override { return local_.ends(job, code); }
  Launch runs(int64_t job) override { return local_.runs(job); }

 private:
  void end_server() {
    if (server_) server_->stop();
    if (serves_.joinable()) serves_.join();
    server_.reset();
  }
  ScratchDir dir_;
  LocalBench local_;
  std::unique_ptr<StarterServer> server_;
  std::thread serves_;
  std::unique_ptr<StarterBackend> backend_;
};

/// A Slurm that pretends and runs what it is given as processes (tests/slurm/fake_slurm).
class SlurmBench final : public Bench {
 public:
  Backend& restarted() override {
    backend_.reset();
    backend_ = slurm_.backend();
    return *backend_;
  }
  Backend& backend() override { return backend_ ? *backend_ : restarted(); }
  Instant wait() override {
    usleep(20'000);
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
    l.node = "n1";
    l.queue = "acme";
    return l;
  }
  FakeSlurm slurm_{STINT_TEST_FAKE_SLURM};
  std::unique_ptr<SlurmBackend> backend_;
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Bench>()> make;
};

/// As the name of a test has it, not the object's bytes.
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class BackendConformance : public ::testing::TestWithParam<Kind> {
 protected:
  /// Collects what is told of tasks until there are `count`, or patience is at its end; what was refused goes into `refusals_`.
  std::vector<Report> reports(size_t count) {
    std::vector<Report> all;
    for (int i = 0; i < 2000 && all.size() < count; ++i) {
      for (Report& report : told())
        all.push_back(std::move(report));
      if (all.size() < count) bench_->wait();
    }
    return all;
  }
  std::vector<Report> told() {
    std::vector<Report> all;
    for (BackendEvent& event : bench_->backend().drain(bench_->time())) {
      if (auto* report = std::get_if<Report>(&event)) all.push_back(std::move(*report));
      if (auto* refusal = std::get_if<Refusal>(&event)) refusals_.push_back(std::move(*refusal));
    }
    return all;
  }
  /// Beside it others may be told again.
  bool tells_end_of(const LaunchKey& key) {
    for (int i = 0; i < 2000; ++i) {
      const std::vector<Report> all = told();
      if (std::ranges::any_of(all, [&](const Report& r) { return r.key == key && r.kind == ReportKind::kEnded; })) return true;
      bench_->wait();
    }
    return false;
  }
  /// What follows within a while.
  std::vector<Report> told_later() {
    std::vector<Report> all;
    for (int i = 0; i < 20; ++i) {
      bench_->wait();
      for (Report& report : told())
        all.push_back(std::move(report));
    }
    return all;
  }
  Refusal refusal() {
    for (int i = 0; i < 2000 && refusals_.empty(); ++i) {
      EXPECT_THAT(told(), IsEmpty());
      if (refusals_.empty()) bench_->wait();
    }
    EXPECT_EQ(refusals_.size(), 1U);
    Refusal one = refusals_.empty() ? Refusal() : refusals_.front();
    refusals_.clear();
    return one;
  }
  void order(OrderKind kind, const LaunchKey& key, Duration grace = {}, int signal = 0) {
    bench_->backend().submit({{.kind = kind, .key = key, .at = bench_->time(), .launch = {}, .signal = signal, .grace = grace}});
  }
  void start(const Launch& launch) { start(launch, bench_->time()); }
  void start(const Launch& launch, Instant at) {
    bench_->backend().submit({{.kind = OrderKind::kStart, .key = launch.key, .at = at, .launch = launch, .grace = {}}});
  }
  std::unique_ptr<Bench> bench_ = GetParam().make();
  std::vector<Refusal> refusals_;
};

TEST_P(BackendConformance, TellsTheStartAndTheEnd) {
  start(bench_->ends(1, 7));
  const auto told = reports(2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].kind, ReportKind::kStarted);
  EXPECT_EQ(told[1].kind, ReportKind::kEnded);
  EXPECT_EQ(told[1].status.code, 7);
  EXPECT_EQ(told[1].cause, EndCause::kItself);
  EXPECT_LE(told[0].at, told[1].at);
  EXPECT_LE(told[1].at, bench_->time());
  EXPECT_THAT(told_later(), IsEmpty()) << "nothing is told twice that is not asked for";
}

TEST_P(BackendConformance, StartsAKeyOnceAndTellsWhoAsksAgainWhatBecameOfIt) {
  const Launch launch = bench_->ends(1, 7);
  start(launch);
  const Instant ended = reports(2).back().at;
  start(launch);
  const auto again = reports(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].kind, ReportKind::kEnded);
  EXPECT_EQ(again[0].status.code, 7);
  EXPECT_EQ(again[0].at, ended) << "the end that it had";
  EXPECT_THAT(told_later(), IsEmpty());
}

TEST_P(BackendConformance, ABatchIsCarriedOutInItsOrder) {
  std::vector<Order> orders;
  for (const int64_t job : {3, 1, 2}) {
    const Launch launch = bench_->runs(job);
    orders.push_back({.kind = OrderKind::kStart, .key = launch.key, .at = bench_->time(), .launch = launch, .grace = {}});
  }
  orders.push_back({.kind = OrderKind::kStop, .key = {3, 0, 0}, .at = bench_->time(), .launch = {}, .grace = {}});
  bench_->backend().submit(std::move(orders));
  std::vector<Report> told = reports(4);
  EXPECT_EQ(std::count_if(told.begin(), told.end(),
                          [](const Report& r) { return r.kind == ReportKind::kEnded && r.key == LaunchKey{3, 0, 0}; }),
            1);
  EXPECT_THAT(bench_->backend().running(), ElementsAre(LaunchKey{1, 0, 0}, LaunchKey{2, 0, 0})) << "in order of their keys";
  for (const int64_t job : {1, 2})
    order(OrderKind::kStop, {job, 0, 0});
  EXPECT_EQ(reports(2).size(), 2U);
  EXPECT_THAT(bench_->backend().running(), IsEmpty());
}

TEST_P(BackendConformance, StopsOnRequestAndByForce) {
  start(bench_->runs(1));
  ASSERT_EQ(reports(1).size(), 1U);
  order(OrderKind::kStop, {1, 0, 0}, Duration::hours(1));
  const auto left = reports(1);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].cause, EndCause::kStopped);
  EXPECT_EQ(left[0].status.signal, SIGTERM);
  order(OrderKind::kStop, {1, 0, 0});
  const auto again = reports(1);
  ASSERT_EQ(again.size(), 1U) << "one that has ended is told again";
  EXPECT_EQ(again[0].at, left[0].at);

  start(bench_->runs(2));
  ASSERT_EQ(reports(1).size(), 1U);
  order(OrderKind::kSignal, {2, 0, 0}, {}, SIGKILL);
  const auto killed = reports(1);
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_EQ(killed[0].status.signal, SIGKILL);
}

TEST_P(BackendConformance, RefusesWhatItDoesNotKnow) {
  const LaunchKey stranger{99, 0, 0};
  order(OrderKind::kSignal, stranger, {}, SIGTERM);
  EXPECT_EQ(refusal().kind, RefusalKind::kNotKnown);
  order(OrderKind::kForget, stranger);
  EXPECT_EQ(refusal().kind, RefusalKind::kNotKnown);
  Launch empty = bench_->ends(1, 0);
  empty.command.clear();
  start(empty);
  EXPECT_EQ(refusal().kind, RefusalKind::kNotSo);
  EXPECT_THAT(told_later(), IsEmpty()) << "nothing of it is left behind";
  order(OrderKind::kForget, empty.key);
  EXPECT_EQ(refusal().kind, RefusalKind::kNotKnown);
}

TEST_P(BackendConformance, WhatIsStoppedBeforeItIsKnownDoesNotBegin) {
  const Launch launch = bench_->runs(1);
  order(OrderKind::kStop, launch.key);
  const auto told = reports(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, ReportKind::kEnded);
  EXPECT_EQ(told[0].cause, EndCause::kStopped);
  start(launch);
  const auto again = reports(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].kind, ReportKind::kEnded);
  EXPECT_THAT(bench_->backend().running(), IsEmpty());
  order(OrderKind::kForget, launch.key);
  EXPECT_THAT(told_later(), IsEmpty());
  EXPECT_THAT(refusals_, IsEmpty());
}

TEST_P(BackendConformance, AfterARestartTellsAgainWhatIsNotForgotten) {
  const Launch ends = bench_->ends(1, 5);
  const Launch runs = bench_->runs(2);
  const Launch done = bench_->ends(3, 0);
  const Instant began = bench_->time();
  for (const Launch* launch : {&ends, &runs, &done})
    start(*launch);
  ASSERT_EQ(reports(5).size(), 5U);
  order(OrderKind::kForget, runs.key);
  EXPECT_EQ(refusal().kind, RefusalKind::kRuns);
  order(OrderKind::kForget, done.key);
  order(OrderKind::kForget, {99, 0, 0});  // refused after the one before it was carried out
  EXPECT_EQ(refusal().kind, RefusalKind::kNotKnown);

  bench_->restarted();
  // One that asks others looks with the first drain.
  std::vector<Report> again = bench_->backend().is_ready() ? std::vector<Report>() : told();
  ASSERT_TRUE(bench_->backend().is_ready());
  for (const Launch* launch : {&ends, &runs})
    start(*launch, began);
  const size_t missing = 3 - std::min<size_t>(again.size(), 3);
  std::ranges::copy(reports(missing), std::back_inserter(again));
  ASSERT_GE(again.size(), 3U);
  EXPECT_EQ(std::count_if(again.begin(), again.end(), [&](const Report& r) { return r.key == done.key; }), 0);
  const auto end = std::find_if(again.begin(), again.end(), [](const Report& r) { return r.kind == ReportKind::kEnded; });
  ASSERT_NE(end, again.end());
  EXPECT_EQ(end->key, ends.key);
  EXPECT_EQ(end->status.code, 5);
  EXPECT_THAT(bench_->backend().running(), ElementsAre(runs.key));
  order(OrderKind::kStop, runs.key);
  EXPECT_TRUE(tells_end_of(runs.key));
}

TEST_P(BackendConformance, AnEmptyLogIsNoError) {
  start(bench_->runs(1));
  ASSERT_EQ(reports(1).size(), 1U);
  const auto piece = bench_->backend().read_log({.key = {1, 0, 0}, .limit = 100});
  EXPECT_EQ(piece.ok() ? piece->bytes : "", "");
  EXPECT_TRUE(piece.ok() || piece.error().code == ErrorCode::kNotFound);
  order(OrderKind::kStop, {1, 0, 0});
  EXPECT_EQ(reports(1).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(, BackendConformance,
                         ::testing::Values(Kind{"simulated", [] { return std::make_unique<SimulatedBench>(); }},
                                           Kind{"local", [] { return std::make_unique<LocalBench>(); }},
                                           Kind{"thread", [] { return std::make_unique<ThreadBench>(); }},
                                           Kind{"starter", [] { return std::make_unique<StarterBench>(); }},
                                           Kind{"slurm", [] { return std::make_unique<SlurmBench>(); }}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace stint
