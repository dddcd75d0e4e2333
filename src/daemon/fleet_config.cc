#include "daemon/fleet_config.h"
#include "base/nearest.h"
#include "base/text.h"

#include <simdjson.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "catalog/catalog.h"
#include "daemon/api/job_request.h"
#include "daemon/json_fields.h"
#include "daemon/json_values.h"
#include "daemon/price_config.h"
#include "documents/workload_row.h"
#include "model/tenant.h"
#include "sched/place/node_table.h"
#include "sched/policy_text.h"
#include "store/event_log.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::optional<int64_t> gpus_milli(JsonFields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  return static_cast<int64_t>(fields.number(name, 0, 1e9, 0) * 1000 + 0.5);
}

Result<Machine> read_node(simdjson::dom::element json, const std::string& where, Currency currency) {
  JsonFields fields(json, where);
  const std::string name = fields.text("name");
  if (name.empty()) fields.wrong("name", "the machine's name");
  Machine node = read_machine_fields(fields, currency);
  node.node.name = name;
  TRY(fields.finish());
  return node;
}

}  // namespace

Machine read_machine_fields(JsonFields& fields, Currency currency) {
  Machine node;
  NodeSpec& n = node.node;
  n.gpu_model = fields.text("gpu_model");
  n.gpus = static_cast<int32_t>(fields.integer("gpus", 0, sched::kMaxGpusPerNode, 0));
  n.gpu_memory = fields.size("gpu_memory", Bytes());
  n.cpu_milli = fields.integer("cpu_milli", 0, kMostAmount, 0);
  n.memory = fields.size("memory", Bytes());
  n.max_tasks = static_cast<int32_t>(fields.integer("max_tasks", 1, 1 << 20, n.max_tasks));
  for (auto& [key, value] : fields.pairs("labels"))
    n.labels.push_back({key, value});
  n.whole_gpus = fields.flag("whole_gpus", n.whole_gpus);
  n.shared_gpus = fields.flag("shared_gpus", n.shared_gpus);
  n.gpu_parts = static_cast<int32_t>(fields.integer("gpu_parts", 0, sched::kMilli, n.gpu_parts));
  n.repartition = fields.flag("repartition", n.repartition);
  for (auto& [profile, count] : fields.pairs("mig")) {
    const auto many = parse_int(count);
    if (!many || *many < 1 || *many > 1000)
      fields.wrong("mig", "an object of profiles with how many as texts, such as {\"1g.10gb\": \"7\"}");
    n.static_mig.push_back({.profile = profile, .count = static_cast<int32_t>(many.value_or(1))});
  }
  node.provider = fields.text("provider");
  node.region = fields.text("region");
  node.zone = fields.text("zone");
  node.instance_type = fields.text("instance_type");
  const Result<Market> market = parse_market(fields.text("market", "owned"));
  if (!market.ok())
    fields.wrong("market", "on-demand, spot, reserved or owned");
  else
    node.market = *market;
  node.rate = Rate::per_hour(fields.money("per_hour", currency));
  return node;
}

namespace {

std::optional<sched::Budget> read_budget(JsonFields& fields, Currency currency) {
  if (!fields.has("budget")) return std::nullopt;
  sched::Budget budget;
  budget.amount = fields.money("budget", currency);
  budget.period = fields.duration("budget_period", Duration());
  budget.from = fields.instant("budget_from", Instant());
  return budget;
}

Result<sched::QueueSpec> read_queue(simdjson::dom::element json, const std::string& where, Currency currency,
                                    const std::map<std::string, uint32_t, std::less<>>& known) {
  JsonFields fields(json, where);
  sched::QueueSpec queue;
  queue.name = fields.text("name");
  if (queue.name.empty()) fields.wrong("name", "the queue's path, such as \"agency/vision\"");
  // A path names its parent; a name without one may say it.
  const size_t slash = queue.name.rfind('/');
  const std::string parent = fields.text("parent", slash == std::string::npos ? "" : queue.name.substr(0, slash));
  if (!parent.empty()) {
    const auto at = known.find(parent);
    if (at == known.end())
      fields.wrong(fields.has("parent") ? "parent" : "name",
                   fmt::format("below a queue that stands above it; '{}' does not", excerpt(parent)));
    else
      queue.parent = sched::QueueId(at->second);
  }
  queue.deserved.gpu_milli = gpus_milli(fields, "deserved_gpus");
  queue.limit.gpu_milli = gpus_milli(fields, "limit_gpus");
  if (fields.has("limit_cpu_milli")) queue.limit.cpu_milli = fields.integer("limit_cpu_milli", 0, kMostAmount, 0);
  if (fields.has("limit_memory")) queue.limit.memory_bytes = fields.size("limit_memory", Bytes()).count();
  queue.over_quota_weight = fields.number("weight", 0, 1e6, 1);
  queue.priority = static_cast<int32_t>(fields.integer("priority", 0, 1'000'000, 100));
  queue.created = static_cast<int32_t>(known.size());
  queue.budget = read_budget(fields, currency);
  if (fields.has("hours")) {
    const auto closed = parse_closed_hours(fields.text("hours"));
    if (!closed)
      fields.wrong("hours", "the hours in which its jobs may start, UTC, such as \"20:00-06:00\"");
    else
      queue.closed = *closed;
  }
  TRY(fields.finish());
  return queue;
}

std::vector<std::string> queue_names(const FleetConfig& fleet) {
  std::vector<std::string> names;
  for (const sched::QueueSpec& queue : fleet.queues)
    names.push_back(queue.name);
  return names;
}

std::vector<std::string> node_names(const FleetConfig& fleet) {
  std::vector<std::string> names;
  for (const Machine& node : fleet.nodes)
    names.push_back(node.node.name);
  return names;
}

Status read_interference(JsonFields& fields, std::vector<MeasuredPair>& pairs) {
  return fields.each_object("interference", [&](simdjson::dom::element element, const std::string& where) -> Status {
    constexpr int64_t kMostPercent = 100'000;
    JsonFields one(element, where);
    MeasuredPair pair{.work = one.text("work"), .beside = one.text("beside")};
    if (pair.work.empty()) one.wrong("work", "the work_kind of the jobs that are slowed, such as \"bert\"");
    if (pair.beside.empty()) one.wrong("beside", "the work_kind of the neighbour that slows them");
    if (!one.has("slowdown_percent")) one.wrong("slowdown_percent", "how many percent longer they take, such as 40");
    pair.slowdown_percent = static_cast<int32_t>(one.integer("slowdown_percent", 0, kMostPercent, 0));
    TRY(one.finish());
    const auto same = [&](const MeasuredPair& p) { return p.work == pair.work && p.beside == pair.beside; };
    if (std::ranges::any_of(pairs, same)) return invalid("{}: '{}' beside '{}' stands twice", where, pair.work, pair.beside);
    pairs.push_back(std::move(pair));
    return {};
  });
}

Result<FleetConfig> read_fleet(JsonFields& fields) {
  FleetConfig fleet;
  fleet.policy = fields.text("policy", fleet.policy);
  if (const auto policy = sched::parse_policy(fleet.policy); !policy.ok())
    return invalid("{}: field 'policy': {}", fields.where(), policy.error().message);
  const Result<Currency> currency = Currency::parse(fields.text("currency", "USD"));
  if (!currency.ok()) return invalid("{}: field 'currency' must be three letters such as USD", fields.where());
  fleet.currency = *currency;
  std::map<std::string, uint32_t, std::less<>> names;
  const Status nodes = fields.each_object("nodes", [&](simdjson::dom::element element, const std::string& where) -> Status {
    TRY_ASSIGN(Machine node, read_node(element, where, *currency));
    if (!names.emplace(node.node.name, 0).second) return invalid("{}: node '{}' stands twice", where, node.node.name);
    fleet.nodes.push_back(std::move(node));
    return {};
  });
  TRY(nodes);
  names.clear();
  const Status queues = fields.each_object("queues", [&](simdjson::dom::element element, const std::string& where) -> Status {
    TRY_ASSIGN(sched::QueueSpec queue, read_queue(element, where, *currency, names));
    if (!names.emplace(queue.name, static_cast<uint32_t>(fleet.queues.size())).second)
      return invalid("{}: queue '{}' stands twice", where, queue.name);
    fleet.queues.push_back(std::move(queue));
    return {};
  });
  TRY(queues);
  if (fields.has("govern")) {
    const std::string where = fmt::format("{}: govern", fields.where());
    TRY_ASSIGN(fleet.govern, read_policy(fields.raw("govern"), where, *currency));
  }
  TRY(check_policy(fleet.govern, queue_names(fleet), node_names(fleet), fields.where()));
  TRY_ASSIGN(fleet.prices, read_price_rules(fields, *currency));
  fleet.topology = fields.texts("topology");
  for (size_t i = 0; i < fleet.topology.size(); ++i)
    if (fleet.topology[i].empty() ||
        std::ranges::find(fleet.topology, fleet.topology[i]) != fleet.topology.begin() + static_cast<std::ptrdiff_t>(i))
      return invalid("{}: field 'topology': labels of machines, each once, widest first, such as [\"zone\", \"rack\"]",
                     fields.where());
  TRY(read_interference(fields, fleet.interference));
  if (fleet.queues.empty()) return invalid("{}: no queues: jobs need one, such as {{\"name\": \"main\"}}", fields.where());
  return fleet;
}

double gpus_of(int64_t milli) { return static_cast<double>(milli) / 1000; }

Json node_json(const Machine& node) {
  const NodeSpec& n = node.node;
  Json json = {{"name", n.name},
               {"gpu_model", n.gpu_model},
               {"gpus", n.gpus},
               {"gpu_memory", n.gpu_memory.count()},
               {"cpu_milli", n.cpu_milli},
               {"memory", n.memory.count()},
               {"market", name_of(node.market)},
               {"per_hour", node.rate.per_hour().to_decimal()}};
  if (n.max_tasks != NodeSpec().max_tasks) json["max_tasks"] = n.max_tasks;
  for (const Label& label : n.labels)
    json["labels"][label.key] = label.value;
  if (!n.whole_gpus) json["whole_gpus"] = false;
  if (!n.shared_gpus) json["shared_gpus"] = false;
  if (n.gpu_parts > 0) json["gpu_parts"] = n.gpu_parts;
  if (n.repartition) json["repartition"] = true;
  for (const MigAsk& mig : n.static_mig)
    json["mig"][mig.profile] = fmt::format("{}", mig.count);
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  };
  text("provider", node.provider);
  text("region", node.region);
  text("zone", node.zone);
  text("instance_type", node.instance_type);
  return json;
}

Json queue_json(const sched::QueueSpec& q, const FleetConfig& fleet) {
  Json json = {{"name", q.name}, {"parent", q.parent.valid() ? fleet.queues[q.parent.index()].name : ""}};
  if (q.deserved.gpu_milli) json["deserved_gpus"] = gpus_of(*q.deserved.gpu_milli);
  if (q.limit.gpu_milli) json["limit_gpus"] = gpus_of(*q.limit.gpu_milli);
  if (q.limit.cpu_milli) json["limit_cpu_milli"] = *q.limit.cpu_milli;
  if (q.limit.memory_bytes) json["limit_memory"] = *q.limit.memory_bytes;
  json["weight"] = q.over_quota_weight;
  json["priority"] = q.priority;
  if (q.budget) {
    json["budget"] = q.budget->amount.to_decimal();
    json["budget_period"] = q.budget->period.whole_seconds();
    json["budget_from"] = format_utc(q.budget->from);
  }
  if (const auto hours = format_open_hours(q.closed); q.closed.any() && hours) json["hours"] = *hours;
  return json;
}

}  // namespace

namespace {

/// A rule whose machines are not there is a mistake in a name.
Status check_prices(const FleetConfig& fleet, std::string_view source) {
  if (fleet.machines_come) return {};
  for (size_t r = 0; r < fleet.prices.size(); ++r)
    for (const std::string& glob : fleet.prices[r].machines)
      if (std::ranges::none_of(fleet.nodes, [&](const Machine& node) { return glob_matches(glob, node.node.name); }))
        return invalid("{}: prices {}: field 'machines': no machine is called '{}'", source, r + 1, excerpt(glob));
  return {};
}

/// A client whose regions no machine is in could never run anything.
Status check_regions(const FleetConfig& fleet, const PowerConfig& power, std::string_view source) {
  std::vector<std::string> there;
  const auto add = [&](const Machine& machine) {
    if (!machine.region.empty() && !is_among(machine.region, there)) there.push_back(machine.region);
  };
  std::ranges::for_each(fleet.nodes, add);
  for (const PowerPool& pool : power.pools)
    for (const CapacityPool& kind : pool.kinds)
      add(kind.machine);
  for (const ClientRules& rules : fleet.govern.clients)
    if (!rules.regions.empty() &&
        std::ranges::none_of(there, [&](const std::string& region) { return is_in_regions(region, rules.regions); }))
      return invalid("{}: govern: client '{}': field 'regions': no machine is in {}; machines {}", source, rules.client,
                     excerpt(fmt::format("{}", fmt::join(rules.regions, " or "))),
                     there.empty() ? "name no region" : fmt::format("are in {}", fmt::join(there, ", ")));
  return {};
}

/// Models are names of the catalogue: a job that names one, MIG and prices go by them.
Status check_models(const FleetConfig& fleet, const PowerConfig& power, std::string_view source) {
  const Catalog& catalog = Catalog::built_in();
  std::vector<std::string> known;
  for (const GpuFacts& gpu : catalog.gpus())
    known.push_back(gpu.model);
  for (const Machine& node : fleet.nodes)
    if (const std::string& model = node.node.gpu_model; !model.empty() && catalog.find_gpu(model) == nullptr)
      return invalid("{}: node '{}': field 'gpu_model': the catalogue knows no GPU '{}'{}", source, node.node.name,
                     excerpt(model), what_exists(model, known));
  for (const PowerPool& group : power.pools)
    for (const CapacityPool& pool : group.kinds)
      if (const std::string& model = pool.machine.node.gpu_model; !model.empty() && catalog.find_gpu(model) == nullptr)
        return invalid("{}: power: pool '{}': field 'gpu_model': the catalogue knows no GPU '{}'{}", source, pool.name,
                       excerpt(model), what_exists(model, known));
  return {};
}

}  // namespace

Result<DaemonConfig> parse_daemon_config(std::string_view json, std::string_view source) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(json, source));
  JsonFields fields(element, std::string(source));
  DaemonConfig config;
  config.listen = fields.text("listen", config.listen);
  config.log = fields.text("log");
  if (!config.log.empty() && !is_database_url(config.log)) fields.wrong("log", "the URL of a database, postgresql://…");
  if (fields.has("oidc")) {
    TRY_ASSIGN(config.oidc, read_oidc(fields.raw("oidc"), fmt::format("{}: oidc", source)));
  }
  if (fields.has("telemetry")) {
    JsonFields telemetry(fields.raw("telemetry"), fmt::format("{}: telemetry", source));
    TRY_ASSIGN(config.telemetry, read_live_config(telemetry));
  }
  if (fields.has("audit")) {
    JsonFields audit(fields.raw("audit"), fmt::format("{}: audit", source));
    TRY_ASSIGN(config.audit, read_audit_config(audit));
  }
  if (fields.has("audit_log")) {
    JsonFields audit_log(fields.raw("audit_log"), fmt::format("{}: audit_log", source));
    TRY_ASSIGN(config.audit_log, read_audit_policy(audit_log));
  }
  if (fields.has("job_logs")) {
    JsonFields job_logs(fields.raw("job_logs"), fmt::format("{}: job_logs", source));
    TRY_ASSIGN(config.job_logs, read_log_keeping(job_logs));
  }
  if (fields.has("statements")) {
    JsonFields statements(fields.raw("statements"), fmt::format("{}: statements", source));
    TRY_ASSIGN(config.statements, read_statement_config(statements));
  }
  TRY_ASSIGN(config.fleet, read_fleet(fields));
  if (fields.has("power")) {
    JsonFields power(fields.raw("power"), fmt::format("{}: power", source));
    TRY_ASSIGN(config.power, read_power_config(power, config.fleet));
    config.fleet.machines_come = config.power.makes_machines();
  }
  TRY(check_models(config.fleet, config.power, source));
  TRY(check_regions(config.fleet, config.power, source));
  TRY_ASSIGN(config.engine, read_engine_config(fields, config.fleet.nodes));
  if (config.engine.is_cluster()) config.fleet.machines_come = true;
  TRY(check_prices(config.fleet, source));
  TRY_ASSIGN(config.services, read_service_configs(fields));
  fields.raw("alerts");
  TRY(fields.finish());
  TRY_ASSIGN(config.alerts, parse_alert_config(json, std::string(source)));
  return config;
}

Result<FleetConfig> parse_fleet_config(std::string_view json, std::string_view source) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(json, source));
  JsonFields fields(element, std::string(source));
  TRY_ASSIGN(FleetConfig fleet, read_fleet(fields));
  fleet.machines_come = fields.flag("machines_come", false);
  // Records from before the rule say nothing of it: they go on as they were decided.
  if (!fields.flag("parts_apart", false)) fleet.govern.share_across_clients = true;
  if (!fields.flag("mig_parts", false)) fleet.mig = sched::MigCount::kSlices;
  const bool pays_retries = fields.flag("pays_retries", false);
  fleet.attempts_paid = fields.flag("pays_attempts", false) ? AttemptsPaid::kAll
                        : pays_retries                      ? AttemptsPaid::kFailed
                                                            : AttemptsPaid::kFirst;
  TRY(fields.finish());
  return fleet;
}

std::string to_json(const FleetConfig& fleet) {
  Json json = {
      {"policy", fleet.policy}, {"currency", fleet.currency.code()}, {"nodes", Json::array()}, {"queues", Json::array()}};
  for (const Machine& node : fleet.nodes)
    json["nodes"].push_back(node_json(node));
  for (const sched::QueueSpec& queue : fleet.queues)
    json["queues"].push_back(queue_json(queue, fleet));
  if (Json govern = to_json(fleet.govern); !govern.empty()) json["govern"] = std::move(govern);
  if (!fleet.prices.empty()) json["prices"] = to_json(fleet.prices);
  if (!fleet.topology.empty()) json["topology"] = fleet.topology;
  if (fleet.machines_come) json["machines_come"] = true;
  for (const MeasuredPair& pair : fleet.interference)
    json["interference"].push_back({{"work", pair.work}, {"beside", pair.beside}, {"slowdown_percent", pair.slowdown_percent}});
  if (!fleet.govern.share_across_clients) json["parts_apart"] = true;
  if (fleet.mig == sched::MigCount::kPart) json["mig_parts"] = true;
  if (fleet.attempts_paid == AttemptsPaid::kFailed) json["pays_retries"] = true;
  if (fleet.attempts_paid == AttemptsPaid::kAll) json["pays_attempts"] = true;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_json(const Machine& machine) { return compact_text(node_json(machine)); }

Result<Machine> parse_machine(std::string_view json, std::string_view source, Currency currency) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(json, source));
  return read_node(element, std::string(source), currency);
}

}  // namespace stint
