#include "report/goal_words.h"

#include "report/audit_charts.h"
#include "report/figures.h"
#include "report/json_list.h"
#include "report/utf8.h"

namespace stint {

Tone tone_of(GoalOutcome outcome) {
  return outcome == GoalOutcome::kHolds ? Tone::kGood : outcome == GoalOutcome::kFails ? Tone::kBad : Tone::kWarn;
}

std::vector<std::string> goal_lines(const std::vector<GoalVerdict>& goals) {
  std::vector<std::string> lines;
  for (const GoalVerdict& v : goals)
    for (const std::string& why : v.why)
      lines.push_back(fmt::format("{}: {}", v.goal.text, why));
  return lines;
}

std::string goals_table(const std::vector<GoalVerdict>& goals, Screen screen) {
  Table table({{"goal"}, {"verdict"}, {"found", Align::kLeft, 70}});
  for (const GoalVerdict& v : goals)
    table.add_row({printable(v.goal.text), std::string(name_of(v.outcome)), v.figure.empty() ? "–" : printable(v.figure)});
  return table.empty() ? "" : table.render(screen, 2);
}

std::string gap_tables(const std::vector<GoalVerdict>& goals, Screen screen) {
  std::string out;
  for (const GoalVerdict& v : goals) {
    Table table({{"what stands in the way", Align::kLeft, 36}, {"a month", Align::kRight}, {"removed by", Align::kLeft, 60}});
    for (const Obstacle& o : v.gap)
      table.add_row({printable(o.what), cents_text(o.amount), printable(o.remedy)});
    if (!table.empty()) out += heading("From the plan to " + printable(v.goal.text), screen) + table.render(screen, 2);
  }
  return out;
}

Html goals_section(const AuditReport& report) {
  const std::vector<GoalVerdict>& goals = report.goals;
  if (goals.empty()) return {};
  Html body;
  for (const GoalVerdict& v : goals) {
    const Html title = element("span", {{"class", "finding-title"}}, Html::text(v.goal.text));
    const Html meta =
        element("span", {{"class", "finding-meta"}}, badge(name_of(v.outcome), tone_of(v.outcome)) + element("span", v.figure));
    body += disclosure(element("span", title + meta), bullet_list(v.why));
    body += gap_waterfall(report, v);
  }
  return section("goals", "Goals", "What the plan was to reach, and whether it does. Open one for how that was found.", body);
}

nlohmann::ordered_json to_json(const std::vector<GoalVerdict>& goals) {
  using Json = nlohmann::ordered_json;
  return array_of(goals, [](const GoalVerdict& v) {
    return Json{{"goal", printable(v.goal.text)},
                {"outcome", name_of(v.outcome)},
                {"figure", printable(v.figure)},
                {"why", array_of(v.why, [](const std::string& line) { return Json(printable(line)); })},
                {"gap", array_of(v.gap, [](const Obstacle& o) {
                   return Json{{"what", printable(o.what)}, {"per_month", o.amount.to_double()}, {"remedy", printable(o.remedy)}};
                 })}};
  });
}

}  // namespace stint
