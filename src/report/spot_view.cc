#include "report/spot_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/change_json.h"
#include "report/figures.h"
#include "report/short_text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string group_name(const SpotGroup& g) { return g.client.empty() ? g.name : g.client + ": " + g.name; }

std::string pool_name(const SpotPool& p) { return fmt::format("{} {}", p.instance_type, p.zone.empty() ? p.region : p.zone); }

std::string hours(double mean, double p90) { return fmt::format("{:.1f} ({:.1f})", mean, p90); }

std::string pools_text(const SpotGroup& g) {
  std::string used, spare;
  for (const SpotShare& s : g.pools) {
    const double mean_h = 1 / s.pool.rate.mean();
    std::string text = fmt::format("{} at {}/h, interrupted every {:.0f} h (5–95 %: {:.0f}–{:.0f}; seen {} in {:.0f} h)",
                                   pool_name(s.pool), short_money(s.pool.spot), mean_h, 1 / s.pool.rate.quantile(0.95),
                                   1 / s.pool.rate.quantile(0.05), s.pool.interruptions, s.pool.watched_h);
    if (s.runs > 0)
      used += fmt::format("{}{} of {} in {}", used.empty() ? "" : "; ", s.runs, g.at_once, text);
    else
      spare += fmt::format("{}{}", spare.empty() ? "" : "; ", text);
  }
  return used + (spare.empty() ? "" : ". Then: " + spare) + ".";
}

std::string reasons(const SpotGroup& g) {
  std::string text = group_name(g) + ": ";
  if (!g.recorded) text += "no job records, so each machine's hours count as one run. ";
  if (g.discount_needed_pct > 0)
    text += fmt::format("spot is {} cheaper, {} is needed to pay for starting and interruptions. ", shown_percent(g.discount_pct),
                        shown_percent(g.discount_needed_pct));
  if (g.fit != SpotFit::kFits) return text + fmt::format("Not on spot: {}.", name_of(g.fit));
  const SpotOutcome& o = *g.outcome;
  if (g.on_spot_now) text += "It is on spot already. ";
  text += g.checkpointable == false
              ? "It cannot resume, and pays even so. "
              : fmt::format("Checkpoint every {:.2f} h of work (Daly: {:.2f}). ", o.interval_h, o.daly_interval_h);
  return text + fmt::format("{:.1f} interruptions of a run expected. ", o.outlook.interruptions) + pools_text(g);
}

Json outcome_json(const SpotOutcome& o) {
  return {{"checkpoint_interval_h", o.interval_h},
          {"daly_interval_h", o.daly_interval_h},
          {"paid_h", o.outlook.paid_h},
          {"paid_h_p90", o.outlook.paid_h_p90},
          {"finish_h", o.outlook.finish_h},
          {"finish_h_p90", o.outlook.finish_h_p90},
          {"interruptions", o.outlook.interruptions},
          {"cost", o.cost.to_double()},
          {"cost_p90", o.cost_p90.to_double()},
          {"on_spot", o.on_spot},
          {"mixed_cost", o.mixed_cost.to_double()}};
}

Json pool_json(const SpotShare& s) {
  return {{"provider", s.pool.provider},
          {"region", s.pool.region},
          {"zone", s.pool.zone},
          {"instance_type", s.pool.instance_type},
          {"spot_per_hour", s.pool.spot.to_double()},
          {"throughput", s.pool.throughput},
          {"hours_between_interruptions", 1 / s.pool.rate.mean()},
          {"hours_between_p5", 1 / s.pool.rate.quantile(0.95)},
          {"hours_between_p95", 1 / s.pool.rate.quantile(0.05)},
          {"interruptions_seen", s.pool.interruptions},
          {"hours_seen", s.pool.watched_h},
          {"runs", s.runs}};
}

}  // namespace

std::string spot_text(const SpotView& view, Screen screen) {
  Table table({{"work", Align::kLeft, 34},
               {"on", Align::kLeft, 0, 1},
               {"runs", Align::kRight, 0, 3},
               {"hours", Align::kRight, 0, 5},
               {"a run, on demand", Align::kRight, 0, 2},
               {"on spot: mean (p90)", Align::kRight, 0, 1},
               {"ends: mean (p90) h", Align::kRight, 0, 4},
               {"checkpoint every h", Align::kRight, 0, 6},
               {"on spot", Align::kRight, 0, 2},
               {"saves a month", Align::kRight}});
  for (const SpotGroup& g : view.plan.groups) {
    const bool fits = g.fit == SpotFit::kFits;
    const std::string machines = g.machines > 1 ? fmt::format("{} × {}", g.machines, g.instance_type) : g.instance_type;
    std::vector<std::string> cells = {group_name(g),
                                      machines,
                                      fmt::format("{}", g.runs),
                                      fmt::format("{:.1f}", g.work_h),
                                      amount_text(g.run_cost),
                                      "–",
                                      "–",
                                      "–",
                                      "no",
                                      "–"};
    if (fits) {
      const SpotOutcome& o = *g.outcome;
      cells[5] = fmt::format("{} ({})", amount_text(o.cost), amount_text(o.cost_p90));
      cells[6] = hours(o.outlook.finish_h, o.outlook.finish_h_p90);
      cells[7] = g.checkpointable == false ? "–" : fmt::format("{:.2f}", o.interval_h);
      cells[8] = shown_percent(100 * o.on_spot);
      cells[9] = amount_text(g.saving_per_month);
    }
    table.add_row(std::move(cells), fits ? Tone::kGood : Tone::kMuted);
  }
  std::string out = fmt::format("{}, {} to {}: what suits spot capacity\n\n", view.source, format_date(view.period.begin),
                                format_date(view.period.end));
  out +=
      fmt::format("{} of {} {} a month saved by these jobs.\n\n{}\n", amount_text(view.plan.saving_per_month),
                  amount_text(view.plan.run_cost_per_month), view.plan.saving_per_month.currency().code(), table.render(screen));
  for (const SpotGroup& g : view.plan.groups)
    out += wrapped(reasons(g), screen) + "\n";
  const SpotPlanOptions& o = view.options;
  std::string notes = fmt::format(
      "Assumed: a checkpoint takes {:.1f} min, starting {:.1f} min (paid), waiting for capacity {:.1f} min on average (not "
      "paid), {:.0f} h "
      "between interruptions of a machine, worth {:.0f} h of watching. A run has to end within {:.1f} × its length, {:.0f} % of "
      "its "
      "progress at most is made on spot, a pool holds {:.0f} % of the runs at most, rounded up to a run.",
      o.checkpoint_h * 60, o.restart_h * 60, o.mean_wait_h * 60, o.mean_between_h, o.prior_hours, o.finish_within,
      100 * o.most_on_spot, 100 * o.most_at_once);
  for (const std::string& note : view.plan.notes)
    notes += " " + note + ".";
  return fitted(out + wrapped(notes, screen), screen);
}

std::string spot_json(const SpotView& view) {
  Json groups = Json::array();
  for (const SpotGroup& g : view.plan.groups) {
    Json pools = Json::array();
    for (const SpotShare& s : g.pools)
      pools.push_back(pool_json(s));
    groups.push_back({{"client", g.client},
                      {"name", g.name},
                      {"kind", name_of(g.kind)},
                      {"provider", g.provider},
                      {"region", g.region},
                      {"instance_type", g.instance_type},
                      {"on_spot_now", g.on_spot_now},
                      {"recorded", g.recorded},
                      {"runs", g.runs},
                      {"runs_at_once", g.at_once},
                      {"machines", g.machines},
                      {"work_h", g.work_h},
                      {"checkpointable", g.checkpointable ? Json(*g.checkpointable) : Json(nullptr)},
                      {"fits", g.fit == SpotFit::kFits},
                      {"reason", name_of(g.fit)},
                      {"run_cost_on_demand", g.run_cost.to_double()},
                      {"discount_pct", g.discount_pct},
                      {"discount_needed_pct", g.discount_needed_pct},
                      {"outcome", g.outcome ? outcome_json(*g.outcome) : Json(nullptr)},
                      {"pools", pools},
                      {"saving_per_month", g.saving_per_month.to_double()}});
  }
  Json changes = Json::array();
  for (const Change& change : view.plan.changes)
    changes.push_back(to_json(change));
  return Json{{"from", format_utc(view.period.begin)},
              {"to", format_utc(view.period.end)},
              {"currency", std::string(view.plan.saving_per_month.currency().code())},
              {"seed", view.options.seed},
              {"groups", groups},
              {"cost_per_month_on_demand", view.plan.run_cost_per_month.to_double()},
              {"saving_per_month", view.plan.saving_per_month.to_double()},
              {"changes", changes},
              {"notes", view.plan.notes}}
             .dump(2) +
         "\n";
}

}  // namespace stint
