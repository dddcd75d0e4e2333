#include "sched/step_draft.h"

#include <gmock/gmock.h>

namespace stint::sched {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Place place_of(uint32_t task) { return {.task = TaskId(task), .node = NodeId(task), .gpus = 1}; }

void start(StepDraft& draft, uint32_t job, std::initializer_list<uint32_t> tasks) {
  draft.decide(DecisionKind::kStart, Reason::kFree, JobId(job));
  for (const uint32_t task : tasks)
    draft.add_place(place_of(task));
}

std::vector<uint32_t> tasks_of(const Decision& decision) {
  std::vector<uint32_t> tasks;
  for (const Place& place : decision.places)
    tasks.push_back(place.task.index());
  return tasks;
}

TEST(StepDraft, AStartThatIsTakenBackLeavesTheOthersTheirPlaces) {
  StepDraft draft;
  draft.begin();
  start(draft, 1, {10, 11});
  start(draft, 2, {20});
  draft.decide(DecisionKind::kReject, Reason::kNeverFits, JobId(9));
  start(draft, 3, {30, 31});
  draft.take_back_start(JobId(2));
  draft.take_back_start(JobId(1));
  EXPECT_EQ(draft.start_of(JobId(1)), nullptr);
  EXPECT_EQ(draft.times_taken_back(JobId(1)), 1U);
  EXPECT_EQ(draft.times_taken_back(JobId(3)), 0U);
  const auto decisions = draft.close();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_THAT(tasks_of(decisions[0]), IsEmpty());
  EXPECT_EQ(decisions[1].job, JobId(3));
  EXPECT_THAT(tasks_of(decisions[1]), ElementsAre(30, 31));
  draft.begin();
  EXPECT_FALSE(draft.any_taken_back());
  EXPECT_THAT(draft.close(), IsEmpty());
}

TEST(StepDraft, WhatIsDroppedLeavesNoPlaces) {
  StepDraft draft;
  draft.begin();
  start(draft, 1, {10});
  start(draft, 2, {20, 21});
  draft.drop_last();
  start(draft, 3, {30});
  const auto decisions = draft.close();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_THAT(tasks_of(decisions[0]), ElementsAre(10));
  EXPECT_THAT(tasks_of(decisions[1]), ElementsAre(30));
}

TEST(StepDraft, OrdersToTheGoneFall) {
  StepDraft draft;
  draft.begin();
  draft.decide(DecisionKind::kEvict, Reason::kStaleGang, JobId(1));
  draft.add_place(place_of(10));
  draft.add_place(place_of(11));
  draft.decide(DecisionKind::kEvict, Reason::kStaleGang, JobId(2));
  draft.add_place(place_of(20));
  start(draft, 3, {30});
  draft.withdraw_orders([](TaskId t) { return t.index() == 11; });
  const auto decisions = draft.close();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_THAT(tasks_of(decisions[0]), ElementsAre(11));
  EXPECT_THAT(tasks_of(decisions[1]), ElementsAre(30)) << "who starts is there";
}

}  // namespace
}  // namespace stint::sched
