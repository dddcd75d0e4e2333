#include "cli/run/top_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/terminal.h"
#include "report/utf8.h"

namespace stint {
namespace {

using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

ordered_json gpu(int index, double busy, const std::string& job) {
  ordered_json json = {{"id", "gpu-0:" + std::to_string(index)},
                       {"model", "A100-80GB"},
                       {"simulated", false},
                       {"values", {{"utilization", busy}, {"memory_used", 42.0 * (1 << 30)}, {"memory_total", 80.0 * (1 << 30)}}},
                       {"holders", ordered_json::array()},
                       {"processes", nullptr}};
  if (!job.empty()) json["holders"].push_back({{"job", fmt::format("agency-{}", index + 1)}, {"name", job}, {"gpu_milli", 1000}});
  return json;
}

ordered_json job(const std::string& id, const std::string& name, const std::string& state, const std::string& per_hour) {
  return {{"id", id},
          {"name", name},
          {"queue", "agency/vision"},
          {"user", "ada"},
          {"state", state},
          {"gpu_milli", 1000},
          {"submitted", "2027-01-15T06:00:00Z"},
          {"started", "2027-01-15T07:00:00Z"},
          {"per_hour", {{"amount", per_hour}, {"currency", "USD"}}},
          {"cost", {{"amount", "3.5"}, {"currency", "USD"}}}};
}

TopAnswers answers(int gpus) {
  TopAnswers a;
  a.overview = {{"running", 2}, {"waiting", 1}, {"burn_per_hour", {{"amount", "4.05"}, {"currency", "USD"}}}};
  a.nodes["nodes"] = ordered_json::array({{{"per_hour", {{"amount", "16.2"}, {"currency", "USD"}}}}});
  a.gpus = {{"now", "2027-01-15T08:00:00.123456789Z"}, {"gpus", ordered_json::array()}, {"sources", ordered_json::array()}};
  for (int i = 0; i < gpus; ++i)
    a.gpus["gpus"].push_back(gpu(i, 10.0 * (i % 10), i % 2 == 0 ? "resnet" : ""));
  a.jobs["jobs"] = ordered_json::array({job("agency-1", "resnet", "running", "2.025"), job("agency-2", "bert", "waiting", "0")});
  return a;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

TEST(TopView, EveryFrameFitsItsScreen) {
  for (const size_t columns : std::vector<size_t>{40, 80, 132, 300})
    for (const size_t rows : std::vector<size_t>{1, 5, 10, 24, 60})
      for (const int gpus : {0, 2, 8, 300})
        for (const TopShow show : {TopShow::kBoth, TopShow::kGpus, TopShow::kJobs}) {
          const auto lines = draw_top(answers(gpus), {.show = show}, {columns, rows}, "no answer", Colour::kNo);
          EXPECT_EQ(lines.size(), rows);
          for (const std::string& line : lines)
            EXPECT_LE(display_width(line), columns) << line;
        }
}

TEST(TopView, AnArrayIsOneLine) {
  TopAnswers a = answers(2);
  ordered_json sweep = job("agency-3", "sweep", "running", "4");
  sweep["array"] = {{"id", "agency-3"}, {"size", 10}, {"jobs", {{"running", 2}, {"waiting", 8}}}};
  a.jobs["jobs"] = ordered_json::array({sweep});
  EXPECT_THAT(joined(draw_top(a, {}, {80, 24}, "", Colour::kNo)), HasSubstr("agency-3    2/10 run sweep"));
}

TEST(TopView, SaysWhatIsHeldBusyAndPaid) {
  const std::string text = joined(draw_top(answers(2), {}, {80, 24}, "", Colour::kNo));
  EXPECT_THAT(text, HasSubstr("2 GPUs, 1 held, 5 % busy │ 2 running, 1 waiting │ 4.05 of 16.20 USD/h runs"));
  EXPECT_THAT(text, HasSubstr("42/80 GiB"));
  EXPECT_THAT(text, HasSubstr("1 resnet"));
  EXPECT_THAT(text, HasSubstr("free"));
  EXPECT_THAT(text, HasSubstr("1h 0m     2.02     3.50")) << "the running one, since its start";
  EXPECT_THAT(text, HasSubstr("2h 0m        –     3.50")) << "the waiting one, since it was submitted";
}

TEST(TopView, WhatIsNotWellIsSaid) {
  TopAnswers a = answers(1);
  a.gpus["gpus"][0]["simulated"] = true;
  a.gpus["gpus"][0]["processes"] = ordered_json::array({{{"pid", 7}, {"job", nullptr}}});
  a.gpus["gpus"][0]["values"] = ordered_json::object();
  a.gpus["sources"].push_back({{"name", "http://gpu-1:9400/metrics"}, {"ok", false}, {"error", "connection refused"}});
  const std::string text = joined(draw_top(a, {}, {80, 24}, "the daemon does not answer", Colour::kNo));
  EXPECT_THAT(text, AllOf(HasSubstr("1 of the GPUs are simulated"), HasSubstr("1 foreign"), HasSubstr("not measured"),
                          HasSubstr("http://gpu-1:9400/metrics: connection refused"), HasSubstr("the daemon does not answer")));
}

TEST(TopView, TooManyRowsAreCountedAndScrolled) {
  TopControls controls;
  const auto top = draw_top(answers(50), controls, {80, 24}, "", Colour::kNo);
  EXPECT_THAT(joined(top), HasSubstr("… 36 more"));
  EXPECT_THAT(joined(top), HasSubstr("gpu-0:0 "));
  EXPECT_TRUE(press(controls, TopKey::kPageDown, 0, 12));
  EXPECT_THAT(joined(draw_top(answers(50), controls, {80, 24}, "", Colour::kNo)), Not(HasSubstr("gpu-0:0 ")));
}

TEST(TopView, KeysSortFilterAndEnd) {
  TopControls controls;
  EXPECT_TRUE(press(controls, TopKey::kText, 's', 10));
  const auto busiest = draw_top(answers(8), controls, {80, 24}, "", Colour::kNo);
  EXPECT_THAT(busiest[4], StartsWith("gpu-0:7")) << joined(busiest);
  EXPECT_TRUE(press(controls, TopKey::kText, '/', 10));
  for (const char c : std::string("qert"))
    EXPECT_TRUE(press(controls, TopKey::kText, c, 10)) << "a q that is typed ends nothing";
  EXPECT_TRUE(press(controls, TopKey::kBackspace, 0, 10));
  EXPECT_EQ(controls.filter, "qer");
  controls.filter = "bert";
  press(controls, TopKey::kEnter, 0, 10);
  const std::string text = joined(draw_top(answers(8), controls, {80, 24}, "", Colour::kNo));
  EXPECT_THAT(text, AllOf(HasSubstr("bert"), Not(HasSubstr("resnet"))));
  press(controls, TopKey::kEscape, 0, 10);
  EXPECT_EQ(controls.filter, "");
  EXPECT_FALSE(press(controls, TopKey::kText, 'q', 10));
}

TEST(TopView, NamesFromOutsideMoveNoCursor) {
  TopAnswers a = answers(1);
  a.gpus["gpus"][0]["holders"][0]["name"] = "evil\x1b[2Jname";
  EXPECT_THAT(joined(draw_top(a, {}, {120, 24}, "", Colour::kNo)), Not(HasSubstr("\x1b")));
}

TEST(Terminal, KeysAreTakenOffTheirBytes) {
  std::string bytes = "a\x1b[A\x1b[6~\r\x7f\x1b";
  const std::vector<TopKey> expected = {TopKey::kText, TopKey::kUp, TopKey::kPageDown, TopKey::kEnter, TopKey::kBackspace};
  for (const TopKey key : expected) {
    const auto taken = take_key(bytes);
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->key, key);
  }
  EXPECT_FALSE(take_key(bytes)) << "Escape alone, or the beginning of more";
  bytes += "[B";
  EXPECT_EQ(take_key(bytes)->key, TopKey::kDown);
  bytes = "\x1b[200~x";
  EXPECT_EQ(take_key(bytes)->text, 'x') << "a sequence that means nothing here is passed over";
}

}  // namespace
}  // namespace stint
