// stint alerts and silence: what fires in the daemon and what is kept quiet; the rules, and the rules for Prometheus.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "codec/metrics/prometheus_metric.h"
#include "codec/metrics/prometheus_rules.h"
#include "daemon/alerts/alert_config.h"
#include "host/file.h"
#include "report/short_text.h"
#include "report/table.h"

namespace stint {
namespace {

std::string condition_of(const AlertRule& rule) {
  return fmt::format("{} {:g} {}", symbol_of(rule.comparison), rule.threshold, rule.unit);
}

std::string measured(const AlertRule& rule) {
  if (rule.fact) return std::string(name_of(*rule.fact));
  std::string what = rule.metric ? std::string(info_of(*rule.metric).name) : std::string(name_of(*rule.event));
  if (rule.of) what += fmt::format(" of {}", info_of(*rule.of).name);
  return fmt::format("{} of {}", name_of(rule.measure), what);
}

std::string rules_text(std::span<const AlertRule> rules, Screen screen) {
  Table table({{"alert", Align::kLeft, 40},
               {"severity", Align::kLeft, 10, 1},
               {"for each", Align::kLeft, 10, 3},
               {"measured", Align::kLeft, 40},
               {"fires", Align::kRight, 20},
               {"over", Align::kRight, 10, 2},
               {"held for", Align::kRight, 10, 2}});
  for (const AlertRule& rule : rules)
    table.add_row({rule.name, std::string(name_of(rule.severity)), std::string(name_of(rule.scope)), measured(rule),
                   condition_of(rule), promql_duration(rule.window.whole_seconds() / 60),
                   rule.hold > Duration() ? promql_duration(rule.hold.whole_seconds() / 60) : "–"});
  return table.render(screen, 2);
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
    if (rule.fact) one["fact"] = name_of(*rule.fact);
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
  std::string config;
};

/// @param config  the daemon's configuration, whose rules hold; empty = those that hold where the configuration has no others.
Result<std::vector<AlertRule>> rules_of(const std::string& config) {
  if (config.empty()) return default_alert_rules();
  TRY_ASSIGN(const std::string text, read_all(config));
  TRY_ASSIGN(AlertConfig alerts, parse_alert_config(text, config));
  return std::move(alerts.rules);
}

Status print_rules(const std::string& config, bool json) {
  TRY_ASSIGN(const std::vector<AlertRule> rules, rules_of(config));
  return write_output("", json ? rules_json(rules) : rules_text(rules, screen_of_stdout()));
}

Status export_rules(const ExportOptions& options) {
  TRY_ASSIGN(const std::vector<AlertRule> rules, rules_of(options.config));
  return write_output(options.output,
                      options.prometheus ? prometheus_rules(rules) : prometheus_rule_tests(rules, options.tests_for));
}

struct LiveOptions {
  ClientOptions daemon;
  bool all = false;
  std::vector<std::string> matchers;
  std::string length, comment;
  int64_t silence = 0;
};

using Json = nlohmann::ordered_json;

std::string field_or_nothing(const Json& json, const char* name) {
  return json[name].is_string() ? json[name].get<std::string>() : "";
}

/// What an alert is about: its labels but those that stand in their own columns.
std::string about(const Json& labels) {
  std::string out;
  for (const auto& [name, value] : labels.items())
    if (name != "alertname" && name != "severity" && name != "scope")
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value.get<std::string>());
  return out;
}

Status list_alerts(DaemonClient& client, const LiveOptions& options) {
  TRY_ASSIGN(const Json body,
             client.get(with_query("/v1/alerts", {{"state", options.all ? "all" : "firing"}, {"limit", "1000"}})));
  if (options.daemon.json) return print_json(body);
  Table table({{"alert"},
               {"severity", Align::kLeft, 0, 2},
               {"state", Align::kLeft, 0, 1},
               {"about", Align::kLeft, 50},
               {"since", Align::kLeft, 0, 3},
               {"ended", Align::kLeft, 0, 4},
               {"what", Align::kLeft, 80}});
  for (const Json& alert : body["alerts"]) {
    const std::string state = field_or_nothing(alert, "state");
    table.add_row({field_or_nothing(alert, "rule"), field_or_nothing(alert, "severity"), state, about(alert["labels"]),
                   short_utc(field_or_nothing(alert, "since")), short_utc(field_or_nothing(alert, "ended")),
                   alert["annotations"].value("description", "")});
    if (state == "firing") table.tone_cell(1, field_or_nothing(alert, "severity") == "critical" ? Tone::kBad : Tone::kWarn);
  }
  for (const Json& receiver : body["receivers"])
    if (const std::string error = field_or_nothing(receiver, "last_error"); !error.empty())
      tell("receiver {}: {} waiting; {}\n", field_or_nothing(receiver, "name"), receiver["waiting"].dump(), error);
  if (body["alerts"].empty()) tell("no alert {}\n", options.all ? "has fired" : "fires");
  return body["alerts"].empty() ? Status() : write_output("", table.render(screen_of_stdout()));
}

Status make_silence(DaemonClient& client, const LiveOptions& options) {
  const Json wish = {{"matchers", options.matchers}, {"for", options.length}, {"comment", options.comment}};
  TRY_ASSIGN(const Json silence, client.send("POST", "/v1/silences", wish));
  if (options.daemon.json) return print_json(silence);
  fmt::print("silence {} until {}\n", silence["id"].dump(), field_or_nothing(silence, "until"));
  return {};
}

Status list_silences(DaemonClient& client, const LiveOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/silences"));
  if (options.daemon.json) return print_json(body);
  Table table({{"id", Align::kRight},
               {"holds"},
               {"matchers", Align::kLeft, 60},
               {"until"},
               {"by", Align::kLeft, 0, 2},
               {"comment", Align::kLeft, 60, 1}});
  for (const Json& silence : body["silences"]) {
    std::string matchers;
    for (const Json& matcher : silence["matchers"])
      matchers += (matchers.empty() ? "" : " ") + matcher.get<std::string>();
    table.add_row({silence["id"].dump(), silence["holds"].get<bool>() ? "yes" : "no", matchers,
                   short_utc(field_or_nothing(silence, "until")), field_or_nothing(silence, "by"),
                   field_or_nothing(silence, "comment")});
  }
  return write_output("", table.render(screen_of_stdout()));
}

Status expire_silence(DaemonClient& client, const LiveOptions& options) {
  TRY_ASSIGN(const Json silence, client.send("DELETE", fmt::format("/v1/silences/{}", options.silence), nullptr));
  if (options.daemon.json) return print_json(silence);
  say("silence {}: over\n", options.silence);
  return {};
}

/// A command that talks to the daemon.
void on_call(Command& command, const std::shared_ptr<LiveOptions>& options, Status (*run)(DaemonClient&, const LiveOptions&),
             Action& action) {
  add_client_action(command, action, options->daemon, [options, run](DaemonClient& client) { return run(client, *options); });
}

/// Of what is silenced: list and expire.
void add_silences(Command& parent, Action& action) {
  auto options = std::make_shared<LiveOptions>();
  on_call(*parent.add_subcommand("list", "Silences that hold, and those over for less than a day"), options, list_silences,
          action);
  Command* expire = parent.add_subcommand("expire", "End one now");
  expire->add_option("id", options->silence, "its number")->required()->type_name("SILENCE");
  on_call(*expire, options, expire_silence, action);
}

}  // namespace

void add_alerts_command(Command& app, Action& action) {
  Command* alerts = app.add_subcommand("alerts", "What fires, the rules behind it, and the same rules for Prometheus");
  alerts->require_subcommand(1);
  auto live = std::make_shared<LiveOptions>();
  Command* list = alerts->add_subcommand("list", "Alerts of the daemon, worst first");
  list->add_flag("--all", live->all, "those that have ended, too");
  on_call(*list, live, list_alerts, action);

  Command* silence = alerts->add_subcommand("silence", "Keep alerts from being told for a time; they are listed all the same");
  silence->require_subcommand(0, 1);
  silence->add_option("matchers", live->matchers, "label=pattern or label!=pattern; all must match, a star stands for any text");
  silence->add_option("--for", live->length, "how long: 2h, 90m");
  silence->add_option("--comment", live->comment, "why");
  silence->footer("Example: stint alerts silence node=gpu-7 'alertname=Gpu*' --for 2h --comment 'new fan'");
  add_client_action(
      *silence, action, live->daemon, [live](DaemonClient& client) { return make_silence(client, *live); },
      [live, silence] {
        if (!silence->chosen_subcommand().empty()) return false;
        if (live->matchers.empty()) missing_argument("matchers");
        if (live->length.empty()) missing_argument("--for");
        return true;
      });
  add_silences(*silence, action);

  Command* rules = alerts->add_subcommand("rules", "What is watched, and when it fires");
  auto options = std::make_shared<ExportOptions>();
  auto json = std::make_shared<bool>(false);
  rules->add_flag("--json", *json, "print JSON");
  constexpr const char* kConfigHelp = "the daemon's configuration: rules as it changes them";
  rules->add_option("--config", options->config, kConfigHelp);
  rules->callback([options, json, &action] {
    action = [options, json] {
      const Status done = print_rules(options->config, *json);
      return done ? ExitCode::kOk : fail(done.error().message);
    };
  });

  Command* out = alerts->add_subcommand("export", "The rules as a Prometheus rule file over DCGM exporter's metrics");
  out->footer("Example: stint alerts export --prometheus -o stint.rules.yml && promtool check rules stint.rules.yml");
  auto* prometheus = out->add_flag("--prometheus", options->prometheus, "a rule file");
  out->add_option("--prometheus-tests", options->tests_for, "unit tests for promtool instead; the rule file they are for")
      ->excludes(prometheus);
  out->add_option("--config", options->config, kConfigHelp);
  out->add_option("-o,--output", options->output, "write to this file");
  out->callback([options, &action] {
    if (!options->prometheus && options->tests_for.empty())
      wrong_usage("name what to write: --prometheus, or --prometheus-tests RULES");
    action = [options] {
      const Status done = export_rules(*options);
      return done ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

void add_earlier_silence_command(Command& app, Action& action) {
  Command* silence = app.add_subcommand("silence", "What `stint alerts silence` does, by its earlier name")->group("");
  silence->require_subcommand(1);
  add_silences(*silence, action);
}

}  // namespace stint
