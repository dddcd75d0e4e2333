#include "clouds/ec2_launch.h"

#include <gmock/gmock.h>

#include <map>

#include "clouds/digests.h"

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

}  // namespace
}  // namespace stint
