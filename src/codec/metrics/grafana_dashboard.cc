#include "codec/metrics/grafana_dashboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "codec/metrics/prometheus_metric.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kGridColumns = 24;  // of Grafana's grid

struct Query {
  std::string expression;
  std::string legend;
  bool table = false;  ///< only what is now, as a table
};

struct Panel {
  std::string_view title;
  std::string_view type;  ///< "timeseries", "stat", "heatmap", "xychart"
  std::string_view unit;  ///< Grafana's name of it
  int width = 12;
  int height = 8;
  std::vector<Query> queries;
  std::string_view what;                                             ///< one sentence beside the title
  std::vector<std::pair<double, std::string_view>> thresholds = {};  ///< ascending: from this value on this colour
};

/// Only of the nodes chosen at the top.
std::string of_chosen(Metric metric, std::string_view window = "") {
  return from_any_exporter(metric, "Hostname=~\"$node\"", window);
}

constexpr double kGoalPct = 70;  // of use
constexpr std::string_view kEachGpu = "{{Hostname}} GPU {{gpu}} {{GPU_I_PROFILE}}";

/// Cost of the nodes whose use is known, use and GPUs of each node over the last hour, all by `node`.
struct NodeUse {
  std::string cost = "sum by (node) (stint_cost_per_hour{node=~\"$node\"})";
  std::string gpus, used_pct;
};
NodeUse use_by_node() {
  const auto by_node = [](std::string_view how, const std::string& labels, const std::string& what) {
    return fmt::format("{} by ({}) (label_replace({}, \"node\", \"$1\", \"Hostname\", \"(.+)\"))", how, labels, what);
  };
  const std::string use = of_chosen(Metric::kUtilization, "1h");
  NodeUse out;
  out.gpus = "count by (node) (" + by_node("count", "node, gpu", use) + ")";
  out.used_pct = by_node("avg", "node", use);
  return out;
}

/// What idleness costs: the price of a GPU-hour over the part of it in which work was done.
std::vector<Panel> cost_of_use() {
  const NodeUse n = use_by_node();
  const std::string now = fmt::format("{} / ({} * ({} > 0) / 100)", n.cost, n.gpus, n.used_pct);
  const std::string at_goal = fmt::format("{} / ({} * {:g})", n.cost, n.gpus, kGoalPct / 100);
  const std::string known = fmt::format("({} and {})", n.cost, n.used_pct);
  return {
      {.title = "Cost of a useful GPU-hour",
       .type = "timeseries",
       .unit = "currencyUSD",
       .queries = {{fmt::format("sum({}) / sum({} * {} / 100)", known, n.gpus, n.used_pct), "now"},
                   {fmt::format("sum({}) / sum({} * {:g})", known, n.gpus, kGoalPct / 100),
                    fmt::format("with the GPUs {:g} % used", kGoalPct)}},
       .what = "What the nodes cost, over the GPU-hours in which work was done. The second line is the goal."},
      {.title = "Cost against use",
       .type = "xychart",
       .unit = "currencyUSD",
       .queries = {{n.used_pct, "use, %", true}, {now, "a useful GPU-hour now", true}, {at_goal, "at 70 % use", true}},
       .what =
           "One point a node: left to right how much of its GPUs was used in the last hour, upwards what a useful GPU-hour costs "
           "now and would cost at the goal of 70 % use."},
  };
}

std::vector<Panel> money_and_queue() {
  return {
      {.title = "Cost per hour",
       .type = "stat",
       .unit = "currencyUSD",
       .width = 6,
       .height = 4,
       .queries = {{"sum(stint_cost_per_hour)", ""}},
       .what = "What all nodes cost now."},
      {.title = "Idle cost per hour",
       .type = "stat",
       .unit = "currencyUSD",
       .width = 6,
       .height = 4,
       .queries = {{"sum(stint_idle_cost_per_hour)", ""}},
       .what = "Of it what no job uses."},
      {.title = "Mean utilisation",
       .type = "stat",
       .unit = "percent",
       .width = 6,
       .height = 4,
       .queries = {{"avg(" + of_chosen(Metric::kUtilization) + ")", ""}},
       .what = "The goal is 70 %.",
       .thresholds = {{25, "orange"}, {60, "green"}, {95, "red"}}},
      {.title = "Alerts",
       .type = "stat",
       .unit = "short",
       .width = 6,
       .height = 4,
       .queries = {{"count(ALERTS{alertstate=\"firing\"}) or vector(0)", ""}},
       .what = "That fire now.",
       .thresholds = {{1, "red"}}},
      {.title = "Cost per hour by client",
       .type = "timeseries",
       .unit = "currencyUSD",
       .queries = {{"sum by (client) (stint_client_cost_per_hour)", "{{client}}"}},
       .what = "Of what runs."},
      {.title = "Queue",
       .type = "timeseries",
       .unit = "short",
       .queries = {{"sum by (queue) (stint_jobs{state=\"waiting\"})", "{{queue}}, waiting"},
                   {"sum by (queue) (stint_jobs{state=\"running\"})", "{{queue}}, running"}},
       .what = "Jobs that wait and that run."},
  };
}

std::vector<Panel> gpus() {
  const auto each = [](std::string_view title, Metric metric, std::string_view unit, std::string_view what) {
    return Panel{.title = title,
                 .type = "timeseries",
                 .unit = unit,
                 .queries = {{of_chosen(metric), std::string(kEachGpu)}},
                 .what = what};
  };
  return {
      each("Utilisation", Metric::kUtilization, "percent", "Part of the time in which a kernel ran."),
      {.title = "Memory",
       .type = "timeseries",
       .unit = "percent",
       .queries = {{fmt::format("100 * {} / {}", of_chosen(Metric::kMemoryUsed), of_chosen(Metric::kMemoryTotal)),
                    std::string(kEachGpu)}},
       .what = "In use, of what the GPU has."},
      each("SM occupancy", Metric::kSmOccupancy, "percent", "Resident warps, of the most there can be."),
      each("Temperature", Metric::kTemperature, "celsius", "Above 83 °C clocks are lowered."),
      each("Power", Metric::kPower, "watt", "Drawn by the board."),
      each("Memory bandwidth", Metric::kMemoryBandwidth, "percent", "Part of the cycles in which memory moved data."),
      {.title = "Spread of utilisation",
       .type = "timeseries",
       .unit = "percent",
       .width = 24,
       .queries = {{"quantile(0.1, " + of_chosen(Metric::kUtilization) + ")", "10 % of GPUs are below"},
                   {"quantile(0.5, " + of_chosen(Metric::kUtilization) + ")", "half"},
                   {"quantile(0.9, " + of_chosen(Metric::kUtilization) + ")", "90 %"}},
       .what = "Whether few GPUs do the work of many."},
  };
}

Json thresholds(const Panel& panel) {
  Json steps = Json::array({{{"color", panel.thresholds.empty() ? "green" : "blue"}, {"value", nullptr}}});
  for (const auto& [value, colour] : panel.thresholds)
    steps.push_back({{"color", colour}, {"value", value}});
  return {{"mode", "absolute"}, {"steps", std::move(steps)}};
}

/// The queries' tables become one, joined by node: the first is drawn left to right, the others upwards.
void add_scatter(Json& out, const Panel& panel) {
  Json names = Json::object(), hidden = Json::object();
  for (size_t q = 0; q < panel.queries.size(); ++q) {
    const std::string id(1, static_cast<char>('A' + q));
    names["Value #" + id] = panel.queries[q].legend;
    hidden[q == 0 ? "Time" : fmt::format("Time {}", q + 1)] = true;
  }
  hidden["Time 1"] = true;
  out["transformations"] = Json::array(
      {{{"id", "joinByField"}, {"options", {{"byField", "node"}, {"mode", "inner"}}}},
       {{"id", "organize"}, {"options", {{"excludeByName", std::move(hidden)}, {"renameByName", std::move(names)}}}}});
  out["options"] = {{"mapping", "auto"}, {"seriesMapping", "auto"}};
  out["fieldConfig"]["overrides"] =
      Json::array({{{"matcher", {{"id", "byName"}, {"options", panel.queries[0].legend}}},
                    {"properties", Json::array({{{"id", "unit"}, {"value", "percent"}}, {{"id", "max"}, {"value", 100}}})}}});
}

Json as_json(const Panel& panel, int id, int x, int y) {
  const Json source = {{"type", "prometheus"}, {"uid", "${datasource}"}};
  Json targets = Json::array();
  for (const Query& query : panel.queries) {
    Json& target = targets.emplace_back();
    target = {{"datasource", source},
              {"expr", query.expression},
              {"legendFormat", query.legend},
              {"refId", std::string(1, static_cast<char>('A' + targets.size() - 1))}};
    if (query.table) target.update({{"format", "table"}, {"instant", true}});
  }
  Json out = {
      {"id", id},
      {"title", panel.title},
      {"description", panel.what},
      {"type", panel.type},
      {"datasource", source},
      {"gridPos", {{"x", x}, {"y", y}, {"w", panel.width}, {"h", panel.height}}},
      {"fieldConfig",
       {{"defaults", {{"unit", panel.unit}, {"min", 0}, {"thresholds", thresholds(panel)}}}, {"overrides", Json::array()}}},
      {"targets", std::move(targets)}};
  if (panel.type == "xychart") add_scatter(out, panel);
  return out;
}

/// Left to right, a new row where one does not fit any more.
Json laid_out(std::span<const Panel> panels) {
  Json out = Json::array();
  int x = 0, y = 0, row_height = 0;
  for (const Panel& panel : panels) {
    if (x + panel.width > kGridColumns) {
      x = 0;
      y += row_height;
      row_height = 0;
    }
    out.push_back(as_json(panel, static_cast<int>(out.size()) + 1, x, y));
    x += panel.width;
    row_height = std::max(row_height, panel.height);
  }
  return out;
}

Json variables() {
  return Json::array({{{"name", "datasource"}, {"label", "Prometheus"}, {"type", "datasource"}, {"query", "prometheus"}},
                      {{"name", "node"},
                       {"label", "Node"},
                       {"type", "query"},
                       {"datasource", {{"type", "prometheus"}, {"uid", "${datasource}"}}},
                       {"query",
                        "label_values({__name__=~\"DCGM_FI_DEV_GPU_UTIL|DCGM_FI_PROF_GR_ENGINE_ACTIVE|stint_gpu_utilization|"
                        "stint_gpu_engine_active\"}, Hostname)"},
                       {"refresh", 2},
                       {"includeAll", true},
                       {"multi", true},
                       {"allValue", ".*"},
                       {"current", {{"text", "All"}, {"value", "$__all"}}}}});
}

}  // namespace

std::string grafana_dashboard() {
  std::vector<Panel> panels = money_and_queue();
  for (std::vector<Panel> more : {cost_of_use(), gpus()})
    std::ranges::move(more, std::back_inserter(panels));
  const Json dashboard = {{"title", "Stint: GPUs and what they cost"},
                          {"uid", "stint-fleet"},
                          {"tags", {"stint", "gpu"}},
                          {"timezone", "utc"},
                          {"schemaVersion", 39},
                          {"refresh", "1m"},
                          {"time", {{"from", "now-24h"}, {"to", "now"}}},
                          {"templating", {{"list", variables()}}},
                          {"panels", laid_out(panels)}};
  return dashboard.dump(2) + "\n";
}

}  // namespace stint
