#include "cli/run/job_options.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(JobOptions, AScriptSaysWhatFlagsWouldAndFlagsOverride) {
  const auto script = job_values_of_script(
      "#!/bin/sh\n#STINT --gpus 2 --queue=agency/vision --hold\n#STINT --tag team=blue --tag 'project=a=b' --after a-3,4 --after "
      "5\n",
      "job.sh");
  ASSERT_TRUE(script.ok()) << script.error().message;
  const auto request = job_request_json(*script, {{"--gpus", {"4"}}, {"--not-preemptible", {""}}});
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(*request, nlohmann::ordered_json::parse(R"({"queue":"agency/vision","tags":{"team":"blue","project":"a=b"},"gpus":4,
      "preemptible":false,"on_hold":true,"after":["a-3","4","5"]})"));
}

TEST(JobOptions, NeighboursMayHoldCommas) {
  const auto request = job_request_json({{"--label", {"app=train"}},
                                         {"--affinity", {"app=cache,tier=hot@rack"}},
                                         {"--anti-affinity", {"app=a@node", "app=b"}},
                                         {"--required-topology", {"rack"}},
                                         {"--makes", {"features"}}},
                                        {});
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(*request, nlohmann::ordered_json::parse(R"({"labels":{"app":"train"},"affinity":["app=cache,tier=hot@rack"],
      "anti_affinity":["app=a@node","app=b"],"required_topology":"rack","makes":"features"})"));
}

TEST(JobOptions, APartOfAGpuMaySayBesideWhomItBearsToBe) {
  const auto request = job_request_json(
      {{"--gpu-milli", {"250"}}, {"--shares-with", {"night"}}, {"--work-kind", {"bert"}}, {"--max-slowdown-percent", {"25"}}},
      {});
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(*request, nlohmann::ordered_json::parse(
                          R"({"gpu_milli":250,"shares_with":"night","work_kind":"bert","max_slowdown_percent":25})"));
}

TEST(JobOptions, GroupsOfAGangAreFieldsBehindAName) {
  const auto request =
      job_request_json({{"--group",
                         {"trainers:tasks=4, gpus=8,gpu_models=H100-80GB|A100-80GB,required_topology=rack,node_labels.disk=fast",
                          "loaders:within=12,cpu_milli=16000,memory=64GiB", "all"}}},
                       {});
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(*request, nlohmann::ordered_json::parse(R"({"groups":[
      {"name":"trainers","tasks":4,"gpus":8,"gpu_models":["H100-80GB","A100-80GB"],"required_topology":"rack",
       "node_labels":{"disk":"fast"}},{"name":"loaders","within":"12","cpu_milli":16000,"memory":"64GiB"},{"name":"all"}]})"));
  EXPECT_THAT(job_request_json({{"--group", {"a:gpus"}}}, {}).error().message, HasSubstr("--group: 'gpus': give FIELD=VALUE"));
}

TEST(JobOptions, WhatIsWrongIsNamedWithItsLine) {
  const auto error = [](std::string_view script) { return job_values_of_script(script, "job.sh").error().message; };
  EXPECT_THAT(error("#STINT --gpu 2"), HasSubstr("job.sh:1: '--gpu'"));
  EXPECT_THAT(error("#!\n#STINT --gpus"), HasSubstr("job.sh:2: --gpus lacks"));
  EXPECT_THAT(error("#STINT --hold=yes"), HasSubstr("--hold takes no value"));
  EXPECT_THAT(error("#STINT 2"), HasSubstr("'2'"));
  EXPECT_THAT(job_request_json({}, {{"--gpus", {"two"}}}).error().message, HasSubstr("--gpus: 'two'"));
  EXPECT_THAT(job_request_json({}, {{"--tag", {"=x"}}}).error().message, HasSubstr("KEY=VALUE"));
}

}  // namespace
}  // namespace stint
