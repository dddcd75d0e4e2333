#include "codec/metrics/prometheus_rules.h"

#include <fmt/format.h>

#include <set>

#include "codec/metrics/prometheus_metric.h"

namespace stint {
namespace {

std::string range(Duration d) { return "[" + promql_duration(whole_minutes(d)) + "]"; }

std::string kinds_of(const AlertRule& rule) {
  std::string kinds;
  for (const WorkloadKind kind : rule.only)
    kinds += fmt::format("{}{}", kinds.empty() ? "" : "|", name_of(kind));
  return kinds;
}

std::string condition(const AlertRule& rule) { return fmt::format("{} {:g}", symbol_of(rule.comparison), rule.threshold); }

/// What was seen for most of the window only, and of the right kind of work only.
std::string guards(const AlertRule& rule) {
  const int64_t minutes = whole_minutes(rule.window);
  std::string text;
  if (minutes > 1)
    text += fmt::format(" and count_over_time({}[{}:1m]) >= {:g}", series_of(*rule.metric), promql_duration(minutes),
                        kLeastCoverage * static_cast<double>(minutes));
  if (!rule.only.empty()) text += fmt::format(" and on (UUID) stint_gpu_workload{{kind=~\"{}\"}} == 1", kinds_of(rule));
  return text;
}

std::string rise(const AlertRule& rule) {
  const int64_t half = whole_minutes(rule.window) / 2;
  const std::string half_range = "[" + promql_duration(half) + "]";
  return fmt::format("100 * deriv({}{}) * {} / {} {} and abs({} - {}) < {:g}", series_of(*rule.metric), range(rule.window),
                     whole_minutes(rule.window) * 60, average_over(*rule.of, range(rule.window)), condition(rule),
                     average_over(Metric::kUtilization, half_range),
                     average_over(Metric::kUtilization, half_range + " offset " + promql_duration(half)), kSteadyPoints);
}

/// The GPU metrics that the rules look at; of a rise also the utilisation that must be steady meanwhile.
std::set<Metric> recorded_metrics(std::span<const AlertRule> rules) {
  std::set<Metric> metrics;
  for (const AlertRule& rule : rules) {
    for (const std::optional<Metric>& metric : {rule.metric, rule.of})
      if (metric && is_of_gpu(*metric)) metrics.insert(*metric);
    if (rule.measure == Measure::kRise) metrics.insert(Metric::kUtilization);
  }
  return metrics;
}

/// In single quotes YAML takes everything as it is but the quote itself.
std::string yaml_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

}  // namespace

// Counters exist from the beginning, so that increase() sees the first event.
std::string_view prometheus_name(AlertEvent e) {
  switch (e) {
    case AlertEvent::kOutOfMemory: return "stint_gpu_out_of_memory_total";
    case AlertEvent::kSpotInterruption: return "stint_node_spot_interruptions_total";
    case AlertEvent::kCheckpoint: return "stint_job_last_checkpoint_timestamp_seconds";
    case AlertEvent::kJobFailed: return "stint_queue_jobs_failed_total";
  }
  return "";
}

std::string_view prometheus_name(AlertFact f) {
  switch (f) {
    case AlertFact::kBudgetUsed: return "stint_queue_budget_used_percent";
    case AlertFact::kJobsWaiting: return "stint_queue_jobs_waiting";
    case AlertFact::kNodeDown: return "stint_node_down";
    case AlertFact::kReadOnly: return "stint_read_only";
    case AlertFact::kSpendOff: return "stint_spend_off_deviations";
    case AlertFact::kPriceAge: return "stint_oldest_price_age";
    case AlertFact::kForeignProcesses: return "stint_gpu_foreign_processes";
    case AlertFact::kHeldBack: return "stint_gpu_held_back";
  }
  return "";
}

std::string prometheus_expression(const AlertRule& rule) {
  const std::string window = range(rule.window);
  switch (rule.measure) {
    case Measure::kMean: return average_over(*rule.metric, window) + " " + condition(rule) + guards(rule);
    case Measure::kShare:
      return fmt::format("100 * {} / {} {}{}", average_over(*rule.metric, window), average_over(*rule.of, window),
                         condition(rule), guards(rule));
    case Measure::kTimesBaseline:
      return fmt::format("{} / quantile_over_time(0.95, {}{} offset {}) {}{}", average_over(*rule.metric, window),
                         series_of(*rule.metric), range(kBaseline), promql_duration(whole_minutes(rule.window)), condition(rule),
                         guards(rule));
    case Measure::kRise: return rise(rule) + guards(rule);
    case Measure::kEvents: {
      const std::string kinds = rule.only.empty() ? "" : fmt::format("{{kind=~\"{}\"}}", kinds_of(rule));
      return fmt::format("increase({}{}{}) {}", prometheus_name(*rule.event), kinds, window, condition(rule));
    }
    case Measure::kEventShare:
      return fmt::format("100 * count(increase({}{}) > 0) / count(max_over_time(stint_node_spot{}) == 1) {}",
                         prometheus_name(*rule.event), window, window, condition(rule));
    case Measure::kSilence: return fmt::format("(time() - {}) / 3600 {}", prometheus_name(*rule.event), condition(rule));
    case Measure::kFact: return fmt::format("{} {}", prometheus_name(*rule.fact), condition(rule));
  }
  return "";
}

std::string prometheus_rules(std::span<const AlertRule> rules) {
  // One group, so that what is recorded is there when an alert looks at it.
  std::string out = "groups:\n  - name: stint\n    interval: 1m\n    rules:\n";
  for (const Metric metric : recorded_metrics(rules))
    out += fmt::format("      - record: {}\n        expr: {}\n", series_of(metric), yaml_text(from_any_exporter(metric)));
  for (const AlertRule& rule : rules) {
    out += fmt::format("      - alert: {}\n        expr: {}\n", rule.name, yaml_text(prometheus_expression(rule)));
    if (rule.hold > Duration()) out += fmt::format("        for: {}\n", promql_duration(whole_minutes(rule.hold)));
    out += fmt::format("        labels:\n          severity: {}\n          scope: {}\n", name_of(rule.severity),
                       name_of(rule.scope));
    out += fmt::format("        annotations:\n          summary: {}\n          description: {}\n          remedy: {}\n",
                       yaml_text(rule.summary),
                       yaml_text(fmt::format("Measured {{{{ $value | printf \"%.1f\" }}}} {}; the rule is {} {:g}.", rule.unit,
                                             symbol_of(rule.comparison), rule.threshold)),
                       yaml_text(rule.remedy));
  }
  return out;
}

}  // namespace stint
