#include "host/process.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ChildProcess, PassesOnHowItEnded) {
  auto exits = ChildProcess::start({"sh", "-c", "exit 7"});
  ASSERT_TRUE(exits.ok()) << exits.error().message;
  EXPECT_EQ(exits->wait_for(Duration::seconds(20))->shell_code(), 7);
  auto dies = ChildProcess::start({"sh", "-c", "kill -TERM $$"});
  EXPECT_EQ(dies->wait_for(Duration::seconds(20))->shell_code(), 128 + SIGTERM);
}

TEST(ChildProcess, TellsThatTheTimeIsUpAndGoesOn) {
  const ScratchDir dir;
  auto child = ChildProcess::start({"sh", "-c", "while [ ! -e " + (dir / "go") + " ]; do sleep 0.01; done"});
  EXPECT_FALSE(child->wait_for(Duration::milliseconds(30)).has_value());
  std::ofstream(dir / "go").close();
  EXPECT_TRUE(child->wait_for(Duration::seconds(20)).has_value());
  EXPECT_EQ(child->wait_for(Duration())->code, 0) << "the answer stays";
}

TEST(ChildProcess, AProgramThatIsNotThereIsSaid) {
  const auto child = ChildProcess::start({"no-such-program-anywhere"});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(child.error().message, HasSubstr("no-such-program-anywhere"));
}

TEST(ChildProcess, SignalsReachAllItStarted) {
  const ScratchDir dir;
  // The shell and its own child both write when the signal comes.
  const std::string script = "trap 'echo outer >>" + (dir / "out") + "; exit 3' TERM; (trap 'echo inner >>" + (dir / "out") +
                             "; exit' TERM; touch " + (dir / "ready") + "; while :; do sleep 0.01; done) & wait; wait";
  auto child = ChildProcess::start({"sh", "-c", script});
  while (!std::filesystem::exists(dir / "ready"))
    usleep(5000);
  kill(getpid(), SIGTERM);
  const auto ended = child->wait_for(Duration::seconds(20));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code, 3);
  for (int i = 0; i < 400 && text_of(dir / "out").find("inner") == std::string::npos; ++i)
    usleep(5000);
  EXPECT_THAT(text_of(dir / "out"), HasSubstr("outer"));
  EXPECT_THAT(text_of(dir / "out"), HasSubstr("inner"));
}

TEST(ChildProcess, IsEndedWithItsOwner) {
  int pid = 0;
  {
    auto child = ChildProcess::start({"sleep", "1000"});
    pid = child->pid();
  }
  EXPECT_NE(kill(pid, 0), 0) << "no process has this id any more";
}

TEST(RunCommand, GivesWhatItPrintsAndItsCode) {
  const auto output = run_command({"sh", "-c", "echo hello; exit 2"}, Duration::seconds(20));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->standard_output, "hello\n");
  EXPECT_EQ(output->status.code, 2);
}

TEST(RunCommand, InTheBackgroundItStepsBackAndSaysItsErrors) {
  const std::atomic<bool> stop = false;
  const auto done = run_in_background({"sh", "-c", "echo out; nice; echo err >&2; exit 3"}, Duration::seconds(20), 1000, stop);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->standard_output, "out\n19\n");
  EXPECT_EQ(done->standard_error, "err\n");
  EXPECT_EQ(done->status.code, 3);
}

TEST(RunCommand, InTheBackgroundItCanBeStopped) {
  const std::atomic<bool> stop = true;
  EXPECT_THAT(run_in_background({"sleep", "1000"}, Duration::seconds(100), 1000, stop).error().message, HasSubstr("stopped"));
}

TEST(RunCommand, EndsWhatHangsAndWhatNeverStopsTalking) {
  EXPECT_THAT(run_command({"sleep", "1000"}, Duration::milliseconds(50)).error().message, HasSubstr("did not end"));
  EXPECT_THAT(run_command({"yes"}, Duration::seconds(60)).error().message, HasSubstr("16 MiB"));
}

}  // namespace
}  // namespace stint
