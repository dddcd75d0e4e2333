#include "clouds/user_data.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/text.h"
#include "host/file.h"
#include "host/process.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The script on a machine whose folders and `shutdown` are the test's.
class FirstStartTest : public ::testing::Test {
 protected:
  FirstStartTest() {
    put_file(dir_ / "shutdown", fmt::format("#!/bin/sh\necho \"$@\" >>{}\n", dir_ / "told"));
    ::chmod((dir_ / "shutdown").c_str(), 0755);
  }
  void start(std::string script) {
    for (size_t at = script.find("/var/lib"); at != std::string::npos; at = script.find("/var/lib", at + (dir_ / "lib").size()))
      script.replace(at, std::string("/var/lib").size(), dir_ / "lib");
    put_file(dir_ / "script", script);
    const auto done = run_command({"env", fmt::format("PATH={}:/usr/bin:/bin", dir_ / "."), "sh", dir_ / "script"},
                                  Duration::seconds(30), 1 << 16);
    ASSERT_TRUE(done.ok()) << done.error().message;
    ASSERT_EQ(done->status.shell_code(), 0) << done->standard_error;
  }
  ScratchDir dir_;
};

TEST_F(FirstStartTest, ItEndsByItselfAndARestartDoesNotPutThatOff) {
  const std::string script = first_start_script({.machine = "burst-1", .lifetime = Duration::hours(2)});
  start(script);
  EXPECT_EQ(trim(*read_all(dir_ / "lib/stint/machine")), "burst-1");
  const std::string ends = *read_all(dir_ / "lib/stint/ends");
  const auto told = parse_int(trim(*read_all(dir_ / "told")).substr(std::string("-P +").size()));
  ASSERT_TRUE(told.has_value());
  EXPECT_GE(*told, 110) << "minutes";
  EXPECT_LE(*told, 120);
  start(script);
  EXPECT_EQ(*read_all(dir_ / "lib/stint/ends"), ends);
  put_file(dir_ / "lib/stint/ends", "1000\n");  // long ago
  std::filesystem::remove(dir_ / "told");
  start(*read_all(dir_ / "lib/cloud/scripts/per-boot/stint-ends"));
  EXPECT_EQ(trim(*read_all(dir_ / "told")), "-P +0");
}

TEST_F(FirstStartTest, WithoutALifetimeItStays) {
  start(first_start_script({.machine = "burst-1"}));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "told"));
}

TEST(UserData, TheUsersPartComesBehind) {
  const auto script = user_data_of({.machine = "m", .lifetime = Duration::hours(1)}, kMostEc2UserData);
  EXPECT_THAT(*script, ::testing::StartsWith("#!/bin/sh\n"));
  const auto both = user_data_of({.machine = "m", .user_part = "#!/bin/bash\nslurmd\n"}, kMostEc2UserData);
  EXPECT_THAT(*both, AllOf(::testing::StartsWith("Content-Type: multipart/mixed;"), HasSubstr("/var/lib/stint/machine"),
                           HasSubstr("text/x-shellscript; charset=\"utf-8\"\n\n#!/bin/bash\nslurmd\n")));
  EXPECT_THAT(*user_data_of({.machine = "m", .user_part = "#cloud-config\npackages: [a]\n"}, kMostEc2UserData),
              HasSubstr("text/cloud-config"));
}

TEST(UserData, WhatACloudDoesNotTakeIsRefusedWithItsLimit) {
  const FirstStart first{.machine = "m", .lifetime = {}, .give_back = {}, .user_part = std::string(kMostEc2UserData, 'x')};
  EXPECT_THAT(user_data_of(first, kMostEc2UserData).error().message, HasSubstr("the cloud takes 16384"));
  EXPECT_TRUE(user_data_of(first, kMostAzureUserData).ok());
}

}  // namespace
}  // namespace stint
