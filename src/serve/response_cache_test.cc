#include "serve/response_cache.h"

#include <gtest/gtest.h>

namespace stint::serve {
namespace {

using batching::TenantId;

std::shared_ptr<const ResponseCache::Outputs> answer(size_t bytes) {
  return std::make_shared<const ResponseCache::Outputs>(1, ShapedValues{Values(bytes), {1}});
}

/// Of answers with 10,000 bytes: so many are kept.
constexpr Bytes room_for(int64_t answers) { return Bytes::of(answers * 11'000); }
constexpr size_t kSize = 10'000;

TEST(ResponseCache, GivesUpWhatWasNotAskedForTheLongest) {
  ResponseCache cache(room_for(3), {1});
  for (const char* key : {"a", "b", "c"})
    cache.put(key, 1, TenantId(0), answer(kSize));
  ASSERT_NE(cache.find("a"), nullptr);
  cache.put("d", 1, TenantId(0), answer(kSize));
  EXPECT_EQ(cache.find("b"), nullptr);
  for (const char* key : {"a", "c", "d"})
    EXPECT_NE(cache.find(key), nullptr) << key;
  EXPECT_EQ(cache.figures().answers, 3);
  EXPECT_EQ(cache.figures().evictions, 1);
  EXPECT_LE(cache.figures().used, room_for(3));
  EXPECT_GT(cache.figures().used.count(), 3 * static_cast<int64_t>(kSize));
}

TEST(ResponseCache, WhatIsHeldOutlivesItsEviction) {
  ResponseCache cache(room_for(1), {1});
  cache.put("a", 1, TenantId(0), answer(kSize));
  const auto held = cache.find("a");
  cache.put("b", 1, TenantId(0), answer(kSize));
  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_EQ(held->front().values.size(), kSize);
}

TEST(ResponseCache, KeepsNothingThatIsLargerThanAllItsRoom) {
  ResponseCache cache(room_for(2), {1}), none(Bytes(), {1});
  cache.put("a", 1, TenantId(0), answer(kSize));
  cache.put("b", 1, TenantId(0), answer(4 * kSize));
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("b"), nullptr);
  none.put("a", 1, TenantId(0), answer(0));
  EXPECT_FALSE(none.keeps_any());
  EXPECT_EQ(none.find("a"), nullptr);
  EXPECT_EQ(none.figures().answers, 0);
}

TEST(ResponseCache, NoTenantPushesOutWhatOthersHaveWithinTheirShares) {
  ResponseCache cache(room_for(4), {1, 1, 2});
  cache.put("own", 1, TenantId(1), answer(kSize));
  for (const char* key : {"a", "b", "c", "d", "e", "f"})
    cache.put(key, 1, TenantId(0), answer(kSize));
  EXPECT_NE(cache.find("own"), nullptr);
  EXPECT_NE(cache.find("f"), nullptr);
  EXPECT_EQ(cache.find("c"), nullptr) << "three of four are left to who floods it";
  // With twice the weight, twice as much.
  for (const char* key : {"u", "v"})
    cache.put(key, 1, TenantId(2), answer(kSize));
  for (const char* key : {"own", "f", "u", "v"})
    EXPECT_NE(cache.find(key), nullptr) << key;
}

TEST(ResponseCache, ForgetsWhatAnOwnerHad) {
  ResponseCache cache(room_for(4), {1, 1});
  const ResponseCache::Owner one = cache.new_owner(), other = cache.new_owner();
  ASSERT_NE(one, other);
  cache.put("a", one, TenantId(0), answer(kSize));
  cache.put("b", other, TenantId(0), answer(kSize));
  cache.put("c", one, TenantId(1), answer(kSize));
  cache.forget(one);
  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("c"), nullptr);
  EXPECT_NE(cache.find("b"), nullptr);
  EXPECT_EQ(cache.figures().answers, 1);
  EXPECT_EQ(cache.figures().evictions, 0) << "nothing was pushed out";
}

}  // namespace
}  // namespace stint::serve
