#include "batching/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batching/testing_batches.h"

namespace stint::batching {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(Batcher, WaitsForCompanyNoLongerThanMaxWait) {
  Batcher b = make_batcher(simple_policy(4, ms(10)));
  Said said = say(b, at_ms(0), {request(1)});
  EXPECT_THAT(said.batches, IsEmpty());
  EXPECT_EQ(said.wake, at_ms(10));
  EXPECT_THAT(say(b, at_ms(4), {request(2)}).batches, IsEmpty());
  said = say(b, at_ms(10), {});
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_THAT(said.batches[0].members, ElementsAre(1, 2));
  EXPECT_EQ(said.batches[0].expected_end, at_ms(10 + 5 + 2));
  EXPECT_EQ(said.wake, kNoDeadline);
}

TEST(Batcher, FullBatchStartsAtOnce) {
  Batcher b = make_batcher(simple_policy(2, ms(1000)));
  const Said said = say(b, at_ms(0), {request(1), request(2), request(3)});
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_THAT(said.batches[0].members, ElementsAre(1, 2));
  EXPECT_EQ(b.waiting(ModelId(0)), 1);
}

TEST(Batcher, LargestPreferredSizeThatCanBeFilledStarts) {
  BatchPolicy policy = simple_policy(8, ms(50));
  policy.preferred = {2, 4};
  Batcher b = make_batcher(policy);
  Said said = say(b, at_ms(0), {request(1), request(2), request(3), request(4), request(5)});
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_THAT(said.batches[0].members, ElementsAre(1, 2, 3, 4));
  // The fifth is below every preferred size: it goes alone when it has waited long enough.
  said = say(b, at_ms(20), {}, {said.batches[0].id});
  EXPECT_THAT(said.batches, IsEmpty());
  EXPECT_EQ(said.wake, at_ms(50));
  EXPECT_THAT(say(b, at_ms(50), {}).batches, SizeIs(1));
}

TEST(Batcher, ChangesHowLongAndForHowManyItWaits) {
  Batcher b = make_batcher(simple_policy(8, ms(1000)));
  EXPECT_EQ(say(b, at_ms(0), {request(1), request(2)}).wake, at_ms(1000));
  BatchPolicy sooner = simple_policy(8, ms(20));
  sooner.preferred = {3};
  ASSERT_TRUE(b.change(ModelId(0), sooner).ok());
  EXPECT_EQ(say(b, at_ms(5), {}).wake, at_ms(20)) << "what waits is told, too";
  EXPECT_THAT(say(b, at_ms(6), {request(3)}).batches, SizeIs(1));
  // Those had their room made for them.
  EXPECT_FALSE(b.change(ModelId(0), simple_policy(9, ms(20))).ok());
  BatchPolicy more = sooner;
  more.queue_limit = 2 * more.queue_limit;
  EXPECT_FALSE(b.change(ModelId(0), more).ok());
  more = sooner;
  more.preferred = {9};
  EXPECT_FALSE(b.change(ModelId(0), more).ok());
}

TEST(Batcher, StartsWhenTheEarliestDeadlineAllowsNoMoreWaiting) {
  Batcher b = make_batcher(simple_policy(4, ms(100)));
  // Alone it takes 6 ms, so it must start by 24; in company of two it takes 7.
  EXPECT_EQ(say(b, at_ms(0), {request(1, at_ms(30))}).wake, at_ms(24));
  EXPECT_EQ(say(b, at_ms(5), {request(2)}).wake, at_ms(23));
  const Said said = say(b, at_ms(23), {});
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_EQ(said.batches[0].expected_end, at_ms(30));
}

TEST(Batcher, TightDeadlineGoesFirstInABatchSmallEnough) {
  Batcher b = make_batcher(simple_policy(4, ms(10)));
  Said said = say(b, at_ms(0), {request(1), request(2), request(3), request(4)});
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_THAT(say(b, at_ms(1), {request(5), request(6), request(7, at_ms(16))}).refused, IsEmpty());
  // At 9 it has 7 ms left: room for two. Both others wait; the one that was there first comes along.
  said = say(b, at_ms(9), {}, {said.batches[0].id});
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_THAT(said.batches[0].members, ElementsAre(7, 5));
}

TEST(Batcher, RefusesWhatCannotBeInTime) {
  Batcher b = make_batcher(simple_policy(4, ms(10)));
  EXPECT_THAT(say(b, at_ms(0), {request(1, at_ms(5))}).refused, ElementsAre(Pair(1, RefusalReason::kDoomed)));
  ASSERT_THAT(say(b, at_ms(0), {request(2), request(3), request(4), request(5)}).batches, SizeIs(1));
  // The instance is expected to be busy until 9, and alone it takes 6.
  EXPECT_THAT(say(b, at_ms(1), {request(6, at_ms(14))}).refused, ElementsAre(Pair(6, RefusalReason::kDoomed)));
  Said said = say(b, at_ms(1), {request(7, at_ms(15))});
  EXPECT_THAT(said.refused, IsEmpty());
  // The batch takes longer than expected: the first moment at which it is too late is when the client hears of it.
  ASSERT_EQ(said.wake, at_ms(9) + Duration::nanoseconds(1));
  EXPECT_THAT(say(b, said.wake, {}).refused, ElementsAre(Pair(7, RefusalReason::kDoomed)));
  EXPECT_EQ(b.waiting(ModelId(0)), 0);
}

TEST(Batcher, BacklogIsNotServedInSmallBatchesForWhoIsLateAnyway) {
  Batcher b = make_batcher(simple_policy(4, ms(0)));
  Said said = say(b, at_ms(0), {request(1)});
  std::vector<Request> backlog = {request(10, at_ms(13))};
  for (uint64_t id = 11; id < 16; ++id)
    backlog.push_back(request(id, at_ms(40)));
  say(b, at_ms(1), backlog);
  // At 6 request 10 could go alone (6 ms), not in a batch of four (9 ms), and four others wait.
  said = say(b, at_ms(6), {}, {said.batches[0].id});
  EXPECT_THAT(said.refused, ElementsAre(Pair(10, RefusalReason::kDoomed)));
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_THAT(said.batches[0].members, ElementsAre(11, 12, 13, 14));
}

TEST(Batcher, CancelledRequestLeavesItsBatch) {
  Batcher b = make_batcher(simple_policy(3, ms(10)));
  say(b, at_ms(0), {request(1), request(2)});
  say(b, at_ms(1), {}, {}, {RequestId{1}});
  const Said said = say(b, at_ms(11), {});
  ASSERT_THAT(said.batches, SizeIs(1));
  EXPECT_THAT(said.batches[0].members, ElementsAre(2));
  // It runs: taking it back is the server's matter.
  EXPECT_THAT(say(b, at_ms(12), {}, {}, {RequestId{2}}).batches, IsEmpty());
  EXPECT_EQ(b.running(ModelId(0)), 1);
}

TEST(Batcher, QueuesAreBounded) {
  BatchPolicy policy = simple_policy(8, ms(10));
  policy.queue_limit = 3;
  policy.tenant_limit = 2;
  Batcher b = make_batcher(policy, {1, 1});
  Request other = request(4);
  other.tenant = TenantId(1);
  Request more = request(5);
  more.tenant = TenantId(1);
  EXPECT_THAT(say(b, at_ms(0), {request(1), request(2), request(3), other, more}).refused,
              ElementsAre(Pair(3, RefusalReason::kTenantLimit), Pair(5, RefusalReason::kQueueFull)));
}

TEST(Batcher, NamesWhatIsWrongWithARequest) {
  BatchPolicy policy = simple_policy(4, ms(10));
  policy.buckets[0].longest = 128;
  Batcher b = make_batcher(policy);
  Request model = request(1), items = request(2), many = request(3), priority = request(4), length = request(5);
  model.model = ModelId(7);
  items.items = 0;
  many.items = 5;
  priority.priority = kPriorities;
  length.length = 129;
  EXPECT_THAT(say(b, at_ms(0), {model, items, many, priority, length, request(6), request(6)}).refused,
              ElementsAre(Pair(1, RefusalReason::kUnknownModel), Pair(2, RefusalReason::kMalformed),
                          Pair(3, RefusalReason::kTooManyItems), Pair(4, RefusalReason::kMalformed),
                          Pair(5, RefusalReason::kTooLong), Pair(6, RefusalReason::kDuplicate)));
}

TEST(Batcher, ShapesDoNotMix) {
  BatchPolicy policy = simple_policy(2, ms(10));
  policy.buckets = {{128, linear_curve(2, ms(5), ms(1))}, {512, linear_curve(2, ms(20), ms(4))}};
  policy.instances = 2;
  Batcher b = make_batcher(policy);
  std::vector<Request> requests;
  for (uint64_t id = 1; id <= 4; ++id)
    requests.push_back(request(id));
  requests[0].length = 100;
  requests[1].length = 129;
  requests[2].length = 128;
  requests[3].length = 512;
  const Said said = say(b, at_ms(0), requests);
  ASSERT_THAT(said.batches, SizeIs(2));
  EXPECT_THAT(said.batches[0].members, ElementsAre(1, 3));
  EXPECT_EQ(said.batches[0].padded_length, 128);
  EXPECT_THAT(said.batches[1].members, ElementsAre(2, 4));
  EXPECT_EQ(said.batches[1].padded_length, 512);
}

TEST(Batcher, UrgentFirst) {
  Batcher b = make_batcher(simple_policy(2, ms(0)));
  const Said running = say(b, at_ms(0), {request(1)});
  Request low = request(2), lower = request(3), urgent = request(4);
  low.priority = 2;
  lower.priority = 3;
  say(b, at_ms(1), {lower, low, urgent});
  EXPECT_THAT(say(b, at_ms(6), {}, {running.batches[0].id}).batches[0].members, ElementsAre(4, 2));
}

TEST(Batcher, TenantsAreServedByWeightHoweverMuchTheySend) {
  BatchPolicy policy = simple_policy(4, ms(0));
  policy.queue_limit = 4000;
  Batcher b = make_batcher(policy, {1, 3});
  std::vector<Request> requests;
  for (uint64_t id = 0; id < 2000; ++id) {
    requests.push_back(request(id));
    requests.back().tenant = TenantId(id < 1500 ? 0 : 1);  // the light one sends a third, and after the other
  }
  Said said = say(b, at_ms(0), requests);
  int64_t light = 0;
  int64_t now = 0;
  for (int64_t batches = 1; batches <= 160; ++batches) {
    for (const uint64_t id : said.batches[0].members)
      light += id >= 1500 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(light), static_cast<double>(batches) * 3, 4) << "after " << batches << " batches";
    said = say(b, at_ms(now += 9), {}, {said.batches[0].id});
  }
}

TEST(Batcher, WhoComesBackGetsNoCreditForThePause) {
  BatchPolicy policy = simple_policy(1, ms(0));
  Batcher b = make_batcher(policy, {1, 1});
  uint64_t id = 0;
  const auto from = [&](uint32_t tenant) {
    Request r = request(++id);
    r.tenant = TenantId(tenant);
    return r;
  };
  // Tenant 0 alone for 50 batches; then both with a backlog: they take turns from the first batch on.
  Said said = say(b, at_ms(0), {from(0)});
  int64_t now = 0;
  for (int i = 0; i < 50; ++i)
    said = say(b, at_ms(now += 6), {from(0)}, {said.batches[0].id});
  std::vector<Request> both;
  for (int i = 0; i < 10; ++i) {
    both.push_back(from(0));
    both.push_back(from(1));
  }
  const uint64_t first = static_cast<uint64_t>(both[0].id);
  say(b, at_ms(now + 1), both);
  int64_t turns_of_1 = 0;
  for (int i = 0; i < 10; ++i) {
    said = say(b, at_ms(now += 6), {}, {said.batches[0].id});
    turns_of_1 += static_cast<int64_t>((said.batches[0].members[0] - first) % 2);
  }
  EXPECT_NEAR(static_cast<double>(turns_of_1), 5.0, 1.0);
}

TEST(Batcher, RefusesContradictoryPolicies) {
  const auto error_of = [](const BatchPolicy& policy) {
    return check_policy(policy).ok() ? "" : check_policy(policy).error().message;
  };
  BatchPolicy policy = simple_policy(4, ms(10));
  EXPECT_EQ(error_of(policy), "");
  policy.max_batch = 5;
  EXPECT_THAT(error_of(policy), ::testing::HasSubstr("before the largest batch 5"));
  policy = simple_policy(4, ms(10));
  policy.preferred = {4, 2};
  EXPECT_THAT(error_of(policy), ::testing::HasSubstr("must grow"));
  policy = simple_policy(4, ms(10));
  policy.instances = 0;
  EXPECT_THAT(error_of(policy), ::testing::HasSubstr("0 instances"));
  EXPECT_FALSE(LatencyCurve::create({ms(2), ms(1)}).ok());
  EXPECT_FALSE(LatencyCurve::create({}).ok());
  std::vector<BatchPolicy> none;
  EXPECT_FALSE(Batcher::create(none, {1}).ok());
}

}  // namespace
}  // namespace stint::batching
