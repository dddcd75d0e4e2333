#include "report/commit_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/figures.h"
#include "report/short_text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct Spread {
  int64_t least, middle, most;
};
Spread spread_of(HourlyDemand demand) {
  std::sort(demand.begin(), demand.end());
  return {demand.front(), demand[demand.size() / 2], demand.back()};
}

}  // namespace

std::string commit_fleet_text(const CommitFleetView& view, Screen screen) {
  const BillingMonths months(view.period);
  Table table({{"instance type"},
               {"region", Align::kLeft, 0, 3},
               {"in use (least–median–most)", Align::kRight, 0, 2},
               {"on demand an hour", Align::kRight, 0, 4},
               {"commit to", Align::kRight},
               {"of", Align::kLeft, 0, 1},
               {"an hour", Align::kRight, 0, 2},
               {"saved P10–P90 over its term", Align::kRight},
               {"chance of a loss", Align::kRight, 0, 1}});
  for (size_t i = 0; i < view.pools.pools.size(); ++i) {
    const CommitPool& pool = view.pools.pools[i];
    const PortfolioChoice& choice = view.portfolio.choices[i];
    const Spread use = spread_of(pool.type.demand);
    const auto& risk = view.risks[i];
    const bool priced = !pool.type.offers.empty();
    table.add_row({pool.type.name, pool.region, fmt::format("{}–{}–{}", use.least, use.middle, use.most),
                   short_money(pool.type.on_demand), fmt::format("{}", choice.count),
                   choice.offer ? pool.type.offers[*choice.offer].name
                   : priced     ? "none pays"
                                : "no price known",
                   choice.offer ? short_money(choice.per_hour) : "–",
                   risk ? fmt::format("{} – {}", shown_percent(risk->saving_pct_p10), shown_percent(risk->saving_pct_p90)) : "–",
                   risk ? shown_percent(100 * risk->loss_probability) : "–"},
                  choice.count > 0 ? Tone::kGood : Tone::kPlain);
  }
  const Portfolio& p = view.portfolio;
  std::string text = fmt::format("{}, {} to {}: commitments for what runs on demand, if it goes on like this\n\n", view.source,
                                 format_date(view.period.begin), format_date(view.period.end));
  if (view.plan_discount_pct)
    text += fmt::format("Savings plan of {} % on every type: commit to {} an hour.\n", *view.plan_discount_pct,
                        short_money(p.commitment));
  text += fmt::format(
      "On demand {} {} a month, with these commitments {} ({} reserved, {} savings plan, {} on demand): {} saved.\n",
      amount_text(months.monthly(p.all_on_demand)), p.total.currency().code(), amount_text(months.monthly(p.total)),
      amount_text(months.monthly(p.reservations)), amount_text(months.monthly(p.committed)),
      amount_text(months.monthly(p.on_demand)), shown_percent(share_pct(p.all_on_demand - p.total, p.all_on_demand), 1));
  text += fmt::format("No plan of these offers costs less than {} a month.\n", amount_text(months.monthly(p.at_least)));
  text += "\n" + table.render(screen) + "\n";
  std::string notes =
      "Right-size, share and switch off first (stint audit): what is committed to is paid for to the end of the term.";
  for (const std::string& note : view.pools.notes)
    notes += " " + note + ".";
  return fitted(text + wrapped(notes, screen), screen);
}

std::string commit_fleet_json(const CommitFleetView& view) {
  const BillingMonths months(view.period);
  Json pools = Json::array();
  for (size_t i = 0; i < view.pools.pools.size(); ++i) {
    const CommitPool& pool = view.pools.pools[i];
    const PortfolioChoice& choice = view.portfolio.choices[i];
    const Spread use = spread_of(pool.type.demand);
    Json entry = {{"provider", pool.provider},
                  {"region", pool.region},
                  {"instance_type", pool.type.name},
                  {"in_use", {{"least", use.least}, {"median", use.middle}, {"most", use.most}}},
                  {"on_demand_per_hour", pool.type.on_demand.to_double()},
                  {"commit", choice.count},
                  {"offer", choice.offer ? Json(pool.type.offers[*choice.offer].name) : Json(nullptr)},
                  {"committed_per_hour", choice.offer ? Json(choice.per_hour.to_double()) : Json(nullptr)}};
    if (const auto& risk = view.risks[i])
      entry["risk"] = {{"saving_pct_p10", risk->saving_pct_p10},
                       {"saving_pct_p50", risk->saving_pct_p50},
                       {"saving_pct_p90", risk->saving_pct_p90},
                       {"saving_pct_worst5", risk->saving_pct_worst5},
                       {"loss_probability", risk->loss_probability}};
    pools.push_back(std::move(entry));
  }
  const Portfolio& p = view.portfolio;
  return Json{{"from", format_utc(view.period.begin)},
              {"to", format_utc(view.period.end)},
              {"currency", std::string(p.total.currency().code())},
              {"pools", pools},
              {"savings_plan_per_hour", p.commitment.to_double()},
              {"per_month",
               {{"all_on_demand", months.monthly(p.all_on_demand).to_double()},
                {"cost", months.monthly(p.total).to_double()},
                {"reservations", months.monthly(p.reservations).to_double()},
                {"savings_plan", months.monthly(p.committed).to_double()},
                {"on_demand", months.monthly(p.on_demand).to_double()},
                {"at_least", months.monthly(p.at_least).to_double()}}},
              {"cost_ratio", p.all_on_demand.is_zero() ? Json(nullptr) : Json(p.total.to_double() / p.all_on_demand.to_double())},
              {"notes", view.pools.notes}}
             .dump(2) +
         "\n";
}

}  // namespace stint
