#include "report/rightsize_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "report/change_json.h"
#include "report/figures.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string range_text(double low, double high) {
  return fmt::format("{:.2f}", low) == fmt::format("{:.2f}", high) ? fmt::format("{:.2f}", low)
                                                                   : fmt::format("{:.2f}–{:.2f}", low, high);
}

std::string count_text(const RightsizeTarget& t) {
  return t.count == t.count_best ? fmt::format("{}", t.count) : fmt::format("{} ({}–{})", t.count, t.count_best, t.count);
}

std::string saving_text(const RightsizeTarget& t) {
  return t.saving_per_month == t.saving_best
             ? amount_text(t.saving_per_month)
             : fmt::format("{} – {}", amount_text(t.saving_per_month), amount_text(t.saving_best));
}

std::string machines(size_t count, const std::string& type) { return fmt::format("{} × {}", count, type); }

std::string work_text(const RightsizeRow& row) {
  if (!row.services) return row.category;
  return fmt::format("{}: {}", row.category, counted(row.service_count, "service"));
}

/// Why, in figures that can be checked by hand.
std::string reasons(const RightsizeView& view, const RightsizeRow& row) {
  std::string text = fmt::format("{} ({}):", machines(row.nodes.size(), row.instance_type), work_text(row));
  text += fmt::format(" {:.1f} GiB a GPU with 10 % to spare, {} in use at once, {:.0f} % busy at p95.", row.need.memory.to_gibi(),
                      counted(row.need.gpus, "GPU"), row.need.p95_pct);
  if (row.too_small) text += " Too small: 90 % busy or full, or more.";
  if (!row.best) {
    text += " Nothing that does is cheaper.";
  } else {
    const RightsizeTarget& t = *row.best;
    text += fmt::format(" {} does {} of a {} ({}).", t.type->gpu_model, range_text(t.throughput.low, t.throughput.high),
                        row.gpu_model, t.throughput.basis);
    if (row.services)
      text += fmt::format(" {:.1f} GPUs of work × {:.2f} / {:.2f}, each service on separate GPUs: {} with {}.", row.busy_gpus,
                          1 + view.options.headroom, t.throughput.low, counted(t.count, "machine"),
                          counted(t.type->whole_gpus(), "GPU"));
    if (row.p99_ms && t.throughput.low != 1)
      text += fmt::format(" p99 {:.0f} ms now, {:.0f} to {:.0f} there if all of it is spent on the GPU.", *row.p99_ms,
                          *row.p99_ms / t.throughput.high, *row.p99_ms / t.throughput.low);
    if (row.runner_up)
      text += fmt::format(" Next: {} × {}, {} a month.", row.runner_up->count, row.runner_up->type->name,
                          amount_text(row.runner_up->saving_per_month));
  }
  for (size_t i = 0; i < row.dropped.size(); ++i)
    text += fmt::format("{} {}: {}", i == 0 ? " Cheaper, but:" : ";", row.dropped[i].type->name, row.dropped[i].reason);
  return text + (row.dropped.empty() ? "" : ".");
}

/// Rows with a target that is no saving, in one sentence; empty where there is none.
std::string growth_text(const RightsizePlan& plan) {
  const auto rows = std::ranges::count_if(plan.rows, [](const RightsizeRow& row) { return row.best && !saves(row, *row.best); });
  if (rows == 0) return "";
  return fmt::format(" Beside that {} too small for {} work: {} a month more, in no saving; {} together.",
                     rows == 1 ? "1 row is" : fmt::format("{} rows are", rows), rows == 1 ? "its" : "their",
                     amount_text(plan.growth_per_month), amount_text(plan.saving_per_month - plan.growth_per_month));
}

/// What makes this differ from the audit's right-sizing, if anything does.
std::string beside_the_audit(const RightsizeView& view) {
  std::string text =
      " `stint audit` and `stint plan all` take these rows that save, as they are, where nothing else is better done with the "
      "same "
      "machines; they stop and schedule first.";
  if (!view.options.demands.empty() || view.options.headroom != RightsizeOptions().headroom)
    text += " They know no --demand and no --headroom: with these the rows here are others.";
  return text;
}

Json target_json(const RightsizeTarget& t) {
  return {{"instance_type", t.type->name},
          {"gpu_model", t.type->gpu_model},
          {"price_per_hour", t.hourly.to_double()},
          {"count", t.count},
          {"count_at_best", t.count_best},
          {"throughput_low", t.throughput.low},
          {"throughput_high", t.throughput.high},
          {"basis", t.throughput.basis},
          {"saving_per_month", t.saving_per_month.to_double()},
          {"saving_per_month_at_best", t.saving_best.to_double()}};
}

}  // namespace

std::string rightsize_text(const RightsizeView& view, Screen screen) {
  Table table({{"now"},
               {"work", Align::kLeft, 0, 1},
               {"region", Align::kLeft, 0, 4},
               {"a month", Align::kRight, 0, 2},
               {"GiB", Align::kRight, 0, 5},
               {"busy p95", Align::kRight, 0, 3},
               {"take"},
               {"how many", Align::kRight},
               {"speed of a GPU", Align::kRight, 0, 6},
               {"saves a month", Align::kRight}});
  for (const RightsizeRow& row : view.plan.rows)
    table.add_row(
        {machines(row.nodes.size(), row.instance_type), work_text(row), row.region, amount_text(row.monthly),
         fmt::format("{:.1f}", row.need.memory.to_gibi()), shown_percent(row.need.p95_pct),
         row.best ? row.best->type->name : "as it is", row.best ? count_text(*row.best) : "",
         row.best ? range_text(row.best->throughput.low, row.best->throughput.high) : "", row.best ? saving_text(*row.best) : ""},
        !row.best       ? Tone::kPlain
        : row.too_small ? Tone::kWarn
                        : Tone::kGood);
  const RightsizePlan& plan = view.plan;
  std::string out = fmt::format("{}, {} to {}: the cheapest type and count that keeps the work\n\n", view.source,
                                format_date(view.period.begin), format_date(view.period.end));
  out += fmt::format("{} of {} {} a month saved", amount_text(plan.saving_per_month), amount_text(plan.monthly),
                     plan.monthly.currency().code());
  out += plan.saving_best == plan.saving_per_month
             ? "."
             : fmt::format("; {} if the faster end of the estimates holds.", amount_text(plan.saving_best));
  out += growth_text(plan) + "\n\n";
  out += table.render(screen) + "\n";
  for (const RightsizeRow& row : plan.rows)
    out += wrapped(reasons(view, row), screen) + "\n";
  std::string notes =
      "The slower of arithmetic and memory bandwidth decides (roofline); measure the work on the new type before moving all of "
      "it "
      "(stint bench, --measured). Memory is the peak seen: servers that take what they find look fuller than they are.";
  notes += beside_the_audit(view);
  for (const std::string& note : plan.notes)
    notes += " " + note + ".";
  return fitted(out + wrapped(notes, screen), screen);
}

std::string rightsize_json(const RightsizeView& view) {
  Json rows = Json::array();
  for (const RightsizeRow& row : view.plan.rows) {
    Json dropped = Json::array();
    for (const RightsizeDropped& d : row.dropped)
      dropped.push_back({{"instance_type", d.type->name}, {"reason", d.reason}});
    Json entry = {{"nodes", row.nodes},
                  {"provider", row.provider},
                  {"region", row.region},
                  {"instance_type", row.instance_type},
                  {"gpu_model", row.gpu_model},
                  {"category", row.category},
                  {"services", row.services ? Json(row.service_count) : Json(nullptr)},
                  {"busy_gpus", row.services ? Json(row.busy_gpus) : Json(nullptr)},
                  {"need",
                   {{"gpus_at_once", row.need.gpus},
                    {"memory_bytes_per_gpu", row.need.memory.count()},
                    {"busy_p95_pct", row.need.p95_pct},
                    {"vcpus", row.need.vcpus}}},
                  {"too_small", row.too_small},
                  {"latency_ms_p99", row.p99_ms ? Json(*row.p99_ms) : Json(nullptr)},
                  {"cost_per_month", row.monthly.to_double()},
                  {"best", row.best ? target_json(*row.best) : Json(nullptr)},
                  {"runner_up", row.runner_up ? target_json(*row.runner_up) : Json(nullptr)},
                  {"dropped", dropped}};
    if (row.best && row.best->count <= std::ssize(row.nodes)) entry["change"] = to_json(change_of(row));
    rows.push_back(std::move(entry));
  }
  return Json{{"from", format_utc(view.period.begin)},
              {"to", format_utc(view.period.end)},
              {"currency", std::string(view.plan.monthly.currency().code())},
              {"headroom", view.options.headroom},
              {"groups", rows},
              {"cost_per_month", view.plan.monthly.to_double()},
              {"saving_per_month", view.plan.saving_per_month.to_double()},
              {"saving_per_month_at_best", view.plan.saving_best.to_double()},
              {"growth_per_month", view.plan.growth_per_month.to_double()},
              {"notes", view.plan.notes}}
             .dump(2) +
         "\n";
}

}  // namespace stint
