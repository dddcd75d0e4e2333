// Which replicas are begun and which go: as many as wanted, old ones as new ones are ready, never fewer ready than need be.
#include "daemon/replicas/replica_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "base/prng.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kPlaces = {"a:1", "a:2", "a:3", "a:4"};

Replica replica(int place, ReplicaPhase phase, bool current = true) {
  return {.place = kPlaces[static_cast<size_t>(place)], .job = place + 1, .job_name = "", .phase = phase, .current = current};
}

TEST(ReplicaPlan, BeginsWhatIsMissingOnFreePlaces) {
  const std::vector<Replica> there = {replica(0, ReplicaPhase::kReady), replica(1, ReplicaPhase::kLeaving)};
  const ReplicaPlan plan = plan_replicas(3, there, kPlaces);
  EXPECT_THAT(plan.begin, ElementsAre("a:3", "a:4"));
  EXPECT_THAT(plan.drain, IsEmpty());
  EXPECT_THAT(plan.stop, IsEmpty());
}

TEST(ReplicaPlan, EndsThoseFurthestFromAnsweringFirst) {
  const std::vector<Replica> there = {replica(0, ReplicaPhase::kStarting), replica(1, ReplicaPhase::kReady),
                                      replica(2, ReplicaPhase::kReady), replica(3, ReplicaPhase::kWaiting)};
  const ReplicaPlan plan = plan_replicas(1, there, kPlaces);
  EXPECT_THAT(plan.stop, ElementsAre(4, 1));
  EXPECT_THAT(plan.drain, ElementsAre(3));
  EXPECT_THAT(plan.begin, IsEmpty());
}

TEST(ReplicaPlan, AnOldOneGoesOnceANewOneIsReady) {
  std::vector<Replica> there = {replica(0, ReplicaPhase::kReady, false), replica(1, ReplicaPhase::kReady, false),
                                replica(2, ReplicaPhase::kStarting)};
  EXPECT_EQ(plan_replicas(2, there, kPlaces), (ReplicaPlan{{"a:4"}, {}, {}}));
  there[2].phase = ReplicaPhase::kReady;
  EXPECT_EQ(plan_replicas(2, there, kPlaces), (ReplicaPlan{{"a:4"}, {1}, {}}));
}

TEST(ReplicaPlan, ANewConfigurationThatNeverGetsReadyLeavesTheOldOnesAlone) {
  const std::vector<Replica> there = {replica(0, ReplicaPhase::kReady, false), replica(1, ReplicaPhase::kStarting)};
  EXPECT_EQ(plan_replicas(1, there, kPlaces), (ReplicaPlan{{}, {}, {}}));
}

// A world of replicas that start, fail and drain in any order comes to what is wanted, and on the way no step takes more away than it must.
TEST(ReplicaPlan, AlwaysComesToWhatIsWantedWithoutAGap) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Prng prng(seed);
    std::vector<Replica> there;
    int64_t next_job = 1;
    size_t wanted = 1 + prng.below(3);
    const auto ready = [&there] { return static_cast<size_t>(std::ranges::count(there, ReplicaPhase::kReady, &Replica::phase)); };
    const auto step = [&](bool calm) {
      const size_t before = ready();
      const ReplicaPlan plan = plan_replicas(wanted, there, kPlaces);
      for (const int64_t job : plan.drain)
        std::ranges::find(there, job, &Replica::job)->phase = ReplicaPhase::kDraining;
      ASSERT_GE(ready(), std::min(before, wanted)) << "seed " << seed;
      for (const int64_t job : plan.stop)
        std::ranges::find(there, job, &Replica::job)->phase = ReplicaPhase::kLeaving;
      for (const std::string& place : plan.begin) {
        ASSERT_EQ(std::ranges::find(there, place, &Replica::place), there.end()) << "seed " << seed;
        there.push_back({.place = place, .job = next_job++, .job_name = "", .phase = ReplicaPhase::kWaiting, .current = true});
      }
      ASSERT_LE(there.size(), kPlaces.size()) << "seed " << seed;
      std::erase_if(there, [&](const Replica& r) { return r.phase == ReplicaPhase::kLeaving || (!calm && prng.below(10) == 0); });
      for (Replica& r : there) {
        if (r.phase == ReplicaPhase::kDraining) r.phase = ReplicaPhase::kLeaving;
        if (r.phase < ReplicaPhase::kReady && (calm || prng.below(2) == 0))
          r.phase = static_cast<ReplicaPhase>(static_cast<int>(r.phase) + 1);
        if (!calm && r.phase == ReplicaPhase::kReady && prng.below(8) == 0) r.phase = ReplicaPhase::kStarting;
      }
    };
    for (int i = 0; i < 40; ++i) {
      if (prng.below(6) == 0) wanted = 1 + prng.below(3);
      if (prng.below(15) == 0)
        for (Replica& r : there)
          r.current = false;
      step(false);
    }
    for (int i = 0; i < 20; ++i)
      step(true);
    EXPECT_EQ(there.size(), wanted) << "seed " << seed;
    EXPECT_TRUE(std::ranges::all_of(there, [](const Replica& r) { return r.current && r.phase == ReplicaPhase::kReady; }))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace stint
