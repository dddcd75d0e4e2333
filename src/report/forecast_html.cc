#include <fmt/format.h>

#include "report/bar_rows.h"
#include "report/forecast_words.h"
#include "report/html.h"
#include "report/timeline_chart.h"

namespace stint {
namespace {

Html sentences(const std::vector<std::string>& all) { return bullet_list(all); }

TimelineCurve curve_of(const Forecast& forecast, std::string name, std::string_view css_class, double ForecastPoint::* value) {
  TimelineCurve curve{std::move(name), css_class, {}};
  for (size_t i = 0; i < forecast.points.size(); ++i)
    curve.points.push_back({forecast.begin + forecast.step * static_cast<int64_t>(i), std::max(0.0, forecast.points[i].*value)});
  return curve;
}

Html chart(const ForecastRow& row) {
  const Forecast& f = row.forecast;
  TimelineCurve past{"past", "l6", {}};
  const size_t shown = std::min(row.series.values.size(), f.points.size() * 3);
  const size_t first = row.series.values.size() - shown;
  for (size_t i = first; i < row.series.values.size(); ++i)
    if (row.series.values[i]) past.points.push_back({row.series.at(i), std::max(0.0, *row.series.values[i])});
  std::vector<TimelineCurve> curves = {past, curve_of(f, "p5", "l4", &ForecastPoint::p5),
                                       curve_of(f, "p95", "l4", &ForecastPoint::p95),
                                       curve_of(f, "expected", "l1", &ForecastPoint::expected)};
  std::vector<LegendEntry> entries = {{"past", "c6"}, {"90 % interval", "c4"}, {"expected", "c1"}};
  const Interval period{row.series.at(first), f.begin + f.step * static_cast<int64_t>(f.points.size())};
  for (const CapacityOutlook& outlook : row.outlooks) {
    if (outlook.limit.kind != CapacityLimit::Kind::kCapacity) continue;
    curves.push_back({"capacity", "l2", {{period.begin, outlook.limit.amount}}});
    entries.emplace_back("capacity", "c8");
  }
  return legend(entries) + timeline_chart(row.series.name, row.series.unit, period, curves);
}

Html table_of(const ForecastRow& row) {
  const std::vector<std::vector<std::string>> rows = forecast_parts(row);
  std::vector<Column> columns;
  for (const std::string& heading : rows[0])
    columns.push_back({heading, columns.empty() ? Align::kLeft : Align::kRight});
  HtmlTable table(columns);
  for (size_t r = 1; r < rows.size(); ++r)
    table.add_text_row(rows[r]);
  return table.render(row.series.name);
}

/// A line for each series, before their pictures and tables.
Html summary_of(const ForecastView& view) {
  const std::vector<std::vector<std::string>> rows = forecast_summary(view);
  std::vector<Column> columns;
  for (size_t c = 0; c < rows[0].size(); ++c)
    columns.push_back({rows[0][c], c < 2 || c + 1 == rows[0].size() ? Align::kLeft : Align::kRight});
  HtmlTable table(columns);
  for (size_t r = 1; r < rows.size(); ++r)
    table.add_text_row(rows[r]);
  return table.render("Summary");
}

Html methods_table(const ForecastRow& row) {
  if (row.forecast.score.compared == 0) return {};
  HtmlTable table({{"method"}, {"MASE", Align::kRight}});
  for (size_t m = 0; m < kForecastMethodCount; ++m)
    table.add_text_row(
        {std::string(name_of(static_cast<ForecastMethod>(m))), fmt::format("{:.3f}", row.forecast.score.method_mase[m])});
  table.add_total_row({Html::text("this forecast"), Html::text(fmt::format("{:.3f}", row.forecast.score.mase))});
  return element("details", element("summary", "The methods it is combined from") +
                                element("div", {{"class", "inside"}}, table.render("methods")));
}

}  // namespace

std::string forecast_html(const ForecastView& view) {
  PageSections page;
  page.add("summary", "Summary",
           section("summary", "Summary", "What comes in " + forecast_horizon(view) + ".", summary_of(view)));
  size_t number = 0;
  for (const ForecastRow& row : view.rows) {
    Html content = chart(row);
    for (const CapacityOutlook& outlook : row.outlooks)
      content += sentences(outlook_sentences(row, outlook));
    content += table_of(row) + sentences(forecast_record(row)) + methods_table(row);
    const std::string id = fmt::format("series-{}", ++number);
    page.add(
        id, row.series.name,
        section(id, row.series.name, fmt::format("{}, each {}, UTC.", row.series.unit, shown_step(row.forecast.step)), content));
  }
  if (!view.notes.empty())
    page.add("notes", "Left out or assumed", section("notes", "What was left out or assumed", "", sentences(view.notes)));
  PageText text;
  text.title = "Forecast";
  text.kicker = "Stint";
  text.subtitle = view.source;
  text.footer = "Made by Stint. Each forecast was first tried on the past it comes from.";
  return html_page(text, page.render());
}

}  // namespace stint
