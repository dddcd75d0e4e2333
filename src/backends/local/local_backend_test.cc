#include "backends/local/local_backend.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/local/task_environment.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint32_t kNobody = 65534;

class LocalBackendTest : public ::testing::Test {
 protected:
  LocalBackendTest() { restart(); }
  ~LocalBackendTest() override {
    // What a failed test has left behind must not outlive it.
    for (const LaunchKey& key : backend_->running())
      (void)backend_->stop(key, Duration(), now());
    for (int i = 0; i < 400 && !backend_->running().empty(); ++i) {
      usleep(5000);
      backend_->poll(now());
    }
  }

  LocalBackend& restart(const std::string& cgroup = "", const std::string& nvml = "no-such-library.so") {
    backend_.reset();
    auto made = LocalBackend::create({.state_folder = dir_ / "state",
                                      .keeper = {STINT_TEST_KEEPER},
                                      .cgroup = cgroup,
                                      .clear = {.nvml_library = nvml, .allowance = Bytes::mebi(512)}});
    CHECK(made.ok(), "{}", made.error().message);
    backend_ = std::move(made).value();
    return *backend_;
  }

  static Launch shell(int64_t job, const std::string& script) {
    Launch launch;
    launch.key = {.job = job, .attempt = 0, .task = 0};
    launch.command = {"sh", "-c", script};
    return launch;
  }

  std::vector<Report> reports(size_t count) {
    std::vector<Report> all;
    for (int i = 0; i < 4000 && all.size() < count; ++i) {
      for (Report& r : backend_->poll(now()))
        all.push_back(std::move(r));
      if (all.size() < count) usleep(5000);
    }
    return all;
  }

  /// Runs it to its end. @return its last report; its output lies in printed().
  Report run(const Launch& launch) {
    const Status started = backend_->start(launch, now());
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    if (!started.ok()) return {};
    for (int i = 0; i < 4000; ++i) {
      for (const Report& r : backend_->poll(now()))
        if (r.kind != ReportKind::kStarted) return r;
      usleep(5000);
    }
    ADD_FAILURE() << "it does not end";
    return {};
  }
  [[nodiscard]] std::string printed(int64_t job) const {
    return read_all(backend_->output_path({.job = job, .attempt = 0, .task = 0})).value();
  }
  [[nodiscard]] TaskFolder folder(int64_t job) const { return TaskFolder(dir_ / fmt::format("state/tasks/{}.0.0", job)); }

  void wait_for_file(const std::string& name) const {
    for (int i = 0; i < 4000 && !std::filesystem::exists(dir_ / name); ++i)
      usleep(5000);
  }
  static bool lives(int64_t pid) {
    const auto text = read_all(fmt::format("/proc/{}/stat", pid));
    return text.ok() && text->find(") Z ") == std::string::npos;
  }
  [[nodiscard]] int64_t number_in(const std::string& name) const {
    return parse_int(trim(read_all(dir_ / name).value())).value();
  }

  ScratchDir dir_;
  std::unique_ptr<LocalBackend> backend_;
};

TEST_F(LocalBackendTest, GivesATaskItsGpusItsPlaceInTheGangAndNothingOfTheDaemon) {
  setenv("STINT_TOKEN", "secret", 1);
  Launch launch = shell(1, "env; pwd");
  launch.node = "n1";
  launch.gpus = {{.index = 2, .uuid = "GPU-aa", .mig_uuid = ""}, {.index = 3, .uuid = "GPU-bb", .mig_uuid = ""}};
  launch.gang = GangPlace{
      .rank = 5, .world_size = 8, .local_rank = 1, .local_world_size = 4, .master_address = "10.0.0.7", .master_port = 29500};
  launch.environment = {{"EPOCHS", "3"}, {"CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"}};
  launch.folder = dir_ / "";
  EXPECT_EQ(run(launch).status.shell_code(), 0);
  unsetenv("STINT_TOKEN");
  const std::string text = printed(1);
  const auto lines = split(text, '\n');
  std::vector<std::string> seen(lines.begin(), lines.end());
  for (const char* line :
       {"CUDA_VISIBLE_DEVICES=GPU-aa,GPU-bb", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1",
        "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=10.0.0.7", "MASTER_PORT=29500", "EPOCHS=3", "STINT_JOB=1", "STINT_NODE=n1"})
    EXPECT_THAT(seen, Contains(line));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

TEST(VisibleDevices, AreNamesWhereAllAreKnownAndNoneIsSaid) {
  EXPECT_EQ(visible_devices({}), "-1");
  EXPECT_EQ(visible_devices({{.index = 4, .uuid = "", .mig_uuid = ""}, {.index = 6, .uuid = "GPU-x", .mig_uuid = ""}}), "4,6");
  EXPECT_EQ(visible_devices({{.index = 4, .uuid = "GPU-x", .mig_uuid = "MIG-y"}}), "MIG-y");
}

TEST_F(LocalBackendTest, RunsAScriptWithItsArgumentsAndAppendsItsOutput) {
  put_file(dir_ / "out", "before\n");
  Launch launch = shell(1, "");
  launch.command = {"train.sh", "a b", "c"};
  launch.script = "#!/bin/sh\necho \"$1|$2\"; echo wrong >&2\n";
  launch.output_path = launch.error_path = dir_ / "out";
  EXPECT_EQ(run(launch).status.shell_code(), 0);
  EXPECT_EQ(read_all(dir_ / "out").value(), "before\na b|c\nwrong\n");
}

TEST_F(LocalBackendTest, SaysWhyACommandCannotBeRun) {
  Launch launch = shell(1, "");
  launch.command = {"no-such-program-anywhere"};
  const Report none = run(launch);
  EXPECT_EQ(none.cause, EndCause::kNotStarted);
  EXPECT_EQ(none.status.code, 127);
  EXPECT_THAT(none.detail, HasSubstr("no-such-program-anywhere"));
  launch = shell(2, "true");
  launch.folder = "/no/such/folder";
  EXPECT_THAT(run(launch).detail, HasSubstr("/no/such/folder"));
  launch = shell(3, "true");
  launch.output_path = "/no/such/folder/out";
  EXPECT_THAT(run(launch).detail, HasSubstr("/no/such/folder/out"));
  launch = shell(4, "");
  launch.script = "echo hello";
  EXPECT_EQ(backend_->start(launch, now()).error().code, ErrorCode::kInvalidInput);
}

TEST_F(LocalBackendTest, RunsAsAnotherUserWithoutItsOwnRights) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can run tasks as another user";
  Launch launch = shell(1, "");
  launch.command = {"whoami.sh"};
  launch.script = "#!/bin/sh\nid -u; id -g; id -G; cat /etc/shadow && echo leaked\n";
  launch.run_as = RunAs{kNobody, kNobody};
  run(launch);
  EXPECT_EQ(printed(1), "65534\n65534\n65534\n");
  struct stat log = {};
  ASSERT_EQ(stat(backend_->output_path(launch.key).c_str(), &log), 0);
  EXPECT_EQ(log.st_uid, kNobody);
  // A file that only root can write is not opened with root's rights on the user's behalf.
  launch = shell(2, "true");
  launch.run_as = RunAs{kNobody, kNobody};
  launch.output_path = dir_ / "roots-own";
  EXPECT_EQ(run(launch).cause, EndCause::kNotStarted);
}

TEST_F(LocalBackendTest, RunsTasksAsTheUserOfItsSettingsWhereTheyNameNone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can run tasks as another user";
  EXPECT_THAT(backend_->notes(), Contains(HasSubstr("--insecure-shared-user")));
  backend_.reset();
  auto made =
      LocalBackend::create({.state_folder = dir_ / "state", .keeper = {STINT_TEST_KEEPER}, .run_as = RunAs{kNobody, kNobody}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  backend_ = std::move(made).value();
  EXPECT_THAT(backend_->notes(), Not(Contains(HasSubstr("--insecure-shared-user"))));
  run(shell(1, "id -u"));
  EXPECT_EQ(printed(1), "65534\n");
}

TEST_F(LocalBackendTest, EndsAtItsTimeLimit) {
  Launch launch = shell(1, "trap 'exit 5' TERM; while :; do sleep 0.01; done");
  launch.time_limit = Duration::milliseconds(200);
  const Report ended = run(launch);
  EXPECT_EQ(ended.cause, EndCause::kTimeLimit);
  EXPECT_EQ(ended.status.code, 5);
}

TEST_F(LocalBackendTest, KillsWhatDoesNotLeaveInItsGrace) {
  const Launch launch = shell(1, "trap '' TERM; touch " + (dir_ / "ready") + "; while :; do sleep 0.01; done");
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  wait_for_file("ready");
  ASSERT_TRUE(backend_->stop(launch.key, Duration::hours(1), now()).ok());
  ASSERT_TRUE(backend_->stop(launch.key, Duration::milliseconds(50), now()).ok()) << "the grace can be shortened";
  const auto told = reports(2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].cause, EndCause::kStopped);
  EXPECT_EQ(told[1].status.signal, SIGKILL);
}

TEST_F(LocalBackendTest, LeavesAShellsChildTheTimeToSave) {
  // The shell ends at once on SIGTERM; what it started is still writing.
  const Launch launch = shell(1, "(trap 'sleep 0.3; echo saved >" + (dir_ / "saved") + "; exit' TERM; touch " + (dir_ / "ready") +
                                     "; while :; do sleep 0.01; done) & wait");
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  wait_for_file("ready");
  ASSERT_TRUE(backend_->stop(launch.key, Duration::seconds(20), now()).ok());
  EXPECT_EQ(reports(2).size(), 2U);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "saved"));
}

TEST_F(LocalBackendTest, ClearsAwayWhatATaskLeavesBehind) {
  // One in the background, one in its own session that its parent has abandoned.
  const Launch launch =
      shell(1, "sleep 1000 & echo $! >" + (dir_ / "one") + "; setsid sh -c 'sleep 1000 & echo $! >" + (dir_ / "two") +
                   "; echo >" + (dir_ / "ready") + "' & while [ ! -e " + (dir_ / "ready") + " ]; do sleep 0.01; done; exit 4");
  EXPECT_EQ(run(launch).status.code, 4);
  EXPECT_FALSE(lives(number_in("one")));
  EXPECT_FALSE(lives(number_in("two")));
}

TEST_F(LocalBackendTest, PassesSignalsOn) {
  const Launch launch = shell(1, "trap 'exit 9' USR1; touch " + (dir_ / "ready") + "; while :; do sleep 0.01; done");
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  wait_for_file("ready");
  ASSERT_TRUE(backend_->signal(launch.key, SIGUSR1).ok());
  const auto told = reports(2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].status.code, 9);
  EXPECT_EQ(told[1].cause, EndCause::kItself);
}

TEST_F(LocalBackendTest, LearnsAfterARestartHowATaskEndedMeanwhile) {
  ASSERT_TRUE(backend_->start(shell(1, "while [ ! -e " + (dir_ / "go") + " ]; do sleep 0.01; done; exit 6"), now()).ok());
  EXPECT_EQ(reports(1).size(), 1U);
  backend_.reset();
  put_file(dir_ / "go", "");
  for (int i = 0; i < 4000 && !std::filesystem::exists(folder(1).ended_file()); ++i)
    usleep(5000);
  restart();
  const auto told = reports(2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].status.code, 6);
  ASSERT_TRUE(backend_->forget({1, 0, 0}).ok());
  restart();
  EXPECT_THAT(backend_->poll(now()), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(backend_->output_path({1, 0, 0}))) << "logs stay";
}

TEST_F(LocalBackendTest, StartsOnceAlsoWhenTheDaemonDiedBeforeTheKeeperWasThere) {
  const Launch launch = shell(1, "echo ran >>" + (dir_ / "runs"));
  ASSERT_TRUE(folder(1).create({.launch = launch, .cgroup = "", .log_base = dir_ / "state/logs/1.0.0"}).ok());
  restart();
  EXPECT_THAT(backend_->poll(now()), IsEmpty()) << "it is not known yet";
  EXPECT_EQ(run(launch).status.shell_code(), 0);
  restart();
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  EXPECT_EQ(reports(2).size(), 2U);
  EXPECT_EQ(read_all(dir_ / "runs").value(), "ran\n");
}

/// A clock that is set back between the two looks, or a caller that read it a while before.
TEST_F(LocalBackendTest, AnEndIsNeverToldBeforeItsStart) {
  ASSERT_TRUE(backend_->start(shell(1, "while [ ! -e " + (dir_ / "go") + " ]; do sleep 0.01; done"), now()).ok());
  std::vector<Report> told;
  for (int i = 0; i < 4000 && told.empty(); ++i) {
    told = backend_->poll(now() + Duration::hours(1));
    if (told.empty()) usleep(5000);
  }
  ASSERT_EQ(told.size(), 1U);
  put_file(dir_ / "go", "");
  const auto end = reports(1);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_EQ(end[0].kind, ReportKind::kEnded);
  EXPECT_GE(end[0].at, told[0].at);
}

TEST_F(LocalBackendTest, CanBeStoppedBeforeItBegins) {
  const Launch launch = shell(1, "echo ran >>" + (dir_ / "runs"));
  ASSERT_TRUE(folder(1).create({.launch = launch, .cgroup = "", .log_base = dir_ / "state/logs/1.0.0"}).ok());
  restart();
  ASSERT_TRUE(backend_->stop(launch.key, Duration(), now()).ok());
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  const auto told = reports(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].cause, EndCause::kStopped);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs"));
}

TEST_F(LocalBackendTest, TellsThatATaskIsLostAndLeavesNothingOfItRunning) {
  const Launch launch = shell(1, "sleep 1000 & echo $! >" + (dir_ / "one") + "; setsid sleep 1000 & echo $! >" + (dir_ / "two") +
                                     "; touch " + (dir_ / "ready") + "; wait");
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  EXPECT_EQ(reports(1).size(), 1U);
  wait_for_file("ready");
  const auto started = folder(1).started();
  ASSERT_TRUE(started.ok() && started->has_value());
  // The keeper is the parent of the task's first process.
  const auto stat = read_all(fmt::format("/proc/{}/stat", (*started)->pid));
  ASSERT_TRUE(stat.ok());
  const std::string after_name = stat->substr(stat->rfind(')') + 2);
  const auto keeper = parse_int(split(after_name, ' ')[1]);
  ASSERT_TRUE(keeper && *keeper > 1);
  ASSERT_EQ(kill(static_cast<pid_t>(*keeper), SIGKILL), 0);
  const auto told = reports(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, ReportKind::kLost);
  EXPECT_FALSE(lives(number_in("one")));
  EXPECT_FALSE(lives(number_in("two")));
  ASSERT_TRUE(backend_->start(launch, now()).ok()) << "and it is not run a second time";
  EXPECT_THAT(backend_->poll(now()), IsEmpty());
}

TEST_F(LocalBackendTest, LimitsMemoryOfAProcessWithoutCgroups) {
  Launch launch = shell(1, "head -c 300000000 /dev/zero | tail -c 300000000 | wc -c");
  launch.memory = Bytes::mebi(100);
  run(launch);
  EXPECT_NE(printed(1), "300000000\n") << "tail keeps all it reads in memory";
  EXPECT_THAT(backend_->notes(), Contains(HasSubstr("each process by itself")));
}

TEST_F(LocalBackendTest, TellsWhatATaskUsed) {
  const Report ended = run(shell(1, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  ASSERT_TRUE(ended.usage.has_value());
  EXPECT_GT(ended.usage->cpu_time, Duration());
  EXPECT_GT(ended.usage->peak_memory, Bytes::of(100'000));
}

TEST_F(LocalBackendTest, TasksOnPartsOfAGpuHaveADeviceOfTheirOwn) {
  setenv("FAKE_NVML_MIG", "2", 1);
  setenv("FAKE_NVML_MIG_USED", "0", 1);
  restart("", STINT_FAKE_NVML);
  const auto on_a_part = [&](int64_t job, const std::string& command) {
    Launch launch = shell(job, command);
    launch.gpus = {{.index = 0, .uuid = "", .mig_uuid = "2g.20gb"}};
    launch.tenancy = Tenancy::kShared;
    return launch;
  };
  ASSERT_TRUE(backend_->start(on_a_part(1, "echo $CUDA_VISIBLE_DEVICES; sleep 60"), now()).ok());
  restart("", STINT_FAKE_NVML);  // who has what is known after a restart, too
  const Launch second = on_a_part(2, "echo $CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(run(second).status.shell_code(), 0);
  EXPECT_EQ(*read_all(backend_->output_path(second.key)), "MIG-fake-4\n");
  EXPECT_EQ(run(on_a_part(3, "true")).status.shell_code(), 0) << "the second has ended";
  ASSERT_TRUE(backend_->start(on_a_part(4, "sleep 60"), now()).ok());
  EXPECT_EQ(backend_->start(on_a_part(5, "true"), now()).error().code, ErrorCode::kUnavailable);
  unsetenv("FAKE_NVML_MIG");
  unsetenv("FAKE_NVML_MIG_USED");
}

TEST_F(LocalBackendTest, StartsNoTaskOnAGpuThatIsNotClear) {
  restart("", STINT_FAKE_NVML);
  Launch launch = shell(1, "true");
  launch.gpus = {{.index = 1, .uuid = "GPU-fake-1", .mig_uuid = ""}};
  setenv("FAKE_NVML_PROCESSES", "0", 1);
  setenv("FAKE_NVML_USED_MIB", "513", 1);
  const Status left = backend_->start(launch, now());
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(left.error().message, HasSubstr("GPU 1"));
  setenv("FAKE_NVML_USED_MIB", "512", 1);
  setenv("FAKE_NVML_PROCESSES", "1", 1);
  EXPECT_THAT(backend_->start(launch, now()).error().message, HasSubstr("process 1000"));
  launch.tenancy = Tenancy::kShared;
  EXPECT_THAT(backend_->start(launch, now()).error().message, HasSubstr("process 1000")) << "no other task is there";
  setenv("FAKE_NVML_PROCESSES", "0", 1);
  Launch first = shell(4, "sleep 60");
  first.gpus = launch.gpus;
  first.tenancy = Tenancy::kShared;
  ASSERT_TRUE(backend_->start(first, now()).ok());
  ASSERT_EQ(reports(1).size(), 1U) << "it has started";
  setenv("FAKE_NVML_PROCESSES", "1", 1);
  EXPECT_EQ(run(launch).status.shell_code(), 0) << "others may be there";
  ASSERT_TRUE(backend_->stop(first.key, Duration(), now()).ok());
  ASSERT_EQ(reports(1).size(), 1U) << "and ended";
  launch.tenancy = Tenancy::kAlone;
  launch.key.job = 2;
  setenv("FAKE_NVML_PROCESSES", "0", 1);
  EXPECT_EQ(run(launch).status.shell_code(), 0) << "a refusal leaves nothing behind";
  launch.key.job = 3;
  launch.gpus = {{.index = 7, .uuid = "", .mig_uuid = ""}};
  EXPECT_EQ(backend_->start(launch, now()).error().code, ErrorCode::kNotFound);
  unsetenv("FAKE_NVML_PROCESSES");
  unsetenv("FAKE_NVML_USED_MIB");
}

TEST_F(LocalBackendTest, ADamagedRecordIsSaidAndNotGuessed) {
  const Launch launch = shell(1, "true");
  ASSERT_TRUE(folder(1).create({.launch = launch, .cgroup = "", .log_base = dir_ / "x"}).ok());
  put_file(folder(1).launch_file(), "{\"version\":1,");
  restart();
  const Report ended = run(launch);
  EXPECT_EQ(ended.cause, EndCause::kNotStarted);
  EXPECT_THAT(ended.detail, HasSubstr("damaged"));
}

TEST_F(LocalBackendTest, ACgroupHoldsAllOfATask) {
  const std::string tree = "/sys/fs/cgroup/unified";
  const std::string root = std::filesystem::exists(tree + "/cgroup.procs") ? tree : "/sys/fs/cgroup";
  const std::string ours = fmt::format("{}/stint-test-{}", root, getpid());
  if (!CgroupTree::open(ours).ok()) GTEST_SKIP() << "no cgroup v2 tree that this user may write";
  restart(ours);
  EXPECT_THAT(backend_->notes(), Not(Contains(HasSubstr("No cgroups"))));
  const Launch launch = shell(1, "cat /proc/self/cgroup; setsid sleep 1000 & echo $! >" + (dir_ / "one"));
  EXPECT_EQ(run(launch).status.shell_code(), 0);
  EXPECT_THAT(printed(1), HasSubstr("task-1.0.0"));
  EXPECT_FALSE(lives(number_in("one")));
  EXPECT_FALSE(std::filesystem::exists(ours + "/task-1.0.0"));
  restart();
  EXPECT_EQ(rmdir(ours.c_str()), 0);
}

TEST_F(LocalBackendTest, AServiceMovesOutOfTheCgroupThatIsDelegatedToIt) {
  const std::string tree = "/sys/fs/cgroup/unified";
  const std::string root = std::filesystem::exists(tree + "/cgroup.procs") ? tree : "/sys/fs/cgroup";
  const std::string service = fmt::format("{}/stint-test-service-{}", root, getpid());
  if (mkdir(service.c_str(), 0755) != 0 || access((service + "/cgroup.procs").c_str(), W_OK) != 0) {
    rmdir(service.c_str());
    GTEST_SKIP() << "no cgroup v2 tree that this user may write";
  }
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream(service + "/cgroup.procs") << 0;
    const bool opened = CgroupTree::open(service + "/jobs").ok();
    std::ifstream own("/proc/self/cgroup");
    const std::string where((std::istreambuf_iterator<char>(own)), {});
    _exit(opened && where.find(service.substr(root.size()) + "/daemon\n") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const char* below : {"/jobs", "/daemon", ""})
    EXPECT_EQ(rmdir((service + below).c_str()), 0) << below;
}

TEST_F(LocalBackendTest, ACgroupEndsATaskThatTakesTooMuchMemory) {
  const std::string ours = fmt::format("/sys/fs/cgroup/stint-test-{}", getpid());
  const auto tree = CgroupTree::open(ours);
  if (!tree.ok() || !tree->limits_memory) {
    if (tree.ok()) rmdir(ours.c_str());
    GTEST_SKIP() << "no cgroup v2 tree with a memory controller that this user may write";
  }
  restart(ours);
  Launch launch = shell(1, "head -c 300000000 /dev/zero | tail -c 300000000 | wc -c");
  launch.memory = Bytes::mebi(100);
  const Report ended = run(launch);
  EXPECT_EQ(ended.cause, EndCause::kOutOfMemory);
  restart();
  EXPECT_EQ(rmdir(ours.c_str()), 0);
}

/// A daemon has died while the keeper that it started begins, and another takes its place: at every instant at which the new one may look
/// first, be told to start or to stop, and look again, the end is told once, and nothing runs twice.
TEST_F(LocalBackendTest, AKeeperThatBeginsOrEndsDuringATakeoverIsNotMissed) {
  int64_t job = 1000;
  constexpr int kSteps = 4;
  for (const OrderKind kind : {OrderKind::kStart, OrderKind::kStop})
    for (int scanned = 0; scanned <= kSteps; ++scanned)
      for (int looked = scanned; looked <= kSteps; ++looked)
        for (int ordered = looked; ordered <= kSteps; ++ordered) {
          SCOPED_TRACE(
              fmt::format("{} after step {}, first look after {}, opened after {}", name_of(kind), ordered, looked, scanned));
          const Launch launch = shell(++job, "exit 9");  // whoever starts it again ends otherwise
          const TaskFolder folder(dir_ / fmt::format("state/tasks/{}.0.0", job));
          ASSERT_TRUE(folder.create({.launch = launch, .cgroup = "", .log_base = dir_ / "log", .room = {}}).ok());
          auto lock = folder.take_lock();
          ASSERT_TRUE(lock.ok() && lock->valid());
          std::vector<Report> told;
          for (int step = 0; step <= kSteps; ++step) {
            if (step == 1) {
              ASSERT_TRUE(*folder.claim());
            }
            if (step == 2)
              put_file(folder.started_file(), to_json(TaskStarted{.when = this_moment(), .pid = 1 << 22, .start_ticks = 1}));
            if (step == 3)
              put_file(folder.ended_file(), to_json(TaskEnded{.when = this_moment(), .status = {.code = 3}, .detail = ""}));
            if (step == 4) lock->close();
            const auto look = [&] {
              for (const BackendEvent& event : backend_->drain(now()))
                if (const auto* report = std::get_if<Report>(&event)) told.push_back(*report);
            };
            if (step == scanned) restart();
            if (step == looked) look();
            if (step == ordered)
              backend_->submit({{.kind = kind,
                                 .key = launch.key,
                                 .at = now(),
                                 .launch = kind == OrderKind::kStart ? std::optional(launch) : std::nullopt,
                                 .grace = {}}});
            if (step == kSteps) look();
          }
          const auto is_end = [](const Report& report) { return report.kind == ReportKind::kEnded && report.status.code == 3; };
          // Who asks again is told again.
          EXPECT_THAT(told, Contains(::testing::Truly(is_end)));
          EXPECT_TRUE(std::ranges::all_of(told, [&](const Report& r) { return r.kind == ReportKind::kStarted || is_end(r); }));
          EXPECT_THAT(backend_->running(), IsEmpty());
          backend_->submit({{.kind = OrderKind::kForget, .key = launch.key, .at = now(), .launch = {}, .grace = {}}});
          EXPECT_FALSE(std::filesystem::exists(folder.path()));
        }
}

}  // namespace
}  // namespace stint
