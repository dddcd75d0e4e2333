#include "codec/grafana_dashboard.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "codec/prometheus_metric.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kGridColumns = 24;  // of Grafana's grid

struct Query {
  std::string expression;
  std::string legend;
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
std::string of_chosen(Metric metric) { return fmt::format("{}{{Hostname=~\"$node\"}}", scraped(metric).parts.front()); }

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
    const double factor = scraped(metric).factor;
    const std::string scale = factor == 1 ? "" : fmt::format("{:g} * ", factor);
    return Panel{.title = title,
                 .type = "timeseries",
                 .unit = unit,
                 .queries = {{scale + of_chosen(metric), "{{Hostname}} GPU {{gpu}}"}},
                 .what = what};
  };
  const std::string used = of_chosen(Metric::kMemoryUsed);
  const std::string free = "DCGM_FI_DEV_FB_FREE{Hostname=~\"$node\"}";
  return {
      each("Utilisation", Metric::kUtilization, "percent", "Part of the time in which a kernel ran."),
      {.title = "Memory",
       .type = "timeseries",
       .unit = "percent",
       .queries = {{fmt::format("100 * {} / ({} + {})", used, used, free), "{{Hostname}} GPU {{gpu}}"}},
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

Json as_json(const Panel& panel, int id, int x, int y) {
  const Json source = {{"type", "prometheus"}, {"uid", "${datasource}"}};
  Json targets = Json::array();
  for (const Query& query : panel.queries)
    targets.push_back({{"datasource", source},
                       {"expr", query.expression},
                       {"legendFormat", query.legend},
                       {"refId", std::string(1, static_cast<char>('A' + targets.size()))}});
  return {{"id", id},
          {"title", panel.title},
          {"description", panel.what},
          {"type", panel.type},
          {"datasource", source},
          {"gridPos", {{"x", x}, {"y", y}, {"w", panel.width}, {"h", panel.height}}},
          {"fieldConfig",
           {{"defaults", {{"unit", panel.unit}, {"min", 0}, {"thresholds", thresholds(panel)}}}, {"overrides", Json::array()}}},
          {"targets", std::move(targets)}};
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
                       {"query", "label_values(DCGM_FI_DEV_GPU_UTIL, Hostname)"},
                       {"refresh", 2},
                       {"includeAll", true},
                       {"multi", true},
                       {"current", {{"text", "All"}, {"value", "$__all"}}}}});
}

}  // namespace

std::string grafana_dashboard() {
  std::vector<Panel> panels = money_and_queue();
  for (Panel& panel : gpus())
    panels.push_back(std::move(panel));
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
