#include "report/anomalies_view.h"

#include <algorithm>

#include "base/counted.h"
#include "report/figures.h"

namespace stint {
namespace {

/// Those beyond are in the JSON.
constexpr size_t kMostShownAnomalies = 15;

std::string days_of(const CostAnomaly& a) {
  const std::string first = format_date(a.first_day);
  if (a.days == 1) return first;
  return fmt::format("{} to {}", first, format_date(a.first_day + kHour * (24 * static_cast<int64_t>(a.days - 1))));
}

std::string client_of_anomaly(const CostAnomaly& a) {
  if (a.idle) return "idle, of no client";
  return a.client.empty() ? "(not attributed)" : a.client;
}

std::string off_by(const CostAnomaly& a) { return (a.excess().count_nanos() > 0 ? "+" : "") + cents_text(a.excess()); }

/// Client, service, days, cost, expected, off by, deviations.
std::vector<std::string> cells_of(const CostAnomaly& a) {
  return {client_of_anomaly(a),
          fmt::format("{}: {}", a.provider, a.service),
          days_of(a),
          cents_text(a.cost),
          cents_text(a.expected),
          off_by(a),
          fmt::format("{:+.1f}", a.score)};
}

std::vector<Column> anomaly_columns() {
  return {{"client", Align::kLeft, 24},
          {"service", Align::kLeft, 32},
          {"days", Align::kLeft},
          {"cost", Align::kRight},
          {"expected", Align::kRight, 0, 1},
          {"off by", Align::kRight},
          {"deviations", Align::kRight, 0, 2}};
}

std::string how_judged(const CostAnomalies& a, Currency currency) {
  const AnomalyOptions& o = a.judged_by;
  std::string out = fmt::format(
      "Days that cost {:.1f} robust standard deviations and {} {} more or less than the same weekday in the {} weeks before. Of "
      "{}, by client and service, {} had the {} weeks of past that this needs.",
      o.threshold, amount_text(o.least_amount, 2), currency.code(), o.weeks, counted(a.series, "daily series", "daily series"),
      a.judged, o.fewest_weeks);
  if (!a.undated.is_zero()) out += fmt::format(" {} of lines longer than a day are in none.", a.undated.to_text());
  return out;
}

}  // namespace

std::string anomalies_text(const CostAnomalies& a, Currency currency, Screen screen) {
  std::string out = how_judged(a, currency) + "\n";
  if (a.anomalies.empty()) return out + (a.judged > 0 ? "None.\n" : "");
  Table table(anomaly_columns());
  for (size_t i = 0; i < std::min(a.anomalies.size(), kMostShownAnomalies); ++i)
    table.add_row(cells_of(a.anomalies[i]), a.anomalies[i].excess().count_nanos() > 0 ? Tone::kWarn : Tone::kPlain);
  out += "\n" + table.render(screen);
  if (a.anomalies.size() > kMostShownAnomalies)
    out += fmt::format("{} more are in --json.\n", a.anomalies.size() - kMostShownAnomalies);
  return out;
}

Html anomalies_section(const AuditReport& report) {
  if (!report.anomalies || report.anomalies->anomalies.empty()) return {};
  const CostAnomalies& a = *report.anomalies;
  HtmlTable table(anomaly_columns());
  for (size_t i = 0; i < std::min(a.anomalies.size(), kMostShownAnomalies); ++i)
    table.add_text_row(cells_of(a.anomalies[i]));
  Html body = table.render("Unusual days");
  if (a.anomalies.size() > kMostShownAnomalies)
    body += element("p", fmt::format("{} smaller ones are in --json.", a.anomalies.size() - kMostShownAnomalies));
  const Currency currency = report.totals.bill_per_month.currency();
  return section("anomalies", "Unusual days", fmt::format("{} In {}.", how_judged(a, currency), currency.code()), body);
}

}  // namespace stint
