#include "daemon/engine/govern_policy.h"

#include <simdjson.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/json_fields.h"
#include "model/identity.h"
#include "model/tenant.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostCount = 1'000'000'000;
constexpr int kMostPercent = 1'000;
constexpr size_t kMostThresholds = 20;
constexpr std::array kAtLimits = {AtLimit::kRefuse, AtLimit::kApprove, AtLimit::kWarn};

std::optional<int64_t> count_of(JsonFields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  return fields.integer(name, 0, kMostCount, 0);
}

Quota read_quota(JsonFields& fields, const std::string& prefix) {
  return {.gpus = count_of(fields, prefix + "max_gpus"),
          .gpu_hours_per_month = count_of(fields, prefix + "gpu_hours_per_month"),
          .jobs_waiting = count_of(fields, prefix + "max_waiting"),
          .records_per_day = count_of(fields, prefix + "records_per_day"),
          .mebibytes_per_day = count_of(fields, prefix + "mebibytes_per_day"),
          .log_mebibytes = count_of(fields, prefix + "log_mebibytes")};
}

std::optional<Money> limit_of(JsonFields& fields, std::string_view name, Currency currency) {
  if (!fields.has(name)) return std::nullopt;
  return fields.money(name, currency);
}

Result<ClientRules> read_client_rules(simdjson::dom::element json, const std::string& where, Currency currency) {
  JsonFields fields(json, where);
  ClientRules rules;
  rules.client = fields.text("name");
  rules.approval_above = limit_of(fields, "approval_above", currency);
  rules.quota = read_quota(fields, "");
  rules.user_quota = read_quota(fields, "user_");
  rules.regions = fields.texts("regions");
  rules.dedicated_nodes = fields.texts("dedicated_nodes");
  rules.only_dedicated = fields.flag("only_dedicated", false);
  if (rules.only_dedicated && rules.dedicated_nodes.empty())
    fields.wrong("only_dedicated", "set together with 'dedicated_nodes'");
  TRY(fields.finish());
  return rules;
}

void put_quota(Json& json, const Quota& quota, const std::string& prefix) {
  const auto put = [&](const char* name, const std::optional<int64_t>& value) {
    if (value) json[prefix + name] = *value;
  };
  put("max_gpus", quota.gpus);
  put("gpu_hours_per_month", quota.gpu_hours_per_month);
  put("max_waiting", quota.jobs_waiting);
  put("records_per_day", quota.records_per_day);
  put("mebibytes_per_day", quota.mebibytes_per_day);
  put("log_mebibytes", quota.log_mebibytes);
}

Json rules_json(const ClientRules& rules) {
  Json json = {{"name", rules.client}};
  if (rules.approval_above) json["approval_above"] = rules.approval_above->to_decimal();
  put_quota(json, rules.quota, "");
  put_quota(json, rules.user_quota, "user_");
  if (!rules.regions.empty()) json["regions"] = rules.regions;
  if (!rules.dedicated_nodes.empty()) json["dedicated_nodes"] = rules.dedicated_nodes;
  if (rules.only_dedicated) json["only_dedicated"] = true;
  return json;
}

}  // namespace

bool is_among(std::string_view name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_in_regions(std::string_view region, const std::vector<std::string>& globs) {
  return std::ranges::any_of(globs, [region](const std::string& glob) { return glob_matches(glob, region); });
}

std::string_view name_of(AtLimit at) {
  switch (at) {
    case AtLimit::kRefuse: return "refuse";
    case AtLimit::kApprove: return "approve";
    case AtLimit::kWarn: return "warn";
  }
  return "refuse";
}

const ClientRules* GovernPolicy::rules_of(std::string_view client) const {
  const auto found = std::ranges::find(clients, client, &ClientRules::client);
  return found == clients.end() ? nullptr : &*found;
}

std::string_view GovernPolicy::owner_of(std::string_view node) const {
  for (const ClientRules& rules : clients)
    if (is_among(node, rules.dedicated_nodes)) return rules.client;
  return {};
}

Result<BudgetRule> read_budget_rule(simdjson::dom::element json, const std::string& where, Currency currency) {
  JsonFields fields(json, where);
  BudgetRule rule;
  rule.name = fields.text("name");
  if (!is_plain_name(rule.name)) fields.wrong("name", "1 to 64 letters, digits and . _ -");
  rule.queue = fields.text("queue");
  rule.project = fields.text("project");
  rule.per_month = fields.money("per_month", currency);
  if (rule.per_month.count_nanos() <= 0) fields.wrong("per_month", "an amount above 0 as a text, such as \"5000\"");
  if (fields.has("thresholds")) {
    rule.thresholds_percent.clear();
    for (const int64_t percent : fields.integers("thresholds", 1, kMostPercent))
      rule.thresholds_percent.push_back(static_cast<int>(percent));
    if (rule.thresholds_percent.size() > kMostThresholds) fields.wrong("thresholds", "a list of at most 20 percentages");
    std::ranges::sort(rule.thresholds_percent);
    const auto twice = std::ranges::unique(rule.thresholds_percent);
    rule.thresholds_percent.erase(twice.begin(), twice.end());
  }
  const std::string at_limit = fields.text("at_limit", name_of(rule.at_limit));
  const auto known = std::ranges::find(kAtLimits, at_limit, [](AtLimit at) { return name_of(at); });
  if (known == kAtLimits.end())
    fields.wrong("at_limit", "refuse, approve or warn");
  else
    rule.at_limit = *known;
  TRY(fields.finish());
  return rule;
}

Json to_json(const BudgetRule& rule) {
  return {{"name", rule.name},
          {"queue", rule.queue},
          {"project", rule.project},
          {"per_month", rule.per_month.to_decimal()},
          {"thresholds", rule.thresholds_percent},
          {"at_limit", name_of(rule.at_limit)}};
}

Result<GovernPolicy> read_policy(simdjson::dom::element json, const std::string& where, Currency currency) {
  JsonFields fields(json, where);
  GovernPolicy policy;
  policy.assumed_duration = fields.duration("assumed_duration", policy.assumed_duration);
  if (policy.assumed_duration <= Duration()) fields.wrong("assumed_duration", "a duration above 0, such as \"24h\"");
  policy.approval_above = limit_of(fields, "approval_above", currency);
  policy.share_across_clients = fields.flag("share_across_clients", policy.share_across_clients);
  const Status budgets = fields.each_object("budgets", [&](simdjson::dom::element element, const std::string& at) -> Status {
    TRY_ASSIGN(BudgetRule rule, read_budget_rule(element, at, currency));
    if (std::ranges::find(policy.budgets, rule.name, &BudgetRule::name) != policy.budgets.end())
      return invalid("{}: budget '{}' stands twice", at, rule.name);
    policy.budgets.push_back(std::move(rule));
    return {};
  });
  TRY(budgets);
  const Status clients = fields.each_object("clients", [&](simdjson::dom::element element, const std::string& at) -> Status {
    TRY_ASSIGN(ClientRules rules, read_client_rules(element, at, currency));
    if (policy.rules_of(rules.client) != nullptr) return invalid("{}: client '{}' stands twice", at, excerpt(rules.client));
    for (const std::string& node : rules.dedicated_nodes)
      if (const std::string_view owner = policy.owner_of(node); !owner.empty())
        return invalid("{}: field 'dedicated_nodes': '{}' is {}'s already", at, excerpt(node), owner);
    policy.clients.push_back(std::move(rules));
    return {};
  });
  TRY(clients);
  TRY(fields.finish());
  return policy;
}

Status check_policy(const GovernPolicy& policy, const std::vector<std::string>& queues, const std::vector<std::string>& nodes,
                    std::string_view where) {
  for (const BudgetRule& rule : policy.budgets)
    if (!rule.queue.empty() && !is_among(rule.queue, queues))
      return invalid("{}: govern: budget '{}': there is no queue '{}'", where, rule.name, excerpt(rule.queue));
  for (const ClientRules& rules : policy.clients) {
    if (!is_among(rules.client, queues) || rules.client.find('/') != std::string::npos)
      return invalid("{}: govern: client '{}' is not the top of a queue's path", where, excerpt(rules.client));
    for (const std::string& node : rules.dedicated_nodes)
      if (!is_among(node, nodes))
        return invalid("{}: govern: client '{}': field 'dedicated_nodes': there is no node '{}'", where, rules.client,
                       excerpt(node));
  }
  return {};
}

Json to_json(const GovernPolicy& policy) {
  Json json = Json::object();
  if (policy.assumed_duration != GovernPolicy().assumed_duration) json["assumed_duration"] = policy.assumed_duration.to_seconds();
  if (policy.approval_above) json["approval_above"] = policy.approval_above->to_decimal();
  if (policy.share_across_clients) json["share_across_clients"] = true;
  for (const BudgetRule& rule : policy.budgets)
    json["budgets"].push_back(to_json(rule));
  for (const ClientRules& rules : policy.clients)
    json["clients"].push_back(rules_json(rules));
  return json;
}

}  // namespace stint
