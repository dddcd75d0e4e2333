#include "daemon/power/handed_machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/power/power_rows.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kThen = Instant::from_seconds(1'800'000'000);

/// A book with burst-1, handed over and in that state.
CapacityBook book_with(MadeState state) {
  CapacityRules rules;
  rules.owner = "stint-test";
  CapacityPool& pool = rules.pools.emplace_back();
  pool.name = "burst/a";
  pool.machine.node.gpus = 8;
  CapacityBook book(rules);
  MadeMachine made{.pool = "burst/a", .wish = "burst", .client = {}, .state = state};
  made.was_ready = true;
  made.detail = "nothing needs it";
  book.adopt("burst-1", made);
  return book;
}

std::map<std::string, NodeView> known(NodeState state) {
  NodeView node;
  node.name = "burst-1";
  node.state = state;
  return {{"burst-1", node}};
}

TEST(HandedMachines, WhatIsReadyComesAtTheBegin) {
  HandedMachines handed;
  const auto reports = handed.begin(book_with(MadeState::kReady), {});
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports.front().news, MachineNews::kThere);
  EXPECT_EQ(reports.front().machine.node.name, "burst-1");
  EXPECT_EQ(reports.front().machine.node.gpus, 8);
  EXPECT_THAT(HandedMachines().begin(book_with(MadeState::kReady), {"burst-1"}), IsEmpty()) << "the configuration has it";
}

/// Killed when the book's row was written and the engine had not heard of it, so that the machine took work for ever.
TEST(HandedMachines, OneThatGoesAndTakesWorkIsDrained) {
  for (const MadeState state : {MadeState::kLeaving, MadeState::kEnding}) {
    const CapacityBook book = book_with(state);
    HandedMachines handed;
    EXPECT_THAT(handed.begin(book, {}), IsEmpty());
    const auto reports = handed.missing(kThen, book, known(NodeState::kUp), {});
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_EQ(reports.front().news, MachineNews::kDraining);
    EXPECT_EQ(reports.front().detail, "nothing needs it");
    EXPECT_THAT(handed.missing(kThen, book, known(NodeState::kDrained), {}), IsEmpty());
  }
}

TEST(HandedMachines, OneWhoseEndWasSeenGoes) {
  CapacityBook book = book_with(MadeState::kReady);
  HandedMachines handed;
  (void)handed.begin(book, {});
  EXPECT_THAT(handed.missing(kThen, book, known(NodeState::kUp), {}), IsEmpty());
  book.forget("burst-1");
  const auto reports = handed.missing(kThen, book, known(NodeState::kUp), {});
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports.front().news, MachineNews::kGone);
  EXPECT_THAT(handed.missing(kThen, book, {}, {}), IsEmpty());
  EXPECT_THAT(handed.missing(kThen, book, known(NodeState::kUp), {}), IsEmpty()) << "another's of that name";
}

TEST(HandedMachines, OneThatIsReadyAndNotKnownComesAgainOnceAMinute) {
  const CapacityBook book = book_with(MadeState::kReady);
  HandedMachines handed;
  (void)handed.begin(book, {});
  EXPECT_THAT(handed.missing(kThen, book, {}, {}), SizeIs(1));
  EXPECT_THAT(handed.missing(kThen + Duration::seconds(59), book, {}, {}), IsEmpty());
  EXPECT_THAT(handed.missing(kThen + Duration::seconds(60), book, {}, {}), SizeIs(1));
}

TEST(PowerRows, TheMarkTheBookAndOlderRowsAreApart) {
  const PowerRows rows = read_power_rows({"since", "off n1", "off n2", "on n1", owner_row("stint-1"), "number\t3"});
  EXPECT_EQ(rows.owner, "stint-1");
  EXPECT_THAT(rows.book, ElementsAre("number\t3"));
  EXPECT_THAT(rows.off, ElementsAre("n2"));
}

}  // namespace
}  // namespace stint
