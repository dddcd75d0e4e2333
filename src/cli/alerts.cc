// stint alerts: the rules, and the rules for Prometheus.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/output.h"
#include "codec/prometheus_metric.h"
#include "codec/prometheus_rules.h"
#include "report/table.h"

namespace stint {
namespace {

std::string condition_of(const AlertRule& rule) {
  return fmt::format("{} {:g} {}", symbol_of(rule.comparison), rule.threshold, rule.unit);
}

std::string measured(const AlertRule& rule) {
  std::string what = rule.metric ? std::string(info_of(*rule.metric).name) : std::string(name_of(*rule.event));
  if (rule.of) what += fmt::format(" of {}", info_of(*rule.of).name);
  return fmt::format("{} of {}", name_of(rule.measure), what);
}

std::string rules_text(std::span<const AlertRule> rules, Colour colour) {
  Table table({{"Alert", Align::kLeft, 40},
               {"Severity", Align::kLeft, 10},
               {"For each", Align::kLeft, 10},
               {"Measured", Align::kLeft, 40},
               {"Fires", Align::kRight, 20},
               {"Over", Align::kRight, 10},
               {"Held for", Align::kRight, 10}});
  for (const AlertRule& rule : rules)
    table.add_row({rule.name, std::string(name_of(rule.severity)), std::string(name_of(rule.scope)), measured(rule),
                   condition_of(rule), promql_duration(rule.window.whole_seconds() / 60),
                   rule.hold > Duration() ? promql_duration(rule.hold.whole_seconds() / 60) : "–"});
  return table.render(colour, 2);
}

std::string rules_json(std::span<const AlertRule> rules) {
  auto out = nlohmann::ordered_json::array();
  for (const AlertRule& rule : rules) {
    auto& one = out.emplace_back();
    one["name"] = rule.name;
    one["severity"] = name_of(rule.severity);
    one["scope"] = name_of(rule.scope);
    one["workloads"] = nlohmann::ordered_json::array();
    for (const WorkloadKind kind : rule.only)
      one["workloads"].push_back(name_of(kind));
    one["measure"] = name_of(rule.measure);
    if (rule.metric) one["metric"] = info_of(*rule.metric).name;
    if (rule.of) one["of"] = info_of(*rule.of).name;
    if (rule.event) one["event"] = name_of(*rule.event);
    one["comparison"] = symbol_of(rule.comparison);
    one["threshold"] = rule.threshold;
    one["unit"] = rule.unit;
    one["window_s"] = rule.window.whole_seconds();
    one["hold_s"] = rule.hold.whole_seconds();
    one["summary"] = rule.summary;
    one["remedy"] = rule.remedy;
    one["promql"] = prometheus_expression(rule);
  }
  return out.dump(2) + "\n";
}

struct ExportOptions {
  bool prometheus = false;
  std::string tests_for;
  std::string output;
};

}  // namespace

void add_alerts_command(CLI::App& app, Action& action) {
  CLI::App* alerts = app.add_subcommand("alerts", "the alert rules, and the same rules for Prometheus");
  alerts->require_subcommand(1);

  CLI::App* list = alerts->add_subcommand("rules", "what is watched, and when it fires");
  auto json = std::make_shared<bool>(false);
  list->add_flag("--json", *json, "print JSON");
  list->callback([json, &action] {
    action = [json] {
      const auto& rules = default_alert_rules();
      const Status done = write_output("", *json ? rules_json(rules) : rules_text(rules, colour_of_stdout()));
      return done ? ExitCode::kOk : fail(done.error().message);
    };
  });

  CLI::App* out = alerts->add_subcommand("export", "the rules as a Prometheus rule file over DCGM exporter's metrics");
  out->footer("Example: stint alerts export --prometheus -o stint.rules.yml && promtool check rules stint.rules.yml");
  auto options = std::make_shared<ExportOptions>();
  auto* prometheus = out->add_flag("--prometheus", options->prometheus, "a rule file");
  out->add_option("--prometheus-tests", options->tests_for, "unit tests for promtool instead; the rule file they are for")
      ->excludes(prometheus);
  out->add_option("-o,--output", options->output, "write to this file");
  out->callback([options, &action] {
    if (!options->prometheus && options->tests_for.empty())
      throw CLI::ValidationError("name what to write: --prometheus, or --prometheus-tests RULES");
    action = [options] {
      const auto& rules = default_alert_rules();
      const std::string text = options->prometheus ? prometheus_rules(rules) : prometheus_rule_tests(rules, options->tests_for);
      const Status done = write_output(options->output, text);
      return done ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
