#include "daemon/engine_config.h"

#include <simdjson.h>

#include "base/text.h"
#include "codec/slurm/hostlist.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

Result<SlurmEngineConfig> read_slurm(JsonFields& fields, std::vector<Machine>& nodes) {
  SlurmEngineConfig config;
  for (auto& [account, queue] : fields.pairs("accounts"))
    config.accounts.emplace(account, queue);
  config.partitions = fields.texts("partitions");
  for (auto& [qos, priority] : fields.pairs("qos")) {
    const auto number = parse_int(priority);
    if (!number || *number < 0 || *number > 1000)
      fields.wrong("qos", "priorities from 0 to 1000 as texts, by QOS: {\"high\": \"100\"}");
    config.qos.emplace(qos, static_cast<int32_t>(number.value_or(0)));
  }
  for (auto& [user, account] : fields.pairs("users"))
    config.users.emplace(user, account);
  config.programs = fields.text("programs");
  config.logs = fields.text("logs");
  config.every = fields.duration("every", config.every);
  config.patience = fields.duration("patience", config.patience);
  if (config.every < Duration::milliseconds(100)) fields.wrong("every", "100ms or more");
  TRY(fields.finish());
  for (const Machine& node : nodes) {
    const auto names = expand_hostlist(node.node.name);
    if (!names.ok()) return invalid("node '{}': {}", excerpt(node.node.name), names.error().message);
    for (const std::string& name : *names) {
      Machine machine = node;
      machine.node.name = name;
      config.machines.insert_or_assign(name, std::move(machine));
    }
  }
  nodes.clear();
  return config;
}

}  // namespace

Result<EngineConfig> read_engine_config(JsonFields& fields, std::vector<Machine>& nodes) {
  EngineConfig config;
  if (!fields.has("engine")) return config;
  const std::string where = fmt::format("{}: engine", fields.where());
  JsonFields engine(fields.raw("engine"), where);
  if (!engine.has("slurm")) engine.wrong("slurm", "the engine there is to choose; without `engine` jobs run on this machine");
  if (engine.has("slurm")) {
    JsonFields slurm(engine.raw("slurm"), where + ": slurm");
    TRY_ASSIGN(config.slurm, read_slurm(slurm, nodes));
  }
  TRY(engine.finish());
  return config;
}

}  // namespace stint
