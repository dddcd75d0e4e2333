#include "clouds/aws_profile.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AwsProfiles, ReadsBothKindsOfFiles) {
  const auto config = parse_aws_profiles(
      "# at the top\n[default]\nregion = eu-central-1\n[profile 'gpu fleet']\r\nrole_arn=arn:aws:iam::1:role/a  # why\r\n"
      "source_profile = default ; whose\n[sso-session x]\nregion = none\n",
      AwsFileKind::kConfig, "config");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->size(), 2U);
  EXPECT_EQ(value_of(config->at("default"), "region"), "eu-central-1");
  EXPECT_EQ(value_of(config->at("gpu fleet"), "role_arn"), "arn:aws:iam::1:role/a");
  EXPECT_EQ(value_of(config->at("gpu fleet"), "source_profile"), "default");
  const auto keys =
      parse_aws_profiles("[gpu]\naws_access_key_id = A\nAWS_SECRET_ACCESS_KEY = a#b;c=d\n", AwsFileKind::kCredentials, "c");
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(value_of(keys->at("gpu"), "aws_secret_access_key"), "a#b;c=d");
  EXPECT_THAT(value_of(keys->at("gpu"), "region"), IsEmpty());
}

TEST(AwsProfiles, NestedValuesArePassedOver) {
  const auto config =
      parse_aws_profiles("[default]\ns3 =\n  max_concurrent_requests = 20\nregion = a\n", AwsFileKind::kConfig, "config");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(value_of(config->at("default"), "region"), "a");
  EXPECT_THAT(value_of(config->at("default"), "max_concurrent_requests"), IsEmpty());
}

TEST(AwsProfiles, WhatIsWrongIsNamedByLineAndNeverRepeated) {
  const auto secret = parse_aws_profiles("[default]\nthesecret\n", AwsFileKind::kCredentials, "~/.aws/credentials");
  ASSERT_FALSE(secret.ok());
  EXPECT_THAT(secret.error().message, HasSubstr("~/.aws/credentials:2:"));
  EXPECT_THAT(secret.error().message, Not(HasSubstr("thesecret")));
  EXPECT_THAT(parse_aws_profiles("a = b\n", AwsFileKind::kConfig, "f").error().message, HasSubstr("[default]"));
  EXPECT_THAT(parse_aws_profiles("[open\n", AwsFileKind::kConfig, "f").error().message, HasSubstr("f:1:"));
}

}  // namespace
}  // namespace stint
