#include "telemetry/alert_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using ::testing::ElementsAre;

const Instant kStart = Instant::from_seconds(1'800'000'000);
Instant at(int64_t minutes) { return kStart + Duration::minutes(minutes); }

/// A machine that goes down and comes back, and a book of it.
class AlertBookTest : public ::testing::Test {
 protected:
  AlertBookTest() : evaluator_({node_down()}) {}
  static AlertRule node_down() {
    for (const AlertRule& rule : default_alert_rules())
      if (rule.name == "NodeDown") return rule;
    return {};
  }
  void set(const std::string& node, bool down, Instant now) {
    const SubjectId id = evaluator_.subject({.scope = AlertScope::kNode, .node = node, .gpu = {}, .name = {}});
    evaluator_.set_fact(id, AlertFact::kNodeDown, down ? 1 : 0);
    for (AlertEntry& entry : book_.entries_for(evaluator_, evaluator_.evaluate(now), [](const AlertSubject&) { return "acme"; }))
      apply(std::move(entry));
  }
  void apply(AlertEntry entry) {
    const Status applied = book_.apply(entry);
    EXPECT_TRUE(applied.ok()) << applied.error().message;
    entries_.push_back(std::move(entry));
  }
  void silence(const std::vector<std::string>& matchers, Instant from, Instant until) {
    apply(AlertSilenced{{.id = book_.next_silence(),
                         .matchers = *parse_alert_matchers(matchers),
                         .from = from,
                         .until = until,
                         .by = "ada",
                         .comment = "move"}});
  }
  std::vector<AlertNotice> due(Instant now) const { return book_.due(page_, now, 100); }
  /// Tells all that is due.
  void tell(Instant now) {
    for (const AlertNotice& notice : due(now))
      apply(AlertWasTold{.id = notice.id, .receiver = page_.receiver, .firing = !notice.message.ends_at, .at = now});
  }

  AlertEvaluator evaluator_;
  AlertBook book_;
  std::vector<AlertEntry> entries_;
  AlertAudience page_{.receiver = "page", .wants = {}, .again = Duration::hours(4)};
};

TEST_F(AlertBookTest, TellsOnceAgainAfterAWhileAndWhenItEnds) {
  set("n1", true, at(0));
  ASSERT_EQ(due(at(0)).size(), 1U);
  const AlertNotice first = due(at(0))[0];
  EXPECT_EQ(first.message.labels.at("node"), "n1");
  EXPECT_EQ(first.message.labels.at("client"), "acme");
  EXPECT_EQ(due(at(5))[0].key, first.key) << "not told: the same telling";
  tell(at(5));
  EXPECT_TRUE(due(at(6)).empty());
  EXPECT_EQ(book_.next_due(page_, at(6)), at(245));
  ASSERT_EQ(due(at(245)).size(), 1U) << "told again";
  EXPECT_NE(due(at(245))[0].key, first.key);
  set("n1", false, at(250));
  ASSERT_EQ(due(at(250)).size(), 1U);
  EXPECT_EQ(due(at(250))[0].message.ends_at, at(250));
  tell(at(250));
  EXPECT_TRUE(due(at(1000)).empty());
}

TEST_F(AlertBookTest, OneThatEndedBeforeItCouldBeToldIsToldAllTheSame) {
  set("n1", true, at(0));
  set("n1", false, at(1));
  ASSERT_EQ(due(at(2)).size(), 1U);
  EXPECT_EQ(due(at(2))[0].message.ends_at, at(1));
}

TEST_F(AlertBookTest, ASilenceKeepsQuietUntilItEndsButTellsTheEndOfWhatWasTold) {
  set("n1", true, at(0));
  tell(at(0));
  silence({"node=n*"}, at(1), at(60));
  set("n2", true, at(2));
  EXPECT_TRUE(due(at(3)).empty());
  EXPECT_EQ(book_.next_due(page_, at(3)), at(60));
  EXPECT_THAT(book_.silenced_by(book_.alerts().at(2).message.labels, at(3)), ElementsAre(1));
  set("n1", false, at(4));
  ASSERT_EQ(due(at(5)).size(), 1U) << "its beginning was told";
  tell(at(5));
  set("n3", true, at(6));
  set("n3", false, at(7));
  EXPECT_TRUE(due(at(8)).empty()) << "came and went silenced";
  ASSERT_EQ(due(at(60)).size(), 1U);
  EXPECT_EQ(due(at(60))[0].message.labels.at("node"), "n2");
}

TEST_F(AlertBookTest, AnExpiredSilenceIsOver) {
  silence({"severity=critical", "node!=n9"}, at(0), at(60));
  set("n1", true, at(1));
  set("n9", true, at(1));
  ASSERT_EQ(due(at(2)).size(), 1U);
  EXPECT_EQ(due(at(2))[0].message.labels.at("node"), "n9");
  apply(SilenceExpired{.id = 1, .at = at(3)});
  EXPECT_EQ(due(at(3)).size(), 2U);
}

TEST_F(AlertBookTest, ReceiversHearWhatTheyWantEachByItself) {
  set("n1", true, at(0));
  const AlertAudience picky{
      .receiver = "picky", .wants = *parse_alert_matchers(std::vector<std::string>{"severity=warning"}), .again = {}};
  EXPECT_TRUE(book_.due(picky, at(0), 10).empty());
  const AlertAudience mail{.receiver = "mail", .wants = {}, .again = Duration::hours(1)};
  tell(at(0));
  EXPECT_EQ(book_.due(mail, at(1), 10).size(), 1U);
}

TEST_F(AlertBookTest, TheSameEntriesMakeTheSameBook) {
  silence({"node=n2"}, at(0), at(60));
  set("n1", true, at(0));
  set("n2", true, at(1));
  tell(at(1));
  set("n1", false, at(3));
  AlertBook again;
  for (const AlertEntry& entry : entries_)
    ASSERT_TRUE(again.apply(entry).ok());
  EXPECT_EQ(again.alerts(), book_.alerts());
  EXPECT_EQ(again.silences(), book_.silences());
  EXPECT_EQ(again.due(page_, at(4), 10)[0].key, due(at(4))[0].key);
  EXPECT_FALSE(again.apply(entries_[1]).ok()) << "it fires already";
  EXPECT_FALSE(again.apply(AlertEnded{.id = 77, .at = at(5)}).ok());
  EXPECT_FALSE(again.apply(SilenceExpired{.id = 77, .at = at(5)}).ok());
}

TEST_F(AlertBookTest, RulesThatAreGoneEndTheirAlerts) {
  set("n1", true, at(0));
  EXPECT_TRUE(book_.entries_for_rules(evaluator_.rules(), at(1)).empty());
  for (AlertEntry& entry : book_.entries_for_rules({}, at(1)))
    apply(std::move(entry));
  EXPECT_FALSE(book_.alerts().at(1).firing());
}

TEST_F(AlertBookTest, KeepsABoundedPast) {
  for (int64_t m = 0; m < static_cast<int64_t>(AlertRetention().count) + 20; ++m) {
    set("n1", true, at(10 * m));
    tell(at(10 * m));
    set("n1", false, at(10 * m + 1));
    tell(at(10 * m + 1));
  }
  EXPECT_EQ(book_.prune(std::vector{page_}, at(10'000)), 0);
  EXPECT_EQ(book_.alerts().size(), AlertRetention().count);
  EXPECT_EQ(book_.alerts().begin()->first, 21) << "the oldest went";
}

TEST(AlertMatcher, StarsStandForAnyText) {
  const auto matches = [](const char* matcher, const char* node) {
    const auto parsed = parse_alert_matcher(matcher);
    return parsed.ok() && parsed->matches({{"node", node}});
  };
  EXPECT_TRUE(matches("node=gpu-7", "gpu-7"));
  EXPECT_FALSE(matches("node=gpu-7", "gpu-77"));
  EXPECT_TRUE(matches("node=gpu-*", "gpu-77"));
  EXPECT_TRUE(matches("node=*a*b*", "xxaxxabxx"));
  EXPECT_FALSE(matches("node=*a*b", "xxaxxabxx"));
  EXPECT_TRUE(matches("node!=gpu-*", "cpu-1"));
  EXPECT_TRUE(matches("job=", "n1")) << "a label that is not there is empty";
  EXPECT_FALSE(matches("job=*x*", "n1"));
  for (const char* wrong : {"node", "=x", "", "colour=red", "!=x"})
    EXPECT_FALSE(parse_alert_matcher(wrong).ok()) << wrong;
  EXPECT_EQ(to_text(*parse_alert_matcher(" node != gpu-7 ")), "node!=gpu-7");
}

TEST_F(AlertBookTest, WhatHasEndedIsKeptForAsLongAsIsSaid) {
  const std::vector<AlertAudience> no_audience;
  for (int64_t m = 0; m < 10; ++m) {
    set("n1", true, at(60 * m));
    set("n1", false, at(60 * m + 30));
  }
  set("n2", true, at(0));
  // Ends at 30, 90, … 570 minutes; an age of 180 minutes at 600 leaves those after 420.
  book_.prune(no_audience, at(600), {.age = Duration::minutes(180), .count = 500});
  EXPECT_EQ(book_.alerts().size(), 3U + 1U) << "and the one that fires";
  book_.prune(no_audience, at(600), {.age = Duration::minutes(180), .count = 1});
  EXPECT_EQ(book_.alerts().size(), 1U + 1U);
}

TEST_F(AlertBookTest, WrittenAnewItIsTheSameAndGoesOn) {
  silence({"node=n3"}, at(0), at(60));
  silence({"node=n4"}, at(0), at(6'000));
  for (int64_t m = 0; m < 10; ++m) {
    set("n1", true, at(60 * m));
    tell(at(60 * m));
    set("n1", false, at(60 * m + 30));
  }
  set("n2", true, at(600));
  tell(at(600));
  book_.prune(std::vector{page_}, at(2'000), {.age = Duration::minutes(60), .count = 3});
  AlertBook anew;
  ASSERT_TRUE(anew.apply(entries_[0]).ok()) << "whatever was there before";
  const auto entries = book_.entries_anew();
  EXPECT_EQ(entries.size(), book_.size());
  EXPECT_LT(entries.size(), 6U);
  for (const AlertEntry& entry : entries)
    ASSERT_TRUE(anew.apply(entry).ok());
  EXPECT_EQ(anew.alerts(), book_.alerts());
  EXPECT_EQ(anew.silences(), book_.silences());
  EXPECT_EQ(anew.next_silence(), 3);
  EXPECT_EQ(anew.next_due(page_, at(2'000)), book_.next_due(page_, at(2'000)));
  // Entries from here on mean the same to both; of before, nothing is taken twice.
  for (const AlertEntry& old : entries_)
    if (std::holds_alternative<AlertFired>(old) || std::holds_alternative<AlertSilenced>(old)) {
      EXPECT_FALSE(anew.apply(old).ok());
    }
  evaluator_ = AlertEvaluator({node_down()});
  book_ = anew;
  set("n5", true, at(2'001));
  EXPECT_EQ(book_.alerts().rbegin()->first, 12);
}

}  // namespace
}  // namespace stint
