#include "launch/launch_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/json_fields.h"

namespace stint {
namespace {

using json_fields::Json;

constexpr std::string_view kPlanFormat = "stint-launch/1";
constexpr int64_t kMostSeconds = 366 * 86'400;

Json pairs_json(const LaunchPlan::Pairs& pairs) {
  Json all = Json::array();
  for (const auto& [name, value] : pairs)
    all.push_back(Json::array({name, value}));
  return all;
}

LaunchPlan::Pairs pairs_of(const Json& object, const char* name) {
  LaunchPlan::Pairs pairs;
  for (const Json& each : json_fields::array_of(object, name)) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_string())
      throw json_fields::Malformed(object, fmt::format("'{}' is no list of pairs of texts", name));
    pairs.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
  }
  return pairs;
}

Duration seconds_of(const Json& object, const char* name) {
  return Duration::seconds(json_fields::integer_of(object, name, 0, kMostSeconds));
}

Instant instant_of(const Json& object, const char* name) {
  return json_fields::taken(object, parse_instant(json_fields::text_of(object, name)));
}

Rate rate_of(const Json& object, const char* name) {
  const Rate rate = json_fields::taken(object, Rate::parse_per_hour(json_fields::text_of(object, name)));
  if (rate.per_hour().count_nanos() < 0) throw json_fields::Malformed(object, fmt::format("'{}' is below 0", name));
  return rate;
}

LaunchOffer offer_of(const Json& object) {
  LaunchOffer offer{.instance_type = json_fields::text_of(object, "instance_type"),
                    .zone = json_fields::text_of(object, "zone"),
                    .market = json_fields::taken(object, parse_market(json_fields::text_of(object, "market"))),
                    .rate = rate_of(object, "per_hour")};
  // Plans of launches before several clouds have neither.
  if (object.contains("provider")) offer.provider = json_fields::text_of(object, "provider");
  if (object.contains("region")) offer.region = json_fields::text_of(object, "region");
  if (offer.market != Market::kSpot && offer.market != Market::kOnDemand)
    throw json_fields::Malformed(object, "'market' is neither spot nor on-demand");
  return offer;
}

LaunchPlan plan_of(const Json& object) {
  const auto text = [&](const char* name) { return json_fields::text_of(object, name); };
  if (const std::string format = text("format"); format != kPlanFormat)
    throw json_fields::Malformed(object, fmt::format("'format' is '{}': this release knows {}", excerpt(format), kPlanFormat));
  LaunchPlan plan{.name = text("name"),
                  .owner = text("owner"),
                  .store = text("store"),
                  .command = json_fields::texts_of(object, "command"),
                  .environment = pairs_of(object, "environment"),
                  .data = text("data"),
                  .checkpoint_folder = text("checkpoint_folder"),
                  .keep = json_fields::integer_of(object, "keep", 0, 1'000'000),
                  .retries = json_fields::integer_of(object, "retries", 0, 1'000'000),
                  .code_sha256 = text("code_sha256"),
                  .code_bytes = json_fields::integer_of(object, "code_bytes", 0, int64_t{1} << 50),
                  .program = text("program"),
                  .program_sha256 = text("program_sha256"),
                  .gpu_model = text("gpu_model"),
                  .gpus = static_cast<int32_t>(json_fields::integer_of(object, "gpus", 0, 1'000)),
                  .region = text("region"),
                  .image = text("image"),
                  .launch_template = text("launch_template"),
                  .key_name = text("key_name"),
                  .instance_profile = text("instance_profile"),
                  .subnets = pairs_of(object, "subnets"),
                  .tags = pairs_of(object, "tags"),
                  .security_groups = json_fields::texts_of(object, "security_groups"),
                  .begun = instant_of(object, "begun"),
                  .takes = seconds_of(object, "takes_s"),
                  .start_up = seconds_of(object, "start_up_s"),
                  .lifetime = seconds_of(object, "lifetime_s"),
                  .look_every = seconds_of(object, "look_every_s"),
                  .list_lag = seconds_of(object, "list_lag_s"),
                  .ready_within = seconds_of(object, "ready_within_s")};
  for (const Json& each : json_fields::array_of(object, "offers"))
    plan.offers.push_back(offer_of(each));
  if (object.contains("clouds")) plan.clouds = text("clouds");
  if (object.contains("limit_per_hour")) plan.limit = rate_of(object, "limit_per_hour");
  if (object.contains("deadline")) plan.deadline = instant_of(object, "deadline");
  if (!is_launch_name(plan.name)) throw json_fields::Malformed(object, "'name' is no name of a launch");
  if (plan.command.empty()) throw json_fields::Malformed(object, "'command' is empty");
  if (plan.offers.empty()) throw json_fields::Malformed(object, "'offers' is empty");
  if (plan.lifetime <= Duration()) throw json_fields::Malformed(object, "'lifetime_s' is 0");
  if (plan.deadline && plan.takes <= Duration()) throw json_fields::Malformed(object, "'deadline' without 'takes_s'");
  return plan;
}

}  // namespace

std::string LaunchOffer::name() const { return fmt::format("{}/{}/{}", instance_type, place(), name_of(market)); }

const LaunchOffer* LaunchPlan::offer(std::string_view pool) const {
  const auto found = std::ranges::find_if(offers, [&](const LaunchOffer& each) { return each.name() == pool; });
  return found == offers.end() ? nullptr : &*found;
}

bool is_launch_name(std::string_view text) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= 40 && is_small(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_small(c) || (c >= '0' && c <= '9') || c == '-'; });
}

std::string to_json(const LaunchPlan& plan) {
  Json json = {{"format", kPlanFormat},
               {"name", plan.name},
               {"owner", plan.owner},
               {"store", plan.store},
               {"command", plan.command},
               {"environment", pairs_json(plan.environment)},
               {"data", plan.data},
               {"checkpoint_folder", plan.checkpoint_folder},
               {"keep", plan.keep},
               {"retries", plan.retries},
               {"code_sha256", plan.code_sha256},
               {"code_bytes", plan.code_bytes},
               {"program", plan.program},
               {"program_sha256", plan.program_sha256},
               {"gpu_model", plan.gpu_model},
               {"gpus", plan.gpus},
               {"region", plan.region},
               {"image", plan.image},
               {"launch_template", plan.launch_template},
               {"key_name", plan.key_name},
               {"instance_profile", plan.instance_profile},
               {"subnets", pairs_json(plan.subnets)},
               {"tags", pairs_json(plan.tags)},
               {"security_groups", plan.security_groups},
               {"begun", format_utc(plan.begun)},
               {"takes_s", plan.takes.whole_seconds()},
               {"start_up_s", plan.start_up.whole_seconds()},
               {"lifetime_s", plan.lifetime.whole_seconds()},
               {"look_every_s", plan.look_every.whole_seconds()},
               {"list_lag_s", plan.list_lag.whole_seconds()},
               {"ready_within_s", plan.ready_within.whole_seconds()},
               {"offers", Json::array()}};
  for (const LaunchOffer& offer : plan.offers)
    json["offers"].push_back({{"instance_type", offer.instance_type},
                              {"zone", offer.zone},
                              {"market", name_of(offer.market)},
                              {"per_hour", offer.rate.per_hour().to_decimal()},
                              {"provider", offer.provider},
                              {"region", offer.region}});
  if (!plan.clouds.empty()) json["clouds"] = plan.clouds;
  if (plan.limit) json["limit_per_hour"] = plan.limit->per_hour().to_decimal();
  if (plan.deadline) json["deadline"] = format_utc(*plan.deadline);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LaunchPlan> parse_launch_plan(std::string_view json, const std::string& source) {
  return json_fields::read_document<LaunchPlan>(json, source, [](const Json& document) { return plan_of(document); });
}

CapacityRules capacity_rules_of(const LaunchPlan& plan) {
  CapacityRules rules{.owner = plan.owner, .pools = {}, .most = 1, .most_burn = {}, .client_burn = {}};
  int32_t order = 0;
  for (const LaunchOffer& offer : plan.offers) {
    CapacityPool pool{.name = offer.name(), .machine = {}, .order = ++order, .limit = plan.limit, .names = {}};
    pool.machine.node.gpu_model = plan.gpu_model;
    pool.machine.node.gpus = plan.gpus;
    pool.machine.provider = offer.provider;
    pool.machine.region = offer.region.empty() ? plan.region : offer.region;
    pool.machine.zone = offer.zone;
    pool.machine.instance_type = offer.instance_type;
    pool.machine.market = offer.market;
    pool.machine.rate = offer.rate;
    rules.pools.push_back(std::move(pool));
  }
  rules.settle = plan.list_lag;
  // What was ordered may come true so much later: two minutes where lists are as far behind as EC2's may be.
  rules.answer_within = std::clamp(plan.list_lag * 4, Duration::seconds(10), rules.answer_within);
  rules.list_every = std::max(plan.list_lag, plan.look_every);
  rules.ready_within = plan.ready_within;
  rules.lifetime = plan.lifetime;
  return rules;
}

}  // namespace stint
