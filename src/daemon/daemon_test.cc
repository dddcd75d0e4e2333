#include "daemon/daemon.h"

#include <gmock/gmock.h>

#include <fmt/format.h>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kOne =
    R"({"nodes": [{"name": "gpu-0", "gpu_model": "L4", "gpus": 2, "per_hour": "1.40"}], "queues": [{"name": "agency"}]})";
constexpr std::string_view kTwo =
    R"({"nodes": [{"name": "gpu-0", "gpu_model": "L4", "gpus": 2, "per_hour": "1.40"},
                  {"name": "gpu-1", "gpu_model": "L4", "gpus": 2, "per_hour": "1.40"}], "queues": [{"name": "agency"}]})";

class StartedDaemon : public testing::Test {
 protected:
  void configure(std::string_view json) { std::ofstream(options_.config_file) << json; }
  ScratchDir dir_;
  DaemonOptions options_{.config_file = dir_ / "fleet.json",
                         .state_folder = dir_ / "state",
                         .allow_missing_gpus = true,
                         .insecure_shared_user = true};
};

/// All of their tasks would run here, on GPUs of the same numbers, and be billed as two machines'.
TEST_F(StartedDaemon, RefusesSeveralMachinesWhereTasksRunHere) {
  configure(kTwo);
  const auto refused = Daemon::start(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("fleet.json: 2 machines (gpu-0, gpu-1)"), HasSubstr("Slurm"),
                                             HasSubstr("--simulate"), HasSubstr("examples/one-machine.json")));
  EXPECT_FALSE(std::ifstream(dir_ / "state/events.db").good()) << "nothing is begun";
  options_.simulate = true;
  EXPECT_TRUE(Daemon::start(options_).ok());
}

TEST_F(StartedDaemon, DoesNotTakeOverASecondMachineEither) {
  configure(kOne);
  const auto daemon = Daemon::start(options_);
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  configure(kTwo);
  const Status reloaded = (*daemon)->reload();
  ASSERT_FALSE(reloaded.ok());
  EXPECT_THAT(reloaded.error().message, HasSubstr("2 machines"));
  EXPECT_EQ((*daemon)->config().fleet.nodes.size(), 1u);
  configure(kOne);
  EXPECT_TRUE((*daemon)->reload().ok());
}

TEST_F(StartedDaemon, RefusesJobsThatWouldHaveItsOwnAccount) {
  configure(kOne);
  options_.insecure_shared_user = false;
  const auto refused = Daemon::start(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("the daemon's own user"), HasSubstr("--jobs-as"), HasSubstr("--insecure-shared-user")));
  options_.jobs_as = "root";
  const auto as_root = Daemon::start(options_);
  ASSERT_FALSE(as_root.ok());
  EXPECT_THAT(as_root.error().message, HasSubstr("root"));
  EXPECT_FALSE(std::ifstream(dir_ / "state/events.db").good()) << "nothing is begun";
  options_.jobs_as.clear();
  options_.insecure_shared_user = true;
  const auto shared = Daemon::start(options_);
  ASSERT_TRUE(shared.ok()) << shared.error().message;
  EXPECT_THAT((*shared)->notes(), testing::Contains(HasSubstr("--insecure-shared-user")));
}

/// Work that was given GPUs that are not there would fail, and cost money.
TEST_F(StartedDaemon, RefusesGpusThatThisMachineDoesNotHave) {
  options_.allow_missing_gpus = false;
  const auto configure_gpus = [&](int gpus, std::string_view model, std::string_view library) {
    configure(fmt::format(
        R"({{"nodes": [{{"name": "box", "gpu_model": "{}", "gpus": {}, "per_hour": "2"}}], "queues": [{{"name": "a"}}],
                              "telemetry": {{"nvml_library": "{}"}}}})",
        model, gpus, library));
  };
  const auto refusal = [&] {
    const auto started = Daemon::start(options_);
    return started.ok() ? std::string("started") : started.error().message;
  };
  configure_gpus(2, "A100-80GB", "/no/such/library");
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("2 GPUs of A100-80GB"), HasSubstr("none can be seen"), HasSubstr("--allow-missing-gpus")));
  configure_gpus(4, "A100-80GB", STINT_FAKE_NVML);
  EXPECT_THAT(refusal(), HasSubstr("this machine has 2 GPUs, NVIDIA A100-SXM4-80GB"));
  configure_gpus(2, "H100-80GB", STINT_FAKE_NVML);
  EXPECT_THAT(refusal(), HasSubstr("this machine's are NVIDIA A100-SXM4-80GB"));
  EXPECT_FALSE(std::ifstream(dir_ / "state/events.db").good()) << "nothing is begun";
  configure_gpus(2, "A100-80GB", STINT_FAKE_NVML);
  EXPECT_EQ(refusal(), "started");
  configure_gpus(4, "H100-80GB", "/no/such/library");
  options_.allow_missing_gpus = true;
  options_.state_folder = dir_ / "another";
  EXPECT_EQ(refusal(), "started");
}

/// The driver says that a GPU is lost, and later that it is back.
TEST_F(StartedDaemon, GivesNoWorkToAMachineWhoseGpuDoesNotAnswer) {
  configure(fmt::format(R"({{"nodes": [{{"name": "box", "gpu_model": "A100-80GB", "gpus": 2, "per_hour": "2"}}],
                            "queues": [{{"name": "a"}}], "telemetry": {{"nvml_library": "{}", "every": 0.1}}}})",
                        STINT_FAKE_NVML));
  const auto daemon = Daemon::start(options_);
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  const auto node = [&] { return (*daemon)->service().get([](const Engine& e) { return e.nodes().front(); }).get(); };
  const auto wait_for = [&](NodeState state) {
    for (int i = 0; i < 600 && node().state != state; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return node();
  };
  const auto has_answered = [&] { return !(*daemon)->telemetry().snapshot().gpus.empty(); };
  for (int i = 0; i < 600 && !has_answered(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  setenv("FAKE_NVML_FAIL", "lost", 1);
  const NodeView broken = wait_for(NodeState::kDrained);
  unsetenv("FAKE_NVML_FAIL");
  EXPECT_EQ(broken.state, NodeState::kDrained);
  EXPECT_THAT(broken.detail, HasSubstr("GPU"));
  EXPECT_EQ(wait_for(NodeState::kUp).state, NodeState::kUp);
}

TEST_F(StartedDaemon, StandsByForALogInADatabaseAlone) {
  configure(kOne);
  options_.standby = true;
  EXPECT_THAT(Daemon::start(options_).error().message, HasSubstr("postgresql://"));
  options_.simulate = true;
  EXPECT_THAT(Daemon::start(options_).error().message, HasSubstr("postgresql://"));
}

}  // namespace
}  // namespace stint
