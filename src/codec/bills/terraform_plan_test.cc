#include "codec/bills/terraform_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A plan that creates the one resource.
std::string plan_of(std::string_view address, std::string_view type, std::string_view after, std::string_view rest = "") {
  return fmt::format(
      R"({{"format_version":"1.2","resource_changes":[
        {{"address":"{}","mode":"managed","type":"{}","change":{{"actions":["create"],"before":null,"after":{},"after_unknown":{{}}}}}}]{}}})",
      address, type, after, rest);
}

MachineGroup group_of(const std::string& plan) {
  const auto read = read_terraform_plan(plan, "plan.json");
  EXPECT_TRUE(read.ok()) << read.error().message;
  if (!read.ok() || read->machines.size() != 1 || !read->machines[0].after) {
    ADD_FAILURE() << "no machines" << (read.ok() && !read->machines.empty() ? ": " + read->machines[0].problem : "");
    return {};
  }
  return *read->machines[0].after;
}

std::string error_of(std::string_view bytes) {
  const auto read = read_terraform_plan(bytes, "plan.json");
  return read.ok() ? "" : read.error().message;
}

TEST(TerraformPlan, AnAwsInstanceHasTypeRegionAndMarket) {
  const MachineGroup g = group_of(plan_of("aws_instance.a", "aws_instance",
                                          R"({"instance_type":"g5.xlarge","availability_zone":"eu-west-1b",
                                              "instance_market_options":[{"market_type":"spot"}]})"));
  EXPECT_EQ(g.provider, "aws");
  EXPECT_EQ(g.instance_type, "g5.xlarge");
  EXPECT_EQ(g.region, "eu-west-1");
  EXPECT_EQ(g.market, Market::kSpot);
  EXPECT_EQ(g.count, 1);
}

TEST(TerraformPlan, ARegionComesFromTheProvidersVariable) {
  const MachineGroup g = group_of(plan_of("aws_instance.a", "aws_instance", R"({"instance_type":"g5.xlarge"})",
                                          R"(,"variables":{"where":{"value":"us-west-2"}},
      "configuration":{"provider_config":{"aws":{"expressions":{"region":{"references":["var.where"]}}}}})"));
  EXPECT_EQ(g.region, "us-west-2");
}

TEST(TerraformPlan, AGroupTakesItsTypeFromTheTemplateOfItsModule) {
  const auto plan = read_terraform_plan(R"({"format_version":"1.2","resource_changes":[
    {"address":"aws_launch_template.t","type":"aws_launch_template","change":{"actions":["create"],"after":{"instance_type":"g4dn.xlarge"}}},
    {"address":"module.m[0].aws_launch_template.t[0]","type":"aws_launch_template",
     "change":{"actions":["create"],"after":{"instance_type":"p5.48xlarge","instance_market_options":[{"market_type":"spot"}]}}},
    {"address":"module.m[0].aws_autoscaling_group.g","type":"aws_autoscaling_group",
     "change":{"actions":["create"],"after":{"min_size":1,"max_size":"6","desired_capacity":null,"launch_template":[{"version":"1"}]}}}],
    "configuration":{"root_module":{"module_calls":{"m":{"module":{"resources":[
      {"address":"aws_autoscaling_group.g","expressions":{"launch_template":[{"id":{"references":["aws_launch_template.t[0].id","aws_launch_template.t"]}}]}}]}}}}}})",
                                        "plan.json");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->machines.size(), 1U);
  EXPECT_EQ(plan->others, 2);
  const PlannedMachines& m = plan->machines[0];
  ASSERT_TRUE(m.after) << m.problem;
  EXPECT_EQ(m.after->instance_type, "p5.48xlarge");
  EXPECT_EQ(m.after->market, Market::kSpot);
  EXPECT_EQ(std::tuple(m.after->count, m.after->least, m.after->most), std::tuple(1, 1, 6));
}

TEST(TerraformPlan, MixedGroupsAreSpotOnlyWhenNothingIsOnDemand) {
  const auto with = [](std::string_view distribution) {
    return group_of(plan_of("aws_autoscaling_group.g", "aws_autoscaling_group",
                            fmt::format(R"({{"desired_capacity":2,"min_size":0,"max_size":2,"mixed_instances_policy":[{{
                  "instances_distribution":[{}],"launch_template":[{{"override":[{{"instance_type":"g6.xlarge"}},{{"instance_type":"g5.xlarge"}}]}}]}}]}})",
                                        distribution)));
  };
  EXPECT_EQ(with(R"({"on_demand_base_capacity":0,"on_demand_percentage_above_base_capacity":0})").market, Market::kSpot);
  EXPECT_EQ(with(R"({"on_demand_base_capacity":1,"on_demand_percentage_above_base_capacity":0})").market, Market::kOnDemand);
  EXPECT_EQ(with("{}").instance_type, "g6.xlarge");
}

TEST(TerraformPlan, GooglePoolsCountPerZone) {
  const auto pool = [](std::string_view location, std::string_view more) {
    return group_of(plan_of(
        "google_container_node_pool.p", "google_container_node_pool",
        fmt::format(R"({{"location":"{}","node_count":2,{}"node_config":[{{"machine_type":"g2-standard-8","spot":true}}]}})",
                    location, more)));
  };
  EXPECT_EQ(pool("europe-west4-a", "").count, 2);
  EXPECT_EQ(pool("europe-west4-a", "").region, "europe-west4");
  EXPECT_EQ(pool("europe-west4", "").count, 6);
  EXPECT_EQ(pool("europe-west4", R"("node_locations":["europe-west4-a","europe-west4-b"],)").count, 4);
  const MachineGroup scaled = pool("europe-west4-a", R"("autoscaling":[{"min_node_count":0,"max_node_count":5}],)");
  EXPECT_EQ(std::pair(scaled.least, scaled.most), std::pair(int64_t{0}, int64_t{5}));
  EXPECT_EQ(scaled.market, Market::kSpot);
}

TEST(TerraformPlan, GooglesAttachedGpusAreRead) {
  const MachineGroup g =
      group_of(plan_of("google_compute_instance.a", "google_compute_instance",
                       R"({"zone":"us-central1-a","machine_type":"projects/p/zones/z/machineTypes/n1-standard-8",
                                              "guest_accelerator":[{"type":"projects/p/zones/z/acceleratorTypes/nvidia-tesla-t4","count":2}],
                                              "scheduling":[{"provisioning_model":"SPOT"}]})"));
  EXPECT_EQ(g.instance_type, "n1-standard-8");
  EXPECT_EQ(g.accelerator, "nvidia-tesla-t4");
  EXPECT_EQ(g.accelerators, 2);
  EXPECT_EQ(g.market, Market::kSpot);
}

TEST(TerraformPlan, AzureRegionsAreWrittenAsTheCatalogueDoes) {
  const MachineGroup g = group_of(
      plan_of("azurerm_kubernetes_cluster.k", "azurerm_kubernetes_cluster",
              R"({"location":"West Europe","default_node_pool":[{"vm_size":"Standard_NC24ads_A100_v4","node_count":3}]})"));
  EXPECT_EQ(g.region, "westeurope");
  EXPECT_EQ(g.count, 3);
}

TEST(TerraformPlan, WhatIsKnownOnlyAfterApplyIsNamed) {
  const auto plan =
      read_terraform_plan(R"({"format_version":"1.0","resource_changes":[{"address":"aws_instance.a","type":"aws_instance",
    "change":{"actions":["create"],"after":{},"after_unknown":{"instance_type":true}}}]})",
                          "plan.json");
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->machines.size(), 1U);
  EXPECT_THAT(plan->machines[0].problem, HasSubstr("instance_type is known only after apply"));
}

TEST(TerraformPlan, DataSourcesAndOtherResourcesRunNoMachines) {
  const auto plan = read_terraform_plan(R"({"format_version":"1.0","resource_changes":[
    {"address":"data.aws_instance.a","mode":"data","type":"aws_instance","change":{"actions":["read"],"after":{"instance_type":"g5.xlarge"}}},
    {"address":"aws_s3_bucket.b","mode":"managed","type":"aws_s3_bucket","change":{"actions":["create"],"after":{}}}]})",
                                        "plan.json");
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->machines, IsEmpty());
  EXPECT_EQ(plan->others, 1);
}

TEST(TerraformPlan, ActionsAreTold) {
  const auto plan = read_terraform_plan(R"({"format_version":"1.0","resource_changes":[
    {"address":"aws_instance.a","type":"aws_instance","change":{"actions":["delete","create"],"before":{"instance_type":"g5.xlarge"},"after":{"instance_type":"g6.xlarge"}}},
    {"address":"aws_instance.b","type":"aws_instance","change":{"actions":["delete"],"before":{"instance_type":"g5.xlarge"},"after":null}}]})",
                                        "plan.json");
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->machines.size(), 2U);
  EXPECT_EQ(plan->machines[0].action, PlannedAction::kReplace);
  EXPECT_EQ(plan->machines[0].before->instance_type, "g5.xlarge");
  EXPECT_EQ(plan->machines[1].action, PlannedAction::kDelete);
  EXPECT_FALSE(plan->machines[1].after);
}

TEST(TerraformPlan, ErrorsNameTheLineAndTheRemedy) {
  EXPECT_THAT(error_of("{"), HasSubstr("plan.json: not valid JSON: line 1, "));
  EXPECT_THAT(error_of("{}"), HasSubstr("terraform show -json"));
  EXPECT_THAT(error_of(R"({"format_version":"2.0","resource_changes":[]})"), HasSubstr("update stint"));
  EXPECT_THAT(error_of(R"({"format_version":"1.0","values":{}})"), HasSubstr("a state, not a plan"));
  EXPECT_THAT(
      error_of("{\"format_version\":\"1.0\",\"resource_changes\":[\n{\"address\":\"a.b\",\"type\":\"aws_autoscaling_group\",\n"
               "\"change\":{\"actions\":[\"create\"],\"after\":{\n\"min_size\":-1}}}]}"),
      HasSubstr("plan.json:3: 'min_size' is no number of machines"));
  EXPECT_THAT(
      error_of(
          R"({"format_version":"1.0","resource_changes":[{"address":"a.b","type":"aws_instance","change":{"actions":["burn"]}}]})"),
      HasSubstr("action 'burn'"));
}

}  // namespace
}  // namespace stint
