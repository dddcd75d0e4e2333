#include "clouds/ec2_launch.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>

#include "base/text.h"
#include "clouds/digests.h"
#include "host/file.h"
#include "host/process.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::map<std::string, std::string> fields_of(const Ec2Launch& launch) {
  std::map<std::string, std::string> fields;
  for (const auto& [name, value] : ec2_launch_form(launch))
    EXPECT_TRUE(fields.emplace(name, value).second) << name << " stands twice";
  return fields;
}

TEST(Ec2Launch, ASpotMachineInAZone) {
  const auto form = fields_of({.token = "t",
                               .image = "ami-1",
                               .instance_type = "p5.48xlarge",
                               .zone = "us-east-1a",
                               .security_groups = {"sg-1", "sg-2"},
                               .instance_profile = "gpu",
                               .spot = true,
                               .most_per_hour = "39.5",
                               .tags = {{"stint:fleet", "f"}, {"stint:machine", "m"}},
                               .user_data = "#!/bin/sh\n"});
  // Names as botocore's serializer writes them.
  EXPECT_THAT(form,
              AllOf(Contains(Pair("Action", "RunInstances")), Contains(Pair("MinCount", "1")), Contains(Pair("MaxCount", "1")),
                    Contains(Pair("ClientToken", "t")), Contains(Pair("Placement.AvailabilityZone", "us-east-1a"))));
  EXPECT_THAT(form, AllOf(Contains(Pair("InstanceMarketOptions.MarketType", "spot")),
                          Contains(Pair("InstanceMarketOptions.SpotOptions.MaxPrice", "39.5")),
                          Contains(Pair("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time")),
                          Contains(Pair("InstanceInitiatedShutdownBehavior", "terminate")),
                          Contains(Pair("MetadataOptions.HttpTokens", "required"))));
  EXPECT_THAT(form, AllOf(Contains(Pair("SecurityGroupId.2", "sg-2")), Contains(Pair("IamInstanceProfile.Name", "gpu")),
                          Contains(Pair("TagSpecification.1.ResourceType", "instance")),
                          Contains(Pair("TagSpecification.2.ResourceType", "volume")),
                          Contains(Pair("TagSpecification.1.Tag.2.Key", "stint:machine")),
                          Contains(Pair("TagSpecification.2.Tag.2.Value", "m"))));
  EXPECT_EQ(from_base64(form.at("UserData")), "#!/bin/sh\n");
}

TEST(Ec2Launch, WhatIsNotSaidIsNotSent) {
  const auto form =
      fields_of({.token = "t", .launch_template = "gpu", .instance_type = "p5.48xlarge", .zone = "z", .subnet = "subnet-1"});
  for (const auto& [name, value] : form)
    EXPECT_THAT(value, Not("")) << name;
  EXPECT_EQ(form.at("LaunchTemplate.LaunchTemplateName"), "gpu");
  EXPECT_EQ(form.at("SubnetId"), "subnet-1");
  EXPECT_FALSE(form.contains("Placement.AvailabilityZone")) << "the subnet is in one zone";
  EXPECT_FALSE(form.contains("InstanceMarketOptions.MarketType"));
  EXPECT_FALSE(form.contains("ImageId"));
}

TEST(Ec2Launch, TheSameMachineHasTheSameToken) {
  EXPECT_EQ(ec2_token("stint-1", "burst-1"), ec2_token("stint-1", "burst-1"));
  EXPECT_NE(ec2_token("stint-1", "burst-1"), ec2_token("stint-2", "burst-1"));
  EXPECT_NE(ec2_token("stint-1", "burst-1"), ec2_token("stint-1", "burst-2"));
  EXPECT_EQ(ec2_token("stint-1", "burst-1").size(), 64U) << "EC2 takes no longer one";
}

/// The script on a machine whose folders and `shutdown` are the test's.
class Ec2FirstStartTest : public ::testing::Test {
 protected:
  Ec2FirstStartTest() {
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

TEST_F(Ec2FirstStartTest, ItEndsByItselfAndARestartDoesNotPutThatOff) {
  const std::string script = ec2_first_script({.machine = "burst-1", .lifetime = Duration::hours(2)});
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

TEST_F(Ec2FirstStartTest, WithoutALifetimeItStays) {
  start(ec2_first_script({.machine = "burst-1"}));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "told"));
}

TEST(Ec2UserData, TheUsersPartComesBehind) {
  const auto script = ec2_user_data({.machine = "m", .lifetime = Duration::hours(1)});
  EXPECT_THAT(*script, ::testing::StartsWith("#!/bin/sh\n"));
  const auto both = ec2_user_data({.machine = "m", .user_part = "#!/bin/bash\nslurmd\n"});
  EXPECT_THAT(*both, AllOf(::testing::StartsWith("Content-Type: multipart/mixed;"), HasSubstr("/var/lib/stint/machine"),
                           HasSubstr("text/x-shellscript; charset=\"utf-8\"\n\n#!/bin/bash\nslurmd\n")));
  EXPECT_THAT(*ec2_user_data({.machine = "m", .user_part = "#cloud-config\npackages: [a]\n"}), HasSubstr("text/cloud-config"));
  EXPECT_THAT(ec2_user_data({.machine = "m", .user_part = std::string(kMostUserData, 'x')}).error().message, HasSubstr("16384"));
}

}  // namespace
}  // namespace stint
