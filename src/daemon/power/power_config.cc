#include "daemon/power/power_config.h"

#include <simdjson.h>
#include <algorithm>
#include <set>

#include "base/text.h"
#include "clouds/ec2_launch.h"
#include "daemon/fleet_config.h"
#include "daemon/json_fields.h"
#include "daemon/power/scaling_fields.h"

namespace stint {
namespace {

constexpr size_t kMostPools = 100;
constexpr int64_t kMostMade = 100'000;
constexpr size_t kMostTags = 40;      // EC2 takes 50, some of which are Stint's
constexpr size_t kLongestName = 128;  // of a machine that is made

/// "p5.48xlarge/us-east-1a/spot": what of these is known.
std::string name_of_kind(const Machine& machine) {
  std::string name = machine.instance_type.empty() ? machine.node.gpu_model : machine.instance_type;
  const std::string& place = machine.zone.empty() ? machine.region : machine.zone;
  if (!place.empty()) name += "/" + place;
  return fmt::format("{}/{}", name, name_of(machine.market));
}

/// Whose place follows from the others is not asked for twice.
void complete_for_aws(const Ec2Settings& aws, Machine& machine) {
  if (machine.provider.empty()) machine.provider = "aws";
  if (machine.region.empty()) machine.region = ec2_region_of_zone(machine.zone);
  if (machine.region.empty() && machine.zone.empty() && aws.places.size() == 1) machine.region = aws.places.front().region;
}

Result<CapacityPool> read_kind(JsonFields& fields, const std::string& pool, Currency currency,
                               const std::optional<Ec2Settings>& aws) {
  CapacityPool kind;
  kind.machine = read_machine_fields(fields, currency);
  if (aws) complete_for_aws(*aws, kind.machine);
  if (kind.machine.node.gpus == 0 && kind.machine.node.cpu_milli == 0)
    fields.wrong("gpus", "how many GPUs each machine has, or `cpu_milli`: nothing could run there");
  kind.name = fmt::format("{}/{}", pool, fields.text("name", name_of_kind(kind.machine)));
  kind.order = static_cast<int32_t>(fields.integer("order", 0, 1'000, 0));
  kind.most = static_cast<int32_t>(fields.integer("most", 0, kMostMade, kMostMade));
  if (fields.has("limit_per_hour")) kind.limit = Rate::per_hour(fields.money("limit_per_hour", currency));
  TRY(fields.finish());
  if (aws)
    if (const Status can = check_ec2_machine(*aws, kind.machine); !can.ok())
      return invalid("{}: AWS cannot make it: {}", fields.where(), can.error().message);
  return kind;
}

Result<PowerPool> read_pool(JsonFields& fields, const FleetConfig& fleet, const std::optional<Ec2Settings>& aws,
                            std::set<std::string>& taken) {
  PowerPool pool;
  pool.name = fields.text("name");
  if (pool.name.empty() ||
      std::ranges::any_of(pool.name, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '/'; }))
    fields.wrong("name", "what the pool is called, without blanks and /");
  pool.nodes = fields.texts("nodes");
  TRY(fields.each_object("machines", [&](simdjson::dom::element element, const std::string& where) -> Status {
    JsonFields kind(element, where);
    TRY_ASSIGN(CapacityPool read, read_kind(kind, pool.name, fleet.currency, aws));
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

bool is_word_of(std::string_view text, std::string_view others) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
  });
}

Result<Ec2Place> read_place(JsonFields& fields) {
  Ec2Place place;
  place.region = fields.text("region");
  if (!is_word_of(place.region, "-")) fields.wrong("region", "what AWS calls it, such as us-east-1");
  place.image = fields.text("image");
  place.launch_template = fields.text("launch_template");
  if (place.image.empty() && place.launch_template.empty())
    fields.wrong("image", "what machines start from, such as ami-0123456789abcdef0; or a `launch_template` that names one");
  if (!place.image.empty() && !place.image.starts_with("ami-")) fields.wrong("image", "an id that begins with ami-");
  place.subnets = fields.pairs("subnets");
  for (const auto& [zone, subnet] : place.subnets)
    if (ec2_region_of_zone(zone) != place.region || !subnet.starts_with("subnet-"))
      fields.wrong("subnets", "an object of zones of the region and a subnet of each, such as {\"us-east-1a\": \"subnet-0123\"}");
  place.security_groups = fields.texts("security_groups");
  for (const std::string& group : place.security_groups)
    if (!group.starts_with("sg-")) fields.wrong("security_groups", "a list of ids that begin with sg-");
  place.key_name = fields.text("key_name");
  place.instance_profile = fields.text("instance_profile");
  TRY(fields.finish());
  return place;
}

Result<Ec2Settings> read_aws(JsonFields& fields) {
  Ec2Settings aws;
  TRY(fields.each_object("regions", [&](simdjson::dom::element element, const std::string& where) -> Status {
    JsonFields each(element, where);
    TRY_ASSIGN(Ec2Place place, read_place(each));
    if (aws.place(place.region) != nullptr) return invalid("{}: region {} stands twice", where, place.region);
    aws.places.push_back(std::move(place));
    return {};
  }));
  if (aws.places.empty()) fields.wrong("regions", "where machines may be made: a list of objects with `region` and `image`");
  aws.tags = fields.pairs("tags");
  if (aws.tags.size() > kMostTags) fields.wrong("tags", "at most 40");
  for (const auto& [key, value] : aws.tags)
    if (key.empty() || key == "Name" || key.starts_with("stint:") || key.starts_with("aws:"))
      fields.wrong("tags", "names other than Name, stint:… and aws:…, which have a meaning already");
  aws.user_data = fields.text("user_data");
  aws.lifetime = fields.duration("lifetime", *aws.lifetime);
  if (*aws.lifetime == Duration())
    aws.lifetime.reset();
  else if (*aws.lifetime < Duration::minutes(10))
    fields.wrong("lifetime", "at least 10 minutes, or 0: machines do not end by themselves");
  if (!aws.user_data.empty() && !aws.user_data.starts_with("#"))
    fields.wrong("user_data", "a script that begins with #!, or cloud-init's configuration that begins with #cloud-config");
  if (const auto whole =
          ec2_user_data({.machine = std::string(kLongestName, 'x'), .lifetime = aws.lifetime, .user_part = aws.user_data});
      !whole.ok())
    return invalid("{}: {}", fields.where(), whole.error().message);
  aws.list_lag = fields.duration("list_lag", aws.list_lag);
  if (aws.list_lag < Duration::seconds(1)) fields.wrong("list_lag", "at least one second");
  TRY(fields.finish());
  return aws;
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
  if (fields.has("aws")) {
    JsonFields aws(fields.raw("aws"), fmt::format("{}: aws", fields.where()));
    TRY_ASSIGN(config.aws, read_aws(aws));
  }
  if ((config.program.empty() ? 0 : 1) + (config.provider.empty() ? 0 : 1) + (config.cloud ? 1 : 0) + (config.aws ? 1 : 0) != 1)
    fields.wrong("program", "one of `program` (up and down), `provider` (start, stop, list), `aws` and `simulated_cloud`");
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
    TRY_ASSIGN(PowerPool read, read_pool(pool, fleet, config.aws, taken));
    if (!names.insert(read.name).second) return invalid("{}: pool '{}' stands twice", where, excerpt(read.name));
    config.pools.push_back(std::move(read));
    return {};
  }));
  if (config.makes_machines() && !config.program.empty())
    fields.wrong(
        "program",
        "`provider` in its place where machines are made: a program that takes up and down switches machines that exist");
  if (config.aws)
    for (const PowerPool& pool : config.pools)
      if (!pool.nodes.empty())
        return invalid(
            "{}: pool '{}': `aws` makes machines, and switches none that exist: give it `machines` in place of `nodes`",
            fields.where(), excerpt(pool.name));
  TRY(fields.finish());
  return config;
}

}  // namespace stint
