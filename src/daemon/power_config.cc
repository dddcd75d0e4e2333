#include "daemon/power_config.h"

#include <simdjson.h>
#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/json_fields.h"
#include "daemon/scaling_fields.h"

namespace stint {
namespace {

constexpr size_t kMostPools = 100;

Result<PowerPool> read_pool(JsonFields& fields, const std::vector<std::string>& known, std::set<std::string>& taken) {
  PowerPool pool;
  pool.name = fields.text("name");
  if (pool.name.empty()) fields.wrong("name", "what the pool is called");
  pool.nodes = fields.texts("nodes");
  if (pool.nodes.empty()) fields.wrong("nodes", "names of machines of the configuration, at least one");
  for (const std::string& node : pool.nodes) {
    if (std::ranges::find(known, node) == known.end())
      return invalid("{}: no machine '{}' in the configuration", fields.where(), excerpt(node));
    if (!taken.insert(node).second) return invalid("{}: machine '{}' is in a pool already", fields.where(), excerpt(node));
  }
  pool.rules = read_scaling_rules(fields, 0, std::ssize(pool.nodes), 0);
  TRY(fields.finish());
  return pool;
}

}  // namespace

Result<PowerConfig> read_power_config(JsonFields& fields, const std::vector<std::string>& known) {
  PowerConfig config;
  config.program = fields.text("program");
  if (!config.program.starts_with('/'))
    fields.wrong("program", "the whole path of a program that takes `up NODE` and `down NODE`");
  config.every = fields.duration("every", config.every);
  if (config.every < Duration::seconds(1)) fields.wrong("every", "at least one second");
  config.timeout = fields.duration("timeout", config.timeout);
  if (config.timeout < Duration::seconds(1)) fields.wrong("timeout", "at least one second");
  std::set<std::string> taken;
  TRY(fields.each_object("pools", [&](simdjson::dom::element element, const std::string& where) -> Status {
    if (config.pools.size() == kMostPools) return invalid("{}: at most {} pools", where, kMostPools);
    JsonFields pool(element, where);
    TRY_ASSIGN(PowerPool read, read_pool(pool, known, taken));
    config.pools.push_back(std::move(read));
    return {};
  }));
  TRY(fields.finish());
  return config;
}

}  // namespace stint
