#include "daemon/fleet_config.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<DaemonConfig> config_with_model(const std::string& model) {
  return parse_daemon_config(R"({"nodes":[{"name":"n0","gpu_model":")" + model + R"(","gpus":8}],"queues":[{"name":"main"}]})",
                             "fleet.json");
}

TEST(FleetConfig, AModelThatTheCatalogueDoesNotKnowIsRefusedWithTheNearestName) {
  const auto wrong = config_with_model("A100-80G");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, AllOf(HasSubstr("fleet.json: node 'n0'"), HasSubstr("did you mean 'A100-80GB'?")));
}

TEST(FleetConfig, NamesOfTheCatalogueAndTheirAliasesAreTaken) {
  EXPECT_TRUE(config_with_model("A100-80GB").ok());
  EXPECT_TRUE(config_with_model("NVIDIA A100-SXM4-80GB").ok());
  EXPECT_TRUE(config_with_model("").ok());
}

TEST(FleetConfig, AClientsRegionsAreGlobsAndSomeMachineIsInThem) {
  const auto with = [](const std::string& regions, const std::string& region = "eu-west-1") {
    return parse_daemon_config(R"({"nodes":[{"name":"n0","gpus":8,"region":")" + region + R"("}],"queues":[{"name":"a"}],)" +
                                   R"("govern":{"clients":[{"name":"a","regions":)" + regions + "}]}}",
                               "fleet.json");
  };
  EXPECT_TRUE(with(R"(["eu-*"])").ok());
  EXPECT_TRUE(with(R"(["us-*","eu-west-1"])").ok());
  EXPECT_THAT(with(R"(["us-*"])").error().message,
              HasSubstr("govern: client 'a': field 'regions': no machine is in us-*; machines are in eu-west-1"));
  EXPECT_THAT(with(R"(["us-*"])", "").error().message, HasSubstr("machines name no region"));
}

TEST(FleetConfig, StatementsHaveADayThatEveryMonthHas) {
  const auto with = [](const std::string& statements) {
    return parse_daemon_config(R"({"nodes":[{"name":"n0","gpus":8}],"queues":[{"name":"main"}],"statements":)" + statements + "}",
                               "fleet.json");
  };
  const auto good = with(R"({"day":28,"idle":"spread"})");
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(good->statements.day, 28);
  EXPECT_EQ(good->statements.idle, "spread");
  EXPECT_EQ(config_with_model("")->statements.day, 0);
  EXPECT_THAT(with(R"({"day":29})").error().message, HasSubstr("fleet.json: statements: field 'day'"));
  EXPECT_THAT(with(R"({"basis":"net"})").error().message, HasSubstr("effective or billed"));
  EXPECT_FALSE(with(R"({"dya":1})").ok());
}

TEST(FleetConfig, WhatALogKeepsIsReadWhateverTheCatalogueKnowsToday) {
  const auto kept =
      parse_fleet_config(R"({"nodes":[{"name":"n0","gpu_model":"Q1","gpus":8}],"queues":[{"name":"main"}]})", "log");
  EXPECT_TRUE(kept.ok());
}

}  // namespace
}  // namespace stint
