// Alert rules as a Prometheus rule file, and a file of unit tests for it that promtool runs.
//
// Recording rules gather each GPU metric from whoever exports it (prometheus_metric.h); the alerts look at what they record. What DCGM does not know (latency, kinds of work, checkpoints, spot, out of memory) comes from metrics of Stint's own;
// docs/formats.md lists them.
// Sources: https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/ and …/unit_testing_rules/;
// dcgm-exporter etc/default-counters.csv (memory in MiB, profiling metrics as ratios).
#pragma once

#include <span>
#include <string>

#include "telemetry/alert_rule.h"

namespace stint {

/// The counter of that event (of checkpoints: the gauge of the last one), and the gauge of that fact, as /metrics has them.
std::string_view prometheus_name(AlertEvent e);
std::string_view prometheus_name(AlertFact f);

/// @return PromQL that has a result for each subject the rule's condition is true for.
std::string prometheus_expression(const AlertRule& rule);

/// @return YAML for `rule_files:`; passes `promtool check rules`.
std::string prometheus_rules(std::span<const AlertRule> rules);

/// One test per rule and set of names its metrics may have: of two subjects, one on either side of the threshold, exactly one fires.
/// @param rule_file  name of the file prometheus_rules() went to, as seen from the test file.
std::string prometheus_rule_tests(std::span<const AlertRule> rules, const std::string& rule_file);

}  // namespace stint
