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
  v.node_names = {"n<1>"};
  v.node_gpus = {8};
  v.job_names = {"a", "b"};
  v.notes = {"one row was left out"};
  v.runs = {{.policy = "fifo", .change = "", .result = result(3600, 40), .seconds = 1},
            {.policy = "stint", .change = "", .result = result(1800, 50), .seconds = 1}};
  return v;
}

TEST(ReplayReport, TextShowsPoliciesSideBySide) {
  const std::string text = replay_text(view(), Colour::kNo);
  for (const char* words :
       {"fifo", "stint", "60.0 min", "30.0 min", "seed 7", "one row was left out", "2 jobs on 8 GPUs of 1 nodes"})
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

TEST(TimelineChart, StaysEmptyWithoutValuesAndStepsWhereTheyChange) {
  const Interval hour = {Instant::from_seconds(0), Instant::from_seconds(3600)};
  TimelineCurve curve{.name = "a", .css_class = "l1", .points = {}};
  EXPECT_TRUE(timeline_chart("t", "u", hour, std::span(&curve, 1)).empty());
  curve.points = {{Instant::from_seconds(0), 4}, {Instant::from_seconds(1800), 0}};
  const std::string svg = timeline_chart("t", "u", hour, std::span(&curve, 1)).str();
  // Up at the left edge, level to the middle, down, level to the right edge: six corners.
  EXPECT_THAT(svg, HasSubstr("class=\"l1\""));
  EXPECT_THAT(timeline_chart("t", "u", {hour.begin, hour.begin}, std::span(&curve, 1)).str(), ::testing::IsEmpty());
}

TEST(ShownSeconds, ChoosesTheUnit) {
  EXPECT_EQ(shown_seconds(42), "42 s");
  EXPECT_EQ(shown_seconds(600), "10.0 min");
  EXPECT_EQ(shown_seconds(7200), "2.0 h");
  EXPECT_EQ(shown_seconds(864'000), "10.0 d");
}

}  // namespace
}  // namespace stint
