#include "codec/traces/job_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  JobTrace trace;
  TraceCounts counts;
};

/// Fed in pieces of `piece` bytes.
Read read(std::string_view text, size_t piece = 7) {
  JobCsvReader reader("jobs.csv");
  for (size_t at = 0; at < text.size(); at += piece)
    EXPECT_TRUE(reader.feed(text.substr(at, piece)).ok());
  auto trace = reader.finish();
  EXPECT_TRUE(trace.ok());
  return {std::move(trace).value(), reader.counts()};
}

TEST(JobCsv, ReadsColumnsInAnyOrderAndBothKindsOfTime) {
  const Read r = read("cluster,num_gpus,vc,timestamp,duration\nvenus,4,x,2020-04-01 00:00:10,90\nearth,1,y,1585699200,0.5\n");
  EXPECT_THAT(r.trace.clusters, ElementsAre("venus", "earth"));
  ASSERT_EQ(r.trace.jobs.size(), 2U);
  EXPECT_EQ(r.trace.jobs[0].submitted, Instant::from_seconds(1585699210));
  EXPECT_EQ(r.trace.jobs[0].duration, Duration::seconds(90));
  EXPECT_EQ(r.trace.jobs[0].gpus, 4);
  EXPECT_EQ(r.trace.jobs[1].submitted, Instant::from_seconds(1585699200));
  EXPECT_EQ(r.trace.jobs[1].duration, Duration::milliseconds(500));
  EXPECT_EQ(r.trace.jobs[1].cluster, 1U);
  EXPECT_TRUE(r.trace.users.empty());
}

TEST(JobCsv, ReadsNamesWhereThereAreSuch) {
  const Read r =
      read("timestamp,duration,num_gpus,cluster,user,job_name\n0,10,1,a,ann,train\n5,10,1,a,bob,eval\n9,1,1,a,ann,train\n");
  EXPECT_THAT(r.trace.names, ElementsAre("train", "eval"));
  EXPECT_EQ(r.trace.jobs[2].name, 0U);
  EXPECT_TRUE(read("timestamp,duration,num_gpus,cluster\n0,1,1,a\n").trace.names.empty());
}

TEST(JobCsv, SkipsCpuJobsAndRejectsWhatIsNoJob) {
  const Read r = read(
      "timestamp,duration,num_gpus,cluster,user\n"
      "0,10,1,a,ann\n"
      "5,10,0,a,bob\n"
      "soon,10,1,a,bob\n"
      "7,-1,1,a,bob\n"
      "8,1,1.5,a,bob\n"
      "9,1,1\n"
      "10,nan,1,a,bob\n");
  EXPECT_EQ(r.counts.accepted, 1U);
  EXPECT_EQ(r.counts.cpu_only, 1U);
  EXPECT_EQ(r.counts.rejected, 5U);
  EXPECT_THAT(r.counts.reasons.front(), HasSubstr("jobs.csv:4: timestamp 'soon'"));
  EXPECT_THAT(r.trace.users, ElementsAre("ann"));
}

TEST(JobCsv, SaysWhichColumnIsMissing) {
  JobCsvReader reader("jobs.csv");
  const Status fed = reader.feed("timestamp,duration,gpus,cluster\n");
  ASSERT_FALSE(fed.ok());
  EXPECT_THAT(fed.error().message, HasSubstr("num_gpus"));
  JobCsvReader empty("empty.csv");
  EXPECT_FALSE(empty.finish().ok());
}

TEST(JobCsv, ReadsNodesPerCluster) {
  const auto nodes = read_cluster_nodes("cluster,nodes\nvenus,133\nearth,143\n", "nodes.csv");
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes->at("venus"), 133);
  EXPECT_EQ(nodes->at("earth"), 143);
  EXPECT_FALSE(read_cluster_nodes("cluster,nodes\nvenus,0\n", "nodes.csv").ok());
  EXPECT_FALSE(read_cluster_nodes("cluster,nodes\nvenus,1\nvenus,2\n", "nodes.csv").ok());
}

}  // namespace
}  // namespace stint
