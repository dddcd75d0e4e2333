#include "sched/queues/queue_usage.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"

namespace stint::sched {
namespace {

constexpr Duration kHalfLife = Duration::hours(168);

Instant at(int64_t hours) { return Instant::from_seconds(1'800'000'000) + Duration::hours(hours); }
Amounts gpus(int64_t count) { return {.gpu_milli = count * 1000, .cpu_milli = 0, .memory_bytes = 0}; }

QueueSpec queue(QueueId parent = {}, std::optional<int64_t> deserved_gpus = {}) {
  QueueSpec spec;
  spec.parent = parent;
  if (deserved_gpus) spec.deserved.gpu_milli = *deserved_gpus * 1000;
  return spec;
}

TEST(QueueUsage, TheQueueThatUsedTheFleetLastWeekYieldsUntilSharesAreEven) {
  QueueUsage usage(true, kHalfLife);
  const QueueId busy = usage.add(queue());
  const QueueId fresh = usage.add(queue());
  usage.advance(at(0));
  usage.change(busy, gpus(16), true);
  usage.advance(at(168));
  usage.change(busy, gpus(-16), true);
  EXPECT_EQ(usage.used_milli(busy), 8'000);  // 16 GPUs for one half-life
  EXPECT_LT(usage.compare(fresh, busy), 0);
  // 16 GPUs are free: to whom do they go? Sums even out at 4 + 8 = 12 + 0.
  for (int i = 0; i < 16; ++i)
    usage.change(usage.compare(fresh, busy) < 0 ? fresh : busy, gpus(1), true);
  EXPECT_EQ(usage.share_milli(busy), 4'000);
  EXPECT_EQ(usage.share_milli(fresh), 12'000);
  // A half-life later both have the same past: 8/2 + 4/2 = 12/2.
  usage.advance(at(2 * 168));
  EXPECT_EQ(usage.used_milli(busy), 6'000);
  EXPECT_EQ(usage.used_milli(fresh), 6'000);
}

TEST(QueueUsage, WithoutAHalfLifeOnlyWhatIsHeldCounts) {
  QueueUsage usage(true, Duration());
  const QueueId busy = usage.add(queue());
  const QueueId fresh = usage.add(queue());
  usage.advance(at(0));
  usage.change(busy, gpus(16), true);
  usage.advance(at(168));
  usage.change(busy, gpus(-16), true);
  EXPECT_EQ(usage.used_milli(busy), 0);
  EXPECT_LT(usage.compare(busy, fresh), 0);  // the older
}

TEST(QueueUsage, NoQueueLosesAGuaranteeByHavingUsedIt) {
  QueueUsage usage(true, kHalfLife);
  const QueueId guaranteed = usage.add(queue({}, 8));
  const QueueId other = usage.add(queue());
  usage.advance(at(0));
  usage.change(guaranteed, gpus(8), true);
  usage.change(other, gpus(1), true);
  usage.advance(at(168 * 50));
  EXPECT_EQ(usage.used_milli(guaranteed), 8'000);
  // Both hold nothing beyond their due now but one GPU of the other's, which has always been beyond it.
  EXPECT_LT(usage.compare(guaranteed, other), 0);
  usage.change(guaranteed, gpus(-1), true);
  EXPECT_LT(usage.compare(guaranteed, other), 0);  // below what it deserves
  usage.change(guaranteed, gpus(4), true);         // three beyond it
  EXPECT_GT(usage.compare(guaranteed, other), 0);  // 3 against 1 + 1
}

TEST(QueueUsage, UsageIsSeenWhereBranchesPart) {
  QueueUsage usage(true, kHalfLife);
  const QueueId east = usage.add(queue());
  const QueueId west = usage.add(queue());
  const QueueId east_idle = usage.add(queue(east));
  const QueueId east_busy = usage.add(queue(east));
  const QueueId west_only = usage.add(queue(west));
  usage.advance(at(0));
  usage.change(east_busy, gpus(4), true);
  usage.advance(at(168));
  usage.change(east_busy, gpus(-4), true);
  EXPECT_LT(usage.compare(west_only, east_idle), 0);  // its department used 4 GPUs
  EXPECT_LT(usage.compare(east_idle, east_busy), 0);
  EXPECT_EQ(usage.used_milli(east), 2'000);
  EXPECT_EQ(usage.used_milli(east_idle), 0);
}

TEST(QueueUsage, TheSameOrderHoweverOftenTimeIsTold) {
  QueueUsage often(true, kHalfLife), seldom(true, kHalfLife);
  for (QueueUsage* usage : {&often, &seldom}) {
    usage->add(queue());
    usage->advance(at(0));
    usage->change(QueueId(0), gpus(7), true);
  }
  for (int64_t minute = 1; minute <= 300 * 60; minute += 17)
    often.advance(at(0) + Duration::minutes(minute));
  often.advance(at(300));
  seldom.advance(at(300));
  EXPECT_EQ(often.used_milli(QueueId(0)), seldom.used_milli(QueueId(0)));
  uint64_t hashes[2] = {0, 0};
  for (int i = 0; i < 2; ++i)
    (i == 0 ? often : seldom).mix_into(QueueId(0), [&](int64_t n) { hashes[i] = hashes[i] * 31 + static_cast<uint64_t>(n); });
  EXPECT_EQ(hashes[0], hashes[1]);
}

/// Ghodsi et al. 2011, section 4.1: 9 CPUs and 18 GB; A's tasks take 1 CPU and 4 GB, B's 3 CPUs and 1 GB. Serving the smaller
/// dominant share first, A gets three tasks and B two: dominant shares of 2/3 each. GPUs stand for CPUs here.
TEST(QueueUsage, DominantSharesEvenOutAsInThePaper) {
  const Amounts a_task = {.gpu_milli = 1000, .cpu_milli = 0, .memory_bytes = 4};
  const Amounts b_task = {.gpu_milli = 3000, .cpu_milli = 0, .memory_bytes = 1};
  QueueUsage usage;
  usage.add_capacity({.gpu_milli = 9000, .cpu_milli = 0, .memory_bytes = 18});
  const QueueId a = usage.add(queue());
  const QueueId b = usage.add(queue());
  usage.advance(at(0));
  int64_t gpu_left = 9000, memory_left = 18;
  int tasks[2] = {0, 0};
  for (;;) {
    const bool a_first = usage.compare(a, b) < 0;
    const Amounts& task = a_first ? a_task : b_task;
    if (task.gpu_milli > gpu_left || task.memory_bytes > memory_left) break;
    gpu_left -= task.gpu_milli;
    memory_left -= task.memory_bytes;
    usage.change(a_first ? a : b, task, true);
    ++tasks[a_first ? 0 : 1];
  }
  EXPECT_EQ(tasks[0], 3);
  EXPECT_EQ(tasks[1], 2);
  EXPECT_EQ(usage.share_milli(a), 6'000);  // 12 of 18 GB, as of 9 GPUs
  EXPECT_EQ(usage.share_milli(b), 6'000);  // 6 of 9 GPUs
}

TEST(QueueUsage, DominantSharesHoldInTheTree) {
  QueueUsage usage;
  usage.add_capacity({.gpu_milli = 8000, .cpu_milli = 100'000, .memory_bytes = 1000});
  const QueueId east = usage.add(queue());
  const QueueId west = usage.add(queue());
  const QueueId cpus = usage.add(queue(east));
  const QueueId memory = usage.add(queue(east));
  const QueueId west_only = usage.add(queue(west));
  usage.advance(at(0));
  usage.change(cpus, {.gpu_milli = 0, .cpu_milli = 50'000, .memory_bytes = 0}, true);
  usage.change(memory, {.gpu_milli = 0, .cpu_milli = 0, .memory_bytes = 250}, true);
  usage.change(west_only, gpus(5), true);
  EXPECT_EQ(usage.share_milli(cpus), 4'000);
  EXPECT_EQ(usage.share_milli(memory), 2'000);
  EXPECT_EQ(usage.share_milli(east), 4'000);  // the largest of its sums: half of the CPUs
  EXPECT_LT(usage.compare(memory, cpus), 0);
  EXPECT_LT(usage.compare(cpus, west_only), 0);  // 4 against 5
  usage.change(cpus, {.gpu_milli = 0, .cpu_milli = 25'000, .memory_bytes = 0}, true);
  EXPECT_GT(usage.compare(cpus, west_only), 0);  // 6 against 5
}

TEST(QueueUsage, SharesFollowTheFleet) {
  QueueUsage usage;
  const QueueId q = usage.add(queue());
  usage.add_capacity({.gpu_milli = 8000, .cpu_milli = 10'000, .memory_bytes = 0});
  usage.advance(at(0));
  usage.change(q, {.gpu_milli = 0, .cpu_milli = 5'000, .memory_bytes = 0}, true);
  EXPECT_EQ(usage.share_milli(q), 4'000);
  usage.add_capacity({.gpu_milli = 0, .cpu_milli = 10'000, .memory_bytes = 0});
  EXPECT_TRUE(usage.advance(at(0)));
  EXPECT_EQ(usage.share_milli(q), 2'000);
  EXPECT_FALSE(usage.advance(at(0)));
}

TEST(QueueUsage, WhatIsDeservedOfOneResourceGuaranteesThatOneAlone) {
  QueueUsage usage;
  usage.add_capacity({.gpu_milli = 8000, .cpu_milli = 100'000, .memory_bytes = 0});
  const QueueId guaranteed = usage.add(queue({}, 4));
  const QueueId other = usage.add(queue());
  usage.advance(at(0));
  std::vector<Amounts> taken(usage.size());
  const Amounts cpu = {.gpu_milli = 0, .cpu_milli = 60'000, .memory_bytes = 0};
  const Amounts both = {.gpu_milli = 2'000, .cpu_milli = 60'000, .memory_bytes = 0};
  usage.change(other, both, true);
  EXPECT_FALSE(usage.may_reclaim(guaranteed, cpu, other, taken));  // no CPU is its due
  EXPECT_TRUE(usage.may_reclaim(guaranteed, both, other, taken));
  taken[other.index()] = gpus(2);
  EXPECT_FALSE(usage.may_reclaim(guaranteed, both, other, taken));
  usage.change(guaranteed, both, true);
  EXPECT_LT(usage.compare(guaranteed, other), 0);  // 2 of 4 GPUs: below, whatever CPU it holds
}

// Random trees and holdings: a queue that may take room back from another stands before it, whoever asks.
TEST(QueueUsage, WhoMayReclaimHasTheGreaterClaim) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Prng random(seed);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.below(n)); };
    QueueUsage usage(false, Duration());
    for (uint32_t q = 0; q < 10; ++q) {
      QueueSpec spec;
      if (q > 1 && below(3) > 0) spec.parent = QueueId(static_cast<uint32_t>(below(q)));
      if (below(3) > 0) spec.deserved.gpu_milli = below(6) * 1000;
      if (below(3) == 0) spec.deserved.cpu_milli = below(6) * 1000;
      usage.add(spec);
    }
    for (int i = 0; i < 8; ++i)
      usage.change(QueueId(static_cast<uint32_t>(below(10))), {.gpu_milli = below(3) * 1000, .cpu_milli = below(3) * 1000}, true);
    const std::vector<Amounts> taken(usage.size());
    for (uint32_t a = 0; a < 10; ++a) {
      for (uint32_t b = 0; b < 10; ++b) {
        const Amounts wanted{.gpu_milli = below(3) * 1000, .cpu_milli = below(3) * 1000};
        if (!usage.may_reclaim(QueueId(a), wanted, QueueId(b), taken)) continue;
        EXPECT_GT(usage.claims(QueueId(a), wanted), usage.claims(QueueId(b), wanted))
            << "seed " << seed << ": " << a << ", " << b;
      }
    }
  }
}

}  // namespace
}  // namespace stint::sched
