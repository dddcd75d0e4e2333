// Machines that the pools of `power` have made or switched, and the sweep of what is not known.
#include <nlohmann/json.hpp>

#include "daemon/api/api_routes.h"
#include "daemon/api/view_json.h"
#include "daemon/power/node_power.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json made_json(const PowerView::Made& made, Instant now) {
  const bool is_paid = made.state != "off" && made.since > Instant();
  return {{"name", made.name},
          {"pool", made.pool},
          {"state", made.state},
          {"id", made.id},
          {"since", made.since > Instant() ? Json(format_utc(made.since)) : Json()},
          {"until", made.until ? Json(format_utc(*made.until)) : Json()},
          {"detail", made.detail},
          {"per_hour", money_json(made.rate.per_hour())},
          {"cost", is_paid ? money_json(made.rate.over(now - made.since)) : Json()}};
}

Json capacity_json(const PowerView& view) {
  Json json = {{"by", view.by},
               {"machines", Json::array()},
               {"left_alone", Json::array()},
               {"missing", Json::array()},
               {"unread", Json::array()},
               {"most_per_hour", view.most_burn ? money_json(view.most_burn->per_hour()) : Json()},
               {"made", view.made},
               {"swept", view.swept},
               {"late", view.late},
               {"stockouts", view.stockouts}};
  for (const PowerView::Made& made : view.machines)
    json["machines"].push_back(made_json(made, view.now));
  for (const PowerView::ShutPool& shut : view.shut)
    json["left_alone"].push_back({{"pool", shut.pool}, {"until", format_utc(shut.until)}, {"why", shut.why}});
  for (const PowerView::Short& lack : view.shortages)
    json["missing"].push_back({{"pool", lack.pool}, {"machines", lack.missing}, {"why", lack.why}});
  for (const PowerView::Unread& each : view.unread)
    json["unread"].push_back({{"name", each.name}, {"why", each.why}});
  return json;
}

}  // namespace

void api_capacity(const ApiContext& api, const Call& call) {
  api.answer(call, 200, capacity_json(api.options.power == nullptr ? PowerView() : api.options.power->view()));
}

void api_sweep(const ApiContext& api, const Call& call) {
  if (api.options.power == nullptr)
    return api.answer(call, make_error(ErrorCode::kConflict, "this daemon switches and makes no machines"));
  api.options.power->sweep([api, call](const Result<PowerView>& swept) {
    if (!swept.ok()) return api.answer(call, swept.error());
    api.answer(call, 200, capacity_json(*swept));
  });
}

}  // namespace stint
