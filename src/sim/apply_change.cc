#include "sim/apply_change.h"

#include <algorithm>

#include "sim/fleet_text.h"

namespace stint::sim {
namespace {

constexpr Duration kWeek = Duration::hours(168);

class Applier {
 public:
  Applier(Workload& workload, const Catalog& catalog) : w_(workload), catalog_(catalog) {}

  Status operator()(const StopNodes& c) { return remove(c.nodes); }

  Status operator()(const ScheduleOff& c) {
    if (c.off.all()) return invalid("schedule-off for all hours of the week: use stop");
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find(c.nodes));
    Duration longest;
    for (const SimJob& job : w_.jobs)
      longest = std::max(longest, job.run_time);
    const Interval submitted = submissions_of(w_);
    for (const uint32_t node : nodes)
      switch_off(NodeId(node), c.off, {submitted.begin.hour_start(), submitted.end + longest + kWeek});
    return {};
  }

  Status operator()(const ResizeNodes& c) {
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find(c.nodes));
    const SimNode old = w_.nodes[nodes.front()];
    for (const uint32_t node : nodes)
      if (w_.nodes[node].market != old.market) return invalid("resize: the nodes are on several markets");
    if (!is_rented(old.market))
      return invalid("resize: node '{}' is not rented, the catalogue has no price for it", old.node.name);
    const std::string& region = c.to_region.empty() ? old.region : c.to_region;
    TRY_ASSIGN(std::vector<SimNode> fresh, parse_fleet(fmt::format("{}x{}{}{}:{}", c.to_count, c.to_instance_type,
                                                                   region.empty() ? "" : "@", region, name_of(old.market)),
                                                       catalog_));
    TRY(remove(c.nodes, /*all=*/true));
    for (size_t i = 0; i < fresh.size(); ++i) {
      fresh[i].node.name = fmt::format("{} for {} {}", c.to_instance_type, old.node.name, i + 1);
      w_.nodes.push_back(fresh[i]);
    }
    // Who ran on the old model moves along.
    for (sched::Request& request : w_.requests)
      if (std::ranges::find(request.gpu_models, old.node.gpu_model) != request.gpu_models.end())
        request.gpu_models.push_back(fresh.front().node.gpu_model);
    return {};
  }

  Status operator()(const SwitchMarket& c) {
    if (!is_rented(c.to)) return invalid("switch-market: {} is not a market one switches to", name_of(c.to));
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find(c.nodes));
    for (const uint32_t node : nodes)
      TRY(reprice(w_.nodes[node], w_.nodes[node].region, c.to));
    return {};
  }

  Status operator()(const MoveRegion& c) {
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find(c.nodes));
    for (const uint32_t node : nodes)
      TRY(reprice(w_.nodes[node], c.to_region, w_.nodes[node].market));
    return {};
  }

  Status operator()(const LimitReservation& c) {
    if (c.to <= Duration()) return invalid("limit-reservation: the new length must be above 0");
    bool found = false;
    for (SimJob& job : w_.jobs) {
      // Jobs of a History are called "name (id)".
      if (job.name != c.workload && !job.name.starts_with(c.workload + " (")) continue;
      found = true;
      job.run_time = std::min(job.run_time, c.to);
      job.spec.time_limit = std::min(job.spec.time_limit, c.to);
    }
    return found ? Status() : Status(invalid("limit-reservation: no job is called '{}'", c.workload));
  }

  Status operator()(const ShareGpus&) { return refused("share"); }
  Status operator()(const Commit&) { return refused("commit"); }
  Status operator()(const MoveOffGpu&) { return refused("move-off-gpu"); }

 private:
  static Status refused(std::string_view kind) { return invalid("a change of kind {} cannot be replayed", kind); }
  static bool is_rented(Market m) { return m == Market::kOnDemand || m == Market::kSpot || m == Market::kReserved; }

  Result<std::vector<uint32_t>> find(const std::vector<std::string>& names) const {
    std::vector<uint32_t> found;
    for (const std::string& name : names) {
      const auto it = std::ranges::find(w_.nodes, name, [](const SimNode& n) { return n.node.name; });
      if (it == w_.nodes.end()) return invalid("no node '{}' in the workload", name);
      found.push_back(static_cast<uint32_t>(it - w_.nodes.begin()));
    }
    if (found.empty()) return invalid("the change names no node");
    return found;
  }

  /// @param all  the last node may go as well: others follow.
  Status remove(const std::vector<std::string>& names, bool all = false) {
    TRY_ASSIGN(const std::vector<uint32_t> gone, find(names));
    std::vector<NodeId> now(w_.nodes.size());
    std::vector<SimNode> kept;
    for (uint32_t i = 0; i < w_.nodes.size(); ++i) {
      if (std::ranges::find(gone, i) != gone.end()) continue;
      now[i] = NodeId(static_cast<uint32_t>(kept.size()));
      kept.push_back(std::move(w_.nodes[i]));
    }
    if (kept.empty() && !all) return invalid("stop: no node would be left");
    w_.nodes = std::move(kept);
    std::erase_if(w_.outages, [&](const Outage& o) { return !now[o.node.index()].valid(); });
    for (Outage& outage : w_.outages)
      outage.node = now[outage.node.index()];
    return {};
  }

  Status reprice(SimNode& node, const std::string& region, Market market) {
    TRY_ASSIGN(const PriceRow price,
               catalog_.price({.provider = node.provider,
                               .instance_type = node.instance_type,
                               .region = region,
                               .market = market,
                               .term = market == Market::kReserved ? CommitmentTerm::kOneYear : CommitmentTerm::kNone}));
    node.region = price.region;
    node.market = market;
    node.rate = price.rate;
    node.prices = -1;
    return {};
  }

  void switch_off(NodeId node, const WeekHours& off, Interval within) {
    const auto is_off = [&](Instant t) {
      return off[static_cast<size_t>(weekday(t)) * 24 + static_cast<size_t>(to_civil(t).hour)];
    };
    std::vector<Interval> known;
    for (const Outage& o : w_.outages)
      if (o.node == node) known.push_back({o.notice, o.up});
    for (Instant t = within.begin; t < within.end;) {
      const Instant begin = t;
      while (t < within.end && is_off(t))
        t = t + kHour;
      if (t == begin) {
        t = t + kHour;
        continue;
      }
      if (std::ranges::none_of(known, [&](Interval k) { return k.begin < t && begin < k.end; }))
        w_.outages.push_back({.node = node, .cause = OutageCause::kMaintenance, .notice = begin, .down = begin, .up = t});
    }
  }

  Workload& w_;
  const Catalog& catalog_;
};

}  // namespace

Status apply_change(Workload& workload, const Change& change, const Catalog& catalog) {
  Workload changed = workload;
  TRY(std::visit(Applier(changed, catalog), change));
  TRY(check_workload(changed));
  workload = std::move(changed);
  return {};
}

}  // namespace stint::sim
