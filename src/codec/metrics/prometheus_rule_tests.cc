// Unit tests for the exported rules: for each rule a subject for which it must fire and one for which it must not.
#include <fmt/format.h>

#include "codec/metrics/prometheus_metric.h"
#include "codec/metrics/prometheus_rules.h"

namespace stint {
namespace {

/// Whose names the metrics of a test have.
enum class Exporter {
  kDcgm,
  kDcgmMig,  ///< a GPU that is cut: its instances report how busy they are, the GPU as a whole 0 %
  kDaemon,   ///< NVML alone, read by Stint's daemon
};

std::string_view name_of(Exporter e) {
  switch (e) {
    case Exporter::kDcgm: return "DCGM exporter";
    case Exporter::kDcgmMig: return "DCGM exporter, MIG";
    case Exporter::kDaemon: return "the daemon";
  }
  return "";
}

std::vector<Exporter> exporters_of(const AlertRule& rule) {
  std::vector<Exporter> out = {Exporter::kDcgm};
  if (!rule.metric || !is_of_gpu(*rule.metric) || rule.measure == Measure::kTimesBaseline) return out;
  out.push_back(Exporter::kDaemon);
  if (rule.metric == Metric::kUtilization && rule.measure == Measure::kMean) out.push_back(Exporter::kDcgmMig);
  return out;
}

/// Series of one test, as promtool writes them: `first+step x times`.
class DrawnSeries {
 public:
  DrawnSeries(int64_t minutes, Exporter exporter) : minutes_(minutes), exporter_(exporter) {}

  void add(std::string_view name, std::string_view labels, const std::string& values) {
    text_ += fmt::format("      - series: '{}{{{}}}'\n        values: '{}'\n", name, labels, values);
  }
  void constant(std::string_view name, std::string_view labels, double value) {
    add(name, labels, fmt::format("{:g}+0x{}", value, minutes_));
  }
  /// So that the metric has `value` in DCGM's everyday unit.
  void constant(Metric metric, std::string_view labels, double value) {
    if (exporter_ == Exporter::kDaemon) return constant(gauge_name(metric), labels, value * daemon_units(metric));
    if (exporter_ == Exporter::kDcgmMig && metric == Metric::kUtilization) {
      constant(scraped(metric).parts.front(), labels, 0);
      const ScrapedMetric instance = scraped(Metric::kEngineActive);
      return constant(instance.parts.front(), fmt::format("{},GPU_I_ID=\"1\"", labels), value / instance.factor);
    }
    const ScrapedMetric source = scraped(metric);
    constant(source.parts.front(), labels, value / source.factor);
  }
  /// Used and all memory in MiB, the used growing by `step` a minute.
  void memory(std::string_view labels, double used, double all, double step = 0) {
    if (exporter_ == Exporter::kDaemon) {
      constexpr double kMebi = 1 << 20;
      add(gauge_name(Metric::kMemoryUsed), labels, fmt::format("{:.0f}+{:.0f}x{}", used * kMebi, step * kMebi, minutes_));
      return constant(gauge_name(Metric::kMemoryTotal), labels, all * kMebi);
    }
    add("DCGM_FI_DEV_FB_USED", labels, fmt::format("{:g}+{:g}x{}", used, step, minutes_));
    add("DCGM_FI_DEV_FB_FREE", labels, fmt::format("{:g}-{:g}x{}", all - used, step, minutes_));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static double daemon_units(Metric metric) {
    return metric == Metric::kMemoryUsed || metric == Metric::kMemoryTotal ? 1 << 20 : 1;
  }

  int64_t minutes_;
  Exporter exporter_;
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

/// Used and free memory so that used is that part of both; anything else has its own series.
void add_share(DrawnSeries& series, const AlertRule& rule, std::string_view who, double percent) {
  if (*rule.of == Metric::kMemoryTotal) return series.memory(who, 10 * percent, 1'000);
  series.constant(*rule.metric, who, 10 * percent);
  series.constant(*rule.of, who, 1'000);
}

std::string input_of(const AlertRule& rule, Exporter exporter, int64_t minutes) {
  DrawnSeries series(minutes, exporter);
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
        series.memory(who, 20'000, 80'000, step);
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
    for (const Exporter exporter : exporters_of(rule)) {
      out += fmt::format("  - interval: 1m\n    name: {}, metrics of {}\n    input_series:\n{}    promql_expr_test:\n", rule.name,
                         name_of(exporter), input_of(rule, exporter, minutes));
      out += fmt::format("      - expr: count(ALERTS{{alertname=\"{}\",alertstate=\"firing\"}})\n        eval_time: {}m\n",
                         rule.name, minutes);
      out += "        exp_samples:\n          - labels: '{}'\n            value: 1\n";
    }
  }
  return out;
}

}  // namespace stint
