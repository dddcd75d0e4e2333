// On tasks that really run: which processes are theirs, and which have no owner.
#include "backends/local/task_owner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "backends/local/local_backend.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/process.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

class TaskOwnersTest : public ::testing::Test {
 protected:
  TaskOwnersTest() {
    auto made = LocalBackend::create({.state_folder = dir_ / "state", .keeper = {STINT_TEST_KEEPER}, .clear = {"none.so"}});
    CHECK(made.ok(), "{}", made.error().message);
    backend_ = std::move(made).value();
  }
  ~TaskOwnersTest() override {
    (void)backend_->stop(kKey, Duration(), now());
    for (int i = 0; i < 400 && !backend_->running().empty(); ++i) {
      usleep(5000);
      backend_->poll(now());
    }
  }
  /// The number a task has written to that file, once it has.
  [[nodiscard]] int64_t number_in(const std::string& name) const {
    for (int i = 0; i < 2000; ++i) {
      const auto text = read_all(dir_ / name);
      if (text.ok() && text->ends_with('\n'))
        if (const auto number = parse_int(trim(*text))) return *number;
      usleep(5000);
    }
    return 0;
  }

  static constexpr LaunchKey kKey = {.job = 17, .attempt = 2, .task = 3};
  ScratchDir dir_;
  std::unique_ptr<LocalBackend> backend_;
};

TEST_F(TaskOwnersTest, AProcessIsItsTasksHoweverItWasStartedAndOthersHaveNoOwner) {
  Launch launch;
  launch.key = kKey;
  launch.folder = dir_ / "";
  launch.command = {"sh", "-c",
                    "echo $$ > first; sleep 60 & echo $! > child; setsid sh -c 'echo $$ > left; sleep 60' & "
                    "(setsid sh -c 'echo $$ > orphan; sleep 60' &) ; wait"};
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  TaskOwners owners(dir_ / "state");
  for (const char* which : {"first", "child", "left", "orphan"}) {
    const int64_t pid = number_in(which);
    ASSERT_GT(pid, 0) << which;
    EXPECT_EQ(owners.owner_of(pid), kKey) << which;
  }
  for (int i = 0; i < 2000 && program_of(number_in("child")) != "sleep"; ++i)
    usleep(5000);  // it is a shell first
  EXPECT_EQ(program_of(number_in("child")), "sleep");
  auto stranger = ChildProcess::start({"sleep", "60"});
  ASSERT_TRUE(stranger.ok());
  EXPECT_FALSE(owners.owner_of(stranger->pid()));
  EXPECT_FALSE(owners.owner_of(getpid()));
  EXPECT_FALSE(owners.owner_of(1 << 30)) << "there is no such process";
}

}  // namespace
}  // namespace stint
