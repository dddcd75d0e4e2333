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
  const Workload w = workload_of(trace, parse_fleet("4x8", catalog()).value()).value();
  const auto size = [&](size_t j) { return std::pair(w.jobs[j].spec.tasks, w.requests[w.jobs[j].spec.request.index()].gpus); };
  EXPECT_EQ(size(0), std::pair(1, 3));
  EXPECT_EQ(size(1), std::pair(2, 8));
  EXPECT_EQ(size(2), std::pair(11, 1));
  trace.jobs = {};
  EXPECT_FALSE(workload_of(trace, parse_fleet("4x8", catalog()).value()).ok());
}

}  // namespace
}  // namespace stint::sim
