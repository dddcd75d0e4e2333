// The daemon killed at any instant, also in the middle of a start: no task is lost and none runs twice.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "backends/local/local_backend.h"
#include "base/prng.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

constexpr int64_t kJobs = 12;

std::unique_ptr<LocalBackend> open_backend(const ScratchDir& dir) {
  auto made = LocalBackend::create({.state_folder = dir / "state",
                                    .keeper = {STINT_TEST_KEEPER},
                                    .cgroup = "",
                                    .clear = {.nvml_library = "no-such-library.so"}});
  CHECK(made.ok(), "{}", made.error().message);
  return std::move(made).value();
}

/// One that adds its number to a file: in one write, so that lines do not mix.
Launch launch_of(const ScratchDir& dir, int64_t job) {
  Launch launch;
  launch.key = {.job = job, .attempt = 0, .task = 0};
  launch.command = {"sh", "-c", fmt::format("echo {} >>{}; exit {}", job, dir / "runs", job)};
  return launch;
}

/// What a daemon does after each start: repeats all launches, and collects the ends into `ended`.
void be_a_daemon(const ScratchDir& dir, std::set<int64_t>& ended) {
  const auto backend = open_backend(dir);
  for (int64_t job = 1; job <= kJobs; ++job)
    CHECK(backend->start(launch_of(dir, job), now()).ok(), "job {}", job);
  for (int i = 0; i < 15000 && ended.size() < kJobs; ++i) {
    for (const Report& r : backend->poll(now())) {
      CHECK(r.kind != ReportKind::kLost, "job {} is lost: {}", r.key.job, r.detail);
      if (r.kind != ReportKind::kEnded) continue;
      CHECK(r.status.code == r.key.job, "job {} ends with {}", r.key.job, r.status.code);
      CHECK(ended.insert(r.key.job).second, "the end of job {} is told twice", r.key.job);
    }
    usleep(2000);
  }
}

TEST(LocalBackendCrash, NoTaskIsLostOrRunsTwiceWhenTheDaemonIsKilled) {
  constexpr uint64_t kSeed = 20261121;
  std::cout << "seed " << kSeed << "\n";
  Prng random(kSeed);
  for (int story = 0; story < 3; ++story) {
    const ScratchDir dir;
    for (int kill_number = 0; kill_number < 10; ++kill_number) {
      const pid_t daemon = fork();
      ASSERT_GE(daemon, 0);
      if (daemon == 0) {
        std::set<int64_t> ended;
        be_a_daemon(dir, ended);
        _exit(0);
      }
      usleep(static_cast<useconds_t>(random.below(25'000)));
      kill(daemon, SIGKILL);
      waitpid(daemon, nullptr, 0);
    }
    std::set<int64_t> ended;
    be_a_daemon(dir, ended);
    EXPECT_EQ(ended.size(), static_cast<size_t>(kJobs));
    std::multiset<int64_t> ran;
    std::ifstream runs(dir / "runs");
    for (int64_t job = 0; runs >> job;)
      ran.insert(job);
    for (int64_t job = 1; job <= kJobs; ++job)
      EXPECT_EQ(ran.count(job), 1U) << "job " << job << " in story " << story;
  }
}

}  // namespace
}  // namespace stint
