#include "daemon/power/power_config.h"

#include <simdjson.h>
#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/fleet_config.h"
#include "daemon/json_fields.h"
#include "daemon/power/cloud_config.h"
#include "daemon/power/scaling_fields.h"

namespace stint {
namespace {

constexpr size_t kMostPools = 100;
constexpr int64_t kMostMade = 100'000;

/// "p5.48xlarge/us-east-1a/spot": what of these is known.
std::string name_of_kind(const Machine& machine) {
  std::string name = machine.instance_type.empty() ? machine.node.gpu_model : machine.instance_type;
  const std::string& place = machine.zone.empty() ? machine.region : machine.zone;
  if (!place.empty()) name += "/" + place;
  return fmt::format("{}/{}", name, name_of(machine.market));
}

Result<CapacityPool> read_kind(JsonFields& fields, const std::string& pool, Currency currency, const CloudSettings& clouds) {
  CapacityPool kind;
  kind.machine = read_machine_fields(fields, currency);
  if (clouds.is_on()) complete_machine(clouds, kind.machine);
  if (kind.machine.node.gpus == 0 && kind.machine.node.cpu_milli == 0)
    fields.wrong("gpus", "how many GPUs each machine has, or `cpu_milli`: nothing could run there");
  kind.name = fmt::format("{}/{}", pool, fields.text("name", name_of_kind(kind.machine)));
  kind.order = static_cast<int32_t>(fields.integer("order", 0, 1'000, 0));
  kind.most = static_cast<int32_t>(fields.integer("most", 0, kMostMade, kMostMade));
  if (fields.has("limit_per_hour")) kind.limit = Rate::per_hour(fields.money("limit_per_hour", currency));
  TRY(fields.finish());
  if (clouds.is_on())
    if (const Status can = check_cloud_machine(clouds, kind.machine); !can.ok())
      return invalid("{}: {}", fields.where(), can.error().message);
  return kind;
}

Result<PowerPool> read_pool(JsonFields& fields, const FleetConfig& fleet, const CloudSettings& clouds,
                            std::set<std::string>& taken) {
  PowerPool pool;
  pool.name = fields.text("name");
  if (pool.name.empty() ||
      std::ranges::any_of(pool.name, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '/'; }))
    fields.wrong("name", "what the pool is called, without blanks and /");
  pool.nodes = fields.texts("nodes");
  TRY(fields.each_object("machines", [&](simdjson::dom::element element, const std::string& where) -> Status {
    JsonFields kind(element, where);
    TRY_ASSIGN(CapacityPool read, read_kind(kind, pool.name, fleet.currency, clouds));
    if (std::ranges::find(pool.kinds, read.name, &CapacityPool::name) != pool.kinds.end())
      return invalid("{}: '{}' stands twice: give each a name", where, excerpt(read.name));
    pool.kinds.push_back(std::move(read));
    return {};
  }));
  if (pool.nodes.empty() == pool.kinds.empty())
    fields.wrong("nodes",
                 "names of machines of the configuration, at least one; or, in place of it, `machines`: kinds that can be made");
  for (const std::string& node : pool.nodes) {
    if (std::ranges::find(fleet.nodes, node, [](const Machine& m) { return m.node.name; }) == fleet.nodes.end())
      return invalid("{}: no machine '{}' in the configuration", fields.where(), excerpt(node));
    if (!taken.insert(node).second) return invalid("{}: machine '{}' is in a pool already", fields.where(), excerpt(node));
  }
  for (const Machine& machine : fleet.nodes)
    if (!pool.kinds.empty() && machine.node.name.starts_with(pool.name + "-"))
      return invalid("{}: machine '{}' of the configuration is called as those that this pool makes: give the pool another name",
                     fields.where(), excerpt(machine.node.name));
  pool.rules = read_scaling_rules(fields, 0, pool.kinds.empty() ? std::ssize(pool.nodes) : kMostMade, 0);
  if (!pool.kinds.empty() && !fields.has("max")) fields.wrong("max", "how many machines there may be");
  TRY(fields.finish());
  return pool;
}

Result<SimulatedCloudOptions> read_cloud(JsonFields& fields) {
  SimulatedCloudOptions cloud;
  cloud.seed = static_cast<uint64_t>(fields.integer("seed", 0, INT64_MAX, 1));
  cloud.answer_after = fields.duration("answer_after", cloud.answer_after);
  cloud.start_mean = fields.duration("start", cloud.start_mean);
  cloud.never_ready = fields.number("never_ready", 0, 1, 0);
  cloud.list_lag = fields.duration("list_lag", cloud.list_lag);
  cloud.stock_for = fields.duration("stock_for", cloud.stock_for);
  cloud.stockout = fields.number("stockout", 0, 1, 0);
  if (fields.has("quota")) cloud.quota = static_cast<int32_t>(fields.integer("quota", 0, kMostMade, 0));
  cloud.spot_life = fields.duration("spot_life", cloud.spot_life);
  cloud.spot_notice = fields.duration("spot_notice", cloud.spot_notice);
  cloud.price_swing = fields.number("price_swing", 0, 0.9, 0);
  cloud.lost_answers = fields.number("lost_answers", 0, 1, 0);
  cloud.lost_orders = fields.number("lost_orders", 0, 1, 0);
  cloud.late_orders = fields.number("late_orders", 0, 1, 0);
  cloud.late_by = fields.duration("late_by", cloud.late_by);
  cloud.twice = fields.number("twice", 0, 1, 0);
  cloud.throttled = fields.number("throttled", 0, 1, 0);
  TRY(fields.finish());
  return cloud;
}

}  // namespace

bool PowerConfig::makes_machines() const {
  return std::ranges::any_of(pools, [](const PowerPool& pool) { return !pool.kinds.empty(); });
}

Result<PowerConfig> read_power_config(JsonFields& fields, const FleetConfig& fleet) {
  PowerConfig config;
  config.currency = fleet.currency;
  config.program = fields.text("program");
  if (!config.program.empty() && !config.program.starts_with('/'))
    fields.wrong("program", "the whole path of a program that takes `up NODE` and `down NODE`");
  config.provider = fields.texts("provider");
  if (!config.provider.empty() && !config.provider.front().starts_with('/'))
    fields.wrong("provider",
                 "a list: the whole path of a program that takes `start NAME…` and `stop NAME…`, and its first arguments");
  config.provider_lists = fields.flag("provider_lists", false);
  if (fields.has("simulated_cloud")) {
    JsonFields cloud(fields.raw("simulated_cloud"), fmt::format("{}: simulated_cloud", fields.where()));
    TRY_ASSIGN(config.cloud, read_cloud(cloud));
  }
  TRY_ASSIGN(config.clouds, read_clouds(fields));
  if ((config.program.empty() ? 0 : 1) + (config.provider.empty() ? 0 : 1) + (config.cloud ? 1 : 0) +
          (config.clouds.is_on() ? 1 : 0) !=
      1)
    fields.wrong("program",
                 "one of `program` (up and down), `provider` (start, stop, list), clouds (`aws`, `gcp`, `azure`; several may "
                 "stand together) and `simulated_cloud`");
  config.every = fields.duration("every", config.every);
  if (config.every < Duration::seconds(1)) fields.wrong("every", "at least one second");
  config.timeout = fields.duration("timeout", config.timeout);
  if (config.timeout < Duration::seconds(1)) fields.wrong("timeout", "at least one second");
  config.ready_within = fields.duration("ready_within", config.ready_within);
  if (config.ready_within < Duration::seconds(1)) fields.wrong("ready_within", "at least one second");
  if (fields.has("most_per_hour")) config.most_burn = Rate::per_hour(fields.money("most_per_hour", fleet.currency));
  config.spread = fields.number("spread", 0.01, 1, 1);
  std::set<std::string> taken, names;
  TRY(fields.each_object("pools", [&](simdjson::dom::element element, const std::string& where) -> Status {
    if (config.pools.size() == kMostPools) return invalid("{}: at most {} pools", where, kMostPools);
    JsonFields pool(element, where);
    TRY_ASSIGN(PowerPool read, read_pool(pool, fleet, config.clouds, taken));
    if (!names.insert(read.name).second) return invalid("{}: pool '{}' stands twice", where, excerpt(read.name));
    config.pools.push_back(std::move(read));
    return {};
  }));
  if (config.makes_machines() && !config.program.empty())
    fields.wrong(
        "program",
        "`provider` in its place where machines are made: a program that takes up and down switches machines that exist");
  if (config.clouds.is_on())
    for (const PowerPool& pool : config.pools)
      if (!pool.nodes.empty())
        return invalid("{}: pool '{}': {} makes machines, and switches none that exist: give it `machines` in place of `nodes`",
                       fields.where(), excerpt(pool.name), config.clouds.names());
  TRY(fields.finish());
  return config;
}

}  // namespace stint
