#include "sched/policy_text.h"

#include <gtest/gtest.h>

namespace stint::sched {
namespace {

TEST(PolicyText, ANameStandsForItsUsualRules) {
  const Policy fifo = parse_policy("fifo").value();
  EXPECT_EQ(fifo.order, Order::kFifo);
  EXPECT_FALSE(fifo.preempt);
  EXPECT_EQ(fifo.backfill, Backfill::kNone);
  const Policy stint = parse_policy("stint").value();
  EXPECT_TRUE(stint.preempt && stint.reclaim);
}

TEST(PolicyText, SettingsChangeWhatTheyNameAndNothingElse) {
  const Policy p = parse_policy("fifo:backfill=conservative,placement=fgd,ageing=90m").value();
  EXPECT_EQ(p.backfill, Backfill::kConservative);
  EXPECT_EQ(p.placement, Placement::kFgd);
  EXPECT_EQ(p.ageing, Duration::minutes(90));
  EXPECT_FALSE(p.preempt);
}

TEST(PolicyText, TextAndPolicyAreEachOther) {
  for (const char* text : {"fifo", "fifo-skip", "sjf-oracle", "srtf", "fair", "stint", "fair:backfill=easy",
                           "stint:placement=best-fit,preempt=no,victims=priority,ageing=90s", "fair:usage-half-life=0",
                           "stint:usage-half-life=24h", "stint:durations=learnt"})
    EXPECT_EQ(to_text(parse_policy(text).value()), text);
}

TEST(PolicyText, ErrorsSayWhatMayBeWritten) {
  EXPECT_NE(parse_policy("lifo").error().message.find("fifo-skip"), std::string::npos);
  EXPECT_NE(parse_policy("fifo:speed=9").error().message.find("backfill"), std::string::npos);
  EXPECT_FALSE(parse_policy("fifo:preempt=maybe").ok());
  EXPECT_FALSE(parse_policy("fifo:preempt").ok());
  EXPECT_FALSE(parse_policy("stint:durations=guessed").ok());
  EXPECT_FALSE(parse_policy("fifo:ageing=soon").ok());
  EXPECT_FALSE(parse_policy("fifo:usage-half-life=24h").ok());  // it would have no effect
}

}  // namespace
}  // namespace stint::sched
