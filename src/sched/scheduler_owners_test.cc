// Parts of GPUs of owners who do not share: where the scheduler puts them, and what it says of those that wait.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::plain;
using testing_world::World;

Instant minute(int64_t m) { return Instant::from_seconds(1'800'000'000 + m * 60); }

JobSpec part(World& world, int milli, std::string owner) {
  JobSpec spec = world.job(0);
  Request request;
  request.milli = milli;
  request.shares_with = std::move(owner);
  spec.request = world.scheduler.intern(request);
  return spec;
}

Event ended(JobId j) { return {.kind = EventKind::kFinished, .job = j, .task = {}, .node = {}, .until = {}}; }

TEST(Owners, DoNotShareAGpuAndTheExplanationSaysSo) {
  for (const Order order : {Order::kFifo, Order::kFair, Order::kStint}) {
    World world(plain(order), 1, 1);
    const JobId acme = world.submit(minute(0), part(world, 300, "acme"));
    const JobId zoo = world.submit(minute(1), part(world, 300, "zoo"));
    ASSERT_TRUE(world.runs(acme));
    EXPECT_FALSE(world.runs(zoo));
    EXPECT_EQ(world.scheduler.explain(zoo).obstacle, Obstacle::kOthersShares);
    world.step(minute(2), {ended(acme)});
    EXPECT_TRUE(world.runs(zoo));
  }
}

TEST(Owners, HaveTheirOwnGpusUnderEveryPlacement) {
  for (const Placement placement :
       {Placement::kFirstFit, Placement::kBestFit, Placement::kSpread, Placement::kDotProduct, Placement::kPacking,
        Placement::kClustering, Placement::kRandom, Placement::kFgd, Placement::kStint}) {
    SCOPED_TRACE(name_of(placement));
    Policy policy = plain(Order::kFifoSkip);
    policy.placement = placement;
    World world(policy, 3, 4);
    Prng prng(19);
    std::map<JobId, std::pair<char, Place>> places;
    for (int i = 0; i < 400; ++i) {
      const char owner = static_cast<char>('a' + prng.below(3));
      const JobId j = world.submit(minute(i), part(world, static_cast<int>(100 + 50 * prng.below(10)), std::string(1, owner)));
      const auto note = [&] {
        for (const auto& d : world.last)
          if (d.kind == DecisionKind::kStart) places[d.job].second = d.places.front();
      };
      places[j].first = owner;
      note();
      if (prng.below(2) == 0) {
        std::vector<JobId> run;
        for (const auto& [id, at] : places)
          if (at.second.gpus != 0) run.push_back(id);
        if (run.empty()) continue;
        const JobId gone = run[prng.below(run.size())];
        places.erase(gone);
        world.step(minute(i), {ended(gone)});
        note();
      }
      std::map<std::pair<uint32_t, uint64_t>, std::set<char>> owners;
      for (const auto& [id, at] : places)
        if (at.second.gpus != 0) owners[{at.second.node.index(), at.second.gpus}].insert(at.first);
      for (const auto& [gpu, who] : owners)
        ASSERT_EQ(who.size(), 1U) << "step " << i;
    }
  }
}

TEST(Owners, ASmallerPartOfTheOneWhoIsThereGoesBesideIt) {
  World world(plain(Order::kStint), 2, 2);
  world.submit(minute(0), part(world, 600, "acme"));
  const JobId other = world.submit(minute(1), part(world, 600, "zoo"));
  const Place theirs = world.last.back().places.front();
  const JobId second = world.submit(minute(2), part(world, 300, "zoo"));
  ASSERT_TRUE(world.runs(other) && world.runs(second));
  const Place place = world.last.back().places.front();
  EXPECT_EQ(place.node, theirs.node);
  EXPECT_EQ(place.gpus, theirs.gpus) << "no whole GPU is broken while its owner has room on one";
}

}  // namespace
}  // namespace stint::sched
