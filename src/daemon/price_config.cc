#include "daemon/price_config.h"

#include <simdjson.h>
#include <nlohmann/json.hpp>

#include "documents/workload_row.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostPoints = 100'000;
constexpr size_t kWorkdays = 5;
constexpr size_t kHoursOfDay = 24;

/// Each day as Monday is.
WeekHours as_monday(const WeekHours& hours) {
  WeekHours all;
  for (size_t hour = 0; hour < all.size(); ++hour)
    all.set(hour, hours.test(hour % kHoursOfDay));
  return all;
}

WeekHours weekend() {
  WeekHours hours;
  for (size_t hour = kWorkdays * kHoursOfDay; hour < hours.size(); ++hour)
    hours.set(hour);
  return hours;
}

Status read_points(JsonFields& fields, Currency currency, PriceRule& rule) {
  return fields.each_object("from", [&](simdjson::dom::element element, const std::string& where) -> Status {
    JsonFields point(element, where);
    if (!point.has("at") || !point.has("per_hour")) return invalid("{}: fields 'at' and 'per_hour' must be given", where);
    rule.points.push_back({.from = point.instant("at", Instant()), .rate = Rate::per_hour(point.money("per_hour", currency))});
    TRY(point.finish());
    if (rule.points.size() > kMostPoints) return invalid("{}: more than {} changes of one price", where, kMostPoints);
    if (rule.points.size() > 1 && rule.points[rule.points.size() - 2].from >= rule.points.back().from)
      return invalid("{}: field 'at' must be later than that of the change before", where);
    return {};
  });
}

Result<PriceRule> read_price_rule(simdjson::dom::element element, const std::string& where, Currency currency) {
  JsonFields fields(element, where);
  PriceRule rule;
  rule.machines = fields.texts("machines");
  if (rule.machines.empty()) fields.wrong("machines", "names of machines, or globs such as \"gpu-*\"");
  if (fields.has("hours")) {
    if (const auto closed = parse_closed_hours(fields.text("hours")); closed)
      rule.hours = ~*closed;
    else
      fields.wrong("hours", "whole hours of each day, UTC, such as \"22:00-06:00\"");
  }
  if (fields.flag("weekends", false)) rule.hours |= weekend();
  if (fields.has("per_hour") == fields.has("from"))
    fields.wrong("per_hour", "the price in 'hours'; or give 'from', a list of instants, each with its price");
  else if (fields.has("per_hour") != rule.hours.any())
    fields.wrong("hours", rule.hours.any() ? "left out beside 'from'" : "given beside 'per_hour', or 'weekends'");
  rule.rate = Rate::per_hour(fields.money("per_hour", currency));
  TRY(read_points(fields, currency, rule));
  TRY(fields.finish());
  return rule;
}

}  // namespace

Result<std::vector<PriceRule>> read_price_rules(JsonFields& fields, Currency currency) {
  std::vector<PriceRule> rules;
  TRY(fields.each_object("prices", [&](simdjson::dom::element element, const std::string& where) -> Status {
    TRY_ASSIGN(PriceRule rule, read_price_rule(element, where, currency));
    rules.push_back(std::move(rule));
    return {};
  }));
  return rules;
}

Json to_json(std::span<const PriceRule> rules) {
  Json list = Json::array();
  for (const PriceRule& rule : rules) {
    Json& json = list.emplace_back(Json{{"machines", rule.machines}});
    const WeekHours daily = as_monday(rule.hours);
    if (const auto hours = format_open_hours(~daily); daily.any() && hours) json["hours"] = *hours;
    if ((rule.hours & weekend()) == weekend() && rule.hours != daily) json["weekends"] = true;
    if (rule.hours.any()) json["per_hour"] = rule.rate.per_hour().to_decimal();
    for (const RatePoint& point : rule.points)
      json["from"].push_back({{"at", format_utc(point.from)}, {"per_hour", point.rate.per_hour().to_decimal()}});
  }
  return list;
}

}  // namespace stint
