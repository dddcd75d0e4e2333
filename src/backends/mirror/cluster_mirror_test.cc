// The mirror without any particular cluster: what an adapter says goes in, orders come out.
#include "backends/mirror/cluster_mirror.h"

#include <gmock/gmock.h>

#include "sched/policy_text.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }

class ClusterMirrorTest : public ::testing::Test {
 protected:
  ClusterMirrorTest() {
    for (const char* name : {"a", "b"}) {
      ClusterMachine& machine = view_.machines.emplace_back();
      machine.node.name = name;
      machine.node.gpus = 8;
    }
    mirror_.begin(at(0), view_, {});
  }
  ClusterJob& job(const std::string& key, int gpus, ClusterStanding standing = ClusterStanding::kWaits) {
    ClusterJob& job = view_.jobs.emplace_back();
    job.key = key;
    job.standing = standing;
    job.queue = "acme";
    job.request.gpus = gpus;
    job.preemptible = true;
    job.submitted = at(static_cast<int64_t>(view_.jobs.size()));
    return job;
  }
  ClusterJob& find(const std::string& key) { return *std::ranges::find(view_.jobs, key, &ClusterJob::key); }
  /// "place 1 on a"; the cluster does what it is told.
  std::vector<std::string> pass(int64_t seconds) {
    std::vector<std::string> told;
    for (const ClusterOrder& order : mirror_.pass(at(seconds), view_)) {
      ClusterJob& job = view_.jobs[order.job];
      switch (order.kind) {
        case ClusterOrderKind::kPlace:
          told.push_back(fmt::format("place {} on {}", job.key, fmt::join(order.machines, ",")));
          job.standing = ClusterStanding::kRuns;
          job.machines = order.machines;
          break;
        case ClusterOrderKind::kStop:
          told.push_back(fmt::format("stop {}", job.key));
          job.standing = ClusterStanding::kWaits;
          job.machines.clear();
          ++job.restarts;
          break;
        case ClusterOrderKind::kNever: told.push_back(fmt::format("never {}", job.key)); break;
      }
    }
    return told;
  }
  ClusterView view_;
  ClusterMirror mirror_{*sched::parse_policy("stint:backfill=none"), {}};
};

TEST_F(ClusterMirrorTest, WhatOthersRunHoldsRoom) {
  job("theirs", 8, ClusterStanding::kRuns).machines = {"a"};
  job("1", 8);
  job("2", 8);
  EXPECT_THAT(pass(10), ElementsAre("place 1 on b"));
  EXPECT_EQ(mirror_.running(), 2U);
  EXPECT_EQ(mirror_.waiting(), 1U);
  EXPECT_THAT(pass(20), IsEmpty());
  find("theirs").standing = ClusterStanding::kEnded;
  EXPECT_THAT(pass(30), ElementsAre("place 2 on a"));
}

TEST_F(ClusterMirrorTest, AJobThatTheClusterNoLongerNamesHasLeft) {
  job("1", 8);
  job("2", 8);
  job("3", 8);
  EXPECT_THAT(pass(10), ElementsAre("place 1 on a", "place 2 on b"));
  std::erase_if(view_.jobs, [](const ClusterJob& j) { return j.key == "1"; });
  EXPECT_THAT(pass(20), ElementsAre("place 3 on a"));
}

TEST_F(ClusterMirrorTest, OneThatCameBackIsPlacedAgain) {
  job("1", 8);
  EXPECT_THAT(pass(10), ElementsAre("place 1 on a"));
  ClusterJob& back = find("1");
  back.standing = ClusterStanding::kWaits;
  back.machines.clear();
  ++back.restarts;
  EXPECT_THAT(pass(20), ElementsAre("place 1 on a"));
}

TEST_F(ClusterMirrorTest, AMachineThatTakesNoWorkGetsNone) {
  view_.machines[0].takes_work = false;
  job("1", 8);
  job("2", 8);
  EXPECT_THAT(pass(10), ElementsAre("place 1 on b"));
  view_.machines[0].takes_work = true;
  EXPECT_THAT(pass(20), ElementsAre("place 2 on a"));
}

TEST_F(ClusterMirrorTest, WhatIsLargerThanAnyMachineNeverRuns) {
  job("1", 9);
  EXPECT_THAT(pass(10), ElementsAre("never 1"));
  EXPECT_THAT(pass(20), IsEmpty()) << "said once";
}

TEST_F(ClusterMirrorTest, BooksThatBeginAnewGoOnFromWhatTheClusterSays) {
  job("1", 8);
  job("2", 8);
  job("3", 8);
  EXPECT_THAT(pass(10), ElementsAre("place 1 on a", "place 2 on b"));
  mirror_.begin(at(15), view_, {});
  EXPECT_EQ(mirror_.running(), 2U);
  EXPECT_THAT(pass(20), IsEmpty());
  find("2").standing = ClusterStanding::kEnded;
  EXPECT_THAT(pass(30), ElementsAre("place 3 on b"));
}

TEST_F(ClusterMirrorTest, TheLineIsAnOrderOfJobsThatAreNotOurs) {
  job("1", 16);  // waits for ever beside them
  std::vector<ClusterJob> others;
  for (const int priority : {10, 90}) {
    ClusterJob& other = others.emplace_back();
    other.key = std::to_string(priority);
    other.queue = "acme";
    other.request.gpus = 1;
    other.priority = priority;
    other.submitted = at(1);
  }
  pass(10);
  EXPECT_THAT(mirror_.line(at(10), others), ElementsAre(1, 0));
  EXPECT_EQ(mirror_.running(), 0U) << "the books are as they were";
}

}  // namespace
}  // namespace stint
