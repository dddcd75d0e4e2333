#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/commit_view.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json number_json(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json run_json(const CommitView& view, const CommitRun& run) {
  const CommitBill& bill = run.bill;
  Json purchases = Json::array();
  for (const CommitPurchase& p : run.plan)
    purchases.push_back({{"hour", p.hour}, {"count", p.count}});
  const auto bound = bound_of(run.policy, view.market);
  return {
      {"policy", std::string(name_of(run.policy))},
      {"currency", std::string(bill.total.currency().code())},
      {"cost", bill.total.to_double()},
      {"cost_ratio", number_json(ratio(bill.total, bill.all_on_demand))},
      {"ratio_to_optimal", number_json(ratio(bill.total, view.optimal))},
      {"ratio_bound", bound ? Json(bound->ratio) : Json(nullptr)},
      {"ratio_bound_against", bound ? Json(std::string(bound->against)) : Json(nullptr)},
      {"cost_with_spot", view.spot ? Json(cost_with_spot(view, run).to_double()) : Json(nullptr)},
      {"cost_ratio_with_spot", view.spot ? number_json(ratio(cost_with_spot(view, run), bill.all_on_demand)) : Json(nullptr)},
      {"hours", view.demand.size()},
      {"all_on_demand", bill.all_on_demand.to_double()},
      {"optimal", view.optimal.to_double()},
      {"optimal_by_level", view.optimal_by_level.to_double()},
      {"paid",
       {{"on_demand", bill.on_demand.to_double()}, {"upfront", bill.upfront.to_double()}, {"hourly", bill.hourly.to_double()}}},
      {"amortised",
       {{"used", bill.used.to_double()}, {"unused", bill.unused.to_double()}, {"after_last_hour", bill.after_end.to_double()}}},
      {"reserved_instance_hours", bill.reserved_instance_hours},
      {"used_instance_hours", bill.used_instance_hours},
      {"purchases", purchases}};
}

Json risk_json(const CommitRiskRow& row) {
  return {{"count", row.ladder.count},
          {"rungs", row.ladder.rungs},
          {"fall", row.fall},
          {"saving_pct_p10", row.risk.saving_pct_p10},
          {"saving_pct_p50", row.risk.saving_pct_p50},
          {"saving_pct_p90", row.risk.saving_pct_p90},
          {"saving_pct_worst5", row.risk.saving_pct_worst5},
          {"loss_probability", row.risk.loss_probability}};
}

}  // namespace

std::string commit_json(const CommitView& view) {
  Json out = Json::object();
  if (view.runs.size() == 1) {
    out = run_json(view, view.runs.front());
  } else {
    out["policies"] = Json::array();
    for (const CommitRun& run : view.runs)
      out["policies"].push_back(run_json(view, run));
  }
  if (!view.risks.empty()) {
    out["risk"] = {{"draws", view.risk_options.draws}, {"seed", view.risk_options.seed}, {"weeks", view.weeks_drawn_from}};
    out["risk"]["choices"] = Json::array();
    for (const CommitRiskRow& row : view.risks)
      out["risk"]["choices"].push_back(risk_json(row));
  }
  return out.dump(2) + "\n";
}

}  // namespace stint
