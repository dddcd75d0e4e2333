#include "report/kpi_view.h"

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "report/figures.h"
#include "report/forecast_words.h"
#include "report/json_list.h"

namespace stint {
namespace {

/// Four decimals: 1,000 inferences cost cents.
std::string per_thousand_text(const ServiceKpi& service) {
  return service.per_thousand ? amount_text(*service.per_thousand, 4) : "–";
}

std::string prices_table(const Kpis& k, Screen screen) {
  Table table({{"GPU", Align::kLeft, 24},
               {"GPU-hours", Align::kRight, 0, 1},
               {"cost", Align::kRight},
               {"a GPU-hour", Align::kRight},
               {"on demand", Align::kRight},
               {"below it", Align::kRight}});
  for (const GpuPriceKpi& p : k.prices)
    table.add_row({p.gpu_model.empty() ? "not known" : p.gpu_model, grouped(p.gpu_hours), cents_text(p.cost),
                   amount_text(p.per_gpu_hour, 3), p.listed ? amount_text(*p.listed, 3) : "not known",
                   percent_or_dash(p.below_list_pct)});
  return table.render(screen);
}

std::string jobs_table(const Kpis& k, Screen screen) {
  Table table({{"jobs that ended", Align::kLeft, 24},
               {"jobs", Align::kRight},
               {"completed", Align::kRight, 0, 1},
               {"GPU-hours", Align::kRight, 0, 2},
               {"cost", Align::kRight},
               {"each completed", Align::kRight},
               {"median", Align::kRight, 0, 3},
               {"90 % below", Align::kRight, 0, 4},
               {"not completed", Align::kRight, 0, 1}});
  for (const JobKpis& j : k.jobs)
    table.add_row({j.kind, grouped(static_cast<double>(j.jobs)), grouped(static_cast<double>(j.completed)), grouped(j.gpu_hours),
                   cents_text(j.cost), cents_or_dash(j.per_completed_job), cents_or_dash(j.median), cents_or_dash(j.p90),
                   cents_text(j.cost_unfinished)});
  return table.render(screen);
}

std::string services_table(const Kpis& k, Screen screen) {
  Table table(
      {{"service", Align::kLeft, 40}, {"cost", Align::kRight}, {"requests", Align::kRight}, {"per 1,000", Align::kRight}});
  for (const ServiceKpi& s : k.services)
    table.add_row({s.service, cents_text(s.cost), s.requests ? grouped(*s.requests) : "not known", per_thousand_text(s)});
  return table.render(screen);
}

}  // namespace

std::string kpis_text(const Kpis& k, const FleetUse& use, const std::vector<std::string>& notes, Screen screen) {
  const Currency currency = k.total.currency();
  Table head({{"key figure", Align::kLeft, 32}, {std::string(currency.code()), Align::kRight}, {"", Align::kLeft, 60, 1}});
  head.add_row(
      {"bill", cents_text(k.total), k.basis == CostBasis::kBilled ? "as billed" : "effective: commitments spread over use"},
      Tone::kStrong);
  head.add_row({"a useful GPU-hour", cents_or_dash(use.per_useful_gpu_hour), "all compute money by GPU-hours × utilisation"});
  head.add_row({"an active GPU-hour", cents_or_dash(k.per_active_gpu_hour), "all compute money by GPU-hours with any activity"});
  head.add_row({"mean utilisation", percent_or_dash(use.mean_pct),
                fmt::format("telemetry covers {} of the GPU-hours", shown_percent(use.coverage_pct, 1))});
  head.add_row({"GPU-hours held", percent_or_dash(k.held_pct), "of those there"});
  head.add_row({"GPU-hours active", percent_or_dash(k.active_pct), "of those held with telemetry"});
  head.add_row(
      {"below on-demand prices", percent_or_dash(k.below_list_pct), "what charged hours cost, where the catalogue has a price"});
  head.add_row(
      {"effective savings rate", percent_or_dash(k.effective_savings_pct), "the same with what commitments cost unused"});
  if (k.commitments) {
    head.add_row({"commitments cover", shown_percent(k.commitments->coverage_pct, 1), "of the charged GPU-hours"});
    head.add_row({"commitments used", shown_percent(k.commitments->utilization_pct, 1),
                  fmt::format("{} paid for nothing", k.commitments->unused.to_text(2))});
  }
  head.add_row({"cost with an owner", shown_percent(k.owned.client, 1),
                fmt::format("by client; by project {}, team {}, environment {}", shown_percent(k.owned.project, 1),
                            shown_percent(k.owned.team, 1), shown_percent(k.owned.environment, 1))});
  std::string out = head.render(screen);
  if (!k.prices.empty()) out += '\n' + prices_table(k, screen);
  if (!k.jobs.empty()) out += '\n' + jobs_table(k, screen);
  if (k.time)
    out +=
        '\n' + wrapped(fmt::format("From submission to result: half of {} within {}, nine of ten within {}. Of it waiting: half "
                                   "up to {}, nine of ten up to {}.",
                                   counted(k.time->jobs, "completed job"), shown_wait(k.time->median), shown_wait(k.time->p90),
                                   shown_wait(k.time->median_wait), shown_wait(k.time->p90_wait)),
                       screen);
  if (!k.services.empty()) out += '\n' + services_table(k, screen);
  for (const std::string& note : notes)
    out += toned(wrapped(note, screen), Tone::kMuted, screen);
  return out;
}

std::string kpis_json(const Kpis& k, const FleetUse& use, const std::vector<std::string>& notes,
                      const nlohmann::ordered_json& changes) {
  const Currency currency = k.total.currency();
  nlohmann::ordered_json out;
  out["period"] = {{"since", format_utc(k.period.begin)}, {"until", format_utc(k.period.end)}};
  out["basis"] = name_of(k.basis);
  out["currency"] = currency.code();
  out["total"] = k.total.to_decimal();
  out["per_useful_gpu_hour"] = decimal_json(use.per_useful_gpu_hour);
  out["mean_utilization_pct"] = or_null(use.mean_pct);
  out["coverage_pct"] = use.coverage_pct;
  out["per_active_gpu_hour"] = decimal_json(k.per_active_gpu_hour);
  out["held_pct"] = or_null(k.held_pct);
  out["active_pct"] = or_null(k.active_pct);
  out["below_list_pct"] = or_null(k.below_list_pct);
  out["effective_savings_pct"] = or_null(k.effective_savings_pct);
  out["commitments"] = nullptr;
  if (k.commitments)
    out["commitments"] = {{"coverage_pct", k.commitments->coverage_pct},
                          {"utilization_pct", k.commitments->utilization_pct},
                          {"unused", k.commitments->unused.to_decimal()}};
  out["owned_pct"] = {
      {"client", k.owned.client}, {"project", k.owned.project}, {"team", k.owned.team}, {"environment", k.owned.environment}};
  out["prices"] = array_of(k.prices, [&](const GpuPriceKpi& p) -> nlohmann::ordered_json {
    return {{"gpu_model", p.gpu_model},
            {"gpu_hours", p.gpu_hours},
            {"cost", p.cost.to_decimal()},
            {"per_gpu_hour", p.per_gpu_hour.to_decimal()},
            {"listed_gpu_hours", p.listed_gpu_hours},
            {"listed", decimal_json(p.listed)},
            {"below_list_pct", or_null(p.below_list_pct)}};
  });
  out["jobs"] = array_of(k.jobs, [](const JobKpis& j) -> nlohmann::ordered_json {
    return {{"kind", j.kind},
            {"jobs", j.jobs},
            {"completed", j.completed},
            {"unpriced", j.unpriced},
            {"gpu_hours", j.gpu_hours},
            {"cost", j.cost.to_decimal()},
            {"cost_unfinished", j.cost_unfinished.to_decimal()},
            {"per_completed_job", decimal_json(j.per_completed_job)},
            {"median", decimal_json(j.median)},
            {"p90", decimal_json(j.p90)}};
  });
  out["time_to_result"] = nullptr;
  if (k.time)
    out["time_to_result"] = {{"jobs", k.time->jobs},
                             {"median_s", k.time->median.whole_seconds()},
                             {"p90_s", k.time->p90.whole_seconds()},
                             {"median_wait_s", k.time->median_wait.whole_seconds()},
                             {"p90_wait_s", k.time->p90_wait.whole_seconds()}};
  out["services"] = array_of(k.services, [&](const ServiceKpi& s) -> nlohmann::ordered_json {
    return {{"service", s.service},
            {"cost", s.cost.to_decimal()},
            {"requests", or_null(s.requests)},
            {"per_thousand", decimal_json(s.per_thousand)}};
  });
  out["changes"] = changes;
  out["notes"] = notes;
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace stint
