#include "model/change.h"

#include <algorithm>
#include <array>

namespace stint {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

/// "node-7" or "12 nodes (node-1, node-2, …)".
std::string list(const std::vector<std::string>& nodes) {
  if (nodes.empty()) return "no node";
  if (nodes.size() == 1) return nodes.front();
  std::string out = fmt::format("{} nodes ({}, {}", nodes.size(), nodes[0], nodes[1]);
  return out + (nodes.size() > 2 ? ", …)" : ")");
}

}  // namespace

std::string_view name_of(SharingMode m) {
  constexpr std::array<std::string_view, 3> kNames = {"mig", "mps", "time-slice"};
  return kNames[static_cast<size_t>(m)];
}

std::string_view kind_of(const Change& c) {
  constexpr std::array<std::string_view, std::variant_size_v<Change>> kNames = {
      "stop",   "schedule-off",      "resize",       "share",       "switch-market",
      "commit", "limit-reservation", "move-off-gpu", "move-region", "savings-plan"};
  return kNames[c.index()];
}

const std::vector<std::string>& nodes_of(const Change& c) {
  return std::visit([](const auto& change) -> const std::vector<std::string>& { return change.nodes; }, c);
}

const Money* rate_of(const SavingsPlan& plan, std::string_view region, std::string_view instance_type) {
  const auto at = std::ranges::find_if(plan.rates, [&](const SavingsPlan::TypeRate& rate) {
    return rate.instance_type == instance_type && (rate.region.empty() || rate.region == region);
  });
  return at == plan.rates.end() ? nullptr : &at->per_hour;
}

std::string describe(const Change& c) {
  return std::visit(
      Overloaded{
          [](const StopNodes& x) { return fmt::format("stop {}", list(x.nodes)); },
          [](const ScheduleOff& x) {
            return fmt::format("switch {} off for {} of the 168 hours of the week", list(x.nodes), x.off.count());
          },
          [](const ResizeNodes& x) {
            return fmt::format("{} → {} × {}{}", list(x.nodes), x.to_count, x.to_instance_type,
                               x.to_region.empty() ? "" : " in " + x.to_region);
          },
          [](const ShareGpus& x) { return fmt::format("pack {} onto {} by {}", list(x.nodes), list(x.keep), name_of(x.mode)); },
          [](const SwitchMarket& x) { return fmt::format("{} → {}", list(x.nodes), name_of(x.to)); },
          [](const Commit& x) {
            return fmt::format("commit to {} × {} in {} for {} ({})", x.count, x.instance_type, x.region, name_of(x.term),
                               name_of(x.payment));
          },
          [](const LimitReservation& x) {
            return fmt::format("reserve {:.1f} h instead of {:.1f} h for {} on {}", x.to.to_hours(), x.from.to_hours(),
                               x.workload, list(x.nodes));
          },
          [](const MoveOffGpu& x) {
            return fmt::format("move the CPU work of {} to {}", list(x.nodes),
                               x.to_instance_type.empty() ? "a CPU type" : x.to_instance_type);
          },
          [](const MoveRegion& x) { return fmt::format("move {} to {}", list(x.nodes), x.to_region); },
          [](const SavingsPlan& x) {
            return fmt::format("savings plan of {} an hour at {} for {} ({})", x.per_hour.to_text(4), x.provider, name_of(x.term),
                               name_of(x.payment));
          },
      },
      c);
}

}  // namespace stint
