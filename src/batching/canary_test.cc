// A version that gets its requests step by step.
#include "batching/canary.h"

#include <gmock/gmock.h>

namespace stint::batching {
namespace {

using ::testing::HasSubstr;

constexpr Instant kStart = Instant::from_ns(1'000'000'000'000);

Instant after(int64_t seconds) { return kStart + Duration::seconds(seconds); }
Canary begun(CanaryRules rules = {}) { return {std::move(rules), kStart, {}, {}}; }

TEST(Canary, GetsMoreAfterTimeAndRequests) {
  Canary canary = begun();
  EXPECT_EQ(canary.percent(), 1);
  EXPECT_FALSE(canary.look(after(299), {.answered = 1000}, {.answered = 99'000}));
  EXPECT_FALSE(canary.look(after(300), {.answered = 99}, {.answered = 9'900})) << "too few to judge by";
  EXPECT_EQ(canary.look(after(301), {.answered = 100}, {.answered = 9'900}), "gets 10 % of the requests");
  EXPECT_EQ(canary.percent(), 10);
  EXPECT_FALSE(canary.look(after(601), {.answered = 199}, {.answered = 20'000})) << "each step counts anew";
  EXPECT_TRUE(canary.look(after(602), {.answered = 200}, {.answered = 20'000}));
  EXPECT_TRUE(canary.look(after(902), {.answered = 1000}, {.answered = 20'000}));
  EXPECT_EQ(canary.percent(), 100);
  EXPECT_FALSE(canary.look(after(9000), {.answered = 100'000}, {.answered = 20'000}));
}

TEST(Canary, IsTakenBackWhenItFailsMoreThanTheOthers) {
  Canary canary = begun();
  EXPECT_FALSE(canary.look(after(1), {.answered = 1, .failed = 2}, {.answered = 300}));
  EXPECT_THAT(canary.look(after(2), {.answered = 1, .failed = 3}, {.answered = 300}).value_or(""),
              HasSubstr("75.0 % of its requests failed, 0.0 % of the others'"));
  EXPECT_EQ(canary.percent(), 0);
  EXPECT_TRUE(canary.taken_back());
  EXPECT_FALSE(canary.look(after(1000), {.answered = 1000, .failed = 3}, {.answered = 300})) << "for good";
  Canary same = begun();
  EXPECT_FALSE(same.look(after(2), {.answered = 60, .failed = 40}, {.answered = 600, .failed = 400})) << "what fails everywhere";
}

TEST(Canary, IsTakenBackWhenItBreaksItsPromise) {
  Canary canary = begun({.promise = Duration::milliseconds(50)});
  EXPECT_FALSE(canary.look(after(5), {.answered = 99, .p99 = Duration::milliseconds(80)}, {}));
  EXPECT_THAT(canary.look(after(6), {.answered = 100, .p99 = Duration::milliseconds(80)}, {}).value_or(""),
              HasSubstr("its p99 is 80 ms, 50 ms are promised"));
  Canary slower = begun();
  EXPECT_THAT(slower.look(after(6), {.answered = 100, .p99 = Duration::milliseconds(80)}, {.p99 = Duration::milliseconds(50)})
                  .value_or(""),
              HasSubstr("that of the others 50 ms"));
}

TEST(Canary, GetsNoMoreThanItsPromiseHasRoomFor) {
  Canary canary = begun({.promise = Duration::milliseconds(50)});
  const CanarySide full = {.answered = 1000, .p99 = Duration::milliseconds(20), .per_second = 5, .most_per_second = 40};
  EXPECT_THAT(canary.look(after(400), full, {}).value_or(""),
              HasSubstr("stays at 1 % of the requests: 10 % would be 50 a second"));
  EXPECT_FALSE(canary.look(after(401), full, {})) << "said once";
  EXPECT_EQ(canary.percent(), 1);
  CanarySide calm = full;
  calm.per_second = 4;
  EXPECT_TRUE(canary.look(after(402), calm, {}));
  EXPECT_EQ(canary.percent(), 10);
}

}  // namespace
}  // namespace stint::batching
