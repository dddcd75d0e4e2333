#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/alert_evaluator.h"

namespace stint {
namespace {

const Instant kStart = Instant::from_seconds(1'800'000'000);  // a full minute
Instant at(int64_t minutes) { return kStart + Duration::minutes(minutes); }

AlertRule rule_named(std::string_view name) {
  for (const AlertRule& rule : default_alert_rules())
    if (rule.name == name) return rule;
  ADD_FAILURE() << "no rule " << name;
  return {};
}

AlertSubject gpu(const std::string& uuid) { return {.scope = AlertScope::kGpu, .node = "n1", .gpu = uuid, .name = {}}; }

/// One rule, one subject; feeds a value a minute.
class OneRule {
 public:
  OneRule(std::string_view name, const AlertSubject& who) : evaluator({rule_named(name)}), id(evaluator.subject(who)) {}
  void feed(Metric metric, int64_t from, int64_t to, const std::function<double(int64_t)>& value) {
    for (int64_t m = from; m < to; ++m)
      evaluator.sample(id, metric, at(m), value(m));
  }
  void feed(Metric metric, int64_t from, int64_t to, double value) {
    feed(metric, from, to, [=](int64_t) { return value; });
  }
  bool fires(int64_t minute) {
    for (const AlertChange& c : evaluator.evaluate(at(minute)))
      firing = c.firing;
    return firing;
  }
  AlertEvaluator evaluator;
  SubjectId id;
  bool firing = false;
};

TEST(MinuteWindow, MeansCountMinutesAlikeAndSayHowManyWereSeen) {
  MinuteWindow window(10);
  EXPECT_FALSE(window.mean(at(5), Duration::minutes(5)));
  for (int s = 0; s < 60; ++s)
    window.add(at(0) + Duration::seconds(s), 10);  // many samples in one minute
  window.add(at(2), 40);
  const auto mean = window.mean(at(4), Duration::minutes(4));
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->value, 25);
  EXPECT_DOUBLE_EQ(mean->coverage, 0.5);
  // Twelve minutes on the ring has gone round: the old ones are not seen again.
  window.add(at(12), 7);
  EXPECT_DOUBLE_EQ(window.mean(at(13), Duration::minutes(10))->value, 7);
  window.add(at(1), 1'000);  // too late to matter
  EXPECT_DOUBLE_EQ(window.mean(at(13), Duration::minutes(10))->value, 7);
}

TEST(MinuteWindow, RiseIsThatOfTheStraightLine) {
  MinuteWindow window(200);
  for (int64_t m = 0; m < 120; ++m)
    window.add(at(m), 1'000 + 3 * static_cast<double>(m));
  EXPECT_NEAR(*window.rise(at(120), Duration::minutes(120)), 360, 1e-6);
  EXPECT_DOUBLE_EQ(*window.quantile(at(120), Duration::minutes(100), 0.95), 1'000 + 3 * 114);
}

TEST(Alerts, EveryDefaultRuleIsSound) {
  std::vector<std::string> names;
  for (const AlertRule& rule : default_alert_rules()) {
    EXPECT_TRUE(check_alert_rule(rule).ok()) << check_alert_rule(rule).error().message;
    EXPECT_FALSE(rule.summary.empty() || rule.remedy.empty()) << rule.name;
    names.push_back(rule.name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::unique(names).size(), 0U) << "a name twice";
}

TEST(Alerts, AnIdleHourFiresOnceItIsWholeAndEndsWhenWorkComes) {
  OneRule world("GpuUnderUtilized", gpu("G"));
  world.feed(Metric::kUtilization, 0, 60, 19.9);
  EXPECT_FALSE(world.fires(40)) << "a third of the hour has not been seen";
  EXPECT_TRUE(world.fires(60));
  world.feed(Metric::kUtilization, 60, 70, 100);  // 50 × 19.9 + 10 × 100 = 33 %
  EXPECT_FALSE(world.fires(70));
}

TEST(Alerts, WhatIsNotSeenRaisesNoAlarmAndEndsOne) {
  OneRule world("GpuUnderUtilized", gpu("G"));
  world.feed(Metric::kUtilization, 0, 60, 0);
  EXPECT_TRUE(world.fires(60));
  EXPECT_FALSE(world.fires(80)) << "a third of the last hour is not known";
}

TEST(Alerts, AConditionMustHold) {
  OneRule world("GpuTemperatureCritical", gpu("G"));
  world.feed(Metric::kTemperature, 0, 1, 95);
  EXPECT_FALSE(world.fires(1)) << "pending";
  world.feed(Metric::kTemperature, 1, 2, 60);
  EXPECT_FALSE(world.fires(2));
  world.feed(Metric::kTemperature, 2, 4, 91);
  EXPECT_FALSE(world.fires(3));
  EXPECT_TRUE(world.fires(4));
}

TEST(Alerts, RulesForInferenceSpeakAboutInferenceOnly) {
  OneRule world("InferenceGpuIdle", gpu("G"));
  world.feed(Metric::kUtilization, 0, 5, 0);
  world.evaluator.set_kind(world.id, WorkloadKind::kTraining);
  EXPECT_FALSE(world.fires(5));
  world.evaluator.set_kind(world.id, WorkloadKind::kBatchInference);
  EXPECT_FALSE(world.fires(5)) << "no request waits for batch work";
  world.evaluator.set_kind(world.id, WorkloadKind::kRealtimeInference);
  EXPECT_TRUE(world.fires(5));
}

TEST(Alerts, SharesAreOfWhatTheDeviceHas) {
  OneRule world("GpuMemoryNearlyFull", gpu("G"));
  world.feed(Metric::kMemoryUsed, 0, 10, 70e9);
  EXPECT_FALSE(world.fires(10)) << "of what is not known";
  world.feed(Metric::kMemoryTotal, 0, 10, 80e9);  // 87.5 %
  EXPECT_FALSE(world.fires(10)) << "must hold for five minutes";
  world.feed(Metric::kMemoryUsed, 10, 15, 70e9);
  world.feed(Metric::kMemoryTotal, 10, 15, 80e9);
  EXPECT_TRUE(world.fires(15));
}

TEST(Alerts, LatencyIsHeldAgainstTheWeekBefore) {
  OneRule world("LatencyAboveBaseline", {.scope = AlertScope::kService, .node = {}, .gpu = {}, .name = "chat"});
  const int64_t week = 7 * 24 * 60;
  // One minute in ten takes 40 ms, so that the 95th percentile is 40.
  world.feed(Metric::kLatencyP99, 0, week, [](int64_t m) { return m % 10 == 0 ? 40.0 : 10.0; });
  world.feed(Metric::kLatencyP99, week, week + 10, 199);
  EXPECT_FALSE(world.fires(week + 5)) << "4.98 times";
  EXPECT_FALSE(world.fires(week + 10));
  world.feed(Metric::kLatencyP99, week + 10, week + 20, 201);
  EXPECT_FALSE(world.fires(week + 15)) << "5.03 times, but not for two minutes yet";
  EXPECT_TRUE(world.fires(week + 17));
}

TEST(Alerts, AMemoryLeakIsGrowthAtASteadyLoad) {
  for (const bool steady : {true, false}) {
    OneRule world("GpuMemoryLeak", gpu("G"));
    for (const auto& [from, to] : {std::pair(0, 120), {120, 131}}) {
      world.feed(Metric::kMemoryTotal, from, to, 80e9);
      world.feed(Metric::kMemoryUsed, from, to, [](int64_t m) { return 20e9 + 50e6 * static_cast<double>(m); });  // 7.5 % in 2 h
      world.feed(Metric::kUtilization, from, to, [&](int64_t m) { return steady || m < 60 ? 50.0 : 80.0; });
      if (to == 120) {
        EXPECT_FALSE(world.fires(120));
      }
    }
    EXPECT_EQ(world.fires(131), steady);
  }
}

TEST(Alerts, SpotInterruptionsAreAShareOfTheSpotNodes) {
  AlertEvaluator evaluator({rule_named("SpotInterruptionsHigh")});
  std::vector<SubjectId> nodes;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    nodes.push_back(evaluator.subject({.scope = AlertScope::kNode, .node = name, .gpu = {}, .name = {}}));
    evaluator.set_spot(nodes.back(), true);
  }
  evaluator.event(nodes[0], AlertEvent::kSpotInterruption, at(1));
  EXPECT_TRUE(evaluator.evaluate(at(2)).empty()) << "one of five is not more than 20 %";
  evaluator.event(nodes[1], AlertEvent::kSpotInterruption, at(10));
  const auto changes = evaluator.evaluate(at(11));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_DOUBLE_EQ(changes[0].value, 40);
  EXPECT_EQ(evaluator.subject(changes[0].subject).scope, AlertScope::kFleet);
  EXPECT_FALSE(evaluator.evaluate(at(24 * 60 + 5)).empty()) << "the first is a day ago";
}

TEST(Alerts, NoCheckpointCountsFromTheLastOrTheBeginning) {
  AlertEvaluator evaluator({rule_named("NoCheckpoint")});
  const SubjectId job = evaluator.subject({.scope = AlertScope::kJob, .node = {}, .gpu = {}, .name = "42"});
  evaluator.job_began(job, at(0));
  EXPECT_TRUE(evaluator.evaluate(at(120)).empty());
  evaluator.event(job, AlertEvent::kCheckpoint, at(119));
  EXPECT_TRUE(evaluator.evaluate(at(239)).empty());
  EXPECT_EQ(evaluator.evaluate(at(240)).size(), 1U);
}

TEST(Alerts, FactsFireAtOnceAndEndWhenTheyAreOtherwise) {
  AlertEvaluator evaluator({rule_named("BudgetSpent"), rule_named("NodeDown")});
  const SubjectId queue = evaluator.subject({.scope = AlertScope::kQueue, .node = {}, .gpu = {}, .name = "acme"});
  const SubjectId node = evaluator.subject({.scope = AlertScope::kNode, .node = "n1", .gpu = {}, .name = {}});
  EXPECT_TRUE(evaluator.evaluate(at(0)).empty()) << "nothing is known";
  evaluator.set_fact(queue, AlertFact::kBudgetUsed, 99.9);
  evaluator.set_fact(node, AlertFact::kNodeDown, 1);
  const auto down = evaluator.evaluate(at(1));
  ASSERT_EQ(down.size(), 1U);
  EXPECT_EQ(evaluator.rules()[down[0].rule].name, "NodeDown");
  evaluator.set_fact(queue, AlertFact::kBudgetUsed, 100);
  evaluator.set_fact(node, AlertFact::kNodeDown, 0);
  const auto both = evaluator.evaluate(at(2));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_TRUE(both[0].firing);
  EXPECT_FALSE(both[1].firing);
}

TEST(Alerts, EventsOfOtherKindsOfWorkDoNotCount) {
  AlertEvaluator evaluator({rule_named("InferenceOutOfMemory")});
  const SubjectId node = evaluator.subject({.scope = AlertScope::kNode, .node = "n1", .gpu = {}, .name = {}});
  evaluator.event(node, AlertEvent::kOutOfMemory, at(1), WorkloadKind::kTraining);
  EXPECT_TRUE(evaluator.evaluate(at(2)).empty());
  evaluator.event(node, AlertEvent::kOutOfMemory, at(2), WorkloadKind::kRealtimeInference);
  EXPECT_EQ(evaluator.evaluate(at(3)).size(), 1U);
  EXPECT_FALSE(evaluator.evaluate(at(12)).empty()) << "ten minutes ago";
}

TEST(Alerts, OneThatIsRestoredGoesOnUntilItIsSeenToBeOver) {
  for (const bool over : {true, false}) {
    OneRule world("GpuUnderUtilized", gpu("G"));
    world.evaluator.restore("GpuUnderUtilized", gpu("G"), at(-90), 5, at(0));
    EXPECT_TRUE(world.evaluator.evaluate(at(1)).empty()) << "nothing seen yet: believed";
    world.feed(Metric::kUtilization, 0, 55, over ? 80.0 : 5.0);
    const auto seen = world.evaluator.evaluate(at(55));
    ASSERT_EQ(seen.size(), over ? 1U : 0U);
    if (over) {
      EXPECT_FALSE(seen[0].firing);
      EXPECT_EQ(seen[0].since, at(-90));
    }
  }
  OneRule blind("GpuUnderUtilized", gpu("G"));
  blind.evaluator.restore("GpuUnderUtilized", gpu("G"), at(-90), 5, at(0));
  blind.evaluator.restore("NoSuchRule", gpu("G"), at(-90), 5, at(0));
  EXPECT_TRUE(blind.evaluator.evaluate(at(59)).empty());
  EXPECT_EQ(blind.evaluator.evaluate(at(60)).size(), 1U) << "an hour without news";
}

TEST(Alerts, WhatIsDroppedEndsAndItsPlaceIsGivenToAnother) {
  AlertEvaluator evaluator({rule_named("NoCheckpoint")});
  const auto job = [](const char* name) { return AlertSubject{.scope = AlertScope::kJob, .node = {}, .gpu = {}, .name = name}; };
  const SubjectId first = evaluator.subject(job("1"));
  evaluator.job_began(first, at(0));
  EXPECT_EQ(evaluator.evaluate(at(121)).size(), 1U);
  evaluator.drop(first);
  const auto ended = evaluator.evaluate(at(122));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(evaluator.subject(ended[0].subject).name, "1") << "it can still be named";
  EXPECT_TRUE(evaluator.evaluate(at(123)).empty());
  const SubjectId second = evaluator.subject(job("2"));
  EXPECT_EQ(second, first);
  EXPECT_TRUE(evaluator.evaluate(at(400)).empty()) << "it has not begun";
}

TEST(Alerts, SaysWhenThePendingOnesFallDue) {
  AlertRule rule = rule_named("NodeDown");
  rule.hold = Duration::seconds(30);
  AlertEvaluator evaluator({rule});
  EXPECT_FALSE(evaluator.next_due());
  evaluator.set_fact(evaluator.subject({.scope = AlertScope::kNode, .node = "n1", .gpu = {}, .name = {}}), AlertFact::kNodeDown,
                     1);
  EXPECT_TRUE(evaluator.evaluate(at(1)).empty());
  EXPECT_EQ(evaluator.next_due(), at(1) + Duration::seconds(30));
  EXPECT_EQ(evaluator.evaluate(at(1) + Duration::seconds(30)).size(), 1U);
  EXPECT_FALSE(evaluator.next_due());
}

TEST(Alerts, NamesOfRulesPartsAreReadAsTheyAreWritten) {
  for (const AlertRule& rule : default_alert_rules()) {
    EXPECT_EQ(parse_severity(name_of(rule.severity)), rule.severity);
    EXPECT_EQ(parse_alert_scope(name_of(rule.scope)), rule.scope);
    EXPECT_EQ(parse_measure(name_of(rule.measure)), rule.measure);
    EXPECT_EQ(parse_comparison(symbol_of(rule.comparison)), rule.comparison);
    if (rule.event) {
      EXPECT_EQ(parse_alert_event(name_of(*rule.event)), rule.event);
    }
    if (rule.fact) {
      EXPECT_EQ(parse_alert_fact(name_of(*rule.fact)), rule.fact);
    }
    EXPECT_EQ(unit_for(rule), rule.unit) << rule.name;
  }
  EXPECT_FALSE(parse_alert_scope("galaxy"));
}

}  // namespace
}  // namespace stint
