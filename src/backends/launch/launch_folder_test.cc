#include "backends/launch/launch_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "launch/testing_launch.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kBookRow =
    "machine\tnight-1\tp4d.24xlarge/us-east-1a/spot\tnight\t\tasked\t5\t5\t-\t10000000000\tUSD\t\t0\t1\t\t";
constexpr const char* kLaunchRow = "machine\tnight-1\tp4d.24xlarge/us-east-1a/spot\t10000000000\tUSD\t5\t-\t\t0\t0\t";

class LaunchFolderTest : public ::testing::Test {
 protected:
  LaunchFolderTest() {
    EXPECT_TRUE(make_launch_folder(folder_).ok());
    EXPECT_TRUE(keep_launch_plan(folder_, whole_launch_plan()).ok());
  }
  ScratchDir dir_;
  std::string folder_ = dir_ / "launches/night";
};

TEST_F(LaunchFolderTest, WhatWasAppendedIsReadBackAndAnOrderWithoutAnswerIsUnsure) {
  {
    auto folder = LaunchFolder::open(folder_);
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    ASSERT_TRUE(folder->append({kBookRow}, {kLaunchRow}).ok());
  }
  const auto state = read_launch(folder_, Instant::from_ns(9));
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(state->plan, whole_launch_plan());
  ASSERT_TRUE(state->book.machines().contains("night-1"));
  EXPECT_EQ(state->book.machines().at("night-1").state, MadeState::kUnsure);
  EXPECT_EQ(state->record.machines().size(), 1U);
  EXPECT_THAT(launches_in(dir_ / "launches"), ElementsAre("night"));
}

TEST_F(LaunchFolderTest, ARowThatWasCutOffNeverWas) {
  put_file(folder_ + "/log", std::string("launch\tstop\t7\nbook\t") + std::string(kBookRow).substr(0, 40));
  const auto before = read_launch(folder_, {});
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_TRUE(before->book.machines().empty());
  EXPECT_TRUE(before->record.stopped().has_value());
  {
    auto folder = LaunchFolder::open(folder_);
    ASSERT_TRUE(folder->append({kBookRow}, {}).ok());
  }
  const auto after = read_launch(folder_, {});
  ASSERT_TRUE(after.ok()) << "the next row stands on a line of its own: " << after.error().message;
  EXPECT_EQ(after->book.machines().size(), 1U);
}

TEST_F(LaunchFolderTest, OneControllerAtATimeAndOneLaunchOfAName) {
  const auto first = LaunchFolder::open(folder_);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(LaunchFolder::open(folder_).error().code, ErrorCode::kConflict);
  EXPECT_THAT(make_launch_folder(folder_).error().message, HasSubstr("--resume night"));
  EXPECT_THAT(LaunchFolder::open(dir_ / "launches/day").error().message, HasSubstr("day: no such launch"));
}

TEST_F(LaunchFolderTest, WhatIsBrokenNamesItsLine) {
  put_file(folder_ + "/log", "launch\tstop\t7\nlaunch\twings\n");
  EXPECT_THAT(read_launch(folder_, {}).error().message, HasSubstr("/log:2: 'wings'"));
  put_file(folder_ + "/log", "hello\n");
  EXPECT_THAT(read_launch(folder_, {}).error().message, HasSubstr("/log:1: 'hello'"));
}

TEST_F(LaunchFolderTest, ItsSecretsAreItsOwnersAlone) {
  struct stat file = {}, folder = {};
  ASSERT_EQ(::stat((folder_ + "/launch.json").c_str(), &file), 0);
  ASSERT_EQ(::stat(folder_.c_str(), &folder), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  EXPECT_EQ(folder.st_mode & 0777, 0700U);
}

}  // namespace
}  // namespace stint
