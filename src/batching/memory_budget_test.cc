#include "batching/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "batching/testing_batches.h"
#include "batching/testing_reloads.h"

namespace stint::batching {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = LoadPlan::Kind;

constexpr Instant kStart = Instant::from_seconds(1'000'000);

/// Weights in MiB, 1 MiB of activations an item, up to 8 items; a load takes 1 ms per MiB.
ModelMemory model(int64_t mebi) {
  ModelMemory m{Bytes::mebi(mebi), {}, ms(mebi)};
  for (int64_t n = 1; n <= 8; ++n)
    m.activation.push_back(Bytes::mebi(n));
  return m;
}

MemoryBudget budget_of(int64_t room_mebi, std::vector<ModelMemory> models, Duration patience = {}) {
  return std::move(MemoryBudget::create({Bytes::mebi(room_mebi), Duration::minutes(10), patience}, std::move(models))).value();
}

void load(MemoryBudget& budget, uint32_t m, Instant now, int requests = 1) {
  for (int i = 0; i < requests; ++i)
    budget.want(ModelId(m), now);
  budget.commit_load(ModelId(m), budget.plan_load(ModelId(m), now));
}

TEST(MemoryBudget, EvictsWhatCostsLeastPerByte) {
  MemoryBudget budget = budget_of(320, {model(99), model(99), model(99), model(99)});
  load(budget, 0, kStart, 3);
  load(budget, 1, kStart, 1);
  load(budget, 2, kStart, 2);
  EXPECT_EQ(budget.used(), Bytes::mebi(300));
  EXPECT_THAT(budget.plan_load(ModelId(3), kStart).evict, ElementsAre(ModelId(1)));
}

TEST(MemoryBudget, KeepsWhoNeedNotGo) {
  // 20 MiB and 100 MiB are worth least, in that order, and the second alone makes the room.
  MemoryBudget budget = budget_of(250, {model(20), model(100), model(100), model(110)});
  load(budget, 0, kStart, 1);
  load(budget, 1, kStart, 2);
  load(budget, 2, kStart, 3);
  // 27 MiB are free and the newcomer takes 111: the second's 101 alone are enough.
  EXPECT_THAT(budget.plan_load(ModelId(3), kStart).evict, ElementsAre(ModelId(1)));
  MemoryBudget tighter = budget_of(230, {model(20), model(100), model(100), model(110)});
  load(tighter, 0, kStart, 1);
  load(tighter, 1, kStart, 2);
  load(tighter, 2, kStart, 3);
  EXPECT_THAT(tighter.plan_load(ModelId(3), kStart).evict, ElementsAre(ModelId(0), ModelId(1)));  // 7, 21 and 101
}

TEST(MemoryBudget, PastRequestsFade) {
  MemoryBudget budget = budget_of(210, {model(99), model(99), model(99)});
  load(budget, 0, kStart, 4);
  load(budget, 1, kStart + Duration::minutes(30), 1);  // 4 requests three half-lives ago count half of one now
  EXPECT_THAT(budget.plan_load(ModelId(2), kStart + Duration::minutes(30)).evict, ElementsAre(ModelId(0)));
  RequestRate rate;
  rate.add(kStart, Duration::minutes(10), 8);
  EXPECT_NEAR(static_cast<double>(rate.at(kStart + Duration::minutes(25), Duration::minutes(10))),
              8 * static_cast<double>(RequestRate::kOne) * std::exp2(-2.5), 0.02 * static_cast<double>(RequestRate::kOne));
}

TEST(MemoryBudget, OfModelsNotAskedForInHoursTheOneAskedForLastStays) {
  MemoryBudget budget = budget_of(210, {model(99), model(99), model(99)});
  load(budget, 1, kStart, 1);
  load(budget, 0, kStart + Duration::minutes(30), 9);
  EXPECT_THAT(budget.plan_load(ModelId(2), kStart + Duration::hours(24)).evict, ElementsAre(ModelId(1)));
  MemoryBudget turned = budget_of(210, {model(99), model(99), model(99)});
  load(turned, 0, kStart, 9);
  load(turned, 1, kStart + Duration::minutes(30), 1);
  EXPECT_THAT(turned.plan_load(ModelId(2), kStart + Duration::hours(24)).evict, ElementsAre(ModelId(0)));
}

TEST(RequestRate, ATimeFromBeforeTheLastRequestCountsAsThat) {
  constexpr Duration kHalfLife = Duration::minutes(10);
  RequestRate rate;
  rate.add(kStart, kHalfLife, 4);
  EXPECT_EQ(rate.at(kStart - Duration::minutes(30), kHalfLife), 4 * RequestRate::kOne);
  rate.add(kStart - Duration::minutes(30), kHalfLife);
  EXPECT_EQ(rate.at(kStart, kHalfLife), 5 * RequestRate::kOne);
  EXPECT_NEAR(static_cast<double>(rate.at(kStart + kHalfLife, kHalfLife)), 2.5 * RequestRate::kOne, 0.01 * RequestRate::kOne);
}

TEST(MemoryBudget, PinnedAndBusyModelsStay) {
  ModelMemory pinned = model(99);
  pinned.pinned = true;
  MemoryBudget budget = budget_of(205, {pinned, model(99), model(99)});
  load(budget, 0, kStart);
  load(budget, 1, kStart, 9);
  ASSERT_EQ(budget.begin_batch(ModelId(1), 2), 2);
  EXPECT_EQ(budget.plan_load(ModelId(2), kStart).kind, Kind::kBlocked);
  budget.end_batch(ModelId(1), 2);
  EXPECT_THAT(budget.plan_load(ModelId(2), kStart).evict, ElementsAre(ModelId(1)));
}

TEST(MemoryBudget, BatchGrowsOnlyAsFarAsTheRoomReaches) {
  MemoryBudget budget = budget_of(104, {model(99)});
  load(budget, 0, kStart);
  EXPECT_EQ(budget.begin_batch(ModelId(0), 3), 3);  // 99 + 3
  EXPECT_EQ(budget.begin_batch(ModelId(0), 8), 2);  // 2 MiB are left
  EXPECT_EQ(budget.begin_batch(ModelId(0), 1), 0);
  EXPECT_EQ(budget.used(), Bytes::mebi(104));
  budget.end_batch(ModelId(0), 3);
  EXPECT_EQ(budget.used(), Bytes::mebi(104));  // the arena keeps its peak
  EXPECT_EQ(budget.trim(ModelId(0)), Bytes::mebi(3));
  budget.end_batch(ModelId(0), 2);
  EXPECT_EQ(budget.trim(ModelId(0)), Bytes::mebi(1));
  EXPECT_EQ(budget.used(), Bytes::mebi(100));
}

TEST(MemoryBudget, ModelsOwnBudgetHolds) {
  ModelMemory small = model(99);
  small.budget = Bytes::mebi(103);
  MemoryBudget budget = budget_of(1000, {small});
  load(budget, 0, kStart);
  EXPECT_EQ(budget.begin_batch(ModelId(0), 8), 4);
}

TEST(MemoryBudget, CheapModelGathersRequestsBeforeItDisplacesABetterOne) {
  MemoryBudget budget = budget_of(101, {model(99), model(99)}, Duration::seconds(2));
  load(budget, 0, kStart, 10);
  budget.want(ModelId(1), kStart);
  LoadPlan plan = budget.plan_load(ModelId(1), kStart);
  EXPECT_EQ(plan.kind, Kind::kGather);
  EXPECT_EQ(plan.until, kStart + Duration::seconds(2));
  budget.want(ModelId(1), kStart + Duration::seconds(1));
  plan = budget.plan_load(ModelId(1), kStart + Duration::seconds(2));
  EXPECT_EQ(plan.kind, Kind::kLoad);
  EXPECT_THAT(plan.evict, ElementsAre(ModelId(0)));
}

TEST(MemoryBudget, WeightsCountAsMeasured) {
  MemoryBudget budget = budget_of(210, {model(99), model(99)});
  load(budget, 0, kStart);
  load(budget, 1, kStart);
  EXPECT_TRUE(budget.measured(ModelId(0), Bytes::mebi(105)).ok());
  EXPECT_EQ(budget.used(), Bytes::mebi(206));
  const Status over = budget.measured(ModelId(1), Bytes::mebi(104));
  ASSERT_FALSE(over.ok());
  EXPECT_THAT(over.error().message, HasSubstr("unload it or another"));
  budget.unload(ModelId(1));
  EXPECT_EQ(budget.used(), Bytes::mebi(106));
}

TEST(MemoryBudget, RefusesWhatCanNeverFit) {
  EXPECT_THAT(MemoryBudget::create({Bytes::mebi(50)}, {model(50)}).error().message, HasSubstr("more than the device allows"));
  ModelMemory pinned = model(30);
  pinned.pinned = true;
  EXPECT_THAT(MemoryBudget::create({Bytes::mebi(50)}, {pinned, pinned}).error().message, HasSubstr("pinned"));
  ModelMemory falling = model(10);
  falling.activation[3] = Bytes::mebi(1);
  EXPECT_FALSE(MemoryBudget::create({Bytes::mebi(50)}, {falling}).ok());
}

TEST(MemoryBudget, LoadsAQuarterLessThanLruWhoeverIsAskedForAndNeverPassesTheRoom) {
  for (const ReloadTrace& trace : reload_traces()) {
    for (const bool equal : {false, true}) {
      const std::vector<ModelMemory> models = trace_models(1, equal);
      const std::vector<uint32_t> asked = requests_of(trace, 1);
      SCOPED_TRACE(trace.name + (equal ? ", equal sizes" : ""));
      const auto lru = static_cast<double>(replay_on_lru(asked, models).loads);
      const Reloads gathering = replay_on_budget(asked, models, std::nullopt);
      EXPECT_LE(static_cast<double>(gathering.loads), 0.75 * lru);
      EXPECT_LE(gathering.most_used, 1);
      EXPECT_LE(gathering.longest_wait, std::ranges::max(models, {}, &ModelMemory::reload).reload + kTraceGap);
      const Reloads at_once = replay_on_budget(asked, models, Duration());
      EXPECT_LE(static_cast<double>(at_once.loads), 0.9 * lru);
      EXPECT_GE(at_once.loads, fewest_loads(asked, models, equal));
      EXPECT_EQ(at_once.longest_wait, Duration());
    }
  }
}

TEST(MemoryBudget, WhoWaitsForAsLongAsItsLoadTakes) {
  MemoryBudget budget =
      std::move(MemoryBudget::create({.room = Bytes::mebi(101), .patience = std::nullopt}, {model(99), model(50)})).value();
  load(budget, 0, kStart, 10);
  budget.want(ModelId(1), kStart);
  const LoadPlan plan = budget.plan_load(ModelId(1), kStart);
  EXPECT_EQ(plan.kind, Kind::kGather);
  EXPECT_EQ(plan.until, kStart + ms(50));
}

TEST(MemoryBudget, RequestsForOthersFadeWhatCameBefore) {
  MemoryBudget budget = budget_of(210, {model(99), model(99), model(99)});
  load(budget, 0, kStart, 20);
  load(budget, 1, kStart, 200);
  EXPECT_THAT(budget.plan_load(ModelId(2), kStart).evict, ElementsAre(ModelId(0)));
  for (int i = 0; i < 64; ++i)  // halves what came before them, as two are there
    budget.want(ModelId(0), kStart);
  EXPECT_THAT(budget.plan_load(ModelId(2), kStart).evict, ElementsAre(ModelId(1))) << "in what came last it is the first";
}

TEST(MemoryBudget, WhatALoadTakesIsBookedUntilItIsDone) {
  ModelMemory heavy = model(50);
  heavy.loading = Bytes::mebi(45);
  MemoryBudget budget = budget_of(100, {heavy, model(10)});
  load(budget, 0, kStart);
  EXPECT_EQ(budget.used(), Bytes::mebi(95));
  EXPECT_EQ(budget.plan_load(ModelId(1), kStart).evict, std::vector{ModelId(0)});
  budget.trim(ModelId(0));
  EXPECT_EQ(budget.used(), Bytes::mebi(51));
  load(budget, 1, kStart);
  EXPECT_EQ(budget.used(), Bytes::mebi(62));
  heavy.loading = Bytes::mebi(51);
  EXPECT_FALSE(budget.add(heavy).ok());
}

TEST(MemoryBudget, AFullDeviceIsMadeRoomOnThoughTheBooksHaveSome) {
  MemoryBudget budget = budget_of(100, {model(20), model(20), model(20)});
  load(budget, 0, kStart);
  load(budget, 1, kStart);
  budget.want(ModelId(1), kStart);
  EXPECT_THAT(budget.plan_load(ModelId(2), kStart, Bytes::mebi(21)).evict, IsEmpty());
  EXPECT_EQ(budget.plan_load(ModelId(2), kStart, Bytes::mebi(20)).evict, std::vector{ModelId(0)});
  EXPECT_EQ(budget.plan_load(ModelId(2), kStart, Bytes::mebi(-22)).kind, Kind::kBlocked);
}

TEST(MemoryBudget, ModelsComeAndGo) {
  MemoryBudget budget = budget_of(100, {});
  const ModelId first = budget.add(model(50)).value();
  load(budget, first.index(), kStart);
  EXPECT_EQ(budget.used(), Bytes::mebi(51));
  EXPECT_FALSE(budget.add(model(100)).ok());  // 101 with a batch of one
  budget.remove(first);
  EXPECT_EQ(budget.used(), Bytes());
  const ModelId second = budget.add(model(99)).value();
  EXPECT_EQ(second, first);  // the id is used again
  load(budget, second.index(), kStart);
  EXPECT_EQ(budget.used(), Bytes::mebi(100));
}

TEST(MemoryBudget, PinnedModelsTogetherMustFit) {
  MemoryBudget budget = budget_of(100, {});
  ModelMemory pinned = model(50);
  pinned.pinned = true;
  EXPECT_TRUE(budget.add(pinned).ok());
  EXPECT_FALSE(budget.add(pinned).ok());
  EXPECT_TRUE(budget.add(model(50)).ok());
}

}  // namespace
}  // namespace stint::batching
