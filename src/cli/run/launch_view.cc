#include "cli/run/launch_view.h"

#include <nlohmann/json.hpp>

namespace stint {
namespace {

std::string clock_of(Instant at) {
  std::string text = format_utc(Instant::from_seconds(at.seconds()));
  text[text.find('T')] = ' ';
  text.pop_back();
  return text;
}

std::string launch_place_of(const LaunchPlan& plan, const std::string& pool) {
  const LaunchOffer* offer = plan.offer(pool);
  return offer == nullptr ? pool : offer->place().empty() ? plan.region : offer->place();
}

}  // namespace

std::string launch_offers_table(const LaunchPlan& plan, const Screen& screen) {
  Table table({{"instance type"}, {"zone"}, {"market"}, {"USD per hour", Align::kRight}, {"cloud"}});
  for (const LaunchOffer& offer : plan.offers)
    table.add_row({offer.instance_type, offer.place(), std::string(name_of(offer.market)), offer.rate.per_hour().to_decimal(),
                   offer.provider});
  return table.render(screen);
}

std::string launch_bill_table(const LaunchPlan& plan, const LaunchRecord& record, Instant now, const Screen& screen) {
  Table table({{"machine"},
               {"instance type", Align::kLeft, 0, 2},
               {"zone"},
               {"market"},
               {"from", Align::kLeft, 0, 1},
               {"hours", Align::kRight},
               {"USD per hour", Align::kRight},
               {"cost", Align::kRight},
               {"why it ended", Align::kLeft, 0, 3}});
  Duration hours;
  for (const LaunchedMachine& each : record.machines()) {
    if (!each.made) continue;
    const LaunchOffer* offer = plan.offer(each.pool);
    hours += each.paid(now);
    table.add_row({each.name, offer == nullptr ? "" : offer->instance_type, launch_place_of(plan, each.pool),
                   offer == nullptr ? "" : std::string(name_of(offer->market)), clock_of(each.begun),
                   fmt::format("{:.3f}", each.paid(now).to_hours()), each.rate.per_hour().to_decimal(), each.cost(now).to_text(2),
                   each.why});
  }
  table.add_rule();
  table.add_row({"in all", "", "", "", "", fmt::format("{:.3f}", hours.to_hours()), "", record.cost(now).to_text(2), ""});
  return table.render(screen);
}

nlohmann::ordered_json launch_json(const LaunchPlan& plan, const LaunchRecord& record, Instant now) {
  nlohmann::ordered_json json = {{"name", plan.name},
                                 {"store", plan.store},
                                 {"begun", format_utc(plan.begun)},
                                 {"deadline", nullptr},
                                 {"state", record.end()       ? "ended"
                                           : record.stopped() ? "stopped"
                                                              : "going on"},
                                 {"exit_code", nullptr},
                                 {"ended", nullptr},
                                 {"deadline_met", nullptr},
                                 {"why", ""},
                                 {"machines", nlohmann::ordered_json::array()},
                                 {"currency", "USD"},
                                 {"cost", record.cost(now).to_decimal()}};
  if (plan.deadline) json["deadline"] = format_utc(*plan.deadline);
  if (const auto& end = record.end()) {
    json["exit_code"] = end->code;
    json["ended"] = format_utc(end->at);
    json["why"] = end->why;
    if (plan.deadline) json["deadline_met"] = end->at <= *plan.deadline;
  }
  for (const LaunchedMachine& each : record.machines()) {
    const LaunchOffer* offer = plan.offer(each.pool);
    json["machines"].push_back({{"name", each.name},
                                {"instance_type", offer == nullptr ? "" : offer->instance_type},
                                {"provider", offer == nullptr ? "" : offer->provider},
                                {"zone", offer == nullptr ? "" : offer->zone},
                                {"market", offer == nullptr ? "" : name_of(offer->market)},
                                {"per_hour", each.rate.per_hour().to_decimal()},
                                {"begun", format_utc(each.begun)},
                                {"ended", each.ended ? nlohmann::ordered_json(format_utc(*each.ended)) : nullptr},
                                {"made", each.made},
                                {"interrupted", each.interrupted},
                                {"seconds", each.paid(now).to_seconds()},
                                {"saved_seconds", each.saved.to_seconds()},
                                {"cost", each.cost(now).to_decimal()},
                                {"why", each.why}});
  }
  return json;
}

}  // namespace stint
