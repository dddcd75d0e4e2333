#include "daemon/engine_config.h"

#include <simdjson.h>

#include "base/text.h"
#include "codec/slurm/hostlist.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

std::map<std::string, int32_t, std::less<>> read_priorities(JsonFields& fields, std::string_view field, std::string_view by) {
  std::map<std::string, int32_t, std::less<>> out;
  for (auto& [name, priority] : fields.pairs(field)) {
    const auto number = parse_int(priority);
    if (!number || *number < 0 || *number > 1000)
      fields.wrong(field, fmt::format("priorities from 0 to 1000 as texts, by {}: {{\"high\": \"100\"}}", by));
    out.emplace(name, static_cast<int32_t>(number.value_or(0)));
  }
  return out;
}

/// Prices and places by name; a name may be a hostlist.
Result<std::map<std::string, Machine, std::less<>>> take_machines(std::vector<Machine>& nodes) {
  std::map<std::string, Machine, std::less<>> machines;
  for (const Machine& node : nodes) {
    const auto names = expand_hostlist(node.node.name);
    if (!names.ok()) return invalid("node '{}': {}", excerpt(node.node.name), names.error().message);
    for (const std::string& name : *names) {
      Machine machine = node;
      machine.node.name = name;
      machines.insert_or_assign(name, std::move(machine));
    }
  }
  nodes.clear();
  return machines;
}

Result<SlurmEngineConfig> read_slurm(JsonFields& fields, std::vector<Machine>& nodes) {
  SlurmEngineConfig config;
  for (auto& [account, queue] : fields.pairs("accounts"))
    config.accounts.emplace(account, queue);
  config.partitions = fields.texts("partitions");
  config.qos = read_priorities(fields, "qos", "QOS");
  for (auto& [user, account] : fields.pairs("users"))
    config.users.emplace(user, account);
  config.programs = fields.text("programs");
  config.logs = fields.text("logs");
  config.every = fields.duration("every", config.every);
  config.patience = fields.duration("patience", config.patience);
  if (config.every < Duration::milliseconds(100)) fields.wrong("every", "100ms or more");
  TRY(fields.finish());
  TRY_ASSIGN(config.machines, take_machines(nodes));
  return config;
}

Result<KubernetesJobsConfig> read_kubernetes_jobs(JsonFields& fields) {
  KubernetesJobsConfig config;
  config.ns = fields.text("namespace");
  if (config.ns.empty()) fields.wrong("namespace", "where jobs are made, such as \"stint-jobs\"");
  for (auto& [client, ns] : fields.pairs("clients"))
    config.clients.emplace(client, ns);
  config.keep = fields.duration("keep", config.keep);
  if (config.keep < Duration::minutes(1) || config.keep > Duration::hours(24 * 365)) fields.wrong("keep", "from 1m to a year");
  config.patience = fields.duration("patience", config.patience);
  if (config.patience < Duration::seconds(1)) fields.wrong("patience", "1s or more");
  config.service_account = fields.text("service_account");
  config.pull_secrets = fields.texts("pull_secrets");
  config.tolerations = fields.texts("tolerations");
  config.restricted = fields.flag("restricted", config.restricted);
  config.server = fields.text("server");
  TRY(fields.finish());
  return config;
}

Result<KubernetesEngineConfig> read_kubernetes(JsonFields& fields, std::vector<Machine>& nodes) {
  KubernetesEngineConfig config;
  config.kubeconfig = fields.text("kubeconfig");
  config.context = fields.text("context");
  if (fields.has("scheduler")) config.scheduler = fields.text("scheduler");
  if (config.scheduler.empty() || config.scheduler == "default-scheduler")
    fields.wrong("scheduler", "the schedulerName of pods that this daemon places, such as \"stint\"");
  for (auto& [ns, queue] : fields.pairs("namespaces"))
    config.namespaces.emplace(ns, queue);
  config.queue = fields.text("queue");
  if (config.queue.empty()) fields.wrong("queue", "the queue of all namespaces that `namespaces` does not name");
  config.priorities = read_priorities(fields, "priorities", "PriorityClass");
  if (fields.has("lease_namespace")) config.lease_namespace = fields.text("lease_namespace");
  if (fields.has("lease_name")) config.lease_name = fields.text("lease_name");
  config.lease_duration = fields.duration("lease_duration", config.lease_duration);
  if (config.lease_duration < Duration::seconds(2) || config.lease_duration > Duration::minutes(10))
    fields.wrong("lease_duration", "from 2s to 10m");
  config.every = fields.duration("every", config.every);
  if (config.every < Duration::milliseconds(50)) fields.wrong("every", "50ms or more");
  if (fields.has("jobs")) {
    JsonFields jobs(fields.raw("jobs"), fields.where() + ": jobs");
    TRY_ASSIGN(config.jobs, read_kubernetes_jobs(jobs));
  }
  TRY(fields.finish());
  TRY_ASSIGN(config.machines, take_machines(nodes));
  return config;
}

}  // namespace

Result<EngineConfig> read_engine_config(JsonFields& fields, std::vector<Machine>& nodes) {
  EngineConfig config;
  if (!fields.has("engine")) return config;
  const std::string where = fmt::format("{}: engine", fields.where());
  JsonFields engine(fields.raw("engine"), where);
  if (engine.has("slurm") == engine.has("kubernetes"))
    engine.wrong("slurm", "one of the engines there are, or `kubernetes`; without `engine` jobs run on this machine");
  if (engine.has("slurm")) {
    JsonFields slurm(engine.raw("slurm"), where + ": slurm");
    TRY_ASSIGN(config.slurm, read_slurm(slurm, nodes));
  }
  if (engine.has("kubernetes")) {
    JsonFields kubernetes(engine.raw("kubernetes"), where + ": kubernetes");
    TRY_ASSIGN(config.kubernetes, read_kubernetes(kubernetes, nodes));
  }
  TRY(engine.finish());
  return config;
}

}  // namespace stint
