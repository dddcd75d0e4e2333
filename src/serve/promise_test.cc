// What is promised, against what the cores can do.
#include "serve/promise.h"

#include <gtest/gtest.h>

namespace stint::serve {
namespace {

// A batch of n takes 1 ms + 0.1 ms × n, a request 50 µs beside it.
batching::LatencyProfile profile() {
  std::vector<batching::MeasuredBatch> batches;
  for (const int64_t size : {1, 2, 4, 8, 16, 32})
    batches.push_back({size, std::vector<Duration>(20, Duration::nanoseconds(1'000'000 + 100'000 * size))});
  auto made = batching::LatencyProfile::create(std::move(batches));
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

batching::BatchPolicy policy() {
  ServedModelConfig config;
  return policy_of(config, profile(), 1, std::nullopt);
}

constexpr Duration kPromise = Duration::milliseconds(50), kFront = Duration::nanoseconds(50'000);

double most(std::optional<Duration> front, const SharedCores& shared) {
  return most_within_promise(profile(), policy(), kPromise, front, shared);
}

TEST(Promise, NoMoreThanTheSharedCoresCanDo) {
  // 32 items in 4.2 ms, 1.25 times as long until that is followed: 6,095 a second. Their thread alone could do 14,000.
  const double apart = most(kFront, {});
  EXPECT_GT(apart, 0.8 * 6095);
  EXPECT_LE(apart, 6095);
  EXPECT_EQ(most(kFront, {2}), apart) << "one core for each thread";
  EXPECT_EQ(most(std::nullopt, {1}), apart) << "nothing is known of it";
  // On one core an item takes 50 µs more than its 164 µs: 3,970 a second, when 0.85 of it are used.
  const double together = most(kFront, {1});
  EXPECT_GT(together, 0.8 * 3970);
  EXPECT_LE(together, 3970);
}

TEST(Promise, WhatWasSeenUnderLoadIsNotCountedTwice) {
  // At 1,000 requests a second 0.85 − 0.05 of the core are left: times that were seen then are 1.25 times as long as alone.
  const auto seen = profile().scaled(std::vector<double>(6, 1.25));
  const double alone = most(kFront, {1}), under_load = most_within_promise(seen, policy(), kPromise, kFront, {1, 1000});
  EXPECT_NEAR(under_load / alone, 1, 0.06);
}

}  // namespace
}  // namespace stint::serve
