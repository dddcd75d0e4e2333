#include "cycles/cohort.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "cycles/cohort_victims.h"

namespace stint::sched {
namespace {

const CellId kGpus(0);

struct Pair {
  QuotaTree tree{{0}};
  QuotaNodeId cohort = tree.add({});
  QuotaNodeId a = tree.add(cohort);
  QuotaNodeId b = tree.add(cohort);
};

TEST(QuotaTree, WhatOneDoesNotUseTheOtherMayBorrow) {
  Pair p;
  p.tree.set_quota(p.a, kGpus, {.nominal = 6, .borrowing_limit = {}, .lending_limit = {}});
  p.tree.set_quota(p.b, kGpus, {.nominal = 2, .borrowing_limit = {}, .lending_limit = {}});
  EXPECT_EQ(p.tree.available(p.b, kGpus), 8);
  p.tree.use(p.a, {kGpus, 5});
  EXPECT_EQ(p.tree.available(p.b, kGpus), 3);
  EXPECT_EQ(p.tree.available(p.a, kGpus), 3);
}

TEST(QuotaTree, LendingAndBorrowingLimitsHold) {
  Pair p;
  p.tree.set_quota(p.a, kGpus, {.nominal = 6, .borrowing_limit = 1, .lending_limit = 2});
  p.tree.set_quota(p.b, kGpus, {.nominal = 4, .borrowing_limit = {}, .lending_limit = {}});
  EXPECT_EQ(p.tree.available(p.b, kGpus), 6);  // its 4 and the 2 that a lends
  EXPECT_EQ(p.tree.available(p.a, kGpus), 7);  // its 6 and 1 borrowed
  p.tree.use(p.a, {kGpus, 3});                 // of the 4 it keeps
  EXPECT_EQ(p.tree.available(p.b, kGpus), 6);
  p.tree.use(p.a, {kGpus, 2});  // one of those it lends
  EXPECT_EQ(p.tree.available(p.b, kGpus), 5);
}

TEST(QuotaTree, SharesCompareBorrowingToWhatCanBeLentAndToWeight) {
  Pair p;
  const QuotaNodeId heavy = p.tree.add(p.cohort, 2'000'000);
  const QuotaNodeId weightless = p.tree.add(p.cohort, 0);
  p.tree.set_quota(p.a, kGpus, {.nominal = 12, .borrowing_limit = {}, .lending_limit = {}});
  p.tree.use(p.b, {kGpus, 2});
  p.tree.use(heavy, {kGpus, 4});
  EXPECT_TRUE(p.tree.share(p.a).zero());
  EXPECT_EQ(p.tree.share(p.b), p.tree.share(heavy));  // 2/12 at weight 1, 4/12 at weight 2
  p.tree.use(weightless, {kGpus, 1});
  EXPECT_GT(p.tree.share(weightless), p.tree.share(heavy));  // weight 0: more than any
}

TEST(QuotaTree, GivingBackUndoesUseAtEveryLevel) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    QuotaTree tree({0});
    std::vector<QuotaNodeId> nodes = {tree.add({})};
    for (int i = 0; i < 6; ++i)
      nodes.push_back(tree.add(nodes[random.below(nodes.size())]));
    for (const QuotaNodeId n : nodes) {
      Quota quota{.nominal = static_cast<int64_t>(random.below(8)), .borrowing_limit = {}, .lending_limit = {}};
      if (random.below(2) == 0) quota.lending_limit = static_cast<int64_t>(random.below(5));
      tree.set_quota(n, kGpus, quota);
    }
    std::vector<int64_t> before;
    for (const QuotaNodeId n : nodes)
      before.push_back(tree.available(n, kGpus));
    std::vector<std::pair<QuotaNodeId, int64_t>> held;
    for (int i = 0; i < 8; ++i) {
      const QuotaNodeId n = nodes[random.below(nodes.size())];
      if (!tree.children(n).empty()) continue;
      const int64_t room = tree.available(n, kGpus);
      if (room <= 0) continue;
      held.emplace_back(n, 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(room))));
      tree.use(n, {kGpus, held.back().second});
      EXPECT_GE(tree.available(tree.root(n), kGpus), 0);
    }
    while (!held.empty()) {
      const size_t i = random.below(held.size());
      tree.give_back(held[i].first, {kGpus, held[i].second});
      held.erase(held.begin() + static_cast<ptrdiff_t>(i));
    }
    for (size_t i = 0; i < nodes.size(); ++i)
      EXPECT_EQ(tree.available(nodes[i], kGpus), before[i]);
  }
}

QuotaWorkload workload(QuotaNodeId queue, int32_t priority, int64_t amount, const char* uid) {
  QuotaWorkload w;
  w.queue = queue;
  w.priority = priority;
  w.uid = uid;
  w.amounts = {{kGpus, amount}};
  return w;
}

TEST(QuotaVictims, TakesBackWhatWasLentAndNoMore) {
  Pair p;
  p.tree.set_quota(p.a, kGpus, {.nominal = 4, .borrowing_limit = {}, .lending_limit = {}});
  p.tree.set_quota(p.b, kGpus, {.nominal = 4, .borrowing_limit = {}, .lending_limit = {}});
  const std::vector<QuotaWorkload> admitted = {workload(p.b, 5, 4, "b1"), workload(p.b, 3, 1, "b2"), workload(p.b, 1, 3, "b3")};
  for (const QuotaWorkload& w : admitted)
    p.tree.use(w.queue, w.amounts[0]);
  QuotaRequest in{.workload = workload(p.a, 0, 3, "in"), .short_cells = {kGpus}, .policy = {}};
  in.policy.within_cohort = GivesWay::kAny;
  const auto victims = choose_quota_victims(p.tree, admitted, in);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].workload, 2U);
  EXPECT_EQ(victims[0].reason, VictimReason::kReclaim);
  in.workload.amounts[0].amount = 4;  // the lowest alone is not enough, the next frees what is missing
  EXPECT_EQ(choose_quota_victims(p.tree, admitted, in).size(), 2U);
  in.workload.amounts[0].amount = 5;  // more than a owns while b holds its own
  EXPECT_TRUE(choose_quota_victims(p.tree, admitted, in).empty());
}

TEST(QuotaVictims, UnderFairSharingTheLargestBorrowerAloneGivesWay) {
  Pair p;
  const QuotaNodeId c = p.tree.add(p.cohort);
  for (const QuotaNodeId q : {p.a, p.b, c})
    p.tree.set_quota(q, kGpus, {.nominal = 3, .borrowing_limit = {}, .lending_limit = {}});
  std::vector<QuotaWorkload> admitted;
  for (int i = 0; i < 4; ++i)
    admitted.push_back(workload(p.a, 0, 1, "a"));
  for (int i = 0; i < 5; ++i)
    admitted.push_back(workload(p.b, 0, 1, "b"));
  for (const QuotaWorkload& w : admitted)
    p.tree.use(w.queue, w.amounts[0]);
  QuotaRequest in{.workload = workload(c, 0, 1, "in"), .short_cells = {kGpus}, .policy = {}};
  in.policy.within_cohort = GivesWay::kAny;
  const std::vector<FairRule> rules = {FairRule::kAtMostFinalShare, FairRule::kBelowInitialShare};
  const auto victims = choose_fair_victims(p.tree, admitted, in, rules);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(admitted[victims[0].workload].queue, p.b);
  // a holds one more than its own: a second is no worse off than b after losing one, a third would be.
  in.workload.queue = p.a;
  EXPECT_EQ(choose_fair_victims(p.tree, admitted, in, std::span(rules).first(1)).size(), 0U);  // 2/9 against 1/9
}

}  // namespace
}  // namespace stint::sched
