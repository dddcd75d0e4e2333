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

Result<DaemonConfig> config_with_power(const std::string& power) {
  return parse_daemon_config(
      R"({"nodes":[{"name":"burst-0","gpus":8},{"name":"n1"}],"queues":[{"name":"main"}],"power":)" + power + "}", "fleet.json");
}

TEST(FleetConfig, APoolSwitchesMachinesOrMakesThem) {
  const auto switched = config_with_power(R"({"program":"/bin/p","pools":[{"name":"a","nodes":["n1"]}]})");
  ASSERT_TRUE(switched.ok()) << switched.error().message;
  EXPECT_FALSE(switched->fleet.machines_come);
  const auto made = config_with_power(
      R"({"simulated_cloud":{"quota":4},"most_per_hour":"90","pools":[{"name":"c","max":3,"machines":)"
      R"([{"gpus":8,"instance_type":"x","zone":"z","market":"spot","per_hour":"30","limit_per_hour":"40"}]}]})");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(made->fleet.machines_come);
  const CapacityPool& kind = made->power.pools.front().kinds.front();
  EXPECT_EQ(kind.name, "c/x/z/spot");
  EXPECT_EQ(kind.limit, Rate::per_hour(Money::units(40)));
  // What the log keeps of it says so, too.
  EXPECT_TRUE(parse_fleet_config(to_json(made->fleet), "log")->machines_come);
}

TEST(FleetConfig, APoolThatCannotBeIsRefusedWithTheReason) {
  const auto why = [](const std::string& power) { return config_with_power(power).error().message; };
  const std::string kind = R"("machines":[{"gpus":8,"instance_type":"x"}])";
  EXPECT_THAT(why(R"({"pools":[]})"), HasSubstr("one of `program`"));
  EXPECT_THAT(why(R"({"program":"/p","simulated_cloud":{},"pools":[]})"), HasSubstr("one of `program`"));
  EXPECT_THAT(why(R"({"simulated_cloud":{},"pools":[{"name":"c",)" + kind + "}]}"), HasSubstr("how many machines there may be"));
  EXPECT_THAT(why(R"({"simulated_cloud":{},"pools":[{"name":"burst","max":1,)" + kind + "}]}"),
              HasSubstr("machine 'burst-0' of the configuration is called as those that this pool makes"));
  EXPECT_THAT(why(R"({"program":"/p","pools":[{"name":"c","max":1,)" + kind + "}]}"), HasSubstr("`provider` in its place"));
  EXPECT_THAT(why(R"({"simulated_cloud":{},"pools":[{"name":"c","max":1,"nodes":["n1"],)" + kind + "}]}"),
              HasSubstr("field 'nodes'"));
  EXPECT_THAT(why(R"({"simulated_cloud":{},"pools":[{"name":"c","max":1,"machines":[{"gpus":8,"gpu_model":"H1000"}]}]})"),
              HasSubstr("the catalogue knows no GPU 'H1000'"));
  EXPECT_THAT(why(R"({"simulated_cloud":{"stockot":1},"pools":[]})"), HasSubstr("stockot"));
}

}  // namespace
}  // namespace stint
