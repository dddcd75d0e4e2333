#include "report/share_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "advise/share/interference.h"
#include "base/counted.h"
#include "report/figures.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string seat_text(const SharedSeat& seat, const SharedGpu& gpu) {
  std::string text = seat.mig_profile.empty() ? seat.workload : fmt::format("{} {}", seat.mig_profile, seat.workload);
  if (seat.from_node != gpu.node || seat.from_gpu != gpu.gpu)
    text += fmt::format(" (from {} GPU {})", seat.from_node, seat.from_gpu);
  return text;
}

std::string seats_text(const SharedGpu& gpu) {
  std::string text;
  for (const SharedSeat& seat : gpu.seats)
    text += (text.empty() ? "" : "; ") + seat_text(seat, gpu);
  return text;
}

std::string pool_text(const SharePool& pool, Screen screen) {
  std::string out = fmt::format("{} in {} by {}: {} in use now, {} afterwards; {}", pool.gpu_model,
                                pool.region.empty() ? pool.provider : pool.region, name_of(pool.mode),
                                counted(pool.in_use, "GPU"), pool.needed, counted(pool.restarts, "restart"));
  if (!pool.freed_nodes.empty())
    out += fmt::format("; {} free: {} a month", fmt::join(pool.freed_nodes, ", "), amount_text(pool.saving_per_month));
  Table table({{"node"}, {"GPU", Align::kRight}, {"do"}, {"what runs there then"}});
  for (const SharedGpu& gpu : pool.gpus)
    if (gpu.step != SharedGpu::Step::kAsItIs)
      table.add_row({gpu.node, fmt::format("{}", gpu.gpu), std::string(name_of(gpu.step)), seats_text(gpu)},
                    gpu.step == SharedGpu::Step::kFree ? Tone::kGood : Tone::kPlain);
  out += "\n\n" + table.render(screen, 2);
  if (!pool.alone.empty()) out += wrapped(fmt::format("Alone: {}.", fmt::join(pool.alone, "; ")), screen, 2);
  return out + "\n";
}

Json gpu_json(const SharedGpu& gpu) {
  Json seats = Json::array();
  for (const SharedSeat& s : gpu.seats)
    seats.push_back({{"workload", s.workload},
                     {"client", s.client},
                     {"from_node", s.from_node},
                     {"from_gpu", s.from_gpu},
                     {"mig_profile", s.mig_profile.empty() ? Json(nullptr) : Json(s.mig_profile)},
                     {"memory_start", s.memory_start < 0 ? Json(nullptr) : Json(s.memory_start)},
                     {"exists", s.exists},
                     {"restarts", s.restarts}});
  return {{"node", gpu.node}, {"gpu", gpu.gpu}, {"step", name_of(gpu.step)}, {"seats", seats}};
}

}  // namespace

std::string share_text(const ShareView& view, Screen screen) {
  std::string out = fmt::format("{}, {} to {}: who shares which GPU\n\n", view.source, format_date(view.period.begin),
                                format_date(view.period.end));
  if (!view.plan.pools.empty()) {
    size_t freed = 0;
    Money saving = Money::nanos(0, view.currency);
    for (const SharePool& pool : view.plan.pools) {
      freed += pool.freed_nodes.size();
      saving += pool.saving_per_month;
    }
    out += fmt::format("{} {} a month saved: {} machine{} not needed any more.\n\n", amount_text(saving), view.currency.code(),
                       freed, freed == 1 ? " is" : "s are");
  }
  for (const SharePool& pool : view.plan.pools)
    out += pool_text(pool, screen);
  if (view.plan.pools.empty())
    out += "No machine becomes free by sharing that requests would not notice: the audit names what is too slow.\n\n";
  std::string notes = fmt::format(
      "Amounts in {}. MIG: memory {:.1f} × the peak and compute {:.1f} × the busiest 5 % of working time, any clients; where it "
      "was measured how much of a GPU a request keeps busy, p99 stays within what is promised of it, else within today's. Side "
      "by "
      "side: one client "
      "and category alone, memory peaks to {:.0f} %, busy p95 to {:.0f} %; time slices for people's sessions, else MPS. "
      "Different owners "
      "share nothing but by MIG. Cutting a GPU needs it empty: one machine at a time. Measure latency at peak before a machine "
      "goes: under MPS one neighbour made one job in a hundred {:.1f} times slower, of pairs that were measured, so the audit "
      "does "
      "not count what that saves.",
      view.currency.code(), kShareMemoryMargin, kShareComputeMargin, 100 * kSharedMemoryLimit, 100 * kSharedComputeLimit,
      kMostSlowedByNeighbour);
  for (const std::string& note : view.plan.notes)
    notes += " Note: " + note + ".";
  return fitted(out + wrapped(notes, screen), screen);
}

std::string share_json(const ShareView& view) {
  Json pools = Json::array();
  for (const SharePool& pool : view.plan.pools) {
    Json gpus = Json::array();
    for (const SharedGpu& gpu : pool.gpus)
      gpus.push_back(gpu_json(gpu));
    pools.push_back({{"provider", pool.provider},
                     {"region", pool.region},
                     {"gpu_model", pool.gpu_model},
                     {"mode", name_of(pool.mode)},
                     {"gpus_in_use", pool.in_use},
                     {"gpus_needed", pool.needed},
                     {"restarts", pool.restarts},
                     {"freed_nodes", pool.freed_nodes},
                     {"saving_per_month", pool.saving_per_month.to_double()},
                     {"alone", pool.alone},
                     {"gpus", gpus}});
  }
  return Json{{"from", format_utc(view.period.begin)},
              {"to", format_utc(view.period.end)},
              {"currency", std::string(view.currency.code())},
              {"pools", pools},
              {"notes", view.plan.notes}}
             .dump(2) +
         "\n";
}

}  // namespace stint
