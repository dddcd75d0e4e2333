// The page of a replay: key figures, the whole table, and three drawings over time (GPUs in use, queue, cost), then what
// each node did.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/bar_rows.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/replay_figures.h"
#include "report/timeline_chart.h"

namespace stint {
namespace {

using sim::ReplayResult;
using sim::TimelinePoint;

struct Line {
  std::string_view css_class, colour;
};
constexpr std::array<Line, 6> kLines = {{{"l1", "c1"}, {"l2", "c8"}, {"l3", "c3"}, {"l4", "c4"}, {"l5", "c5"}, {"l6", "c6"}}};
const Line& line_of(size_t run) { return kLines[run % kLines.size()]; }

std::string name_of_run(const ReplayRun& run) { return run.change.empty() ? run.policy : run.policy + " + " + run.change; }

/// From the first begin to the last end of all runs.
Interval whole_period(const ReplayView& view) {
  Interval whole = view.runs.front().result.period;
  for (const ReplayRun& run : view.runs) {
    whole.begin = std::min(whole.begin, run.result.period.begin);
    whole.end = std::max(whole.end, run.result.period.end);
  }
  return whole;
}

Html key_figures(const ReplayView& view) {
  std::vector<Card> figures;
  const double first = view.runs.front().result.completion.mean_s;
  for (const ReplayRun& run : view.runs) {
    const double mean = run.result.completion.mean_s;
    const bool compared = &run != &view.runs.front() && first > 0;
    const double change = compared ? 100 * (mean / first - 1) : 0;
    figures.push_back({name_of_run(run), shown_seconds(mean),
                       compared ? fmt::format("mean completion, {:+.1f} %", change) : "mean completion",
                       change < -2  ? Tone::kGood
                       : change > 2 ? Tone::kBad
                                    : Tone::kPlain});
  }
  return cards(figures);
}

Html coloured(const std::string& value, Tone tone) {
  if (tone != Tone::kGood && tone != Tone::kBad) return Html::text(value);
  return element("span", {{"class", tone == Tone::kGood ? "good" : "bad"}}, Html::text(value));
}

Html comparison(const ReplayView& view) {
  std::vector<Column> columns = {{"", Align::kLeft}};
  for (const ReplayRun& run : view.runs)
    columns.push_back({name_of_run(run), Align::kRight});
  HtmlTable table(columns);
  std::string group;
  for (const ReplayFigure& figure : replay_figures(view)) {
    if (figure.group != group) {
      group = figure.group;
      std::vector<Html> heading(columns.size());
      heading[0] = element("strong", group);
      table.add_row(heading);
    }
    std::vector<Html> cells = {Html::text(figure.label)};
    for (size_t r = 0; r < figure.values.size(); ++r)
      cells.push_back(coloured(figure.values[r], figure.tones[r]));
    table.add_row(cells);
  }
  return section("comparison", "Side by side", "Green and red: better or worse than the first by more than two per cent.",
                 table.render("Figures by policy"));
}

template <typename Value>
std::vector<TimelineCurve> curves_of(const ReplayView& view, Value value) {
  std::vector<TimelineCurve> curves;
  for (size_t r = 0; r < view.runs.size(); ++r) {
    TimelineCurve curve{.name = name_of_run(view.runs[r]), .css_class = line_of(r).css_class, .points = {}};
    for (const TimelinePoint& p : view.runs[r].result.timeline)
      curve.points.push_back({p.at, value(p)});
    curves.push_back(std::move(curve));
  }
  return curves;
}

Html run_legend(const ReplayView& view) {
  std::vector<std::string> names;
  for (const ReplayRun& run : view.runs)
    names.push_back(name_of_run(run));
  std::vector<LegendEntry> entries;
  for (size_t r = 0; r < names.size(); ++r)
    entries.emplace_back(names[r], line_of(r).colour);
  return legend(entries);
}

Html time_section(const ReplayView& view) {
  const Interval period = whole_period(view);
  const auto gpus = curves_of(view, [](const TimelinePoint& p) { return static_cast<double>(p.gpu_milli_held) / 1000; });
  const auto queue = curves_of(view, [](const TimelinePoint& p) { return static_cast<double>(p.waiting); });
  const auto cost = curves_of(view, [](const TimelinePoint& p) { return p.cost.to_double(); });
  const std::string currency(view.runs.front().result.money.total.currency().code());
  Html out = run_legend(view);
  out += timeline_chart("GPUs held over time", fmt::format("GPUs held, of {}", view.gpus), period, gpus,
                        static_cast<double>(view.gpus));
  out += timeline_chart("Jobs waiting over time", "jobs waiting", period, queue);
  out += timeline_chart("Cost over time", "cost so far, " + currency, period, cost);
  return section("time", "Over time", "UTC. A policy that ends later is drawn longer.", out);
}

constexpr size_t kNodesDrawn = 40;
constexpr size_t kBins = 240;

/// Share of a node's GPUs that were held, per bin of the period.
std::vector<std::array<double, kBins>> node_use(const ReplayView& view, const ReplayResult& result, Interval period) {
  std::vector<std::array<double, kBins>> use(std::min(view.node_names.size(), kNodesDrawn));
  const double bin_s = period.length().to_seconds() / kBins;
  for (const sim::Occupancy& o : result.occupancy) {
    if (o.node.index() >= use.size() || view.node_gpus[o.node.index()] == 0) continue;
    const double gpus = o.milli > 0 ? o.milli / 1000.0 : __builtin_popcountll(o.gpus);
    const double begin = (o.when.begin - period.begin).to_seconds() / bin_s;
    const double end = std::min((o.when.end - period.begin).to_seconds() / bin_s, static_cast<double>(kBins));
    for (size_t b = static_cast<size_t>(std::max(begin, 0.0)); b < kBins && static_cast<double>(b) < end; ++b) {
      const double from = std::max(begin, static_cast<double>(b)), to = std::min(end, static_cast<double>(b + 1));
      use[o.node.index()][b] += gpus * std::max(0.0, to - from) / view.node_gpus[o.node.index()];
    }
  }
  return use;
}

Html nodes_of_run(const ReplayView& view, const ReplayRun& run, Interval period) {
  const auto use = node_use(view, run.result, period);
  std::vector<BarRow> rows;
  for (size_t n = 0; n < use.size(); ++n) {
    BarRow row{.label = view.node_names[n], .parts = {}, .figure = ""};
    double sum = 0;
    for (size_t b = 0; b < kBins; ++b) {
      sum += use[n][b];
      if (use[n][b] < 0.01) continue;
      row.parts.push_back(
          {static_cast<double>(b) / kBins, static_cast<double>(b + 1) / kBins, "heat", "", std::clamp(use[n][b], 0.08, 1.0)});
    }
    row.figure = shown_percent(100 * sum / kBins);
    rows.push_back(std::move(row));
  }
  return element("h3", Html::text(name_of_run(run))) + bar_rows(rows, "GPUs held per node over time", BarHeight::kStrip);
}

Html nodes_section(const ReplayView& view) {
  const Interval period = whole_period(view);
  Html out;
  int64_t left_out = 0;
  for (const ReplayRun& run : view.runs) {
    out += nodes_of_run(view, run, period);
    left_out = std::max(left_out, run.result.occupancies_left_out);
  }
  std::string lead = "Each line is a node, darker where more of its GPUs were held; on the right the share of the period.";
  if (view.node_names.size() > kNodesDrawn)
    lead += fmt::format(" The first {} of {} nodes.", kNodesDrawn, view.node_names.size());
  if (left_out > 0) lead += fmt::format(" {} later stays are not drawn.", left_out);
  return section("nodes", "What each node did", lead, out);
}

}  // namespace

std::string replay_html(const ReplayView& view) {
  PageText text;
  text.kicker = "Replay";
  text.title = view.runs.size() == 1 ? name_of_run(view.runs[0]) : fmt::format("{} policies on the same work", view.runs.size());
  text.subtitle =
      fmt::format("{}: {} jobs on {} GPUs of {} nodes, seed {}.", view.source, grouped(static_cast<double>(view.jobs)),
                  grouped(static_cast<double>(view.gpus)), grouped(static_cast<double>(view.nodes)), view.seed);
  text.footer = "Made by Stint. The same work, seed and policy give the same fingerprint on every machine.";
  Html body = key_figures(view) + comparison(view) + time_section(view) + nodes_section(view);
  if (!view.notes.empty()) body += section("notes", "What was left out or assumed", "", bullet_list(view.notes));
  return html_page(text, body);
}

}  // namespace stint
