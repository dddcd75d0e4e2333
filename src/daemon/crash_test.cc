// The daemon killed at random instants under load, in its own process, again and again on one state. What really runs is
// in memory shared with the test, and goes on: no accepted job is lost, none runs twice, every run is posted once, and no GPU is
// held twice; also while machines come and go. STINT_CRASHES says how many times; a thousand is `STINT_CRASHES=1000`.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "base/prng.h"
#include "base/text.h"
#include "daemon/service.h"
#include "daemon/testing_daemon.h"
#include "host/clock.h"

namespace stint {
namespace {

constexpr size_t kMostLaunches = 100'000;
constexpr size_t kMostJobs = 50'000;

struct SharedLaunch {
  LaunchKey key;
  int32_t node = 0;
  uint64_t gpus = 0;
  int64_t ends_ns = 0;
  int64_t gone_ns = INT64_MAX;  ///< its machine goes then
  bool stopped = false;

  [[nodiscard]] int64_t over_ns() const { return std::min(ends_ns, gone_ns); }
  [[nodiscard]] bool is_lost() const { return gone_ns < ends_ns; }
};

/// Machines n3, n4 and n5 are there for two thirds of each of their turns, by the clock alone, so whatever daemon lives.
constexpr int kFirstVisitor = 3;
constexpr int kVisitors = 3;
int64_t turn_ns(int machine) { return int64_t{120 + 30 * (machine - kFirstVisitor)} * 1'000'000; }
/// none = it is not there; else when it came.
std::optional<int64_t> there_since(int machine, int64_t now_ns) {
  const int64_t turn = turn_ns(machine);
  const int64_t came = now_ns / turn * turn + turn / 3;
  return came <= now_ns ? std::optional(came) : std::nullopt;
}

/// What outlives the daemon. One daemon at a time writes; an entry counts from when `launches` says so.
struct SharedWorld {
  std::atomic<size_t> launches;
  std::atomic<int64_t> double_booked;
  bool has_visitors;
  std::atomic<int64_t> recoveries;                  ///< starts that came to take work
  std::atomic<size_t> asked;                        ///< submissions begun
  std::array<std::atomic<int64_t>, kMostJobs> ids;  ///< by submission: what it was answered with; 0 = not answered
  std::array<SharedLaunch, kMostLaunches> launch;
};

/// A backend on that memory.
class SharedBackend final : public DirectBackend {
 public:
  explicit SharedBackend(SharedWorld& world) : world_(world) {
    for (size_t i = 0; i < world_.launches; ++i)
      by_key_.emplace(world_.launch[i].key, i);
  }
  [[nodiscard]] std::string_view name() const override { return "shared"; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }

  Status start(const Launch& launch, Instant) override {
    if (by_key_.contains(launch.key)) return {};
    SharedLaunch made;
    made.key = launch.key;
    made.node = static_cast<int32_t>(*parse_int(launch.node.substr(1)));
    for (const GrantedGpu& gpu : launch.gpus)
      made.gpus |= uint64_t{1} << gpu.index;
    const int64_t now = stint::now().ns();
    made.ends_ns = now + launch.simulated->duration.count_ns();
    if (made.node >= kFirstVisitor) {
      const auto since = there_since(made.node, now);
      if (!since) return make_error(ErrorCode::kUnavailable, "machine {} is not there", launch.node);
      made.gone_ns = *since + turn_ns(made.node) / 3 * 2;
    }
    const size_t count = world_.launches;
    for (size_t i = count > 500 ? count - 500 : 0; i < count; ++i) {
      const SharedLaunch& other = world_.launch[i];
      if (other.node == made.node && (other.gpus & made.gpus) != 0 && other.over_ns() > now) ++world_.double_booked;
    }
    CHECK(count < kMostLaunches, "too many launches");
    world_.launch[count] = made;
    world_.launches = count + 1;
    by_key_.emplace(made.key, count);
    return {};
  }
  Status signal(const LaunchKey&, int) override { return {}; }
  Status stop(const LaunchKey& key, Duration, Instant) override {
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return make_error(ErrorCode::kNotFound, "no such launch");
    SharedLaunch& launch = world_.launch[at->second];
    launch.stopped = true;
    launch.ends_ns = std::min(launch.ends_ns, stint::now().ns());
    return {};
  }
  std::vector<Report> poll(Instant) override {
    std::vector<Report> reports;
    const int64_t now = stint::now().ns();
    for (const auto& [key, index] : by_key_) {
      const SharedLaunch& launch = world_.launch[index];
      if (launch.over_ns() > now || !told_.insert(key).second) continue;
      Report report{.kind = launch.is_lost() ? ReportKind::kLost : ReportKind::kEnded,
                    .key = key,
                    .at = Instant::from_ns(launch.over_ns())};
      report.status.signal = launch.stopped ? SIGTERM : 0;
      reports.push_back(report);
    }
    return reports;
  }
  [[nodiscard]] std::optional<Instant> next_report_at() const override { return std::nullopt; }
  [[nodiscard]] std::vector<LaunchKey> running() const override {
    std::vector<LaunchKey> keys;
    for (const auto& [key, index] : by_key_)
      if (!told_.contains(key)) keys.push_back(key);
    return keys;
  }
  Status forget(const LaunchKey&) override { return {}; }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery&) const override { return LogPiece(); }

  [[nodiscard]] std::vector<MachineReport> machines() const override {
    std::vector<MachineReport> there;
    for (const auto& [machine, since] : visitors_)
      there.push_back({.news = MachineNews::kThere, .machine = visitor(machine)});
    return there;
  }
  std::vector<MachineReport> poll_machines(Instant) override {
    std::vector<MachineReport> news;
    const int64_t now = stint::now().ns();
    for (int machine = kFirstVisitor; world_.has_visitors && machine < kFirstVisitor + kVisitors; ++machine) {
      const auto since = there_since(machine, now);
      const auto known = visitors_.find(machine);
      if (known != visitors_.end() && known->second == since) continue;
      if (known != visitors_.end()) {
        news.push_back({.news = MachineNews::kGone, .machine = visitor(machine), .cause = MachineCause::kSpot});
        visitors_.erase(known);
      }
      if (!since) continue;
      news.push_back({.news = MachineNews::kThere, .machine = visitor(machine)});
      visitors_.emplace(machine, *since);
    }
    return news;
  }

 private:
  static Machine visitor(int machine) {
    Machine visitor = testing_fleet(1).nodes.front();
    visitor.node.name = fmt::format("n{}", machine);
    return visitor;
  }

  SharedWorld& world_;
  std::map<int, int64_t> visitors_;  ///< since when
  std::map<LaunchKey, size_t> by_key_;
  std::set<LaunchKey> told_;
};

JobRequest job_number(size_t n) {
  JobRequest job =
      testing_job(n % 3 == 0 ? 1 : static_cast<int>(n % 8) + 1, Duration::milliseconds(1 + static_cast<int64_t>(n % 7)));
  job.name = fmt::format("j{}", n);
  if (n % 13 == 0) job.simulated_duration = Duration::milliseconds(40);
  if (n % 11 == 0) job.tasks = 2;
  return job;
}

FleetConfig fleet_in_order() {
  FleetConfig fleet = testing_fleet(3);
  fleet.policy = "fifo-skip";  // no job is stopped for others: each job starts once
  return fleet;
}

struct Running {
  std::unique_ptr<EventLog> log;
  std::unique_ptr<SharedBackend> backend;
  std::unique_ptr<Service> service;
};

Running start(const std::string& path, SharedWorld& world) {
  Running running;
  auto log = EventLog::open(path);
  CHECK(log.ok(), "{}", log.error().message);
  running.log = std::make_unique<EventLog>(std::move(log).value());
  running.backend = std::make_unique<SharedBackend>(world);
  EngineOptions options;
  options.steps_between_marks = 25;
  options.records_between_snapshots = 40;
  options.ended_kept = 20;
  EventClock clock(running.log->last_at());
  auto engine = Engine::open(*running.log, *running.backend, fleet_in_order(), options, clock.now());
  CHECK(engine.ok(), "{}", engine.error().message);
  ServiceOptions service;
  service.poll = Duration::milliseconds(1);
  running.service = std::make_unique<Service>(std::move(engine).value(), *running.backend, clock, service);
  return running;
}

void submit(Service& service, SharedWorld& world, size_t n) {
  service.submit(job_number(n), {.actor = "ada", .idempotency_key = fmt::format("key{}", n)},
                 [&world, n](const Result<JobView>& answer) {
                   if (answer.ok()) world.ids[n] = answer->id;
                 });
}

/// Asks again for what was never answered, then for more and more, until it is killed.
[[noreturn]] void live(const std::string& path, SharedWorld& world) {
  const Running running = start(path, world);
  ++world.recoveries;
  for (size_t n = 0; n < world.asked; ++n)
    if (world.ids[n] == 0) submit(*running.service, world, n);
  for (;;) {
    // About a dozen at a time, so that steps hold several.
    for (int i = 0; i < 12 && world.asked < kMostJobs - 1; ++i) {
      const size_t n = world.asked++;
      submit(*running.service, world, n);
    }
    running.service->get([](const Engine& e) { return e.last_event(); }).get();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

class DaemonCrash : public ::testing::TestWithParam<bool> {};

int64_t lost_with_machines(const SharedWorld& world) {
  return std::count_if(world.launch.begin(), world.launch.begin() + static_cast<std::ptrdiff_t>(world.launches),
                       [](const SharedLaunch& launch) { return launch.is_lost(); });
}

TEST_P(DaemonCrash, KilledAtRandomInstantsItLosesNothingAndRunsNothingTwice) {
  const char* const asked_for = std::getenv("STINT_CRASHES");
  const int64_t crashes = asked_for == nullptr ? 60 : parse_int(asked_for).value_or(60);
  void* const memory = mmap(nullptr, sizeof(SharedWorld), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& world = *new (memory) SharedWorld();
  world.has_visitors = GetParam();
  const ScratchDir dir;
  const std::string path = dir / "log.db";
  const uint64_t seed = 20261121;
  Prng prng(seed);
  for (int64_t crash = 0; crash < crashes; ++crash) {
    const pid_t child = fork();
    if (child == 0) live(path, world);
    // Half of them while it reads what was, however long that takes; the others while it works.
    const int64_t before = world.recoveries;
    for (int waited = 0; crash % 2 == 1 && world.recoveries == before && waited < 20'000; ++waited)
      usleep(500);
    usleep(static_cast<useconds_t>(prng.below(60'000)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "crash " << crash << ": ended by itself";
  }
  std::map<size_t, int64_t> accepted;
  for (size_t n = 0; n < world.asked; ++n)
    if (world.ids[n] != 0) accepted.emplace(n, world.ids[n]);
  // The last start is let live: everything that was asked for is asked for once more, and ends.
  Running last = start(path, world);
  // A slow machine has not come far before each kill.
  for (int round = 0; world.has_visitors && lost_with_machines(world) == 0 && round < 1'000; ++round) {
    submit(*last.service, world, world.asked++);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const size_t asked = world.asked;
  for (size_t n = 0; n < asked; ++n)
    submit(*last.service, world, n);
  for (int i = 0; i < 20'000; ++i) {
    const EngineView view = last.service->get([](const Engine& e) { return e.overview(); }).get();
    if (view.waiting + view.running == 0 && view.jobs >= static_cast<int64_t>(asked)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  last.service->stop();
  last.service.reset();

  SharedBackend backend(world);
  auto engine = Engine::open(*last.log, backend, fleet_in_order(), {}, now());
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  EXPECT_EQ(engine->overview().jobs, static_cast<int64_t>(asked));
  std::map<int64_t, int> launches;
  for (size_t i = 0; i < world.launches; ++i)
    ++launches[world.launch[i].key.job];
  int64_t tasks = 0;
  for (size_t n = 0; n < asked; ++n) {
    const auto before = accepted.find(n);
    if (before != accepted.end()) {
      EXPECT_EQ(world.ids[n], before->second) << "job " << n << " has another id, seed " << seed;
    }
    const auto job = engine->job(world.ids[n]);
    ASSERT_TRUE(job.has_value()) << "job " << n << " is lost, seed " << seed;
    EXPECT_EQ(job->name, fmt::format("j{}", n));
    EXPECT_EQ(job->state, JobState::kSucceeded) << "job " << n << ", seed " << seed;
    // Again, where a machine took it along.
    if (world.has_visitors) {
      EXPECT_GE(launches[job->id], job->tasks) << "job " << n << ", seed " << seed;
    } else {
      EXPECT_EQ(launches[job->id], job->tasks) << "job " << n << " ran more or less than once, seed " << seed;
    }
    tasks += job->tasks;
  }
  std::set<std::tuple<int64_t, int32_t, int32_t>> posted;
  Money sum, of_jobs;
  ASSERT_TRUE(last.log
                  ->read_postings(0,
                                  [&](int64_t, const RunPosting& p) -> Status {
                                    EXPECT_TRUE(posted.insert({p.job, p.attempt, p.task}).second)
                                        << "job " << p.job << " is posted twice";
                                    sum += p.amount;
                                    return {};
                                  })
                  .ok());
  for (size_t n = 0; n < asked; ++n)
    of_jobs += engine->job(world.ids[n])->cost;
  if (world.has_visitors) {
    EXPECT_GE(static_cast<int64_t>(posted.size()), tasks);
  } else {
    EXPECT_EQ(static_cast<int64_t>(posted.size()), tasks);
  }
  EXPECT_EQ(sum, of_jobs);
  EXPECT_EQ(world.double_booked, 0);
  RecordProperty("jobs", static_cast<int>(asked));
  const int64_t lost = lost_with_machines(world);
  EXPECT_EQ(lost > 0, world.has_visitors);
  fmt::print("{} crashes, {} jobs, {} answered before the crash, {} tasks lost with their machines\n", crashes, asked,
             accepted.size(), lost);
  munmap(memory, sizeof(SharedWorld));
}

INSTANTIATE_TEST_SUITE_P(Machines, DaemonCrash, ::testing::Bool(),
                         [](const auto& which) { return std::string(which.param ? "ComeAndGo" : "Stay"); });

}  // namespace
}  // namespace stint
