#include "daemon/alerts/alert_config.h"

#include <simdjson.h>
#include <algorithm>

#include "base/text.h"
#include "codec/json_place.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

constexpr size_t kMostRules = 500;
constexpr size_t kMostReceivers = 16;
constexpr int64_t kMostEndedKept = 100'000;
constexpr double kAnyNumber = 1e15;

/// The value that a text in `name` stands for, where there is one.
template <typename Value, typename Parse>
void read_name(JsonFields& fields, std::string_view name, Value& value, Parse parse, std::string_view expected) {
  if (!fields.has(name)) return;
  if (const auto parsed = parse(fields.text(name)))
    value = *parsed;
  else
    fields.wrong(name, expected);
}

void read_kinds(JsonFields& fields, AlertRule& rule) {
  if (!fields.has("workloads")) return;
  rule.only.clear();
  for (const std::string& text : fields.texts("workloads")) {
    if (const auto kind = parse_workload_kind(text); kind.ok())
      rule.only.push_back(*kind);
    else
      fields.wrong("workloads", "a list of kinds of work, such as \"training\" or \"realtime-inference\"");
  }
}

/// What stands in `fields` on top of what `rule` is already.
Result<AlertRule> read_rule(JsonFields& fields, AlertRule rule) {
  const auto metric = [](const std::string& text) { return metric_from_name(text); };
  read_name(fields, "severity", rule.severity, parse_severity, "warning or critical");
  read_name(fields, "scope", rule.scope, parse_alert_scope, "gpu, node, service, job, queue, spend or fleet");
  read_name(fields, "measure", rule.measure, parse_measure,
            "mean, share, times-baseline, rise, events, event-share, silence or fact");
  read_name(fields, "metric", rule.metric, metric, "a metric such as \"utilization\"");
  read_name(fields, "of", rule.of, metric, "a metric such as \"memory_total\"");
  read_name(fields, "event", rule.event, parse_alert_event, "out-of-memory, spot-interruption, checkpoint or job-failed");
  read_name(fields, "fact", rule.fact, parse_alert_fact,
            "budget-used, jobs-waiting, node-down, read-only, spend-off, price-age, foreign-processes or held-back");
  read_name(fields, "comparison", rule.comparison, parse_comparison, R"(">", "<", "<=" or ">=")");
  if (rule.fact && !fields.has("scope")) rule.scope = scope_of(*rule.fact);
  read_kinds(fields, rule);
  rule.threshold = fields.number("threshold", -kAnyNumber, kAnyNumber, rule.threshold);
  rule.window = fields.duration("window", rule.window);
  rule.hold = fields.duration("hold", rule.hold);
  rule.summary = fields.text("summary", rule.summary);
  rule.remedy = fields.text("remedy", rule.remedy);
  rule.unit = unit_for(rule);
  TRY(fields.finish());
  if (const Status sound = check_alert_rule(rule); !sound.ok()) return invalid("{}: {}", fields.where(), sound.error().message);
  return rule;
}

Status read_rule_into(AlertConfig& config, std::vector<std::string>& seen, JsonFields& fields) {
  const std::string name = fields.text("name");
  if (std::ranges::find(seen, name) != seen.end())
    return invalid("{}: rule '{}' stands twice: put it together", fields.where(), excerpt(name));
  seen.push_back(name);
  const auto known = std::ranges::find(config.rules, name, &AlertRule::name);
  if (fields.flag("disabled", false)) {
    if (known == config.rules.end())
      return invalid("{}: no rule '{}' to switch off: see `stint alerts rules`", fields.where(), excerpt(name));
    config.rules.erase(known);
    return fields.finish();
  }
  if (known != config.rules.end()) {
    TRY_ASSIGN(*known, read_rule(fields, *known));
    return {};
  }
  AlertRule fresh;
  fresh.name = name;
  fresh.window = Duration::minutes(5);
  if (!fields.has("measure") || !fields.has("threshold") || !fields.has("summary"))
    return invalid("{}: '{}' is none of the rules there are; one of your own has at least measure, threshold and summary",
                   fields.where(), excerpt(name));
  TRY_ASSIGN(fresh, read_rule(fields, std::move(fresh)));
  config.rules.push_back(std::move(fresh));
  return {};
}

Result<AlertReceiver> read_receiver(JsonFields& fields) {
  AlertReceiver receiver;
  receiver.name = fields.text("name");
  if (receiver.name.empty() || receiver.name.size() > 100) fields.wrong("name", "what the receiver is called, 1 to 100 bytes");
  const std::string kind = fields.text("kind");
  if (kind == "alertmanager")
    receiver.kind = AlertReceiver::Kind::kAlertmanager;
  else if (kind != "webhook")
    fields.wrong("kind", "webhook or alertmanager");
  receiver.url = fields.text("url");
  if (!receiver.url.starts_with("http://") && !receiver.url.starts_with("https://"))
    fields.wrong("url", "an address such as http://127.0.0.1:9093");
  const bool alertmanager = receiver.kind == AlertReceiver::Kind::kAlertmanager;
  while (alertmanager && receiver.url.ends_with('/'))
    receiver.url.pop_back();
  if (!alertmanager) receiver.secret_file = fields.text("secret_file");
  receiver.token_file = fields.text("token_file");
  if (fields.has("matchers")) {
    auto matchers = parse_alert_matchers(fields.texts("matchers"));
    if (!matchers.ok()) return invalid("{}: field 'matchers': {}", fields.where(), matchers.error().message);
    receiver.wants = std::move(*matchers);
  }
  receiver.again = fields.duration("again", alertmanager ? Duration::minutes(1) : Duration::hours(4));
  if (receiver.again < Duration::seconds(1)) fields.wrong("again", "at least one second");
  TRY(fields.finish());
  return receiver;
}

/// Calls visit(fields) for each object of the list `name`; messages name the line on which it begins.
template <typename Visit>
Status each_in_list(JsonFields& fields, std::string_view name, size_t most, std::string_view text, const std::string& source,
                    const Visit& visit) {
  if (!fields.has(name)) return {};
  simdjson::dom::array array;
  if (fields.raw(name).get(array) != simdjson::SUCCESS || array.size() > most) {
    fields.wrong(name, fmt::format("a list of at most {} objects", most));
    return fields.finish();
  }
  size_t number = 0;
  for (const simdjson::dom::element element : array) {
    const int64_t line = line_in_json(text, {"alerts", name}, number++);
    JsonFields one(element, fmt::format("{}:{}: alerts: {} {}", source, line, name, number));
    TRY(visit(one));
  }
  return {};
}

}  // namespace

std::string_view name_of(AlertReceiver::Kind kind) { return kind == AlertReceiver::Kind::kWebhook ? "webhook" : "alertmanager"; }

Result<AlertConfig> parse_alert_config(std::string_view json, const std::string& source) {
  AlertConfig config;
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element whole, parser.parse(json, source));
  simdjson::dom::element element;
  if (whole["alerts"].get(element) != simdjson::SUCCESS) return config;
  JsonFields fields(element, fmt::format("{}:{}: alerts", source, line_in_json(json, {"alerts"})));
  config.every = fields.duration("every", config.every);
  if (config.every < Duration::seconds(1) || config.every > Duration::minutes(5))
    fields.wrong("every", "one second to five minutes");
  config.keep.age = fields.duration("keep", config.keep.age);
  if (config.keep.age < Duration::hours(1)) fields.wrong("keep", "at least an hour");
  const auto count = fields.integer("keep_at_most", 0, kMostEndedKept, static_cast<int64_t>(config.keep.count));
  config.keep.count = static_cast<size_t>(count);
  config.link = fields.text("link");
  std::vector<std::string> seen;
  TRY(each_in_list(fields, "rules", kMostRules, json, source,
                   [&](JsonFields& rule) { return read_rule_into(config, seen, rule); }));
  TRY(each_in_list(fields, "receivers", kMostReceivers, json, source, [&](JsonFields& one) -> Status {
    TRY_ASSIGN(AlertReceiver receiver, read_receiver(one));
    if (std::ranges::find(config.receivers, receiver.name, &AlertReceiver::name) != config.receivers.end())
      return invalid("{}: receiver '{}' stands twice", one.where(), excerpt(receiver.name));
    config.receivers.push_back(std::move(receiver));
    return {};
  }));
  TRY(fields.finish());
  return config;
}

}  // namespace stint
