#include "sim/apply_change.h"

#include <algorithm>
#include <map>

#include "sim/apply_change_parts.h"
#include "sim/fleet_text.h"

namespace stint::sim {
namespace {

constexpr Duration kWeek = Duration::hours(168);

class Applier {
 public:
  Applier(Workload& workload, const ChangeSettings& settings) : w_(workload), settings_(settings), catalog_(*settings.catalog) {}

  Result<Notes> operator()(const StopNodes& c) {
    std::vector<std::string> at_once;
    Notes notes;
    for (const std::string& name : c.nodes) {
      const auto at = settings_.stopped_at.find(name);
      if (at == settings_.stopped_at.end()) {
        at_once.push_back(name);
        continue;
      }
      TRY_ASSIGN(const std::vector<uint32_t> node, find_nodes(w_, {name}));
      const Interval after[] = {{at->second, std::max(at->second, horizon_of(w_))}};
      add_maintenance(w_, NodeId(node.front()), after);
      notes.push_back(
          fmt::format("{} is given back on {}, when its last work had ended: the replay saves what it cost after that", name,
                      format_date(at->second)));
    }
    if (!at_once.empty() || c.nodes.empty()) TRY(remove_nodes(w_, at_once, WhenEmpty::kError));
    return notes;
  }

  Result<Notes> operator()(const ScheduleOff& c) {
    if (c.off.all()) return invalid("schedule-off for all hours of the week: use stop");
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w_, c.nodes));
    const Interval within = {submissions_of(w_).begin.hour_start(), horizon_of(w_)};
    for (const uint32_t node : nodes)
      switch_off(NodeId(node), c.off, within);
    return Notes();
  }

  Result<Notes> operator()(const ResizeNodes& c) {
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w_, c.nodes));
    const SimNode old = w_.nodes[nodes.front()];
    for (const uint32_t node : nodes)
      if (w_.nodes[node].market != old.market) return invalid("resize: the nodes are on several markets");
    if (!is_rented(old.market))
      return invalid("resize: node '{}' is not rented, the catalogue has no price for it", old.node.name);
    const std::string& region = c.to_region.empty() ? old.region : c.to_region;
    TRY_ASSIGN(std::vector<SimNode> fresh, parse_fleet(fmt::format("{}x{}{}{}:{}", c.to_count, c.to_instance_type,
                                                                   region.empty() ? "" : "@", region, name_of(old.market)),
                                                       catalog_));
    const std::vector<Presence> there = stand_in_for_all(w_, nodes, std::min(fresh.size(), nodes.size()));
    for (size_t i = 0; i < there.size(); ++i) {
      // In the place of another, under its name: a later change of the same plan means it.
      fresh[i].node.name = w_.nodes[nodes[i]].node.name;
      fresh[i].node.labels = w_.nodes[nodes[i]].node.labels;
    }
    TRY(remove_nodes(w_, c.nodes, WhenEmpty::kAllowed));
    for (size_t i = 0; i < fresh.size(); ++i) {
      if (i >= there.size()) fresh[i].node.name = fmt::format("{} for {} {}", c.to_instance_type, old.node.name, i + 1);
      w_.nodes.push_back(fresh[i]);
      if (i < there.size()) set_presence(w_, NodeId(static_cast<uint32_t>(w_.nodes.size() - 1)), there[i]);
    }
    // Who ran on the old model moves along.
    for (sched::Request& request : w_.requests)
      if (std::ranges::find(request.gpu_models, old.node.gpu_model) != request.gpu_models.end())
        request.gpu_models.push_back(fresh.front().node.gpu_model);
    return Notes{"jobs run as long on the other type as they did: differences in speed are not counted"};
  }

  Result<Notes> operator()(const SwitchMarket& c) {
    if (!is_rented(c.to)) return invalid("switch-market: {} is not a market one switches to", name_of(c.to));
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w_, c.nodes));
    std::vector<Rate> before;
    for (const uint32_t node : nodes) {
      before.push_back(w_.nodes[node].rate);
      TRY(reprice(w_.nodes[node], w_.nodes[node].region, c.to));
    }
    if (c.to == Market::kSpot) return apply_spot(w_, c, settings_, before);
    return Notes();
  }

  Result<Notes> operator()(const MoveRegion& c) {
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w_, c.nodes));
    for (const uint32_t node : nodes)
      TRY(reprice(w_.nodes[node], c.to_region, w_.nodes[node].market));
    return Notes{"data that must follow is not counted: neither its transfer nor its time"};
  }

  Result<Notes> operator()(const LimitReservation& c) {
    if (c.to <= Duration()) return invalid("limit-reservation: the new length must be above 0");
    bool found = false;
    for (SimJob& job : w_.jobs) {
      // Jobs of a History are called "name (id)".
      if (job.name != c.workload && !job.name.starts_with(c.workload + " (")) continue;
      found = true;
      job.run_time = std::min(job.run_time, c.to);
      job.spec.time_limit = std::min(job.spec.time_limit, c.to);
    }
    if (!found) return invalid("limit-reservation: no job is called '{}'", c.workload);
    if (c.nodes.empty()) return Notes();
    TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w_, c.nodes));
    bool cut = false;
    for (const uint32_t node : nodes)
      cut |= give_back_after(NodeId(node), c.to);
    if (!cut) return Notes();
    return Notes{fmt::format("each time the machines come they are given back after {:.3g} h", c.to.to_hours())};
  }

  Result<Notes> operator()(const ShareGpus& c) { return apply_share(w_, c); }
  Result<Notes> operator()(const Commit& c) { return apply_commit(w_, c, settings_); }
  Result<Notes> operator()(const SavingsPlan& c) { return apply_savings_plan(w_, c); }
  Result<Notes> operator()(const MoveOffGpu& c) { return apply_move_off(w_, c, settings_); }

 private:
  static bool is_rented(Market m) { return m == Market::kOnDemand || m == Market::kSpot || m == Market::kReserved; }

  Status reprice(SimNode& node, const std::string& region, Market market) {
    if (node.instance_type.empty())
      return invalid("node '{}' has no instance type: the catalogue has no price for it", node.node.name);
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
    std::vector<Interval> times;
    for (Instant t = within.begin; t < within.end;) {
      const Instant begin = t;
      while (t < within.end && is_off(t))
        t = t + kHour;
      if (t == begin)
        t = t + kHour;
      else
        times.push_back({begin, t});
    }
    add_maintenance(w_, node, times);
  }

  /// A node that comes and goes is there for `most` at a time. @return whether it comes and goes.
  bool give_back_after(NodeId node, Duration most) {
    const std::vector<Interval> away = maintenance_of(w_, node);
    std::vector<Interval> times;
    for (size_t i = 0; i < away.size(); ++i) {
      const Instant comes = away[i].end;
      const Instant goes = i + 1 < away.size() ? away[i + 1].begin : horizon_of(w_);
      if (comes + most < goes) times.push_back({comes + most, goes});
    }
    add_maintenance(w_, node, times);
    return !away.empty();
  }

  Workload& w_;
  const ChangeSettings& settings_;
  const Catalog& catalog_;
};

}  // namespace

Result<std::vector<uint32_t>> find_nodes(const Workload& w, const std::vector<std::string>& names) {
  std::vector<uint32_t> found;
  for (const std::string& name : names) {
    const auto it = std::ranges::find(w.nodes, name, [](const SimNode& n) { return n.node.name; });
    if (it == w.nodes.end()) return invalid("no node '{}' in the workload", name);
    found.push_back(static_cast<uint32_t>(it - w.nodes.begin()));
  }
  if (found.empty()) return invalid("the change names no node");
  return found;
}

Status remove_nodes(Workload& w, const std::vector<std::string>& names, WhenEmpty when_empty) {
  TRY_ASSIGN(const std::vector<uint32_t> gone, find_nodes(w, names));
  std::vector<NodeId> now(w.nodes.size());
  std::vector<SimNode> kept;
  for (uint32_t i = 0; i < w.nodes.size(); ++i) {
    if (std::ranges::find(gone, i) != gone.end()) continue;
    now[i] = NodeId(static_cast<uint32_t>(kept.size()));
    kept.push_back(std::move(w.nodes[i]));
  }
  if (kept.empty() && when_empty == WhenEmpty::kError) return invalid("stop: no node would be left");
  w.nodes = std::move(kept);
  std::erase_if(w.outages, [&](const Outage& o) { return !now[o.node.index()].valid(); });
  for (Outage& outage : w.outages)
    outage.node = now[outage.node.index()];
  return {};
}

std::vector<Interval> maintenance_of(const Workload& w, NodeId node) {
  std::vector<Interval> away;
  for (const Outage& o : w.outages)
    if (o.node == node && o.cause == OutageCause::kMaintenance) away.push_back({o.notice, o.up});
  std::ranges::sort(away, {}, &Interval::begin);
  return away;
}

void add_maintenance(Workload& w, NodeId node, std::span<const Interval> times) {
  const std::vector<Interval> away = maintenance_of(w, node);
  std::vector<Interval> others;
  for (const Outage& o : w.outages)
    if (o.node == node && o.cause != OutageCause::kMaintenance) others.push_back({o.notice, o.up});
  const auto add = [&](Instant begin, Instant end) {
    if (begin < end)
      w.outages.push_back({.node = node, .cause = OutageCause::kMaintenance, .notice = begin, .down = begin, .up = end});
  };
  for (const Interval& when : times) {
    if (std::ranges::any_of(others, [&](Interval o) { return o.begin < when.end && when.begin < o.end; })) continue;
    Instant begin = when.begin;
    for (const Interval& known : away) {
      if (known.end <= begin || known.begin >= when.end) continue;
      add(begin, known.begin);
      begin = known.end;
    }
    add(begin, when.end);
  }
}

std::vector<Presence> stand_in_for_all(const Workload& w, std::span<const uint32_t> nodes, size_t count) {
  std::vector<Presence> of_each;
  for (const uint32_t n : nodes)
    of_each.push_back({w.nodes[n].present_from, w.nodes[n].present_until, maintenance_of(w, NodeId(n))});
  if (count >= nodes.size()) return of_each;
  std::map<Instant, int64_t> changes;  // machines that come less machines that go
  for (const Presence& p : of_each) {
    ++changes[p.from];
    --changes[p.until];
    for (const Interval& away : p.away) {
      const Interval missed = intersect(away, {p.from, p.until});
      if (missed.empty()) continue;
      --changes[missed.begin];
      ++changes[missed.end];
    }
  }
  const Interval all = {changes.begin()->first, changes.rbegin()->first};
  std::vector<Presence> stand_ins;
  for (size_t k = 0; k < count; ++k) {
    Presence& p = stand_ins.emplace_back(Presence{all.end, all.begin, {}});
    int64_t there = 0;
    bool was_there = false;
    for (const auto& [at, more] : changes) {
      there += more;
      const bool is_there = there > static_cast<int64_t>(k);
      if (is_there && !was_there) {
        if (p.until > all.begin) p.away.push_back({p.until, at});
        p.from = std::min(p.from, at);
      }
      if (was_there && !is_there) p.until = at;
      was_there = is_there;
    }
    if (p.until <= p.from) p = {all.begin, all.end, {all}};
  }
  return stand_ins;
}

void set_presence(Workload& w, NodeId node, const Presence& presence) {
  w.nodes[node.index()].present_from = presence.from;
  w.nodes[node.index()].present_until = presence.until;
  std::erase_if(w.outages, [&](const Outage& o) { return o.node == node && o.cause == OutageCause::kMaintenance; });
  add_maintenance(w, node, presence.away);
}

Instant horizon_of(const Workload& w) {
  Duration longest;
  double gpu_hours = 0;
  double gpus = 0;
  for (const SimJob& job : w.jobs) {
    longest = std::max(longest, job.run_time);
    gpu_hours += job.run_time.to_hours() * static_cast<double>(gpu_milli_of(w, job)) / sched::kMilli;
  }
  for (const SimNode& node : w.nodes)
    gpus += node.node.gpus;
  constexpr double kMostHours = 20.0 * 366 * 24;
  const double backlog_hours = gpus > 0 ? std::min(2 * gpu_hours / gpus, kMostHours) : 0;
  return submissions_of(w).end + longest + kWeek + Duration::from_seconds(3600 * backlog_hours);
}

sched::RequestId intern_request(Workload& w, const sched::Request& request) {
  const auto it = std::ranges::find(w.requests, request);
  const sched::RequestId id(static_cast<uint32_t>(it - w.requests.begin()));
  if (it == w.requests.end()) w.requests.push_back(request);
  return id;
}

Result<std::vector<std::string>> apply_in_place(Workload& workload, const Change& change, const ChangeSettings& settings) {
  TRY_ASSIGN(Notes notes, std::visit(Applier(workload, settings), change));
  TRY(check_workload(workload));
  return notes;
}

Result<std::vector<std::string>> apply_change(Workload& workload, const Change& change, const ChangeSettings& settings) {
  Workload changed = workload;
  TRY_ASSIGN(Notes notes, apply_in_place(changed, change, settings));
  workload = std::move(changed);
  return notes;
}

}  // namespace stint::sim
