#include "sim/fleet_text.h"

#include <gtest/gtest.h>

#include "sim/trace_workload.h"

namespace stint::sim {
namespace {

const Catalog& catalog() { return Catalog::built_in(); }

TEST(FleetText, TypesComeFromTheCatalogue) {
  const auto fleet = parse_fleet("2xp4d.24xlarge@us-east-1:spot, 1xp3.2xlarge", catalog()).value();
  ASSERT_EQ(fleet.size(), 3U);
  EXPECT_EQ(fleet[0].node.gpus, 8);
  EXPECT_EQ(fleet[0].market, Market::kSpot);
  EXPECT_EQ(fleet[0].region, "us-east-1");
  EXPECT_NE(fleet[0].node.name, fleet[1].node.name);
  EXPECT_EQ(fleet[2].node.gpu_memory, Bytes::gibi(int64_t{16}));
  EXPECT_LT(fleet[0].rate, catalog().price({.provider = "aws", .instance_type = "p4d.24xlarge", .region = "us-east-1"})->rate);
}

TEST(FleetText, ANumberIsAnOwnedMachine) {
  const auto fleet = parse_fleet("3x8", catalog()).value();
  ASSERT_EQ(fleet.size(), 3U);
  EXPECT_EQ(fleet[0].market, Market::kOwned);
  EXPECT_TRUE(fleet[0].rate.per_hour().is_zero());
}

TEST(FleetText, ErrorsNameThePart) {
  for (const char* wrong :
       {"", "8", "x8", "0x8", "4x17", "1xno.such.type", "1xp3.2xlarge@nowhere", "1xp3.2xlarge:stolen", "999999999x8", "2x8,,"})
    EXPECT_FALSE(parse_fleet(wrong, catalog()).ok()) << wrong;
  EXPECT_NE(parse_fleet("1xno.such.type", catalog()).error().message.find("no.such.type"), std::string::npos);
}

TEST(TraceWorkload, JobsAskForNodesAsFarAsTheyFillThem) {
  JobTrace trace;
  trace.clusters = {"a"};
  const auto job = [](int32_t gpus) {
    return TraceJob{.submitted = Instant(), .duration = Duration::minutes(1), .gpus = gpus, .cluster = 0, .user = 0};
  };
  trace.jobs = {job(3), job(16), job(11)};
  const Workload w = workload_of(trace, parse_fleet("4x8", catalog()).value()).value().workload;
  const auto size = [&](size_t j) { return std::pair(w.jobs[j].spec.tasks, w.requests[w.jobs[j].spec.request.index()].gpus); };
  EXPECT_EQ(size(0), std::pair(1, 3));
  EXPECT_EQ(size(1), std::pair(2, 8));
  EXPECT_EQ(size(2), std::pair(11, 1));
  trace.jobs = {};
  EXPECT_FALSE(workload_of(trace, parse_fleet("4x8", catalog()).value()).ok());
}

TEST(TraceWorkload, AskForWhatTheTraceSays) {
  JobTrace trace;
  trace.clusters = {"c"};
  trace.users = {"BE", "LS"};
  trace.shapes = {{.milli = 250, .cpu_milli = 4000, .memory = Bytes::of(1 << 30), .gpu_models = {"V100"}, .is_service = true},
                  {.milli = 0, .cpu_milli = 32'000, .memory = {}, .gpu_models = {}, .is_service = false},
                  {.milli = 0, .cpu_milli = 0, .memory = {}, .gpu_models = {"T4"}, .is_service = false}};
  trace.jobs = {{.submitted = {}, .duration = Duration::hours(1), .gpus = 1, .cluster = 0, .user = 1, .shape = 0},
                {.submitted = {}, .duration = Duration::hours(1), .gpus = 16, .cluster = 0, .user = 0, .shape = 1},
                {.submitted = {}, .duration = Duration::hours(1), .gpus = 2, .cluster = 0, .user = 0, .shape = 2},
                {.submitted = {}, .duration = Duration(), .gpus = 2, .cluster = 0, .user = 0, .shape = 2}};
  std::vector<SimNode> fleet = parse_fleet("4x8", catalog()).value();
  fleet[0].node.gpu_model = "V100";
  const TraceWorkload made = workload_of(trace, fleet).value();
  const auto request = [&](size_t job) { return made.workload.requests[made.workload.jobs[job].spec.request.index()]; };
  EXPECT_EQ(request(0).milli, 250);
  EXPECT_EQ(request(0).gpus, 0);
  EXPECT_EQ(request(0).gpu_models, std::vector<std::string>{"V100"});
  EXPECT_FALSE(made.workload.jobs[0].spec.preemptible);
  EXPECT_EQ(made.workload.jobs[1].spec.tasks, 2);
  EXPECT_EQ(request(1).gpus, 8);
  EXPECT_EQ(request(1).cpu_milli, 16'000) << "half of what both tasks ask for";
  EXPECT_TRUE(request(2).gpu_models.empty()) << "no node of the fleet is a T4";
  EXPECT_EQ(made.models_unknown, 1);
  EXPECT_EQ(made.services, 1);
  EXPECT_EQ(made.of_no_length, 1);
}

}  // namespace
}  // namespace stint::sim
