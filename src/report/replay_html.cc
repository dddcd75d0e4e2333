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

/// From the first begin to the last end of all runs.
Interval whole_period(const ReplayView& view) {
  Interval whole = view.runs.front().result.period;
  for (const ReplayRun& run : view.runs) {
    if (!was_replayed(view, run)) continue;
    whole.begin = std::min(whole.begin, run.result.period.begin);
    whole.end = std::max(whole.end, run.result.period.end);
  }
  return whole;
}

/// The mean time from submission to end: a row for each policy, or one row of policies where nothing was changed.
Html key_figures(const ReplayView& view) {
  Html rows;
  bool compared = false;
  for (const ReplayGroup& group : groups_of(view)) {
    const double first = view.runs[group.runs.front()].result.completion.mean_s;
    std::vector<Card> figures;
    for (const size_t r : group.runs) {
      const ReplayRun& run = view.runs[r];
      const std::string name = short_name(view, run);
      if (!was_replayed(view, run)) {
        figures.push_back({name, "–", "cannot be replayed", Tone::kPlain});
        continue;
      }
      const double mean = run.result.completion.mean_s;
      const bool differs = r != group.runs.front() && first > 0;
      compared = compared || differs;
      const double change = differs ? 100 * (mean / first - 1) : 0;
      figures.push_back({name, shown_seconds(mean), differs ? fmt::format("{:+.1f} %", change) : "",
                         change < -2  ? Tone::kGood
                         : change > 2 ? Tone::kBad
                                      : Tone::kPlain});
    }
    rows += element("div", {{"class", "group"}},
                    element("h3", Html::text(group.title.empty() ? "Policy" : group.title)) + cards(figures));
  }
  return section("completion", "Mean time from submission to end", compared ? "In percent: against the first of the row." : "",
                 rows);
}

Html changes_section(const ReplayView& view) {
  if (view.changes.size() == 1) return {};
  std::vector<std::string> said;
  for (size_t c = 1; c < view.changes.size(); ++c) {
    const ReplayChange& change = view.changes[c];
    said.push_back(fmt::format("Change {}: {}", c, change.name));
    if (!change.refused.empty()) said.back() += ". It cannot be replayed: " + change.refused;
    for (const std::string& note : change.notes)
      said.back() += ". " + note;
  }
  const std::vector<std::vector<std::string>> rows = replay_summary(view);
  std::vector<Column> columns;
  for (const std::string& heading : rows[0])
    columns.push_back({heading, columns.size() < 2 ? Align::kLeft : Align::kRight});
  HtmlTable table(columns);
  for (size_t r = 1; r < rows.size(); ++r) {
    std::vector<Html> cells;
    for (const std::string& cell : rows[r])
      cells.push_back(Html::text(cell));
    table.add_row(cells);
  }
  return section("changes", "What was changed", "Every change is tried by itself, under every policy.",
                 bullet_list(said) + table.render("Policies and changes"));
}

Html coloured(const std::string& value, Tone tone) {
  if (tone != Tone::kGood && tone != Tone::kBad) return Html::text(value);
  return element("span", {{"class", tone == Tone::kGood ? "good" : "bad"}}, Html::text(value));
}

Html side_by_side(const ReplayView& view, const ReplayGroup& group, const std::vector<ReplayFigure>& figures) {
  const std::vector<size_t> runs = replayed_of(view, group);
  std::vector<Column> columns = {{"", Align::kLeft}};
  for (const size_t r : runs)
    columns.push_back({short_name(view, view.runs[r]), Align::kRight});
  HtmlTable table(columns);
  std::string heading;
  for (const ReplayFigure& figure : figures) {
    if (figure.group != heading) {
      heading = figure.group;
      std::vector<Html> cells(columns.size());
      cells[0] = element("strong", heading);
      table.add_row(cells);
    }
    std::vector<Html> cells = {Html::text(figure.label)};
    for (const size_t r : runs)
      cells.push_back(coloured(figure.values[r], figure.tones[r]));
    table.add_row(cells);
  }
  const Html rendered = table.render(group.title.empty() ? "Figures by policy" : "Figures under " + group.title);
  return group.title.empty() ? rendered : element("h3", Html::text(group.title)) + rendered;
}

Html comparison(const ReplayView& view) {
  const std::vector<ReplayFigure> figures = replay_figures(view);
  Html tables;
  for (const ReplayGroup& group : groups_of(view))
    tables += side_by_side(view, group, figures);
  return section("comparison", "Side by side", "Green and red: better or worse than the first by more than two per cent.",
                 tables);
}

template <typename Value>
std::vector<TimelineCurve> curves_of(const ReplayView& view, Value value) {
  std::vector<TimelineCurve> curves;
  for (size_t r = 0; r < view.runs.size(); ++r) {
    if (!was_replayed(view, view.runs[r])) continue;
    TimelineCurve curve{.name = full_name(view.runs[r]), .css_class = line_of(r).css_class, .points = {}};
    for (const TimelinePoint& p : view.runs[r].result.timeline)
      curve.points.push_back({p.at, value(p)});
    curves.push_back(std::move(curve));
  }
  return curves;
}

Html run_legend(const ReplayView& view) {
  std::vector<std::string> names;
  for (const ReplayRun& run : view.runs)
    names.push_back(full_name(run));
  std::vector<LegendEntry> entries;
  for (size_t r = 0; r < names.size(); ++r)
    if (was_replayed(view, view.runs[r])) entries.emplace_back(names[r], line_of(r).colour);
  return legend(entries);
}

Html time_section(const ReplayView& view) {
  const Interval period = whole_period(view);
  const auto gpus = curves_of(view, [](const TimelinePoint& p) { return static_cast<double>(p.gpu_milli_held) / 1000; });
  const auto queue = curves_of(view, [](const TimelinePoint& p) { return static_cast<double>(p.waiting); });
  const auto cost = curves_of(view, [](const TimelinePoint& p) { return p.cost.to_double(); });
  const std::string currency(view.runs.front().result.money.total.currency().code());
  Html out = run_legend(view);
  out += timeline_chart("GPUs held over time", fmt::format("GPUs held, of {}", view.gpus), period, gpus, BetweenPoints::kHolds,
                        static_cast<double>(view.gpus));
  out += timeline_chart("Jobs waiting over time", "jobs waiting", period, queue);
  out += timeline_chart("Cost over time", "cost so far, " + currency, period, cost, BetweenPoints::kGrows);
  return section("time", "Over time", "UTC. What ends later is drawn longer; where lines run together the lower one is wider.",
                 out);
}

constexpr size_t kNodesDrawn = 40;
constexpr size_t kBins = 240;

/// Share of a node's GPUs that were held, per bin of the period.
std::vector<std::array<double, kBins>> node_use(const ReplayChange& fleet, const ReplayResult& result, Interval period) {
  std::vector<std::array<double, kBins>> use(std::min(fleet.node_names.size(), kNodesDrawn));
  const double bin_s = period.length().to_seconds() / kBins;
  for (const sim::Occupancy& o : result.occupancy) {
    if (o.node.index() >= use.size() || fleet.node_gpus[o.node.index()] == 0) continue;
    const double gpus = o.milli > 0 ? o.milli / 1000.0 : __builtin_popcountll(o.gpus);
    const double begin = (o.when.begin - period.begin).to_seconds() / bin_s;
    const double end = std::min((o.when.end - period.begin).to_seconds() / bin_s, static_cast<double>(kBins));
    for (size_t b = static_cast<size_t>(std::max(begin, 0.0)); b < kBins && static_cast<double>(b) < end; ++b) {
      const double from = std::max(begin, static_cast<double>(b)), to = std::min(end, static_cast<double>(b + 1));
      use[o.node.index()][b] += gpus * std::max(0.0, to - from) / fleet.node_gpus[o.node.index()];
    }
  }
  return use;
}

Html nodes_of_run(const ReplayView& view, const ReplayRun& run, Interval period) {
  const ReplayChange& fleet = view.changes[run.change];
  const auto use = node_use(fleet, run.result, period);
  std::vector<BarRow> rows;
  for (size_t n = 0; n < use.size(); ++n) {
    BarRow row{.label = fleet.node_names[n], .parts = {}, .figure = ""};
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
  return element("h3", Html::text(full_name(run))) + bar_rows(rows, "GPUs held per node over time", BarHeight::kStrip);
}

Html nodes_section(const ReplayView& view) {
  const Interval period = whole_period(view);
  Html out;
  int64_t left_out = 0;
  size_t most_nodes = 0;
  for (const ReplayRun& run : view.runs) {
    if (!was_replayed(view, run)) continue;
    most_nodes = std::max(most_nodes, view.changes[run.change].node_names.size());
    out += nodes_of_run(view, run, period);
    left_out = std::max(left_out, run.result.occupancies_left_out);
  }
  std::string lead = "Each line is a node, darker where more of its GPUs were held; on the right the share of the period.";
  if (most_nodes > kNodesDrawn) lead += fmt::format(" The first {} of {} nodes.", kNodesDrawn, most_nodes);
  if (left_out > 0) lead += fmt::format(" {} later stays are not drawn.", left_out);
  return section("nodes", "What each node did", lead, out);
}

std::string title_of(const ReplayView& view) {
  const size_t changes = view.changes.size() - 1;
  const size_t policies = view.runs.size() / view.changes.size();
  if (view.runs.size() == 1) return full_name(view.runs[0]);
  if (changes == 0) return fmt::format("{} policies on the same work", policies);
  const std::string tried = changes == 1 ? "one change" : fmt::format("{} changes", changes);
  return policies == 1 ? fmt::format("{} under {}", tried, view.runs[0].policy)
                       : fmt::format("{} under {} policies", tried, policies);
}

}  // namespace

std::string replay_html(const ReplayView& view) {
  PageText text;
  text.kicker = "Replay";
  text.title = title_of(view);
  text.subtitle = fmt::format("{}: {} on {} of {}, seed {}.", view.source, grouped_count(view.jobs, "job"),
                              grouped_count(view.gpus, "GPU"), grouped_count(view.nodes, "node"), view.seed);
  text.footer = "Made by Stint. The same work, seed and policy give the same fingerprint on every machine.";
  PageSections page;
  page.add("completion", "Completion", key_figures(view));
  page.add("changes", "Changes", changes_section(view));
  page.add("comparison", "All figures", comparison(view));
  page.add("time", "Over time", time_section(view));
  page.add("nodes", "Nodes", nodes_section(view));
  if (!view.notes.empty())
    page.add("notes", "Assumptions", section("notes", "What was left out or assumed", "", bullet_list(view.notes)));
  return html_page(text, page.render());
}

}  // namespace stint
