#include "report/schedule_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "advise/find/idle_windows.h"
#include "report/change_json.h"
#include "report/figures.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string nodes_text(const std::vector<std::string>& nodes, const std::string& type) {
  return nodes.size() == 1 ? fmt::format("{} ({})", nodes.front(), type) : fmt::format("{} × {}", nodes.size(), type);
}

std::string windows_part(const ScheduleView& view, Screen screen) {
  Table table({{"off"},
               {"hours a week", Align::kRight, 0, 1},
               {"times", Align::kRight, 0, 2},
               {"when (UTC)", Align::kLeft, 70},
               {"saves a month", Align::kRight}});
  for (const OffWindows& w : view.plan.windows)
    table.add_row({nodes_text(w.nodes, w.instance_type), fmt::format("{}", w.off.count()), fmt::format("{}", w.windows),
                   week_text(w.off), amount_text(w.saving_per_month)},
                  Tone::kGood);
  return table.empty() ? "" : table.render(screen) + "\n";
}

std::string later_part(const ScheduleView& view, Screen screen) {
  Table table({{"later"},
               {"runs", Align::kRight, 0, 2},
               {"moved", Align::kRight},
               {"onto idle machines", Align::kRight, 0, 4},
               {"in pieces", Align::kRight, 0, 5},
               {"ends later by (h)", Align::kRight, 0, 1},
               {"cost now", Align::kRight},
               {"then", Align::kRight}});
  for (const LaterRuns& l : view.plan.later)
    table.add_row({l.client.empty() ? l.name : l.client + ": " + l.name, fmt::format("{}", l.runs), fmt::format("{}", l.moved),
                   fmt::format("{}", l.onto_idle), fmt::format("{}", l.in_pieces), fmt::format("{:.1f}", l.mean_delay.to_hours()),
                   amount_text(l.cost_now), amount_text(l.cost_then)},
                  Tone::kGood);
  return table.empty() ? "" : table.render(screen) + "\n";
}

std::string findings_part(const char* heading, const std::vector<PricedFinding>& findings, Screen screen) {
  Table table({{heading}, {"saves a month", Align::kRight}, {"once", Align::kRight}, {"pays after months", Align::kRight}});
  for (const PricedFinding& p : findings)
    table.add_row({p.finding.title, amount_text(p.saving_per_month), p.once.is_zero() ? "–" : amount_text(p.once),
                   p.pays_after_months ? fmt::format("{:.1f}", *p.pays_after_months) : "–"},
                  Tone::kGood);
  return table.empty() ? "" : table.render(screen) + "\n";
}

Json findings_json(const std::vector<PricedFinding>& findings) {
  Json out = Json::array();
  for (const PricedFinding& p : findings)
    out.push_back({{"title", p.finding.title},
                   {"saving_per_month", p.saving_per_month.to_double()},
                   {"once", p.once.to_double()},
                   {"pays_after_months", p.pays_after_months ? Json(*p.pays_after_months) : Json(nullptr)},
                   {"caveats", p.finding.caveats},
                   {"change", to_json(p.finding.change)}});
  return out;
}

/// How many ways there are and what the best of them saves: each is priced by itself, so they have no sum.
std::string schedule_summary(const SchedulePlan& plan, Currency currency) {
  Money best = Money::nanos(0, currency);
  for (const OffWindows& w : plan.windows)
    best = std::max(best, w.saving_per_month);
  size_t moved = 0;
  for (const LaterRuns& l : plan.later)
    moved += static_cast<size_t>(l.moved);
  size_t others = 0;
  for (const auto* list : {&plan.shorter, &plan.elsewhere, &plan.off_gpu})
    for (const PricedFinding& p : *list) {
      best = std::max(best, p.saving_per_month);
      ++others;
    }
  return fmt::format(
      "Machines to switch off when idle: {}; runs to move: {}; other changes: {}. The best one saves {} {} a month.\n\n",
      plan.windows.size(), moved, others, amount_text(best), currency.code());
}

}  // namespace

std::string schedule_text(const ScheduleView& view, Screen screen) {
  const SchedulePlan& plan = view.plan;
  std::string body = windows_part(view, screen) + later_part(view, screen) + findings_part("shorter", plan.shorter, screen) +
                     findings_part("elsewhere", plan.elsewhere, screen) + findings_part("off GPUs", plan.off_gpu, screen);
  if (body.empty())
    body = "Nothing: no machine is idle by habit, and no work becomes cheaper later or elsewhere.\n\n";
  else
    body = schedule_summary(plan, view.currency) + body;
  std::string notes = fmt::format(
      "Amounts in {}; each line is priced by itself, stint audit combines them. A machine that comes back costs {:.0f} minutes; "
      "a run may "
      "end {:.0f} h later. Disks and addresses are charged while machines are off, and hours are UTC.",
      view.currency.code(), view.options.restart_h * 60, view.options.slack.to_hours());
  for (const std::string& note : plan.notes)
    notes += " Note: " + note + ".";
  const std::string head = fmt::format("{}, {} to {}: when and where work runs\n\n", view.source, format_date(view.period.begin),
                                       format_date(view.period.end));
  return fitted(head + body + wrapped(notes, screen), screen);
}

std::string schedule_json(const ScheduleView& view) {
  Json windows = Json::array();
  for (const OffWindows& w : view.plan.windows)
    windows.push_back({{"nodes", w.nodes},
                       {"instance_type", w.instance_type},
                       {"hours_per_week", w.off.count()},
                       {"windows_per_week", w.windows},
                       {"off", week_text(w.off)},
                       {"saving_per_month", w.saving_per_month.to_double()},
                       {"restarts_per_month", w.restarts_per_month.to_double()},
                       {"change", to_json(ScheduleOff{w.nodes, w.off})}});
  Json later = Json::array();
  for (const LaterRuns& l : view.plan.later)
    later.push_back({{"client", l.client},
                     {"name", l.name},
                     {"instance_type", l.instance_type},
                     {"runs", l.runs},
                     {"moved", l.moved},
                     {"onto_idle_machines", l.onto_idle},
                     {"in_pieces", l.in_pieces},
                     {"mean_delay_h", l.mean_delay.to_hours()},
                     {"cost_now", l.cost_now.to_double()},
                     {"cost_then", l.cost_then.to_double()}});
  return Json{{"from", format_utc(view.period.begin)},
              {"to", format_utc(view.period.end)},
              {"currency", std::string(view.currency.code())},
              {"windows", windows},
              {"later", later},
              {"shorter", findings_json(view.plan.shorter)},
              {"elsewhere", findings_json(view.plan.elsewhere)},
              {"off_gpu", findings_json(view.plan.off_gpu)},
              {"notes", view.plan.notes}}
             .dump(2) +
         "\n";
}

}  // namespace stint
