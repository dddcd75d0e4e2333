#include "report/estimate_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"

namespace stint {
namespace {

std::string_view word_of(PlannedAction action) {
  switch (action) {
    case PlannedAction::kCreate: return "create";
    case PlannedAction::kUpdate: return "update";
    case PlannedAction::kReplace: return "replace";
    case PlannedAction::kDelete: return "delete";
    case PlannedAction::kKeep: return "keep";
  }
  return "";
}

/// "1,234.50": sums of a month, to the cent.
std::string cents(Money m) {
  const std::string text = m.to_text();
  return text.substr(0, text.find(' '));
}
/// "+1,234.00", "-1,234.00", "0.00".
std::string signed_amount(Money m) { return (m.count_nanos() > 0 ? "+" : "") + cents(m); }

/// "4 × g5.xlarge spot", "2 (1 to 8) × p5.48xlarge".
std::string machines_text(const std::optional<MachineCost>& cost) {
  if (!cost) return "–";
  const MachineGroup& g = cost->group;
  const std::string range = g.least < g.most ? fmt::format(" ({} to {})", g.least, g.most) : "";
  return fmt::format("{}{} × {}{}", g.count, range, g.instance_type, g.market == Market::kSpot ? " spot" : "");
}
/// Before and after in one cell where they are alike.
std::string change_text_of(const EstimateLine& line) {
  const std::string before = machines_text(line.before), after = machines_text(line.after);
  if (!line.before || before == after) return after;
  return line.after ? before + " → " + after : before;
}
std::string amount_of(const std::optional<MachineCost>& cost) {
  return cost ? (cost->price.estimated ? "~" : "") + cents(cost->per_month) : "–";
}
Money month_of(const std::optional<MachineCost>& cost, Currency currency) {
  return cost ? cost->per_month : Money::nanos(0, currency);
}
std::string region_text(const EstimateLine& line) { return (line.after ? line.after : line.before)->group.region; }

std::string headline(const EstimateView& view) {
  const Estimate& e = view.estimate;
  const Currency currency = e.after.currency();
  std::string text = fmt::format("{} {} a month: GPU machines cost {} before and {} after", signed_amount(e.after - e.before),
                                 currency.code(), e.before.to_text(), e.after.to_text());
  if (e.least != e.most) text += fmt::format(", {} to {} by their autoscalers' bounds", cents(e.least), cents(e.most));
  return text;
}

/// What stands below the table: today's fleet, limits, what is left out.
std::vector<std::string> remarks(const EstimateView& view) {
  const Estimate& e = view.estimate;
  std::vector<std::string> lines;
  if (view.today)
    lines.push_back(fmt::format("Today's GPU machines cost {} a month; with this plan {}.", view.today->gpu_machines.to_text(),
                                (view.today->gpu_machines + (e.after - e.before)).to_text()));
  for (const LimitVerdict& verdict : view.verdicts)
    lines.push_back(fmt::format("{}: {}.", verdict.holds ? "Holds" : "Fails", verdict.what));
  for (const EstimateLine& line : e.lines)
    for (const std::string& note : line.notes)
      lines.push_back(fmt::format("{}: {}.", line.address, note));
  for (const NotEstimated& missing : e.not_estimated)
    lines.push_back(fmt::format("Not in the sums: {}: {}.", missing.address, missing.why));
  if (e.without_gpus + e.others > 0)
    lines.push_back(
        fmt::format("Not looked at: {} without GPUs, {} that run no machines.", counted(e.without_gpus, "resource"), e.others));
  lines.emplace_back("Machines alone, all hours of a month of 730; disks, traffic and licences are not in it.");
  return lines;
}

using SortedJson = nlohmann::json;

SortedJson side_json(const std::optional<MachineCost>& cost) {
  if (!cost) return nullptr;
  const MachineGroup& g = cost->group;
  return {{"provider", g.provider},
          {"instance_type", g.instance_type},
          {"region", g.region},
          {"market", name_of(g.market)},
          {"count", g.count},
          {"least", g.least},
          {"most", g.most},
          {"gpu_model", cost->gpu_model},
          {"gpus", static_cast<double>(cost->gpu_milli) / 1000},
          {"per_hour_each", cost->price.rate.per_hour().to_decimal()},
          {"per_month", cost->per_month.to_decimal()},
          {"per_month_least", cost->least.to_decimal()},
          {"per_month_most", cost->most.to_decimal()},
          {"estimated", cost->price.estimated},
          {"source", cost->price.source},
          {"as_of", format_date(cost->price.as_of)}};
}

SortedJson gpus_json(const std::map<std::string, int64_t>& gpu_milli) {
  SortedJson out = SortedJson::object();
  for (const auto& [model, milli] : gpu_milli)
    out[model] = static_cast<double>(milli) / 1000;
  return out;
}

}  // namespace

std::string estimate_text(const EstimateView& view, Screen screen) {
  const Estimate& e = view.estimate;
  std::string out = wrapped(headline(view) + ".", screen) + "\n";
  Table table({{"resource", Align::kLeft, 48},
               {"action", Align::kLeft, 0, 3},
               {"machines"},
               {"region", Align::kLeft, 0, 4},
               {"before", Align::kRight, 0, 2},
               {"after", Align::kRight, 0, 1},
               {fmt::format("{} a month", e.after.currency().code()), Align::kRight}});
  for (const EstimateLine& line : e.lines) {
    const Money more = month_of(line.after, e.after.currency()) - month_of(line.before, e.after.currency());
    table.add_row({line.address, std::string(word_of(line.action)), change_text_of(line), region_text(line),
                   amount_of(line.before), amount_of(line.after), signed_amount(more)});
  }
  if (!table.empty()) {
    table.add_rule();
    table.add_row({"in all", "", "", "", cents(e.before), cents(e.after), signed_amount(e.after - e.before)}, Tone::kStrong);
    out += table.render(screen) + "\n";
  }
  return out + bullets(remarks(view), screen);
}

std::string estimate_comment(const EstimateView& view) {
  const Estimate& e = view.estimate;
  const auto cell = [](std::string_view text) {
    std::string safe;
    for (const char c : text) {
      if (c == '|' || c == '<' || c == '`' || c == '\\') safe += '\\';
      safe += c == '\n' || c == '\r' ? ' ' : c;
    }
    return safe;
  };
  std::string out = fmt::format("**GPU cost: {}**\n\n", headline(view));
  if (!e.lines.empty()) {
    out += "| resource | action | machines | region | before | after | a month |\n|---|---|---|---|---:|---:|---:|\n";
    for (const EstimateLine& line : e.lines) {
      const Money more = month_of(line.after, e.after.currency()) - month_of(line.before, e.after.currency());
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(line.address), word_of(line.action),
                         cell(change_text_of(line)), cell(region_text(line)), amount_of(line.before), amount_of(line.after),
                         signed_amount(more));
    }
    out += "\n";
  }
  for (const std::string& remark : remarks(view))
    out += fmt::format("- {}\n", cell(remark));
  return out;
}

std::string estimate_json(const EstimateView& view) {
  const Estimate& e = view.estimate;
  SortedJson out = {{"source", view.source},
                    {"currency", e.after.currency().code()},
                    {"before_per_month", e.before.to_decimal()},
                    {"after_per_month", e.after.to_decimal()},
                    {"more_per_month", (e.after - e.before).to_decimal()},
                    {"after_least_per_month", e.least.to_decimal()},
                    {"after_most_per_month", e.most.to_decimal()},
                    {"gpus_before", gpus_json(e.gpu_milli_before)},
                    {"gpus_after", gpus_json(e.gpu_milli_after)},
                    {"resources_without_gpus", e.without_gpus},
                    {"other_resources", e.others},
                    {"today", nullptr},
                    {"resources", SortedJson::array()},
                    {"not_estimated", SortedJson::array()},
                    {"limits", SortedJson::array()}};
  if (view.today) out["today"] = {{"gpu_machines_per_month", view.today->gpu_machines.to_decimal()}, {"gpus", view.today->gpus}};
  for (const EstimateLine& line : e.lines)
    out["resources"].push_back({{"address", line.address},
                                {"action", word_of(line.action)},
                                {"before", side_json(line.before)},
                                {"after", side_json(line.after)},
                                {"notes", line.notes}});
  for (const NotEstimated& missing : e.not_estimated)
    out["not_estimated"].push_back({{"address", missing.address}, {"why", missing.why}});
  for (const LimitVerdict& verdict : view.verdicts)
    out["limits"].push_back({{"holds", verdict.holds}, {"what", verdict.what}});
  return out.dump(2, ' ', false, SortedJson::error_handler_t::replace) + "\n";
}

}  // namespace stint
