// What the engine tells the backend of a task that it starts.
#include <gmock/gmock.h>

#include "backends/local/mig_grants.h"
#include "daemon/testing_daemon.h"

namespace stint {
namespace {

/// Keeps what it is told to start.
class NotingBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return below_.name(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }
  void submit(std::vector<Order> orders) override {
    for (const Order& order : orders)
      if (order.launch) launches.push_back(*order.launch);
    below_.submit(std::move(orders));
  }
  std::vector<BackendEvent> drain(Instant now) override {
    std::vector<BackendEvent> events = below_.drain(now);
    std::ranges::move(std::exchange(notes_to_tell, {}), std::back_inserter(events));
    return events;
  }
  [[nodiscard]] std::optional<Instant> next_event_at() const override { return below_.next_event_at(); }
  [[nodiscard]] std::vector<LaunchKey> running() const override { return below_.running(); }
  [[nodiscard]] std::vector<MachineReport> machines() const override { return below_.machines(); }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override { return below_.read_log(query); }

  std::vector<Launch> launches;
  std::vector<BackendEvent> notes_to_tell;

 private:
  SimulatedBackend below_;
};

/// Of its one task, on a machine of 8 GPUs, 128 CPUs and 1,024 GiB.
Launch launch_of_task(const JobRequest& job, const EngineOptions& options = {}, const FleetConfig& fleet = testing_fleet(1)) {
  const ScratchDir dir;
  NotingBackend backend;
  auto log = EventLog::open(dir / "log.db");
  CHECK(log.ok(), "{}", log.error().message);
  auto engine = Engine::open(*log, backend, fleet, options, kDaemonStart);
  CHECK(engine.ok(), "{}", engine.error().message);
  CHECK(engine->stage_submit(job, {}).ok() && engine->commit(kDaemonStart).ok(), "not taken");
  engine->poll_backend(kDaemonStart);
  CHECK(backend.launches.size() == 1, "{} launches", backend.launches.size());
  return backend.launches.front();
}

TEST(EngineLaunch, TellsTheShareOfTheMachinesMemoryThatATaskMayTakeForIts) {
  EXPECT_EQ(launch_of_task(testing_job(2, Duration::hours(1))).memory_share, Bytes::gibi(int64_t{256})) << "2 of 8 GPUs";
  JobRequest job = testing_job(2, Duration::hours(1));
  job.cpu_milli = 64'000;
  EXPECT_EQ(launch_of_task(job).memory_share, Bytes::gibi(int64_t{512})) << "half of the CPUs is more";
  job = testing_job(0, Duration::hours(1));
  EXPECT_EQ(launch_of_task(job).memory_share, Bytes::gibi(int64_t{8})) << "one CPU at the least";
  job.gpu_milli = 500;
  EXPECT_EQ(launch_of_task(job).memory_share, Bytes::gibi(int64_t{64})) << "half a GPU";
  job.memory = Bytes::gibi(int64_t{3});
  EXPECT_EQ(launch_of_task(job).memory, Bytes::gibi(int64_t{3}));
}

TEST(EngineLaunch, HoldsATaskOnAPartOfAGpuToItByMps) {
  const auto limits = [](const JobRequest& job) {
    std::map<std::string, std::string> found;
    for (const auto& [name, value] : launch_of_task(job).environment)
      if (name.starts_with("CUDA_MPS")) found[name] = value;
    return found;
  };
  using Limits = std::map<std::string, std::string>;
  JobRequest job = testing_job(0, Duration::hours(1));
  job.environment = {{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100"}};
  job.gpu_milli = 250;
  EXPECT_EQ(limits(job), (Limits{{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25"}, {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=20480M"}}))
      << "a quarter of 80 GiB, whatever the job says itself";
  job.gpu_milli = 0;
  job.gpu_memory = Bytes::gibi(int64_t{8});
  EXPECT_EQ(limits(job), (Limits{{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "10"}, {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=8192M"}}));
  job = testing_job(1, Duration::hours(1));
  EXPECT_EQ(limits(job), Limits());
}

TEST(EngineLaunch, NamesEachMigDeviceThatATaskGets) {
  auto fleet = parse_fleet_config(R"({"nodes":[{"name":"n0","gpu_model":"A100-80GB","gpus":2,
      "mig":{"1g.10gb":"4","3g.40gb":"2"}}],"queues":[{"name":"acme"},{"name":"acme/vision"}]})",
                                  "cut");
  ASSERT_TRUE(fleet.ok()) << fleet.error().message;
  JobRequest job = testing_job(0, Duration::hours(1));
  job.mig_profile = "2x1g.10gb 3g.40gb";
  const Launch launch = launch_of_task(job, {}, *fleet);
  std::vector<std::string> devices;
  for (const GrantedGpu& gpu : launch.gpus) {
    devices.push_back(gpu.mig_uuid);
    EXPECT_EQ(gpu.index, kAnyGpu);
  }
  EXPECT_THAT(devices, ::testing::ElementsAre("1g.10gb", "1g.10gb", "3g.40gb"));
  EXPECT_EQ(launch.tenancy, Tenancy::kShared);
}

TEST(EngineLaunch, GivesATaskWhatIsOfItsLaunchAloneWhereItsJobSaysNothingElse) {
  EngineOptions options;
  options.launch_environment = [](const LaunchKey& key) {
    return std::vector<std::pair<std::string, std::string>>{{"STINT_JOB_TOKEN", "of " + format_key(key)},
                                                            {"STINT_SERVER", "here"}};
  };
  JobRequest job = testing_job(1, Duration::hours(1));
  job.environment = {{"STINT_SERVER", "there"}};
  std::map<std::string, std::vector<std::string>> found;
  for (const auto& [name, value] : launch_of_task(job, options).environment)
    found[name].push_back(value);
  EXPECT_THAT(found["STINT_JOB_TOKEN"], ::testing::ElementsAre("of 1.0.0"));
  EXPECT_THAT(found["STINT_SERVER"], ::testing::ElementsAre("there"));
}

TEST(EngineLaunch, SaysWhatKeepsATaskFromBeginning) {
  const ScratchDir dir;
  NotingBackend backend;
  auto log = EventLog::open(dir / "log.db");
  ASSERT_TRUE(log.ok());
  auto engine = Engine::open(*log, backend, testing_fleet(1), {}, kDaemonStart);
  ASSERT_TRUE(engine.ok());
  const auto id = engine->stage_submit(testing_job(1, Duration::hours(1)), {});
  ASSERT_TRUE(id.ok() && engine->commit(kDaemonStart).ok());
  engine->poll_backend(kDaemonStart);
  ASSERT_EQ(backend.launches.size(), 1U);
  EXPECT_THAT(*engine->why(*id), ::testing::Not(::testing::HasSubstr("no such image")));
  backend.notes_to_tell = {LaunchNote{backend.launches[0].key, "no such image"},
                           LaunchNote{LaunchKey{.job = 99, .attempt = 0, .task = 0}, "of no job"}};
  engine->poll_backend(kDaemonStart);
  EXPECT_THAT(*engine->why(*id), ::testing::HasSubstr("task 0 has not begun on " + backend.launches[0].node + ": no such image"));
  backend.notes_to_tell = {LaunchNote{backend.launches[0].key, ""}};
  engine->poll_backend(kDaemonStart);
  EXPECT_THAT(*engine->why(*id), ::testing::Not(::testing::HasSubstr("has not begun")));
}

TEST(EngineLaunch, RefusesAnImageWhereTheEngineHasNone) {
  const ScratchDir dir;
  NotingBackend backend;  // as the local one it does not say that it takes images
  auto log = EventLog::open(dir / "log.db");
  ASSERT_TRUE(log.ok());
  auto engine = Engine::open(*log, backend, testing_fleet(1), {}, kDaemonStart);
  ASSERT_TRUE(engine.ok());
  JobRequest job = testing_job(1, Duration::hours(1));
  job.image = "example.com/train:1";
  EXPECT_THAT(engine->stage_submit(job, {}).error().message, ::testing::HasSubstr("leave --image away"));
}

}  // namespace
}  // namespace stint
