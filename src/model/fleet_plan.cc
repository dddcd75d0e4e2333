#include "model/fleet_plan.h"

#include <algorithm>
#include <tuple>

namespace stint {
namespace {

/// A machine on spot is another one than that on demand: what stops and starts it later must not mean the one given back.
constexpr std::string_view kOnSpot = "-spot";

void buy_on(PlannedNode& node, Market to) {
  // The same whichever way it came there: what two moves come to is what the last one says.
  const bool named = node.resource_id.ends_with(kOnSpot);
  if (to == Market::kSpot && !named)
    node.resource_id += kOnSpot;
  else if (to != Market::kSpot && named)
    node.resource_id.resize(node.resource_id.size() - kOnSpot.size());
  node.market = to;
}

auto kind_of_commitment(const Commit& c) { return std::tie(c.provider, c.region, c.instance_type, c.term, c.payment); }

/// Whether `a` comes before `b` in a FleetPlan; neither before the other: they are one plan, whose commitments add up.
bool comes_before(const SavingsPlan& a, const SavingsPlan& b) {
  const auto head = [](const SavingsPlan& p) { return std::tie(p.provider, p.term, p.payment); };
  if (head(a) != head(b)) return head(a) < head(b);
  if (a.per_hour.currency() != b.per_hour.currency()) return a.per_hour.currency() < b.per_hour.currency();
  const auto rate_before = [](const SavingsPlan::TypeRate& x, const SavingsPlan::TypeRate& y) {
    const auto key = [](const SavingsPlan::TypeRate& r) {
      return std::tuple(std::string_view(r.region), std::string_view(r.instance_type), r.per_hour.currency(),
                        r.per_hour.count_nanos());
    };
    return key(x) < key(y);
  };
  return std::ranges::lexicographical_compare(a.rates, b.rates, rate_before);
}

auto place_of(std::vector<PlannedNode>& nodes, std::string_view name) {
  return std::ranges::lower_bound(nodes, name, {}, [](const PlannedNode& n) -> std::string_view { return n.name; });
}

/// The nodes named, each once. @return error naming the first that is not there.
Result<std::vector<size_t>> places_of(const FleetPlan& fleet, const std::vector<std::string>& names) {
  std::vector<size_t> places;
  for (const std::string& name : names) {
    const PlannedNode* node = fleet.find(name);
    if (node == nullptr) return make_error(ErrorCode::kNotFound, "no node '{}' in the fleet", name);
    const auto place = static_cast<size_t>(node - fleet.nodes.data());
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return places;
}

void remove_nodes(FleetPlan& fleet, const std::vector<std::string>& names) {
  std::erase_if(fleet.nodes, [&](const PlannedNode& n) { return std::ranges::find(names, n.name) != names.end(); });
}

void become(PlannedNode& node, const std::string& instance_type) {
  node.instance_type = instance_type;
  node.gpu_model.clear();
  node.gpu_count = 0;
  node.sharing.clear();
}

void move_to(PlannedNode& node, const std::string& region) {
  if (node.region == region) return;
  node.region = region;
  node.zone.clear();
}

/// Carries a change out; the caller notes what it altered.
struct Applier {
  FleetPlan& fleet;

  Status operator()(const StopNodes& c) const {
    TRY(places_of(fleet, c.nodes));
    remove_nodes(fleet, c.nodes);
    return {};
  }

  Status operator()(const ScheduleOff& c) const {
    TRY_ASSIGN(const auto places, places_of(fleet, c.nodes));
    for (const size_t place : places) {
      PlannedNode& node = fleet.nodes[place];
      node.off |= c.off;
      if (node.off.all()) return invalid("'{}' would be off in every hour of the week: stop it instead", node.name);
    }
    return {};
  }

  Status operator()(const ResizeNodes& c) const {
    TRY_ASSIGN(const auto places, places_of(fleet, c.nodes));
    if (places.empty() || c.to_count < 1) return invalid("resize: at least one node becomes at least one other");
    std::vector<std::string> gone;
    const PlannedNode first = fleet.nodes[places.front()];
    for (size_t i = 0; i < places.size(); ++i) {
      PlannedNode& node = fleet.nodes[places[i]];
      if (static_cast<int64_t>(i) >= c.to_count) gone.push_back(node.name);
      become(node, c.to_instance_type);
      if (!c.to_region.empty()) move_to(node, c.to_region);
    }
    remove_nodes(fleet, gone);
    for (auto i = static_cast<int64_t>(places.size()); i < c.to_count; ++i) {
      PlannedNode more = first;
      more.name = fmt::format("{} for {} {}", c.to_instance_type, first.name, i + 1);
      if (fleet.find(more.name) != nullptr) return invalid("resize: a node is called '{}' already", more.name);
      more.resource_id = more.name;
      become(more, c.to_instance_type);
      if (!c.to_region.empty()) move_to(more, c.to_region);
      fleet.nodes.insert(place_of(fleet.nodes, more.name), more);
    }
    return {};
  }

  Status operator()(const ShareGpus& c) const {
    TRY(places_of(fleet, c.nodes));
    TRY_ASSIGN(const auto kept, places_of(fleet, c.keep));
    for (const size_t place : kept)
      share(fleet.nodes[place], c);
    std::vector<std::string> gone = c.nodes;
    std::erase_if(gone, [&](const std::string& name) { return std::ranges::find(c.keep, name) != c.keep.end(); });
    remove_nodes(fleet, gone);
    return {};
  }

  Status operator()(const SwitchMarket& c) const {
    TRY_ASSIGN(const auto places, places_of(fleet, c.nodes));
    for (const size_t place : places)
      buy_on(fleet.nodes[place], c.to);
    return {};
  }

  Status operator()(const Commit& c) const {
    TRY(places_of(fleet, c.nodes));
    const auto at = std::ranges::lower_bound(fleet.commitments, kind_of_commitment(c), {}, kind_of_commitment);
    if (at != fleet.commitments.end() && kind_of_commitment(*at) == kind_of_commitment(c)) {
      at->count += c.count;
      return {};
    }
    Commit bought = c;
    bought.nodes.clear();  // whom it covers changes from hour to hour
    fleet.commitments.insert(at, std::move(bought));
    return {};
  }

  Status operator()(const SavingsPlan& c) const {
    TRY(places_of(fleet, c.nodes));
    const auto at = std::ranges::lower_bound(fleet.savings_plans, c, comes_before);
    if (at != fleet.savings_plans.end() && !comes_before(c, *at)) {
      at->per_hour += c.per_hour;
      return {};
    }
    SavingsPlan bought = c;
    bought.nodes.clear();  // whom it covers changes from hour to hour
    fleet.savings_plans.insert(at, std::move(bought));
    return {};
  }

  Status operator()(const LimitReservation& c) const {
    TRY(places_of(fleet, c.nodes));
    const auto at = std::ranges::lower_bound(fleet.limits, c.workload, {}, &PlannedLimit::workload);
    if (at != fleet.limits.end() && at->workload == c.workload)
      at->limit = std::min(at->limit, c.to);
    else
      fleet.limits.insert(at, {c.workload, c.to});
    return {};
  }

  Status operator()(const MoveOffGpu& c) const {
    TRY_ASSIGN(const auto places, places_of(fleet, c.nodes));
    for (const size_t place : places)
      become(fleet.nodes[place], c.to_instance_type);
    return {};
  }

  Status operator()(const MoveRegion& c) const {
    TRY_ASSIGN(const auto places, places_of(fleet, c.nodes));
    for (const size_t place : places)
      move_to(fleet.nodes[place], c.to_region);
    return {};
  }

 private:
  /// GPUs the change places nothing on stay as they are.
  static void share(PlannedNode& node, const ShareGpus& c) {
    std::vector<GpuSharing> fresh;
    for (const ShareGpus::Placement& p : c.placements) {
      if (p.to_node != node.name) continue;
      auto at = std::ranges::find(fresh, p.to_gpu, &GpuSharing::gpu);
      if (at == fresh.end()) at = fresh.insert(at, {.gpu = p.to_gpu, .mode = c.mode, .seats = {}});
      at->seats.push_back(p);
    }
    for (const GpuSharing& old : node.sharing)
      if (std::ranges::find(fresh, old.gpu, &GpuSharing::gpu) == fresh.end()) fresh.push_back(old);
    std::ranges::sort(fresh, {}, &GpuSharing::gpu);
    node.sharing = std::move(fresh);
  }
};

/// What differs between two lists that ascend by name.
template <typename Item, typename T, typename NameOf, typename ValueOf>
std::vector<FleetUndo::Altered<T>> altered(const std::vector<Item>& before, const std::vector<Item>& after, NameOf name_of_item,
                                           ValueOf value_of) {
  std::vector<FleetUndo::Altered<T>> out;
  size_t b = 0;
  size_t a = 0;
  while (b < before.size() || a < after.size()) {
    const bool has_before = b < before.size() && (a == after.size() || name_of_item(before[b]) <= name_of_item(after[a]));
    const bool has_after = a < after.size() && (b == before.size() || name_of_item(after[a]) <= name_of_item(before[b]));
    if (!has_before || !has_after || !(value_of(before[b]) == value_of(after[a])))
      out.push_back({.name = name_of_item(has_before ? before[b] : after[a]),
                     .before = has_before ? std::optional<T>(value_of(before[b])) : std::nullopt,
                     .after = has_after ? std::optional<T>(value_of(after[a])) : std::nullopt});
    b += has_before ? 1 : 0;
    a += has_after ? 1 : 0;
  }
  return out;
}

/// One property goes back, if the change altered it and no other change did since.
template <typename T>
Status put_back(T& now, const T& before, const T& after, const std::string& node, std::string_view property) {
  if (before == after) return {};
  if (!(now == after))
    return make_error(ErrorCode::kConflict, "'{}': another change altered its {} since: undo that one first", node, property);
  now = before;
  return {};
}

Status put_back(FleetPlan& fleet, const FleetUndo::Altered<PlannedNode>& altered) {
  const auto at = place_of(fleet.nodes, altered.name);
  const bool is_there = at != fleet.nodes.end() && at->name == altered.name;
  if (is_there != altered.after.has_value())
    return make_error(ErrorCode::kConflict, "'{}': another change {} it since: undo that one first", altered.name,
                      is_there ? "brought back" : "gave back");
  if (!altered.after) {
    fleet.nodes.insert(at, *altered.before);
    return {};
  }
  if (!altered.before) {
    if (!(*at == *altered.after))
      return make_error(ErrorCode::kConflict, "'{}': another change altered it since: undo that one first", altered.name);
    fleet.nodes.erase(at);
    return {};
  }
  const PlannedNode& before = *altered.before;
  const PlannedNode& after = *altered.after;
  TRY(put_back(at->instance_type, before.instance_type, after.instance_type, altered.name, "type"));
  TRY(put_back(at->gpu_model, before.gpu_model, after.gpu_model, altered.name, "GPUs"));
  TRY(put_back(at->gpu_count, before.gpu_count, after.gpu_count, altered.name, "GPUs"));
  TRY(put_back(at->region, before.region, after.region, altered.name, "region"));
  TRY(put_back(at->zone, before.zone, after.zone, altered.name, "zone"));
  TRY(put_back(at->market, before.market, after.market, altered.name, "market"));
  TRY(put_back(at->resource_id, before.resource_id, after.resource_id, altered.name, "machine"));
  TRY(put_back(at->off, before.off, after.off, altered.name, "hours"));
  return put_back(at->sharing, before.sharing, after.sharing, altered.name, "sharing");
}

Status put_back(FleetPlan& fleet, const FleetUndo::Altered<Duration>& altered) {
  const auto at = std::ranges::lower_bound(fleet.limits, altered.name, {}, &PlannedLimit::workload);
  const bool is_there = at != fleet.limits.end() && at->workload == altered.name;
  if (!is_there || at->limit != altered.after)
    return make_error(ErrorCode::kConflict, "'{}': another change altered how long it may run since: undo that one first",
                      altered.name);
  if (altered.before)
    at->limit = *altered.before;
  else
    fleet.limits.erase(at);
  return {};
}

Status take_back(FleetPlan& fleet, const Commit& bought) {
  const auto at = std::ranges::lower_bound(fleet.commitments, kind_of_commitment(bought), {}, kind_of_commitment);
  if (at == fleet.commitments.end() || kind_of_commitment(*at) != kind_of_commitment(bought) || at->count < bought.count)
    return make_error(ErrorCode::kConflict, "the commitment to {} × {} is not there", bought.count, bought.instance_type);
  at->count -= bought.count;
  if (at->count == 0) fleet.commitments.erase(at);
  return {};
}

Status take_back(FleetPlan& fleet, const SavingsPlan& bought) {
  const auto at = std::ranges::lower_bound(fleet.savings_plans, bought, comes_before);
  if (at == fleet.savings_plans.end() || comes_before(bought, *at) || at->per_hour < bought.per_hour)
    return make_error(ErrorCode::kConflict, "the savings plan of {} an hour is not there", bought.per_hour.to_text(4));
  at->per_hour -= bought.per_hour;
  if (at->per_hour.is_zero()) fleet.savings_plans.erase(at);
  return {};
}

}  // namespace

const PlannedNode* FleetPlan::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(nodes, name, {}, [](const PlannedNode& n) -> std::string_view { return n.name; });
  return at != nodes.end() && at->name == name ? &*at : nullptr;
}

FleetPlan fleet_plan(std::span<const Node> nodes, Instant at) {
  FleetPlan fleet;
  for (const Node& n : nodes) {
    if ((n.present_from && at < *n.present_from) || (n.present_until && at >= *n.present_until)) continue;
    fleet.nodes.push_back({.name = n.name,
                           .resource_id = n.resource_id.empty() ? n.name : n.resource_id,
                           .provider = n.provider,
                           .region = n.region,
                           .zone = n.zone,
                           .instance_type = n.instance_type,
                           .market = n.market,
                           .gpu_model = n.gpu_model,
                           .gpu_count = n.gpu_count,
                           .off = {},
                           .sharing = {}});
  }
  std::ranges::sort(fleet.nodes, {}, &PlannedNode::name);
  return fleet;
}

Result<FleetUndo> carry_out(FleetPlan& fleet, const Change& change) { return carry_out(fleet, std::span(&change, 1)); }

Result<FleetUndo> carry_out(FleetPlan& fleet, std::span<const Change> changes) {
  FleetPlan changed = fleet;
  FleetUndo undo;
  for (const Change& change : changes) {
    TRY(std::visit(Applier{changed}, change));
    if (const Commit* bought = std::get_if<Commit>(&change)) undo.bought.push_back(*bought);
    if (const SavingsPlan* plan = std::get_if<SavingsPlan>(&change)) undo.bought_plans.push_back(*plan);
  }
  undo.nodes = altered<PlannedNode, PlannedNode>(
      fleet.nodes, changed.nodes, [](const PlannedNode& n) { return n.name; }, [](const PlannedNode& n) { return n; });
  undo.limits = altered<PlannedLimit, Duration>(
      fleet.limits, changed.limits, [](const PlannedLimit& l) { return l.workload; },
      [](const PlannedLimit& l) { return l.limit; });
  fleet = std::move(changed);
  return undo;
}

Status undo(FleetPlan& fleet, const FleetUndo& undo) {
  FleetPlan before = fleet;
  for (const auto& node : undo.nodes)
    TRY(put_back(before, node));
  for (const auto& limit : undo.limits)
    TRY(put_back(before, limit));
  for (const Commit& bought : undo.bought)
    TRY(take_back(before, bought));
  for (const SavingsPlan& plan : undo.bought_plans)
    TRY(take_back(before, plan));
  fleet = std::move(before);
  return {};
}

}  // namespace stint
