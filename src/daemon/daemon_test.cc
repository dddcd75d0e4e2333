#include "daemon/daemon.h"

#include <gmock/gmock.h>

#include <fstream>

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
  DaemonOptions options_{.config_file = dir_ / "fleet.json", .state_folder = dir_ / "state", .insecure_shared_user = true};
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

TEST_F(StartedDaemon, RefusesToStandByWhereTasksRunHere) {
  configure(kOne);
  options_.standby = true;
  const auto refused = Daemon::start(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("--standby"), HasSubstr("a second time"), HasSubstr("packaging/stint.service")));
  options_.simulate = true;  // goes on to what a standby needs
  EXPECT_THAT(Daemon::start(options_).error().message, HasSubstr("postgresql://"));
}

}  // namespace
}  // namespace stint
