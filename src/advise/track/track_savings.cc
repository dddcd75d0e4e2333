#include "advise/track/track_savings.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "advise/presence.h"
#include "advise/thresholds.h"
#include "ledger/node_hours.h"

namespace stint {
namespace {

constexpr int64_t kWeeksBefore = 4;
/// Telemetry that knows less of what was held than this is not trusted to say how much was active.
constexpr double kWellWatched = 0.9;
/// A line longer than this, over the moment of the change, cannot be told apart by time.
constexpr Duration kFineLine = Duration::hours(48);
constexpr double kCoarseShare = 0.1;
constexpr double kDemandMoved = 0.2;

using NodeSet = std::set<uint32_t>;

/// What a set of nodes cost and did.
struct MeasuredWeeks {
  CostAndWork active, held;
  double known = 0;  ///< of the GPU-hours held, those telemetry knows of
};

/// Changes that are measured together.
struct TrackedGroup {
  std::vector<const AppliedChange*> changes;
  std::set<std::string> names;
  Instant first_applied, last_applied;
  std::optional<Instant> undone;

  void add(const AppliedChange& c, const std::set<std::string>& of) {
    first_applied = changes.empty() ? c.applied_at : std::min(first_applied, c.applied_at);
    last_applied = changes.empty() ? c.applied_at : std::max(last_applied, c.applied_at);
    if (c.undone_at) undone = undone ? std::min(*undone, *c.undone_at) : *c.undone_at;
    changes.push_back(&c);
    names.insert(of.begin(), of.end());
  }
};

std::set<std::string> names_of(const AppliedChange& change) {
  std::set<std::string> names;
  for (const Change& c : change.proposal.changes)
    names.insert(nodes_of(c).begin(), nodes_of(c).end());
  for (const auto& node : change.undo.nodes)
    names.insert(node.name);
  return names;
}

bool meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& name) { return b.contains(name); });
}

/// In order of application; each joins the group it cannot be told apart from.
std::vector<TrackedGroup> groups_of(std::span<const AppliedChange> applied) {
  std::vector<const AppliedChange*> order;
  for (const AppliedChange& c : applied)
    order.push_back(&c);
  std::ranges::stable_sort(order, {}, [](const AppliedChange* c) { return std::pair(c->applied_at, c->number); });
  std::vector<TrackedGroup> groups;
  for (const AppliedChange* change : order) {
    const std::set<std::string> names = names_of(*change);
    TrackedGroup joined;
    for (size_t g = 0; g < groups.size();) {
      const bool together = meet(groups[g].names, names) && change->applied_at - groups[g].last_applied < kWeekLength &&
                            !(groups[g].undone && *groups[g].undone <= change->applied_at);
      if (!together) {
        ++g;
        continue;
      }
      for (const AppliedChange* earlier : groups[g].changes)
        joined.add(*earlier, names_of(*earlier));
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(g));
    }
    joined.add(*change, names);
    groups.push_back(std::move(joined));
  }
  for (TrackedGroup& group : groups)
    std::ranges::sort(group.changes, {}, &AppliedChange::number);
  std::ranges::sort(groups, {}, [](const TrackedGroup& g) { return g.changes.front()->number; });
  return groups;
}

class Tracker {
 public:
  explicit Tracker(const TrackInput& input)
      : in_(input), node_hours_(NodeHours::build(input.history, input.occupancy, TenantId())) {
    for (uint32_t n = 0; n < in_.history.nodes.size(); ++n)
      ids_.emplace(in_.history.nodes[n].name, n);
    first_sign_.assign(in_.history.nodes.size(), in_.history.period.end);
    look_at_bill();
    look_at_hours();
    look_at_presence();
  }

  TrackedSaving track(const TrackedGroup& group, const std::vector<TrackedGroup>& all) {
    TrackedSaving out;
    promise(group, out);
    if (!choose_weeks(group, all, out)) return out;
    NodeSet nodes = nodes_of_group(group, out);
    measure(group, nodes, out);
    const bool work_left =
        !is_idle(out.before) && out.after.gpu_hours * hours(out.before) < 0.5 * out.before.gpu_hours * hours(out.after);
    if (work_left && !follow_the_work(group, nodes, out)) return out;
    for (const uint32_t n : nodes)
      out.nodes.push_back(in_.history.nodes[n].name);
    if (!is_comparable(nodes, out)) return out;
    out.price_index = price_index(nodes, out);
    out.realised = realised_saving(out.before, out.after, out.price_index);
    out.interval = realised_interval(by_week(group, nodes, out, out.before_period), by_week(group, nodes, out, out.after_period),
                                     out.price_index);
    judge(group, out);
    return out;
  }

 private:
  /// From when to when the bill speaks of machines.
  void look_at_bill() {
    const Ledger& ledger = in_.ledger;
    Interval billed = {in_.history.period.end, in_.history.period.begin};
    for (size_t i = 0; i < ledger.lines.size(); ++i) {
      if (!is_of_node(i)) continue;
      const Interval line = ledger.lines[i].charge_period;
      Instant& first = first_sign_[ledger.line_nodes[i].index()];
      first = std::min(first, line.begin);
      if (ledger.synthesised[i]) continue;
      billed.begin = std::min(billed.begin, line.begin);
      billed.end = std::max(billed.end, line.end);
    }
    has_bill_ = !billed.empty();
    known_ = has_bill_ ? intersect(billed, in_.history.period) : in_.history.period;
  }

  /// From when to when anybody knows who worked; without that, hours that are billed would look like hours without work.
  void look_at_hours() {
    int64_t first = in_.history.period.end.hour_index();
    int64_t last = in_.history.period.begin.hour_index();
    for (uint32_t n = 0; n < in_.history.nodes.size(); ++n)
      for (const NodeHours::Hour& hour : node_hours_.of(NodeId(n))) {
        first_sign_[n] = std::min(first_sign_[n], Instant::from_hour_index(hour.hour_index));
        const bool seen = std::ranges::any_of(node_hours_.buckets(hour), [&](const NodeHours::Bucket& b) {
          return node_hours_.keys()[b.key].cause != IdleCause::kTelemetryMissing;
        });
        if (!seen) continue;
        first = std::min(first, hour.hour_index);
        last = std::max(last, hour.hour_index + 1);
      }
    known_ = intersect(known_, {Instant::from_hour_index(first), Instant::from_hour_index(last)});
  }

  /// An inventory's dates run on over nights in which a machine is off, and its owner holds it then, too. Whoever bills it knows better.
  void look_at_presence() {
    const Interval period = in_.history.period;
    if (period.empty()) return;
    FleetFacts fleet{.period = period,
                     .months = BillingMonths(period),
                     .currency = in_.ledger.total().currency(),
                     .first_hour = period.begin.hour_index(),
                     .nodes = {}};
    fleet.hour_count = static_cast<size_t>((period.end - Duration::nanoseconds(1)).hour_index() + 1 - fleet.first_hour);
    for (uint32_t n = 0; n < in_.history.nodes.size(); ++n) {
      NodeFacts& node = fleet.nodes.emplace_back();
      node.id = NodeId(n);
      node.timeline.resize(fleet.hour_count);
      for (const NodeHours::Hour& hour : node_hours_.of(node.id))
        if (std::ranges::any_of(node_hours_.buckets(hour), [&](const auto& bucket) { return is_seen(bucket); }))
          node.timeline[static_cast<size_t>(hour.hour_index - fleet.first_hour)].seen_s = 3600;
    }
    add_presence(fleet, node_hours_, in_.ledger);
    first_hour_ = fleet.first_hour;
    for (const NodeFacts& node : fleet.nodes) {
      std::vector<bool>& there = there_.emplace_back();
      for (const NodeHour& hour : node.timeline)
        there.push_back(hour.on_s > 0);
    }
  }

  bool is_seen(const NodeHours::Bucket& bucket) const {
    const NodeHours::Key& key = node_hours_.keys()[bucket.key];
    return key.activity_known && key.cause != IdleCause::kTelemetryMissing;
  }

  static double hours(const CostAndWork& c) { return c.length.to_hours(); }
  static bool is_idle(const CostAndWork& c) { return c.gpu_hours <= kIdleShare * c.gpu_hours_there; }

  bool is_of_node(size_t line) const {
    return in_.ledger.line_nodes[line].valid() && in_.ledger.lines[line].spend == SpendKind::kCompute;
  }

  static void promise(const TrackedGroup& group, TrackedSaving& out) {
    for (const AppliedChange* c : group.changes) {
      out.numbers.push_back(c->number);
      if (c->cost) out.cost = out.cost ? *out.cost + *c->cost : *c->cost;
    }
    std::optional<Money> sum, low, high;
    for (const AppliedChange* c : group.changes) {
      const Proposal& p = c->proposal;
      if (!p.saving_per_month) {
        out.notes.push_back(
            fmt::format("change {} came without a promise: give one with --saving when it is applied", c->number));
        return;
      }
      sum = sum ? *sum + *p.saving_per_month : *p.saving_per_month;
      low = (low ? *low : Money::nanos(0, sum->currency())) + p.saving_low.value_or(*p.saving_per_month);
      high = (high ? *high : Money::nanos(0, sum->currency())) + p.saving_high.value_or(*p.saving_per_month);
    }
    out.promised_per_month = sum;
    const bool bounded =
        std::ranges::any_of(group.changes, [](const AppliedChange* c) { return c->proposal.saving_low.has_value(); });
    if (bounded) {
      out.promised_low = low;
      out.promised_high = high;
    }
  }

  /// @return false when there is not a week on either side; the notes then say until when to wait.
  bool choose_weeks(const TrackedGroup& group, const std::vector<TrackedGroup>& all, TrackedSaving& out) const {
    Instant from = known_.begin;
    const Instant until = known_.end;
    Instant other_until = until;
    for (const TrackedGroup& other : all) {
      if (&other == &group || !meet(other.names, group.names)) continue;
      if (other.first_applied >= group.last_applied) other_until = std::min(other_until, other.first_applied);
      if (other.undone && *other.undone >= group.last_applied) other_until = std::min(other_until, *other.undone);
      if (other.last_applied <= group.first_applied) from = std::max(from, other.last_applied);
      if (other.undone && *other.undone <= group.first_applied) from = std::max(from, *other.undone);
    }
    if (group.undone) other_until = std::min(other_until, *group.undone);
    const Instant applied = whole_hour(group.first_applied);
    const Instant begun = whole_hour(group.last_applied);
    const int64_t before = std::min(kWeeksBefore, (applied - from).count_ns() / kWeekLength.count_ns());
    const int64_t after = (std::min(until, other_until) - begun).count_ns() / kWeekLength.count_ns();
    if (before < 1)
      out.notes.push_back(
          fmt::format("not enough from before: bills and telemetry of a week until {} are needed, the History has "
                      "them from {}",
                      format_utc(applied), format_utc(from)));
    if (after < 1 && other_until < begun + kWeekLength && other_until < until)
      out.notes.push_back(fmt::format("it ended, or another change to its nodes began, at {}: within a week nothing can be said",
                                      format_utc(other_until)));
    else if (after < 1)
      out.notes.push_back(fmt::format("not enough later bill: bill, jobs and telemetry reach until {}; import what reaches {}",
                                      format_utc(until), format_utc(begun + kWeekLength)));
    if (before < 1 || after < 1) return false;
    out.before_period = {applied - kWeekLength * before, applied};
    out.after_period = {begun, begun + kWeekLength * after};
    if (!has_bill_) out.notes.emplace_back("there is no bill: cost is hours × price, and says nothing about discounts");
    return true;
  }

  static Instant whole_hour(Instant t) { return t.hour_start() == t ? t : t.hour_start() + kHour; }

  NodeSet nodes_of_group(const TrackedGroup& group, TrackedSaving& out) const {
    NodeSet nodes;
    std::vector<std::string> unknown;
    for (const std::string& name : group.names)
      if (const auto it = ids_.find(name); it != ids_.end())
        nodes.insert(it->second);
      else
        unknown.push_back(name);
    for (const AppliedChange* change : group.changes)
      for (const Change& c : change->proposal.changes)
        if (nodes_of(c).empty()) add_by_type(c, nodes);
    const std::set<uint32_t> tenants = tenants_of(nodes, out.before_period);
    for (const uint32_t n : used_by(tenants, out.after_period))
      if (first_sign_[n] >= group.first_applied - Duration::hours(24)) nodes.insert(n);
    if (!unknown.empty())
      out.notes.push_back(fmt::format("nothing is recorded of {}{}", unknown.front(),
                                      unknown.size() > 1 ? fmt::format(" and {} more nodes", unknown.size() - 1) : ""));
    return nodes;
  }

  /// A commitment that names no nodes covers all of its type, a savings plan all it has rates for.
  void add_by_type(const Change& change, NodeSet& nodes) const {
    const auto* commit = std::get_if<Commit>(&change);
    const auto* plan = std::get_if<SavingsPlan>(&change);
    for (uint32_t n = 0; n < in_.history.nodes.size(); ++n) {
      const Node& node = in_.history.nodes[n];
      if ((commit != nullptr && node.instance_type == commit->instance_type &&
           (commit->region.empty() || node.region == commit->region)) ||
          (plan != nullptr && node.provider == plan->provider && rate_of(*plan, node.region, node.instance_type) != nullptr))
        nodes.insert(n);
    }
  }

  /// It alters what an hour costs, and nothing of what is done in it.
  static bool is_of_price(const TrackedGroup& group) {
    return std::ranges::all_of(group.changes, [](const AppliedChange* change) {
      return std::ranges::all_of(change->proposal.changes, [](const Change& c) {
        return std::holds_alternative<SwitchMarket>(c) || std::holds_alternative<Commit>(c) ||
               std::holds_alternative<SavingsPlan>(c) || std::holds_alternative<MoveRegion>(c);
      });
    });
  }

  void measure(const TrackedGroup& group, const NodeSet& nodes, TrackedSaving& out) const {
    const MeasuredWeeks before = measured(group, nodes, out.before_period);
    const MeasuredWeeks after = measured(group, nodes, out.after_period);
    const auto well_watched = [](const MeasuredWeeks& m) {
      return m.held.gpu_hours <= 0 || m.known >= kWellWatched * m.held.gpu_hours;
    };
    out.measure = well_watched(before) && well_watched(after) ? WorkMeasure::kActive : WorkMeasure::kHeld;
    out.before = out.measure == WorkMeasure::kActive ? before.active : before.held;
    out.after = out.measure == WorkMeasure::kActive ? after.active : after.held;
    if (!is_of_price(group)) return;
    out.measure = WorkMeasure::kBought;
    out.before.gpu_hours = out.before.gpu_hours_there;
    out.after.gpu_hours = out.after.gpu_hours_there;
  }

  /// As measure() chose, week by week.
  std::vector<CostAndWork> by_week(const TrackedGroup& group, const NodeSet& nodes, const TrackedSaving& out,
                                   Interval period) const {
    std::vector<CostAndWork> weeks;
    for (Instant begin = period.begin; begin < period.end; begin = begin + kWeekLength) {
      const MeasuredWeeks of_week = measured(group, nodes, {begin, begin + kWeekLength});
      weeks.push_back(out.measure == WorkMeasure::kActive ? of_week.active : of_week.held);
      if (out.measure == WorkMeasure::kBought) weeks.back().gpu_hours = weeks.back().gpu_hours_there;
    }
    return weeks;
  }

  MeasuredWeeks measured(const TrackedGroup& group, const NodeSet& nodes, Interval period) const {
    MeasuredWeeks out;
    int64_t held = 0;
    int64_t active = 0;
    int64_t known = 0;
    int64_t there = 0;
    constexpr int64_t kThousandth = kGpuHourWeight / 1000;  // a year of a large fleet in nano-hours would not fit
    for (const uint32_t n : nodes)
      for (const NodeHours::Hour& hour : node_hours_.of(NodeId(n), period))
        for (const NodeHours::Bucket& bucket : node_hours_.buckets(hour)) {
          if (!there_[n][static_cast<size_t>(hour.hour_index - first_hour_)] && !is_seen(bucket)) continue;
          const NodeHours::Key& key = node_hours_.keys()[bucket.key];
          const int64_t weight = weight_within(bucket.weight, hour.hour_index, period) / kThousandth;
          there += weight;
          if (key.cause != IdleCause::kNone && key.cause != IdleCause::kInactive) continue;
          held += weight;
          if (key.activity_known) known += weight;
          if (key.activity_known && key.cause == IdleCause::kNone) active += weight;
        }
    Money cost = Money::nanos(0, in_.ledger.total().currency());
    for (size_t i = 0; i < in_.ledger.lines.size(); ++i)
      if (is_about(group, nodes, i)) cost += part_within(i, period);
    const auto gpu_hours = [](int64_t thousandths) { return static_cast<double>(thousandths) / 1000; };
    out.active = {.length = period.length(), .cost = cost, .gpu_hours = gpu_hours(active), .gpu_hours_there = gpu_hours(there)};
    out.held = out.active;
    out.held.gpu_hours = gpu_hours(held);
    out.known = gpu_hours(known);
    return out;
  }

  /// Lines of the nodes; of a commitment, what of it was not used as well.
  bool is_about(const TrackedGroup& group, const NodeSet& nodes, size_t i) const {
    if (is_of_node(i)) return nodes.contains(static_cast<uint32_t>(in_.ledger.line_nodes[i].index()));
    const BillLine& line = in_.ledger.lines[i];
    if (!line.commitment_unused) return false;
    return std::ranges::any_of(group.changes, [&](const AppliedChange* change) {
      return std::ranges::any_of(change->proposal.changes, [&](const Change& c) {
        // No use is in the line of what a savings plan did not cover, and so no type.
        if (const auto* plan = std::get_if<SavingsPlan>(&c))
          return line.instance_type.empty() && (line.provider.empty() || line.provider == plan->provider);
        const auto* commit = std::get_if<Commit>(&c);
        return commit != nullptr && line.instance_type == commit->instance_type &&
               (commit->region.empty() || line.region == commit->region);
      });
    });
  }

  Money part_within(size_t i, Interval period) const {
    const Interval whole = in_.ledger.lines[i].charge_period;
    const Interval common = intersect(whole, period);
    const Money amount = in_.ledger.line_amounts[i];
    if (whole.empty()) return period.contains(whole.begin) ? amount : Money::nanos(0, amount.currency());
    if (common.empty()) return Money::nanos(0, amount.currency());
    return scale(amount, common.length().whole_seconds(), std::max<int64_t>(1, whole.length().whole_seconds()));
  }

  /// Ids into occupancy.tenants, without the empty one.
  std::set<uint32_t> tenants_of(const NodeSet& nodes, Interval period) const {
    std::set<uint32_t> tenants;
    for (const uint32_t n : nodes)
      for (const NodeHours::Hour& hour : node_hours_.of(NodeId(n), period))
        for (const NodeHours::Bucket& bucket : node_hours_.buckets(hour)) {
          const NodeHours::Key& key = node_hours_.keys()[bucket.key];
          if (key.tenant.valid() && can_be_billed(in_.occupancy.tenants[key.tenant]))
            tenants.insert(static_cast<uint32_t>(key.tenant.index()));
        }
    return tenants;
  }

  NodeSet used_by(const std::set<uint32_t>& tenants, Interval period) const {
    NodeSet nodes;
    for (uint32_t n = 0; n < in_.history.nodes.size(); ++n)
      if (std::ranges::any_of(tenants_of({n}, period), [&](uint32_t t) { return tenants.contains(t); })) nodes.insert(n);
    return nodes;
  }

  /// @return false when nothing tells a fall in demand from work that went elsewhere.
  bool follow_the_work(const TrackedGroup& group, NodeSet& nodes, TrackedSaving& out) const {
    const std::set<uint32_t> tenants = tenants_of(nodes, out.before_period);
    if (tenants.empty()) {
      out.notes.emplace_back(
          "most of the work left these nodes, and nothing says whose it was: it may have moved or ended; import jobs, pod labels "
          "or an inventory with clients");
      return false;
    }
    for (const Interval& period : {out.before_period, out.after_period})
      nodes.merge(used_by(tenants, period));
    out.all_of_tenants = true;
    out.notes.emplace_back("most of the work left these nodes: all nodes of those who used them are compared");
    measure(group, nodes, out);
    return true;
  }

  bool is_comparable(const NodeSet& nodes, TrackedSaving& out) const {
    if (out.before.cost.count_nanos() <= 0) {
      out.notes.emplace_back("these nodes cost nothing before, as far as bill and prices say: nothing to compare with");
      return false;
    }
    Money coarse = Money::nanos(0, out.before.cost.currency());
    for (size_t i = 0; i < in_.ledger.lines.size(); ++i) {
      const Interval line = in_.ledger.lines[i].charge_period;
      if (!is_of_node(i) || !nodes.contains(static_cast<uint32_t>(in_.ledger.line_nodes[i].index()))) continue;
      if (line.length() > kFineLine && line.begin < out.after_period.begin && line.end > out.before_period.end)
        coarse += in_.ledger.line_amounts[i];
    }
    if (coarse.to_double() > kCoarseShare * out.before.cost.to_double()) {
      out.notes.emplace_back(
          "the bill has lines of more than two days that run over the moment of the change: import a bill by the hour or by the "
          "day");
      return false;
    }
    if (!is_idle(out.before) && out.after.gpu_hours <= 0) {
      out.notes.emplace_back("no work is recorded after the change: without work there is no cost of it to compare");
      return false;
    }
    return true;
  }

  /// Each kind of machine of before weighs as much as it cost.
  double price_index(const NodeSet& nodes, TrackedSaving& out) const {
    using Kind = std::tuple<std::string, std::string, std::string, Market>;
    struct Prices {
      double before = 0, after = 0, weight = 0;
      int64_t lines_before = 0, lines_after = 0;
    };
    std::map<Kind, Prices> kinds;
    for (size_t i = 0; i < in_.ledger.lines.size(); ++i) {
      const BillLine& line = in_.ledger.lines[i];
      if (!is_of_node(i) || in_.ledger.synthesised[i] || line.instance_type.empty()) continue;
      const Instant middle = line.charge_period.begin + Duration::nanoseconds(line.charge_period.length().count_ns() / 2);
      Prices& prices = kinds[{line.provider, line.region, line.instance_type, line.market}];
      if (out.before_period.contains(middle) && nodes.contains(static_cast<uint32_t>(in_.ledger.line_nodes[i].index())))
        prices.weight += in_.ledger.line_amounts[i].to_double();
      if (!line.list_unit_price) continue;
      const double price = line.list_unit_price->per_hour().to_double();
      if (out.before_period.contains(middle)) prices.before += price, ++prices.lines_before;
      if (out.after_period.contains(middle)) prices.after += price, ++prices.lines_after;
    }
    double then = 0;
    double now = 0;
    double known = 0;
    for (const auto& [kind, p] : kinds) {
      const bool tells = p.lines_before > 0 && p.lines_after > 0 && p.before > 0;
      const double ratio =
          tells ? (p.after / static_cast<double>(p.lines_after)) / (p.before / static_cast<double>(p.lines_before)) : 1;
      then += p.weight;
      now += p.weight * ratio;
      known += tells ? p.weight : 0;
    }
    if (then <= 0 || known < 0.5 * then)
      out.notes.emplace_back("whether prices changed is not known: the bill has no unit prices of the same machines after it");
    return then > 0 && now > 0 ? now / then : 1;
  }

  static void judge(const TrackedGroup& group, TrackedSaving& out) {
    const RealisedSaving& r = *out.realised;
    if (out.promised_per_month && out.promised_per_month->currency() == r.per_month.currency())
      out.verdict = verdict_of(r.per_month, *out.promised_per_month, out.promised_low);
    if (out.cost && out.cost->count_nanos() > 0 && out.cost->currency() == r.per_month.currency())
      out.on_cost = return_on(*out.cost, r.per_month_now, out.after_period.length());
    if (group.changes.size() > 1) out.notes.emplace_back("several changes to the same nodes within a week: measured together");
    if (r.idle_before) {
      out.notes.emplace_back("next to no work was done there before: the saving is what the bill fell by");
      return;
    }
    const double demand = (out.after.gpu_hours / hours(out.after)) / (out.before.gpu_hours / hours(out.before)) - 1;
    if (demand > kDemandMoved || demand < -kDemandMoved)
      out.notes.push_back(fmt::format("{} {} by {:.0f} %: cost is taken to follow; had it not, the saving were {} a month",
                                      out.measure == WorkMeasure::kBought ? "hours bought" : "demand",
                                      demand > 0 ? "rose" : "fell", 100 * (demand > 0 ? demand : -demand),
                                      r.bill_falls_per_month.to_text()));
    const bool other_type = std::ranges::any_of(group.changes, [](const AppliedChange* c) {
      return std::ranges::any_of(c->proposal.changes, [](const Change& x) { return std::holds_alternative<ResizeNodes>(x); });
    });
    if (other_type) out.notes.emplace_back("GPU-hours of the old and the new type count alike, whatever they get done");
  }

  const TrackInput& in_;
  NodeHours node_hours_;
  std::map<std::string, uint32_t, std::less<>> ids_;
  std::vector<Instant> first_sign_;  ///< of each node, on the bill or at work
  Interval known_;                   ///< what both a bill (where there is one) and hours of work cover
  bool has_bill_ = false;
  int64_t first_hour_ = 0;
  std::vector<std::vector<bool>> there_;  ///< by node and hour since first_hour_, by its bill where it has one
};

}  // namespace

std::string_view name_of(WorkMeasure m) {
  constexpr std::array<std::string_view, 3> kNames = {"active GPU-hours (telemetry)", "GPU-hours held by jobs",
                                                      "GPU-hours bought"};
  return kNames[static_cast<size_t>(m)];
}

std::vector<TrackedSaving> track_savings(const TrackInput& input) {
  const std::vector<TrackedGroup> groups = groups_of(input.applied);
  std::vector<TrackedSaving> out;
  if (groups.empty()) return out;
  Tracker tracker(input);
  for (const TrackedGroup& group : groups)
    out.push_back(tracker.track(group, groups));
  return out;
}

}  // namespace stint
