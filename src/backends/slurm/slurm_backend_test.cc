// A Slurm's users' jobs, machines and accounting, as the backend tells of them; what all backends promise is tested in
// backend_conformance_test.cc. The Slurm pretends, its jobs are processes.
#include "backends/slurm/slurm_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>

#include "backends/slurm/testing_fake_slurm.h"
#include "host/file.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Duration kPatience = Duration::seconds(120);
constexpr const char* kTwoMachines =
    R"({"n1": {"gpus": 8, "state": "IDLE", "reason": ""}, "n2": {"gpus": 8, "state": "IDLE", "reason": ""}})";

class SlurmBackendTest : public ::testing::Test {
 protected:
  SlurmBackendTest() { restart(); }
  void restart() {
    backend_.reset();
    backend_ = slurm_.backend({.queues = {{"lab", "acme"}}, .known_queues = {"zoo"}, .partitions = {}, .qos = {}});
    events_.clear();
  }
  void put(const std::string& path, const std::string& text) { ASSERT_TRUE(write_file_atomically(path, text).ok()); }
  void look() {
    for (BackendEvent& event : backend_->drain(now()))
      events_.push_back(std::move(event));
  }
  template <typename Event>
  std::vector<Event> heard() const {
    std::vector<Event> all;
    for (const BackendEvent& event : events_)
      if (const auto* one = std::get_if<Event>(&event)) all.push_back(*one);
    return all;
  }
  /// Until it has been told, or patience is at its end.
  template <typename Event>
  bool hears(const std::function<bool(const Event&)>& what) {
    for (const Instant until = now() + kPatience; now() < until;) {
      look();
      if (std::ranges::any_of(heard<Event>(), what)) return true;
      ::usleep(20'000);
    }
    return false;
  }
  bool hears(ReportKind kind, const LaunchKey& key) {
    return hears<Report>([&](const Report& report) { return report.kind == kind && report.key == key; });
  }
  bool hears(OthersJob::State state, const std::string& job) {
    return hears<OthersJob>([&](const OthersJob& other) { return other.state == state && other.name == job; });
  }
  /// The last of others' jobs that was told is held again.
  bool waits_again() {
    for (const Instant until = now() + kPatience; now() < until && heard<OthersJob>().back().state != OthersJob::State::kWaits;) {
      ::usleep(20'000);
      look();
    }
    return heard<OthersJob>().back().state == OthersJob::State::kWaits;
  }
  void start(const Launch& launch) {
    backend_->submit({{.kind = OrderKind::kStart, .key = launch.key, .at = now(), .launch = launch, .grace = {}}});
  }
  static Launch launch_of(const std::string& job, int32_t attempt = 0) {
    Launch launch;
    launch.key = {.job = 1, .attempt = attempt, .task = 0};
    launch.command = {"slurm job"};
    launch.node = "n2";
    launch.others_job = job;
    return launch;
  }
  static Launch own(std::vector<std::string> command) {
    Launch launch = launch_of("");
    launch.command = std::move(command);
    launch.queue = "acme";
    return launch;
  }
  std::string queue() const { return slurm_.programs().ask("squeue", {"--json"}).value(); }

  FakeSlurm slurm_{STINT_TEST_FAKE_SLURM};
  std::unique_ptr<SlurmBackend> backend_;
  std::vector<BackendEvent> events_;
};

TEST_F(SlurmBackendTest, AHeldJobOfAUserIsToldAndRunsWhereItIsTold) {
  const std::string job =
      slurm_.sbatch({"--hold", "--gres=gpu:h200:4", "--account=lab", "--job-name=train", "--cpus-per-task=6"}, "exit 3");
  ASSERT_TRUE(hears(OthersJob::State::kWaits, job));
  const OthersJob told = heard<OthersJob>().front();
  EXPECT_EQ(told.queue, "acme") << "as its account is mapped";
  EXPECT_EQ(told.user, "root");
  EXPECT_EQ(told.title, "train");
  EXPECT_EQ(told.gpus, 4);
  EXPECT_EQ(told.tasks, 1);
  EXPECT_TRUE(told.preemptible);
  start(launch_of(job));
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 0, 0}));
  const auto reports = heard<Report>();
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0].kind, ReportKind::kStarted);
  EXPECT_EQ(reports[1].status.code, 3);
  EXPECT_THAT(queue(), HasSubstr(R"("nodes": "n2")"));
}

TEST_F(SlurmBackendTest, OneThatIsStoppedWaitsAgainAndRunsAsTheNextAttempt) {
  const std::string job = slurm_.sbatch({"--hold", "--account=zoo"}, "sleep 1000");
  ASSERT_TRUE(hears(OthersJob::State::kWaits, job));
  start(launch_of(job));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 0, 0}));
  EXPECT_THAT(backend_->running(), ElementsAre(LaunchKey{1, 0, 0}));
  backend_->submit({{.kind = OrderKind::kStop, .key = {1, 0, 0}, .at = now(), .launch = {}, .grace = Duration::seconds(30)}});
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 0, 0}));
  EXPECT_EQ(heard<Report>().back().cause, EndCause::kStopped);
  EXPECT_TRUE(waits_again());
  start(launch_of(job, 1));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 1, 0}));
  backend_->submit({{.kind = OrderKind::kDismiss, .key = {}, .at = now(), .launch = {}, .others_job = job, .grace = {}}});
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 1, 0})) << "dismissed, it is cancelled there";
}

/// It saves on its signal and ends by itself, as `trap 'save; exit 99' USR1` does.
TEST_F(SlurmBackendTest, OneThatSavesAndLeavesInItsGraceWaitsAgain) {
  const std::string job =
      slurm_.sbatch({"--hold", "--account=zoo", "--comment=stint:checkpoint=3s,signal=USR1,grace=30s"},
                    fmt::format("trap 'exit 99' USR1; touch {}; while :; do sleep 0.02; done", slurm_.state("traps")));
  ASSERT_TRUE(hears(OthersJob::State::kWaits, job));
  start(launch_of(job));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 0, 0}));
  for (const Instant until = now() + kPatience; now() < until && !std::filesystem::exists(slurm_.state("traps"));)
    ::usleep(10'000);
  backend_->submit({{.kind = OrderKind::kStop, .key = {1, 0, 0}, .at = now(), .launch = {}, .grace = Duration::seconds(30)}});
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 0, 0}));
  EXPECT_EQ(heard<Report>().back().cause, EndCause::kStopped) << heard<Report>().back().status.code;
  EXPECT_TRUE(waits_again());
  start(launch_of(job, 1));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 1, 0}));
  ASSERT_TRUE(slurm_.programs().ask("scancel", {"--signal=USR1", "--full", job}).ok());
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 1, 0}));
  EXPECT_EQ(heard<Report>().back().cause, EndCause::kItself) << "not asked to leave, it has failed";
  EXPECT_EQ(heard<Report>().back().status.code, 99);
}

TEST_F(SlurmBackendTest, WhatSlurmRunsByItselfIsToldWithItsMachines) {
  const std::string job = slurm_.sbatch({"--account=lab", "--gres=gpu:8", "--nodelist=n2"}, "sleep 1000");
  ASSERT_TRUE(hears(OthersJob::State::kRuns, job));
  const OthersJob told = heard<OthersJob>().back();
  EXPECT_THAT(told.machines, ElementsAre("n2"));
  EXPECT_EQ(told.gpus, 8);
  ASSERT_TRUE(slurm_.programs().ask("scancel", {job}).ok());
  EXPECT_TRUE(hears(OthersJob::State::kEnded, job));
}

TEST_F(SlurmBackendTest, AnAccountWithoutAQueueIsSaidOnceAndItsJobStaysHeld) {
  const std::string job = slurm_.sbatch({"--hold", "--account=unknown"}, "true");
  ASSERT_TRUE(hears<BackendNote>(
      [&](const BackendNote& note) { return note.text.find("no queue for Slurm's account 'unknown'") != std::string::npos; }));
  for (int i = 0; i < 3; ++i) {
    ::usleep(400'000);
    look();
  }
  EXPECT_THAT(heard<BackendNote>(), SizeIs(1));
  EXPECT_THAT(heard<OthersJob>(), IsEmpty());
}

TEST_F(SlurmBackendTest, MachinesAreToldAsSlurmHasThem) {
  look();
  ASSERT_THAT(heard<MachineReport>(), SizeIs(2));
  EXPECT_EQ(heard<MachineReport>().front().machine.node.gpus, 8);
  EXPECT_EQ(heard<MachineReport>().front().machine.node.gpu_model, "h200");
  put(slurm_.state("nodes.json"), R"({"n1": {"gpus": 8, "state": "IDLE+DRAIN", "reason": "fan"}})");
  ASSERT_TRUE(
      hears<MachineReport>([](const MachineReport& r) { return r.news == MachineNews::kGone && r.machine.node.name == "n2"; }));
  const MachineReport drained = heard<MachineReport>().back();
  EXPECT_EQ(drained.news, MachineNews::kDraining);
  EXPECT_EQ(drained.cause, MachineCause::kMaintenance);
  EXPECT_EQ(drained.detail, "fan");
  events_.clear();
  put(slurm_.state("nodes.json"), kTwoMachines);
  EXPECT_TRUE(
      hears<MachineReport>([](const MachineReport& r) { return r.news == MachineNews::kThere && r.machine.node.name == "n1"; }));
}

TEST_F(SlurmBackendTest, ASlurmThatDoesNotAnswerIsWaitedFor) {
  put(slurm_.state("away"), "");
  restart();
  EXPECT_FALSE(backend_->is_ready());
  look();
  EXPECT_THAT(heard<BackendNote>(), SizeIs(1));
  EXPECT_THAT(heard<BackendNote>().front().text, HasSubstr("Slurm cannot be asked"));
  start(own({"sh", "-c", "exit 4"}));
  ASSERT_TRUE(hears<Refusal>([](const Refusal& refusal) { return refusal.kind == RefusalKind::kNotNow; }));
  std::filesystem::remove(slurm_.state("away"));
  ASSERT_TRUE(hears<MachineReport>([](const MachineReport&) { return true; }));
  EXPECT_TRUE(backend_->is_ready());
  start(own({"sh", "-c", "exit 4"}));
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 0, 0}));
  EXPECT_EQ(heard<Report>().back().status.code, 4);
}

/// Killed when sbatch had run and its answer was not kept.
TEST_F(SlurmBackendTest, ALaunchWhoseSbatchWasNotAnsweredIsFoundAndDoesNotRunTwice) {
  start(own({"sleep", "1000"}));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 0, 0}));
  backend_.reset();
  put(slurm_.kept("launches/" + format_key({1, 0, 0})), "");
  restart();
  start(own({"sleep", "1000"}));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 0, 0}));
  EXPECT_EQ(queue().find(R"("job_id": 2)"), std::string::npos);
  backend_->submit({{.kind = OrderKind::kStop, .key = {1, 0, 0}, .at = now(), .launch = {}, .grace = {}}});
  EXPECT_TRUE(hears(ReportKind::kEnded, {1, 0, 0}));
}

TEST_F(SlurmBackendTest, AnEndThatLeftTheQueueIsReadFromAccounting) {
  start(own({"sleep", "1000"}));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 0, 0}));
  put(slurm_.state("age"), "-1");
  ASSERT_TRUE(slurm_.programs().ask("scancel", {"--signal=KILL", "--full", "1"}).ok());
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 0, 0}));
  EXPECT_EQ(heard<Report>().back().status.signal, SIGKILL);
}

TEST_F(SlurmBackendTest, WhatAnotherDaemonPlacedIsAUsersJobThatRuns) {
  const std::string job = slurm_.sbatch({"--account=lab"}, "sleep 1000");
  ASSERT_TRUE(
      slurm_.programs().ask("scontrol", {"update", "JobId=" + job, "AdminComment=stint/placed=1795297550/launch=feed:7.0"}).ok());
  ASSERT_TRUE(hears(OthersJob::State::kRuns, job));
  EXPECT_THAT(backend_->running(), IsEmpty());
  ASSERT_TRUE(slurm_.programs().ask("scancel", {job}).ok());
}

TEST_F(SlurmBackendTest, OutputIsReadWhileItRunsAndAfterARestart) {
  start(own({"sh", "-c", "echo \"$HOME $STINT_TASK it's\"; echo oops >&2; exec sleep 1000"}));
  const LogQuery query{.key = {1, 0, 0}, .limit = 1'000};
  const auto said = [&] {
    const auto piece = backend_->read_log(query);
    return piece.ok() ? piece->bytes : piece.error().message;
  };
  for (const Instant until = now() + kPatience; now() < until && said().find("oops") == std::string::npos;) {
    look();
    ::usleep(20'000);
  }
  EXPECT_THAT(said(), HasSubstr(" 0 it's\n"));
  EXPECT_THAT(said(), HasSubstr("oops\n"));
  restart();
  EXPECT_THAT(said(), HasSubstr("oops\n"));
  start(own({"sleep", "1000"}));
  ASSERT_TRUE(hears(ReportKind::kStarted, {1, 0, 0}));
  backend_->submit({{.kind = OrderKind::kStop, .key = {1, 0, 0}, .at = now(), .launch = {}, .grace = {}}});
  EXPECT_TRUE(hears(ReportKind::kEnded, {1, 0, 0}));
}

TEST_F(SlurmBackendTest, AJobThatIsGoneBeforeItWasPlacedEndsAndIsNotLost) {
  const std::string job = slurm_.sbatch({"--hold", "--account=lab"}, "true");
  ASSERT_TRUE(hears(OthersJob::State::kWaits, job));
  ASSERT_TRUE(slurm_.programs().ask("scancel", {job}).ok());
  ASSERT_TRUE(hears(OthersJob::State::kEnded, job));
  start(launch_of(job));
  ASSERT_TRUE(hears(ReportKind::kEnded, {1, 0, 0})) << "one that is lost would be started again";
}

TEST_F(SlurmBackendTest, WhatUsersHaveThereIsToldOnceAtTheStart) {
  const auto held = [&](const char* account) { return slurm_.sbatch({"--hold", std::string("--account=") + account}, "true"); };
  const std::string cancelled = held("lab"), waits = held("lab"), unknown = held("unknown");
  ASSERT_TRUE(hears(OthersJob::State::kWaits, waits));
  backend_.reset();
  ASSERT_TRUE(slurm_.programs().ask("scancel", {cancelled}).ok());
  ASSERT_THAT(queue(), HasSubstr("CANCELLED")) << "Slurm still has it, as one that has ended";
  put(slurm_.state("away"), "");
  restart();
  look();
  EXPECT_THAT(heard<OthersThere>(), IsEmpty()) << "Slurm has not said which there are";
  std::filesystem::remove(slurm_.state("away"));
  ASSERT_TRUE(hears(OthersJob::State::kWaits, waits));
  for (int i = 0; i < 2; ++i) {
    ::usleep(400'000);
    look();
  }
  ASSERT_THAT(heard<OthersThere>(), SizeIs(1));
  EXPECT_THAT(heard<OthersThere>().front().names, ElementsAre(waits, unknown));
}

TEST(SlurmFleet, AMachineWhoseGpusSlurmCountsAsUsedWithoutAJobTakesNoWork) {
  SlurmView view;
  SlurmMachine& machine = view.machines.emplace_back();
  machine.name = "n1";
  machine.state = "IDLE";
  machine.takes_work = true;
  machine.gpus_used = 8;
  SlurmFleet fleet({});
  auto news = fleet.look(view);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news.front().news, MachineNews::kThere) << "a job may have ended between the two questions";
  news = fleet.look(view);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news.front().news, MachineNews::kDraining);
  EXPECT_THAT(news.front().detail, HasSubstr("8 GPUs as used and no job is on it"));
  SlurmEntry& entry = view.entries.emplace_back();
  entry.state = RunState::kRunning;
  entry.on_nodes = "n[1-2]";
  news = fleet.look(view);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news.front().news, MachineNews::kThere);
}

TEST(SlurmLaunch, ACommandReachesItsProgramAsItStands) {
  Launch launch;
  launch.key = {.job = 3, .attempt = 1, .task = 2};
  launch.command = {"echo", "a b", "it's $HOME\n`x`"};
  launch.node = "n1";
  launch.gpus = {{.index = 4, .uuid = "", .mig_uuid = ""}, {.index = 5, .uuid = "", .mig_uuid = ""}};
  launch.cpu_milli = 1'500;
  launch.memory = Bytes::mebi(3);
  launch.time_limit = Duration::seconds(61);
  launch.environment = {{"WORDS", "two words"}};
  const auto batch = batch_of(
      launch,
      {.mark = "feed", .log_folder = "/logs", .user = {}, .account = "lab", .partition = "", .whole_gpus = "gpu", .parts = {}});
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  for (const char* argument : {"--gres=gpu:2", "--cpus-per-task=2", "--mem=3M", "--time=2", "--nodelist=n1", "--account=lab",
                               "--no-requeue", "--comment=stint-launch:feed"})
    EXPECT_THAT(batch->arguments, ::testing::Contains(argument));
  EXPECT_THAT(batch->script, HasSubstr("export WORDS='two words'\n"));
  EXPECT_TRUE(batch->script.ends_with("exec 'echo' 'a b' 'it'\\''s $HOME\n`x`'\n")) << batch->script;
  launch.environment = {{"A;rm", "x"}};
  EXPECT_FALSE(batch_of(launch, {}).ok());
}

TEST(SlurmLaunch, PartsOfGpusAreAskedForAsSlurmHasThem) {
  Launch launch;
  launch.key = {.job = 3, .attempt = 0, .task = 0};
  launch.command = {"true"};
  launch.node = "n1";
  SlurmBatchRules rules{.whole_gpus = "gpu:h200", .parts = {.name = "shard", .per_gpu = 4}};
  const auto gres = [&] {
    const auto batch = batch_of(launch, rules);
    if (!batch.ok()) return batch.error().message;
    const auto at = std::ranges::find_if(batch->arguments, [](const std::string& a) { return a.starts_with("--gres="); });
    return at == batch->arguments.end() ? std::string() : *at;
  };
  EXPECT_EQ(gres(), "");
  launch.gpus = {{.index = 4, .uuid = "", .mig_uuid = ""}};
  EXPECT_EQ(gres(), "--gres=gpu:h200:1") << "a MIG device is none";
  launch.tenancy = Tenancy::kShared;
  launch.gpu_milli = 250;
  EXPECT_EQ(gres(), "--gres=shard:1");
  launch.gpu_milli = 750;
  EXPECT_EQ(gres(), "--gres=shard:3");
  rules.parts = {};
  EXPECT_THAT(gres(), HasSubstr("Slurm divides no GPU of n1: give it shards"));
  launch.gpu_milli = 0;
  launch.gpus = {{.index = -1, .uuid = "", .mig_uuid = "1g.18gb"},
                 {.index = -1, .uuid = "", .mig_uuid = "3g.71gb"},
                 {.index = -1, .uuid = "", .mig_uuid = "1g.18gb"}};
  EXPECT_EQ(gres(), "--gres=gpu:1g.18gb:2,gpu:3g.71gb:1");
}

SlurmMachine machine_with(std::vector<SlurmGres> gres) {
  SlurmMachine machine;
  machine.name = "n1";
  machine.gres = std::move(gres);
  machine.partitions = {"main"};
  return machine;
}

TEST(SlurmFleet, AMachineIsMadeOfThePartsThatSlurmGivesOut) {
  Machine configured;
  configured.node.gpu_model = "H200";
  configured.node.gpu_memory = Bytes::gibi(int64_t{141});
  SlurmFleet fleet({{"n1", configured}});
  const auto made = [&](std::vector<SlurmGres> gres) {
    SlurmView view;
    view.machines = {machine_with(std::move(gres))};
    fleet.look(view);
    return fleet.machines().front().machine.node;
  };
  const NodeSpec whole = made({{.name = "gpu", .type = "h200", .count = 8, .indexes = {}}});
  EXPECT_FALSE(whole.shared_gpus);
  const NodeSpec shared = made({{.name = "gpu", .type = "h200", .count = 8, .indexes = {}},
                                {.name = "shard", .type = "h200", .count = 32, .indexes = {}}});
  EXPECT_TRUE(shared.shared_gpus);
  EXPECT_EQ(shared.gpu_parts, 4);
  EXPECT_EQ(shared.gpu_memory, Bytes::gibi(int64_t{141}));
  const NodeSpec cut = made({{.name = "gpu", .type = "1g.18gb", .count = 9, .indexes = {}}});
  EXPECT_FALSE(cut.whole_gpus);
  EXPECT_EQ(cut.gpu_model, "H200");
  EXPECT_EQ(cut.gpus, 2) << "nine sevenths";
  EXPECT_THAT(cut.static_mig, ElementsAre(MigAsk{.profile = "1g.18gb", .count = 9}));
}

TEST(SlurmOthers, PartsOfGpusAreTold) {
  SlurmView view;
  view.machines = {machine_with({{.name = "gpu", .type = "h200", .count = 8, .indexes = {}},
                                 {.name = "gpu", .type = "1g.18gb", .count = 7, .indexes = {}},
                                 {.name = "shard", .type = "", .count = 24, .indexes = {}}})};
  SlurmEntry entry;
  entry.id = "7";
  entry.state = RunState::kPending;
  entry.held = true;
  entry.account = "lab";
  entry.partition = "main";
  const auto told = [&](const char* gres) {
    entry.per_node = gres;
    SlurmOthers others({.queues = {}, .known_queues = {"lab"}, .partitions = {}, .qos = {}});
    const auto events = others.look({{&entry, "7"}}, view, now());
    const auto* job = events.empty() ? nullptr : std::get_if<OthersJob>(&events.front());
    return job == nullptr ? OthersJob() : *job;
  };
  EXPECT_EQ(told("gres:shard:1").gpu_milli, 333) << "of three";
  EXPECT_EQ(told("gres:shard:3").gpus, 1);
  EXPECT_EQ(told("gres:gpu:1g.18gb:2").mig_profile, "2x1g.18gb");
  EXPECT_EQ(told("gres:gpu:h200:2").gpus, 2);
}

TEST(SlurmLaunch, AnAttemptIsReadByTheDaemonThatWroteIt) {
  const std::string text = to_text(AttemptKey{.job = 17, .attempt = 2}, "feed");
  EXPECT_EQ(parse_attempt(text, "feed"), (AttemptKey{.job = 17, .attempt = 2}));
  EXPECT_EQ(parse_attempt(text, "beef"), std::nullopt);
  EXPECT_EQ(parse_attempt("17.2", "feed"), std::nullopt);
}

}  // namespace
}  // namespace stint
