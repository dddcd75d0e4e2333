#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/replay_figures.h"
#include "report/timeline_chart.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

sim::ReplayResult result(double mean_s, int64_t cost_units) {
  sim::ReplayResult r;
  r.period = {Instant::from_seconds(0), Instant::from_seconds(7200)};
  r.completion = {.count = 2, .mean_s = mean_s, .p50_s = mean_s, .p95_s = mean_s, .p99_s = mean_s, .max_s = mean_s};
  r.money.total = r.money.jobs = Money::nanos(cost_units * 1'000'000'000);
  r.endings[static_cast<size_t>(sim::JobEnding::kSucceeded)] = 2;
  r.timeline = {{.at = Instant::from_seconds(0),
                 .gpu_milli_available = 8000,
                 .gpu_milli_held = 8000,
                 .waiting = 1,
                 .running = 1,
                 .cost = {}}};
  r.occupancy = {{.job = sched::JobId(0),
                  .node = NodeId(0),
                  .gpus = 0xff,
                  .milli = 0,
                  .when = {Instant::from_seconds(0), Instant::from_seconds(3600)}}};
  return r;
}

ReplayView view() {
  ReplayView v;
  v.source = "a trace <of> work";
  v.jobs = 2;
  v.gpus = 8;
  v.nodes = 1;
  v.seed = 7;
  v.changes = {{.name = "as it is", .refused = "", .notes = {}, .node_names = {"n<1>"}, .node_gpus = {8}}};
  v.job_names = {"a", "b"};
  v.notes = {"one row was left out"};
  v.runs = {{.policy = "fifo", .change = 0, .result = result(3600, 40), .seconds = 1},
            {.policy = "stint", .change = 0, .result = result(1800, 50), .seconds = 1}};
  return v;
}

TEST(ReplayReport, TextShowsPoliciesSideBySide) {
  const std::string text = replay_text(view(), Colour::kNo);
  for (const char* words :
       {"fifo", "stint", "60.0 min", "30.0 min", "seed 7", "one row was left out", "2 jobs on 8 GPUs of 1 node"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(ReplayReport, BetterAndWorseAreToldAgainstTheFirst) {
  for (const ReplayFigure& figure : replay_figures(view())) {
    EXPECT_EQ(figure.tones[0], Tone::kPlain);
    const Tone expected = figure.group == "completion" ? Tone::kGood : figure.label == "nodes, USD" ? Tone::kBad : Tone::kPlain;
    EXPECT_EQ(figure.tones[1], expected) << figure.group << ", " << figure.label;
  }
}

TEST(ReplayReport, JsonHoldsEveryRun) {
  const auto json = nlohmann::json::parse(replay_json(view()));
  ASSERT_EQ(json["runs"].size(), 2U);
  EXPECT_EQ(json["runs"][1]["completion"]["mean_s"], 1800);
  EXPECT_EQ(json["runs"][0]["cost"]["total"], 40);
  EXPECT_EQ(json["runs"][0]["jobs_by_ending"]["succeeded"], 2);
}

TEST(ReplayReport, ThePageNeedsNoScriptAndEscapesNames) {
  const std::string html = replay_html(view());
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<of>")));
  EXPECT_THAT(html, Not(HasSubstr("n<1>")));
  for (const char* words : {"-50.0 %", "GPUs held over time", "What each node did", "a trace &lt;of&gt; work"})
    EXPECT_THAT(html, HasSubstr(words));
}

/// Two policies, each as it is and with two changes, of which the second cannot be replayed.
ReplayView changed_view() {
  ReplayView v = view();
  v.changes.push_back({.name = "stop:b", .refused = "", .notes = {"b was idle"}, .node_names = {"a"}, .node_gpus = {8}});
  v.changes.push_back({.name = "commit", .refused = "no price known", .notes = {}, .node_names = {}, .node_gpus = {}});
  v.runs.clear();
  for (const char* policy : {"fifo", "stint"})
    for (size_t c = 0; c < 3; ++c)
      v.runs.push_back({.policy = policy, .change = c, .result = {}, .seconds = 0});
  v.runs[0].result = result(3600, 40);
  v.runs[1].result = result(3600, 20);
  v.runs[3].result = result(1800, 50);
  v.runs[4].result = result(2700, 25);
  return v;
}

TEST(ReplayReport, EveryPolicyComparesChangesWithItsOwnWorldAsItIs) {
  const ReplayView v = changed_view();
  const auto groups = groups_of(v);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].title, "stint");
  EXPECT_EQ(groups[1].runs, (std::vector<size_t>{3, 4, 5}));
  const auto summary = replay_summary(v);
  ASSERT_EQ(summary.size(), 7U);
  EXPECT_EQ(summary[2][8], "-50.0 %");
  EXPECT_EQ(summary[5][8], "-50.0 %");
  EXPECT_EQ(summary[3][2], "refused");
  for (const ReplayFigure& figure : replay_figures(v)) {
    if (figure.group != "completion" || figure.label != "mean") continue;
    EXPECT_EQ(figure.tones[1], Tone::kPlain);
    EXPECT_EQ(figure.tones[4], Tone::kBad) << "45 minutes are worse than stint's own 30, better than fifo's 60";
    EXPECT_EQ(figure.values[5], "–");
  }
}

TEST(ReplayReport, ThePageBeginsWithARowOfNamedFiguresForEachPolicy) {
  const std::string html = replay_html(changed_view());
  const size_t begin = html.find("Mean time from submission to end"), end = html.find("What was changed");
  ASSERT_LT(begin, end);
  const std::string head = html.substr(begin, end - begin);
  const size_t fifo = head.find("<h3>fifo</h3>"), stint = head.find("<h3>stint</h3>");
  ASSERT_LT(fifo, stint);
  for (const std::string& row : {head.substr(fifo, stint - fifo), head.substr(stint)})
    for (const char* words : {">as it is<", ">change 1<", ">change 2<", "cannot be replayed"})
      EXPECT_THAT(row, HasSubstr(words));
}

TEST(ReplayReport, ARefusedChangeSaysWhyEverywhere) {
  const ReplayView v = changed_view();
  for (const std::string& text : {replay_text(v, Colour::kNo), replay_html(v)})
    for (const char* words : {"stop:b", "b was idle", "no price known", "as it is", "change 1"})
      EXPECT_THAT(text, HasSubstr(words));
  const auto json = nlohmann::json::parse(replay_json(v));
  EXPECT_EQ(json["runs"][1]["change"], "stop:b");
  EXPECT_EQ(json["runs"][2]["refused"], "no price known");
  EXPECT_FALSE(json["runs"][2].contains("cost"));
  EXPECT_EQ(json["changes"][0]["notes"][0], "b was idle");
}

TEST(TimelineChart, StaysEmptyWithoutValuesAndStepsWhereTheyChange) {
  const Interval hour = {Instant::from_seconds(0), Instant::from_seconds(3600)};
  TimelineCurve curve{.name = "a", .css_class = "l1", .points = {}};
  EXPECT_TRUE(timeline_chart("t", "u", hour, std::span(&curve, 1)).empty());
  curve.points = {{Instant::from_seconds(0), 4}, {Instant::from_seconds(1800), 0}};
  const std::string svg = timeline_chart("t", "u", hour, std::span(&curve, 1)).str();
  // Up at the left edge, level to the middle, down, level to the right edge: six corners.
  EXPECT_THAT(svg, HasSubstr("class=\"l1 w0\""));
  EXPECT_THAT(timeline_chart("t", "u", {hour.begin, hour.begin}, std::span(&curve, 1)).str(), ::testing::IsEmpty());
}

TEST(TimelineChart, EqualCurvesAreOneLineWithBothNames) {
  const Interval hour = {Instant::from_seconds(0), Instant::from_seconds(3600)};
  const TimelineCurve a{
      .name = "fifo", .css_class = "l1", .points = {{hour.begin, 4}, {Instant::from_seconds(1800), 4}, {hour.end, 0}}};
  TimelineCurve b = a;
  b.name = "stint";
  b.css_class = "l2";
  b.points.insert(b.points.begin() + 1, {Instant::from_seconds(900), 4});  // the same line with a point more
  TimelineCurve c = b;
  c.name = "fair";
  c.css_class = "l3";
  c.points.back().value = 1;
  const std::vector<TimelineCurve> curves = {a, b, c};
  for (const BetweenPoints between : {BetweenPoints::kHolds, BetweenPoints::kGrows}) {
    const std::string svg = timeline_chart("t", "u", hour, curves, between).str();
    EXPECT_THAT(svg, HasSubstr("fifo = stint"));
    EXPECT_THAT(svg, HasSubstr("l1 w1"));
    EXPECT_THAT(svg, HasSubstr("l3 w0"));
    EXPECT_THAT(svg, Not(HasSubstr("l2")));
  }
}

TEST(TimelineChart, WhatGrowsIsDrawnStraightAndNamedAtItsEnd) {
  const Interval hour = {Instant::from_seconds(0), Instant::from_seconds(3600)};
  const TimelineCurve a{.name = "alone", .css_class = "l1", .points = {{hour.begin, 0}, {Instant::from_seconds(1800), 10}}};
  const std::string svg = timeline_chart("t", "u", hour, std::span(&a, 1), BetweenPoints::kGrows).str();
  // Two corners: from the axis at the left to the top in the middle, no step between.
  const size_t begin = svg.find("points=\"") + 8;
  const std::string points = svg.substr(begin, svg.find('"', begin) - begin);
  EXPECT_EQ(std::ranges::count(points, ','), 2) << points;
  EXPECT_THAT(svg, HasSubstr(">alone<"));
}

TEST(ShownSeconds, ChoosesTheUnit) {
  EXPECT_EQ(shown_seconds(42), "42 s");
  EXPECT_EQ(shown_seconds(600), "10.0 min");
  EXPECT_EQ(shown_seconds(7200), "2.0 h");
  EXPECT_EQ(shown_seconds(864'000), "10.0 d");
}

}  // namespace
}  // namespace stint
