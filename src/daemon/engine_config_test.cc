#include "daemon/engine_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/fleet_config.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EngineConfig, NodesAreThePricesOfSlurmsMachines) {
  const auto config = parse_daemon_config(
      R"({"nodes": [{"name": "n[1-2,7]", "per_hour": "16", "market": "spot"}], "queues": [{"name": "acme"}],
          "engine": {"slurm": {"accounts": {"lab": "acme"}, "qos": {"high": "100"}, "users": {"acme/ada": "ada"}, "every": "3s"}}})",
      "fleet.json");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_THAT(config->fleet.nodes, IsEmpty()) << "Slurm says which there are";
  EXPECT_TRUE(config->fleet.machines_come);
  ASSERT_TRUE(config->engine.slurm);
  const SlurmEngineConfig& slurm = *config->engine.slurm;
  EXPECT_EQ(slurm.machines.size(), 3U);
  EXPECT_EQ(slurm.machines.at("n7").rate, Rate::per_hour(Money::units(16)));
  EXPECT_EQ(slurm.machines.at("n7").market, Market::kSpot);
  EXPECT_EQ(slurm.accounts.at("lab"), "acme");
  EXPECT_EQ(slurm.qos.at("high"), 100);
  EXPECT_EQ(slurm.users.at("acme/ada"), "ada");
  EXPECT_EQ(slurm.every, Duration::seconds(3));
}

TEST(EngineConfig, AKubernetesHasAQueueForEveryNamespace) {
  const auto config = parse_daemon_config(
      R"({"nodes": [{"name": "gpu-[0-1]", "per_hour": "16"}], "queues": [{"name": "acme"}, {"name": "rest"}],
          "engine": {"kubernetes": {"queue": "rest", "namespaces": {"team": "acme"}, "priorities": {"high": "100"},
                                    "lease_namespace": "stint", "lease_duration": "20s"}}})",
      "fleet.json");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_TRUE(config->fleet.machines_come);
  ASSERT_TRUE(config->engine.kubernetes);
  const KubernetesEngineConfig& kubernetes = *config->engine.kubernetes;
  EXPECT_EQ(kubernetes.scheduler, "stint");
  EXPECT_EQ(kubernetes.namespaces.at("team"), "acme");
  EXPECT_EQ(kubernetes.priorities.at("high"), 100);
  EXPECT_EQ(kubernetes.machines.at("gpu-1").rate, Rate::per_hour(Money::units(16)));
  EXPECT_EQ(kubernetes.lease_namespace, "stint");
  EXPECT_EQ(kubernetes.lease_duration, Duration::seconds(20));
}

TEST(EngineConfig, KubernetesMakesJobsWhereItSays) {
  const auto jobs_of = [](const std::string& jobs) {
    return parse_daemon_config(
        R"({"nodes": [], "queues": [{"name": "acme"}], "engine": {"kubernetes": {"queue": "acme", "jobs": )" + jobs + "}}}",
        "fleet.json");
  };
  const auto config =
      jobs_of(R"({"namespace": "jobs", "clients": {"acme": "team"}, "keep": "2h", "tolerations": ["a:NoSchedule"]})");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const KubernetesJobsConfig& jobs = *config->engine.kubernetes->jobs;
  EXPECT_EQ(jobs.ns, "jobs");
  EXPECT_EQ(jobs.clients.at("acme"), "team");
  EXPECT_EQ(jobs.keep, Duration::hours(2));
  EXPECT_EQ(jobs.tolerations.size(), 1U);
  EXPECT_FALSE(jobs.restricted);
  EXPECT_THAT(jobs_of("{}").error().message, HasSubstr("namespace"));
  EXPECT_THAT(jobs_of(R"({"namespace": "jobs", "keep": "1s"})").error().message, HasSubstr("from 1m"));
  EXPECT_THAT(jobs_of(R"({"namespace": "jobs", "kep": "1h"})").error().message, HasSubstr("kep"));
}

TEST(EngineConfig, WhatIsNoEngineIsSaidWithItsPlace) {
  const auto error_of = [](const std::string& engine) {
    const auto config =
        parse_daemon_config(R"({"nodes": [], "queues": [{"name": "acme"}], "engine": )" + engine + "}", "fleet.json");
    return config.ok() ? std::string() : config.error().message;
  };
  EXPECT_THAT(error_of("{}"), HasSubstr("slurm"));
  EXPECT_THAT(error_of(R"({"slurm": {"qos": {"high": "much"}}})"), HasSubstr("qos"));
  EXPECT_THAT(error_of(R"({"slurm": {"every": "1ms"}})"), HasSubstr("100ms or more"));
  EXPECT_THAT(error_of(R"({"slurm": {"acounts": {}}})"), HasSubstr("acounts"));
  EXPECT_THAT(error_of(R"({"slurm": {}, "kubernetes": {"queue": "acme"}})"), HasSubstr("one of the engines"));
  EXPECT_THAT(error_of(R"({"kubernetes": {}})"), HasSubstr("queue"));
  EXPECT_THAT(error_of(R"({"kubernetes": {"queue": "acme", "scheduler": "default-scheduler"}})"), HasSubstr("scheduler"));
  EXPECT_THAT(error_of(R"({"kubernetes": {"queue": "acme", "lease_duration": "1s"}})"), HasSubstr("from 2s to 10m"));
}

}  // namespace
}  // namespace stint
