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

TEST(FleetConfig, WhoSlowsWhomIsReadAndKept) {
  const auto with = [](const std::string& pairs) {
    return parse_daemon_config(R"({"queues":[{"name":"a"}],"interference":)" + pairs + "}", "fleet.json");
  };
  const auto config =
      with(R"([{"work":"bert","beside":"lm","slowdown_percent":40},{"work":"lm","beside":"bert","slowdown_percent":0}])");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const std::vector<MeasuredPair> pairs = {{"bert", "lm", 40}, {"lm", "bert", 0}};
  EXPECT_EQ(config->fleet.interference, pairs);
  EXPECT_EQ(parse_fleet_config(to_json(config->fleet), "log")->interference, pairs);
  EXPECT_THAT(with(R"([{"work":"bert","beside":"lm"}])").error().message, HasSubstr("'slowdown_percent'"));
  EXPECT_THAT(with(R"([{"beside":"lm","slowdown_percent":1}])").error().message, HasSubstr("'work'"));
  EXPECT_THAT(
      with(R"([{"work":"a","beside":"b","slowdown_percent":1},{"work":"a","beside":"b","slowdown_percent":2}])").error().message,
      HasSubstr("'a' beside 'b' stands twice"));
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

TEST(FleetConfig, MachinesOfAwsAreCompletedByTheirZone) {
  const auto made = config_with_power(
      R"({"aws":{"regions":[{"region":"us-east-1","image":"ami-1"},{"region":"eu-north-1","launch_template":"lt-1"}],"lifetime":"48h"},)"
      R"("pools":[{"name":"c","max":3,"machines":[{"gpus":8,"instance_type":"p5.48xlarge","zone":"eu-north-1a","market":"spot"}]}]})");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(made->power.is_on());
  EXPECT_EQ(made->power.clouds.aws->lifetime, kHour * 48);
  const Machine& machine = made->power.pools.front().kinds.front().machine;
  EXPECT_EQ(machine.region, "eu-north-1");
  EXPECT_EQ(machine.provider, "aws");
  EXPECT_FALSE(config_with_power(R"({"aws":{"regions":[{"region":"r","image":"ami-1"}],"lifetime":0},"pools":[]})")
                   ->power.clouds.aws->lifetime);
}

TEST(FleetConfig, WhatAwsCannotMakeIsRefusedWithTheReason) {
  const auto why = [](const std::string& aws,
                      const std::string& kind = R"({"gpus":8,"instance_type":"x","zone":"us-east-1a","market":"spot"})") {
    return config_with_power(R"({"aws":)" + aws + R"(,"pools":[{"name":"c","max":1,"machines":[)" + kind + "]}]}")
        .error()
        .message;
  };
  const std::string good = R"({"regions":[{"region":"us-east-1","image":"ami-1"}]})";
  EXPECT_THAT(why("{}"), HasSubstr("field 'regions'"));
  EXPECT_THAT(why(R"({"regions":[{"region":"us-east-1"}]})"), HasSubstr("field 'image'"));
  EXPECT_THAT(why(R"({"regions":[{"region":"us-east-1","image":"debian"}]})"), HasSubstr("begins with ami-"));
  EXPECT_THAT(why(R"({"regions":[{"region":"us-east-1","image":"ami-1","imag":1}]})"), HasSubstr("imag"));
  EXPECT_THAT(why(R"({"regions":[{"region":"us-east-1","image":"ami-1","subnets":{"eu-north-1a":"subnet-1"}}]})"),
              HasSubstr("field 'subnets'"));
  EXPECT_THAT(why(R"({"regions":[{"region":"us-east-1","image":"ami-1"}],"tags":{"stint:fleet":"x"}})"),
              HasSubstr("field 'tags'"));
  EXPECT_THAT(why(R"({"regions":[{"region":"us-east-1","image":"ami-1"}],"lifetime":"1m"})"), HasSubstr("field 'lifetime'"));
  EXPECT_THAT(why(R"({"regions":[{"region":"us-east-1","image":"ami-1"}],"user_data":"slurmd"})"),
              HasSubstr("field 'user_data'"));
  EXPECT_THAT(why(good, R"({"gpus":8,"zone":"us-east-1a","market":"spot"})"), HasSubstr("`instance_type`"));
  EXPECT_THAT(why(good, R"({"gpus":8,"instance_type":"x","zone":"us-east-1a"})"), HasSubstr("`market`"));
  EXPECT_THAT(why(good, R"({"gpus":8,"instance_type":"x","zone":"eu-north-1a","market":"spot"})"),
              HasSubstr("`region` 'eu-north-1' is none of `aws`: us-east-1"));
  EXPECT_THAT(why(good, R"({"gpus":8,"instance_type":"x","region":"us-east-1","zone":"us-west-2a","market":"spot"})"),
              HasSubstr("`zone` 'us-west-2a' is not in the region us-east-1"));
  EXPECT_THAT(why(good, R"({"gpus":8,"instance_type":"x","provider":"gcp","zone":"us-east-1a","market":"spot"})"),
              HasSubstr("`provider`"));
  EXPECT_THAT(config_with_power(R"({"aws":)" + good + R"(,"pools":[{"name":"c","nodes":["n1"]}]})").error().message,
              HasSubstr("switches none that exist"));
  EXPECT_THAT(config_with_power(R"({"aws":)" + good + R"(,"simulated_cloud":{},"pools":[]})").error().message,
              HasSubstr("one of `program`"));
}

const std::string kGcpForPools = R"({"project":"p-1","image":"projects/p-1/global/images/family/gpu"})";
const std::string kAzureForPools =
    R"({"subscription":"s","resource_group":"g","image":"a:b:c:latest","ssh_key":"ssh-ed25519 AAAA",)"
    R"("regions":[{"region":"eastus","subnet":"/subscriptions/s/subnets/a"}]})";

TEST(FleetConfig, MachinesOfSeveralCloudsStandInOnePool) {
  const auto made = config_with_power(
      R"({"aws":{"regions":[{"region":"us-east-1","image":"ami-1"}],"lifetime":"48h","list_lag":"40s"},"gcp":)" + kGcpForPools +
      R"(,"azure":)" + kAzureForPools +
      R"(,"pools":[{"name":"c","max":3,"machines":[)"
      R"({"gpus":8,"provider":"aws","instance_type":"p4d.24xlarge","zone":"us-east-1a","market":"spot"},)"
      R"({"gpus":8,"provider":"gcp","instance_type":"a2-highgpu-8g","zone":"us-central1-a","market":"spot"},)"
      R"({"gpus":8,"provider":"azure","instance_type":"Standard_ND96asr_v4","zone":"eastus-1","market":"on-demand"}]}]})");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(made->power.is_on());
  EXPECT_EQ(made->power.clouds.names(), "AWS, Google Cloud and Azure");
  EXPECT_EQ(made->power.clouds.lifetime(), kHour * 48) << "the shortest";
  EXPECT_EQ(made->power.clouds.list_lag(), Duration::seconds(40)) << "the longest";
  const auto& kinds = made->power.pools.front().kinds;
  EXPECT_EQ(kinds[1].machine.region, "us-central1");
  EXPECT_EQ(kinds[1].name, "c/a2-highgpu-8g/us-central1-a/spot");
  EXPECT_EQ(kinds[2].machine.region, "eastus");
  const GceSettings& gcp = *made->power.clouds.gcp;
  EXPECT_EQ(gcp.project, "p-1");
  EXPECT_EQ(gcp.disk_gib, 100);
  EXPECT_TRUE(gcp.public_address);
  EXPECT_EQ(made->power.clouds.azure->places.front().subnet, "/subscriptions/s/subnets/a");
  const auto alone = config_with_power(
      R"({"gcp":{"project":"p-1","image":"projects/p-1/global/images/i","disk_gib":500,"network":"global/networks/n",)"
      R"("subnetworks":{"us-central1":"regions/us-central1/subnetworks/a"},"public_address":false,)"
      R"("service_account":"s@p-1.iam.gserviceaccount.com","labels":{"team":"ml"},"lifetime":0,"list_lag":"2s"},"pools":[]})");
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(*alone->power.clouds.gcp, (GceSettings{.project = "p-1",
                                                   .image = "projects/p-1/global/images/i",
                                                   .disk_gib = 500,
                                                   .network = "global/networks/n",
                                                   .subnetworks = {{"us-central1", "regions/us-central1/subnetworks/a"}},
                                                   .public_address = false,
                                                   .service_account = "s@p-1.iam.gserviceaccount.com",
                                                   .labels = {{"team", "ml"}},
                                                   .user_data = {},
                                                   .lifetime = {},
                                                   .list_lag = Duration::seconds(2)}));
}

TEST(FleetConfig, WhatGoogleOrAzureCannotMakeIsRefusedWithFileAndField) {
  const auto with = [](const std::string& clouds, const std::string& kind) {
    return config_with_power("{" + clouds + R"(,"pools":[{"name":"c","max":1,"machines":[)" + kind + "]}]}").error().message;
  };
  /// The object with one member in place of what it had, or beside it.
  const auto gcp = [&](const std::string& member) {
    const std::string kind = R"({"gpus":8,"instance_type":"x","zone":"us-central1-a","market":"spot"})";
    std::string object = R"({"project":"p-1","image":"projects/p-1/global/images/i"})";
    const std::string name = member.substr(0, member.find(':'));
    for (const std::string known : {R"("project":"p-1")", R"("image":"projects/p-1/global/images/i")"})
      if (known.starts_with(name + ":"))
        return with(R"("gcp":)" + object.replace(object.find(known), known.size(), member), kind);
    return with(R"("gcp":)" + object.insert(1, member + ","), kind);
  };
  EXPECT_THAT(gcp(R"("project":"")"), HasSubstr("fleet.json: power: gcp: field 'project'"));
  EXPECT_THAT(gcp(R"("image":"debian-12")"), HasSubstr("field 'image' must be what machines start from: projects/PROJECT"));
  EXPECT_THAT(gcp(R"("disk_gib":1)"), HasSubstr("field 'disk_gib'"));
  EXPECT_THAT(gcp(R"("labels":{"Team":"ml"})"), HasSubstr("lower case"));
  EXPECT_THAT(gcp(R"("labels":{"stint-fleet":"x"})"), HasSubstr("Stint's"));
  EXPECT_THAT(gcp(R"("service_account":"me")"), HasSubstr("field 'service_account'"));
  EXPECT_THAT(gcp(R"("lifetime":"3000h")"), HasSubstr("at most 120 days"));
  EXPECT_THAT(gcp(R"("zones":[])"), HasSubstr("unknown field 'zones'"));
  const auto google_kind = [&](const std::string& kind) { return with(R"("gcp":)" + kGcpForPools, kind); };
  EXPECT_THAT(google_kind(R"({"gpus":8,"instance_type":"x","region":"us-central1","market":"spot"})"),
              HasSubstr("Google Cloud cannot make it: `zone`"));
  EXPECT_THAT(google_kind(R"({"gpus":8,"instance_type":"x","zone":"us-central1-a","market":"reserved"})"),
              HasSubstr("`market`: spot or on-demand"));
  EXPECT_THAT(google_kind(R"({"gpus":8,"provider":"azure","instance_type":"x","zone":"eastus-1","market":"spot"})"),
              HasSubstr("`provider` 'azure'"));

  const auto azure = [&](const std::string& from, const std::string& to) {
    std::string object = kAzureForPools;
    object.replace(object.find(from), from.size(), to);
    return with(R"("azure":)" + object, R"({"gpus":8,"instance_type":"x","zone":"eastus-1","market":"spot"})");
  };
  EXPECT_THAT(azure(R"("subscription":"s")", R"("subscription":"/subscriptions/s")"),
              HasSubstr("fleet.json: power: azure: field 'subscription'"));
  EXPECT_THAT(azure(R"("resource_group":"g",)", ""), HasSubstr("field 'resource_group'"));
  EXPECT_THAT(azure("a:b:c:latest", "ubuntu"), HasSubstr("publisher:offer:sku:version"));
  EXPECT_THAT(azure(R"("image":"a:b:c:latest",)", ""), HasSubstr("regions 1: field 'image'"));
  EXPECT_THAT(azure("ssh-ed25519 AAAA", "key"), HasSubstr("field 'ssh_key'"));
  EXPECT_THAT(azure(R"("region":"eastus")", R"("region":"East US")"), HasSubstr("field 'region'"));
  EXPECT_THAT(azure("/subscriptions/s/subnets/a", "a"), HasSubstr("field 'subnet'"));
  EXPECT_THAT(azure(R"("regions":)", R"("identity":"me","regions":)"), HasSubstr("field 'identity'"));
  EXPECT_THAT(azure(R"("region":"eastus")", R"("region":"westeurope")"), HasSubstr("none of `azure`: westeurope"));
  // Of several clouds each kind says whose it is.
  EXPECT_THAT(with(R"("gcp":)" + kGcpForPools + R"(,"azure":)" + kAzureForPools,
                   R"({"gpus":8,"instance_type":"x","zone":"us-central1-a","market":"spot"})"),
              HasSubstr("`provider` '': one of aws, gcp and azure"));
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
