// Limit reservation: machines that are kept long after their recurring work is done (the evaluation that works
// 8 hours and is provisioned for 24).
#include <cmath>
#include <numeric>

#include "advise/find/finder_text.h"
#include "base/counted.h"

namespace stint {
namespace {

constexpr size_t kFewestTimes = 2;          // recurring
constexpr double kLongestUsedShare = 0.75;  // of the reservation; more is no waste worth a change
constexpr double kFewestHoursCut = 2;
constexpr double kMargin = 1.1;

/// A stretch of hours in which a machine was there.
struct Block {
  double on_h = 0;
  double used_h = 0;    // from its start to the last activity
  bool watched = true;  // telemetry in every hour
};

std::vector<Block> blocks_of(const NodeFacts& node) {
  std::vector<Block> blocks;
  bool open = false;
  for (const NodeHour& hour : node.timeline) {
    if (hour.on_s == 0) {
      open = false;
      continue;
    }
    if (!open) blocks.emplace_back();
    open = true;
    Block& block = blocks.back();
    block.on_h += hour.on_s / 3600.0;
    block.watched &= hour.seen_s > 0;
    if (hour.active_gpus > 0) block.used_h = block.on_h;
  }
  return blocks;
}

struct Limit {
  int64_t from_h = 0;
  int64_t to_h = 0;
  auto operator<=>(const Limit&) const = default;
};

/// Hours reserved each time, and what the longest time needed, with a margin.
std::optional<Limit> limit_for(const std::vector<Block>& blocks) {
  double total = 0;
  double longest = 0;
  size_t watched = 0;
  for (const Block& block : blocks) {
    if (!block.watched) continue;
    ++watched;
    total += block.on_h;
    longest = std::max(longest, block.used_h);
  }
  if (watched < kFewestTimes || longest <= 0) return std::nullopt;
  const double from = total / static_cast<double>(watched);
  const double to = std::ceil(longest * kMargin);
  if (to > from * kLongestUsedShare || from - to < kFewestHoursCut) return std::nullopt;
  return Limit{std::llround(from), static_cast<int64_t>(to)};
}

/// Hours runs held machines beyond their last activity, on machines that stay on anyway.
double hours_held_idle(const NodeFacts& node) {
  double tail = 0;
  double all = 0;
  double idle_so_far = 0;
  for (const NodeHour& hour : node.timeline) {
    if (!hour.reserved || hour.seen_s == 0) {
      tail += idle_so_far;
      idle_so_far = 0;
      continue;
    }
    idle_so_far = hour.active_gpus > 0 ? 0 : idle_so_far + hour.on_s / 3600.0;
    all += hour.on_s / 3600.0;
  }
  tail += idle_so_far;
  return tail > all * (1 - kLongestUsedShare) ? tail : 0;
}

}  // namespace

Proposals find_limit(const FleetView& fleet) {
  std::map<std::pair<std::string, Limit>, NodeGroup> groups;
  Proposals out;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    if (plan.gone || plan.hours_changed || plan.monthly.count_nanos() <= 0 || is_interactive(node.kind) || !sees_all_gpus(node))
      continue;
    if (const auto limit = limit_for(blocks_of(node))) {
      const std::string key = node.provider + '\t' + node.region + '\t' + node.instance_type + '\t' + node.workload;
      groups[{key, *limit}].push_back(&node);
      continue;
    }
    const double idle = hours_held_idle(node);
    const auto hourly = fleet.books.hourly(node.id);
    if (idle < kFewestHoursCut || !hourly) continue;
    Finding f;
    f.change = LimitReservation{node.workload, {node.name}, kHour, kHour};
    f.title = fmt::format("Runs hold {} for {:.0f} h after their work is done", node.name, idle);
    f.alone_per_month = fleet.facts.months.monthly(scale(*hourly, std::llround(idle * 3600), 3600));
    f.caveats.push_back(
        "the machine stays on whoever holds it, so no money comes back; a time limit gives the hours to other work");
    out.rejected.push_back(std::move(f));
  }
  for (const auto& [key, group] : groups) {
    const Limit limit = key.second;
    const std::string workload = group.front()->workload.empty() ? "recurring work" : group.front()->workload;
    Finding f;
    f.change = LimitReservation{workload, names_of(group), kHour * limit.from_h, kHour * limit.to_h};
    f.title = fmt::format("Keep {} for {} h instead of {} h each time ({})", title_of(group), limit.to_h, limit.from_h, workload);
    f.confidence = confidence_of(fleet, group);
    f.risk = Level::kLow;
    f.effort = Level::kLow;
    double longest = 0;
    size_t times = 0;
    for (const NodeFacts* node : group)
      for (const Block& block : blocks_of(*node)) {
        longest = std::max(longest, block.used_h);
        ++times;
      }
    f.evidence.push_back({"times the machines were taken", fmt::format("{} over {}", times, counted(group.size(), "machine"))});
    f.evidence.push_back({"reserved each time", fmt::format("{} h", limit.from_h)});
    f.evidence.push_back({"longest use, start to last activity", fmt::format("{:.0f} h", longest)});
    add_use(f, group);
    f.arithmetic.push_back(cost_line(fleet, group));
    int64_t now_s = 0, then_s = 0;
    for (const NodeFacts* node : group) {
      const std::vector<uint16_t>& on_s = fleet.books.of(node->id).on_s;
      const auto kept_s = limited_hours(on_s, kHour * limit.from_h, kHour * limit.to_h);
      now_s += std::accumulate(on_s.begin(), on_s.end(), int64_t{0});
      then_s += std::accumulate(kept_s.begin(), kept_s.end(), int64_t{0});
    }
    f.arithmetic.push_back(fmt::format("limit: {:.0f} h × {:.1f} margin = {} h each time; {:.0f} of {:.0f} h remain: {} less",
                                       longest, kMargin, limit.to_h, static_cast<double>(then_s) / 3600,
                                       static_cast<double>(now_s) / 3600,
                                       percent(100.0 * static_cast<double>(now_s - then_s) / static_cast<double>(now_s))));
    f.caveats.push_back(
        "a run that needs longer than any seen so far is cut: have it checkpoint, or raise the limit for that run");
    out.advised.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
