// Unit tests for the exported rules: for each rule a subject for which it must fire and one for which it must not.
#include <fmt/format.h>

#include "codec/prometheus_metric.h"
#include "codec/prometheus_rules.h"

namespace stint {
namespace {

/// Series of one test, as promtool writes them: `first+step x times`.
class DrawnSeries {
 public:
  explicit DrawnSeries(int64_t minutes) : minutes_(minutes) {}

  void add(std::string_view name, std::string_view labels, const std::string& values) {
    text_ += fmt::format("      - series: '{}{{{}}}'\n        values: '{}'\n", name, labels, values);
  }
  void constant(std::string_view name, std::string_view labels, double value) {
    add(name, labels, fmt::format("{:g}+0x{}", value, minutes_));
  }
  /// So that the metric, with its factor, has `value`.
  void constant(Metric metric, std::string_view labels, double value) {
    const ScrapedMetric source = scraped(metric);
    constant(source.parts.front(), labels, value / source.factor);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  int64_t minutes_;
  std::string text_;
};

/// Of latency as usual before it changes; promtool refuses a week of minutes.
constexpr int64_t kUsualMinutes = 180;

constexpr std::string_view kBad = "UUID=\"GPU-bad\"";
constexpr std::string_view kGood = "UUID=\"GPU-good\"";

struct Sides {
  double bad = 0;
  double good = 0;
};
/// A tenth of the threshold away from it on either side; at most 0 = nothing at all against one.
Sides sides_of(const AlertRule& rule) {
  const double step = rule.threshold == 0 ? 1 : rule.threshold / 10;
  switch (rule.comparison) {
    case Comparison::kAbove: return {rule.threshold + step, rule.threshold - step};
    case Comparison::kBelow: return {rule.threshold - step, rule.threshold + step};
    case Comparison::kAtMost: return {rule.threshold, rule.threshold + step};
    case Comparison::kAtLeast: return {rule.threshold, rule.threshold - step};
  }
  return {};
}

/// Used and free memory so that used is that part of both; anything else has a series of its own.
void add_share(DrawnSeries& series, const AlertRule& rule, std::string_view who, double percent) {
  series.constant(*rule.metric, who, 10 * percent);
  if (*rule.of == Metric::kMemoryTotal)
    series.constant("DCGM_FI_DEV_FB_FREE", who, 1'000 - 10 * percent);
  else
    series.constant(*rule.of, who, 1'000);
}

std::string input_of(const AlertRule& rule, int64_t minutes) {
  DrawnSeries series(minutes);
  const Sides sides = sides_of(rule);
  switch (rule.measure) {
    case Measure::kMean:
      series.constant(*rule.metric, kBad, sides.bad);
      series.constant(*rule.metric, kGood, sides.good);
      break;
    case Measure::kShare:
      add_share(series, rule, kBad, sides.bad);
      add_share(series, rule, kGood, sides.good);
      break;
    case Measure::kTimesBaseline: {
      const std::string_view name = scraped(*rule.metric).parts.front();
      series.add(name, kBad, fmt::format("10+0x{} {:g}+0x{}", kUsualMinutes, 10 * sides.bad, minutes - kUsualMinutes));
      series.add(name, kGood, fmt::format("10+0x{} {:g}+0x{}", kUsualMinutes, 10 * sides.good, minutes - kUsualMinutes));
      break;
    }
    case Measure::kRise:
      // In MiB of 80,000: what it grows by each minute so that the window holds that percentage.
      for (const auto& [who, percent] : {std::pair(kBad, 2 * rule.threshold), {kGood, 0.0}}) {
        const double step = 800 * percent / static_cast<double>(whole_minutes(rule.window));
        series.add("DCGM_FI_DEV_FB_USED", who, fmt::format("20000+{:g}x{}", step, minutes));
        series.add("DCGM_FI_DEV_FB_FREE", who, fmt::format("60000-{:g}x{}", step, minutes));
        series.constant(Metric::kUtilization, who, 50);
      }
      break;
    case Measure::kEvents: {
      const std::string kind = rule.only.empty() ? "" : fmt::format(",kind=\"{}\"", name_of(rule.only.front()));
      for (const bool bad : {true, false})
        series.add(prometheus_name(*rule.event), fmt::format("{}=\"{}\"{}", name_of(rule.scope), bad ? "bad" : "good", kind),
                   bad ? fmt::format("0+0x3 1+0x{}", minutes - 3) : fmt::format("0+0x{}", minutes));
      break;
    }
    case Measure::kEventShare:
      for (int node = 0; node < 5; ++node) {
        const std::string label = fmt::format("node=\"n{}\"", node);
        series.constant("stint_node_spot", label, 1);
        series.add("stint_node_spot_interruptions_total", label,
                   node < 2 ? fmt::format("0+0x3 1+0x{}", minutes - 3) : fmt::format("0+0x{}", minutes));
      }
      break;
    case Measure::kSilence:
      series.constant("stint_job_last_checkpoint_timestamp_seconds", "job=\"bad\"", 0);
      series.add("stint_job_last_checkpoint_timestamp_seconds", "job=\"good\"", fmt::format("0+60x{}", minutes));
      break;
    case Measure::kFact:
      series.constant(prometheus_name(*rule.fact), fmt::format("{}=\"bad\"", name_of(rule.scope)), sides.bad);
      series.constant(prometheus_name(*rule.fact), fmt::format("{}=\"good\"", name_of(rule.scope)), sides.good);
      break;
  }
  if (rule.scope == AlertScope::kGpu && !rule.only.empty())
    for (const std::string_view who : {kBad, kGood})
      series.constant("stint_gpu_workload", fmt::format("{},kind=\"{}\"", who, name_of(rule.only.front())), 1);
  return series.text();
}

/// When the alert must fire: the whole window has been seen, and the condition has held.
int64_t minutes_until_it_fires(const AlertRule& rule) {
  switch (rule.measure) {
    case Measure::kTimesBaseline: return kUsualMinutes + whole_minutes(rule.window + rule.hold) + 2;
    case Measure::kSilence: return static_cast<int64_t>(rule.threshold * 60) + whole_minutes(rule.hold) + 2;
    case Measure::kEvents:
    case Measure::kEventShare:
    case Measure::kFact: return 10 + whole_minutes(rule.hold);
    default: return whole_minutes(rule.window + rule.hold) + 2;
  }
}

}  // namespace

std::string prometheus_rule_tests(std::span<const AlertRule> rules, const std::string& rule_file) {
  std::string out = fmt::format("rule_files:\n  - {}\nevaluation_interval: 1m\ntests:\n", rule_file);
  for (const AlertRule& rule : rules) {
    const int64_t minutes = minutes_until_it_fires(rule);
    out += fmt::format("  - interval: 1m\n    input_series:\n{}    promql_expr_test:\n", input_of(rule, minutes));
    out += fmt::format("      - expr: count(ALERTS{{alertname=\"{}\",alertstate=\"firing\"}})\n        eval_time: {}m\n",
                       rule.name, minutes);
    out += "        exp_samples:\n          - labels: '{}'\n            value: 1\n";
  }
  return out;
}

}  // namespace stint
