#include "daemon/engine/fleet_machines.h"

#include <utility>

#include "base/check.h"
#include "model/machine_labels.h"

namespace stint {

void FleetMachines::configure(const std::vector<Machine>& named) {
  for (NodeBook& known : s_.nodes)
    known.named = false;
  for (const Machine& machine : named)
    put(machine).named = true;
  for (NodeBook& known : s_.nodes) {
    if (!known.is_machine() || known.named || known.reported || known.draining) continue;
    known.draining = true;
    add_event(s_.events, sched::EventKind::kNodeDrain, s_.node_ids.find(known.machine.node.name)->second);
    s_.trail.note("node.draining", {}, known.machine.node.name, "no longer in the configuration");
  }
}

NodeBook& FleetMachines::put(const Machine& machine) {
  const auto known = s_.node_ids.find(machine.node.name);
  if (known == s_.node_ids.end()) {
    NodeSpec added = labelled(machine);
    std::vector<uint32_t> rules = rules_naming(machine.node.name, s_.fleet.prices);
    const Rate charged = MachinePrices(machine.rate, s_.fleet.prices, rules).at(s_.now);
    added.gpu_rate = gpu_rate_of(machine.node, charged);
    s_.prices.machines_changed();
    const NodeId id = s_.scheduler->add_node(added);
    s_.node_ids.emplace(machine.node.name, id);
    if (id.index() == s_.nodes.size()) s_.nodes.emplace_back();
    CHECK(!s_.nodes[id.index()].is_machine(), "machine '{}' in place of '{}'", machine.node.name,
          s_.nodes[id.index()].machine.node.name);
    s_.nodes[id.index()].machine = machine;
    s_.nodes[id.index()].price_rules = std::move(rules);
    s_.nodes[id.index()].rates.clear();
    s_.nodes[id.index()].charge_from(s_.now, charged);
    s_.nodes[id.index()].named = false;
    return s_.nodes[id.index()];
  }
  NodeBook& book = s_.nodes[known->second.index()];
  if (book.machine.rate == machine.rate) return book;
  s_.costs.post_all_on(known->second);
  s_.prices.follow(book);
  book.machine.rate = machine.rate;
  s_.prices.machines_changed();
  s_.prices.charge(known->second);
  return book;
}

Status FleetMachines::apply_machine(const std::string& json) {
  TRY_ASSIGN(const Machine machine, parse_machine(json, "machine", s_.fleet.currency));
  if (!s_.scheduler) return invalid("a machine before the first configuration");
  const bool is_new = !s_.node_ids.contains(machine.node.name);
  if (is_new && !s_.machines_come) s_.scheduler->expect_machines();
  s_.machines_come |= is_new;
  NodeBook& book = put(machine);
  book.reported |= is_new;
  const bool was_away = book.down || book.leaving;
  book.down = book.lost = book.leaving = book.cleared = false;
  book.until.reset();
  book.detail.clear();
  if (was_away && book.is_usable()) add_event(s_.events, sched::EventKind::kNodeUp, s_.node_ids.find(machine.node.name)->second);
  if (is_new || was_away) s_.trail.note(is_new ? "node.added" : "node.up", {}, machine.node.name, "");
  s_.governance.set_kinds();
  return {};
}

Status FleetMachines::apply_node(const Record& record) {
  const auto known = s_.node_ids.find(record.node);
  if (known == s_.node_ids.end()) return invalid("no node '{}'", record.node);
  const NodeId id = known->second;
  NodeBook& node = s_.nodes[id.index()];
  const std::string_view cause = record.cause ? name_of(*record.cause) : "";
  if (record.cause) node.detail = record.detail;
  switch (record.kind) {
    case RecordKind::kNodeUp:
      node.down = node.lost = node.draining = node.leaving = node.cleared = false;
      node.until.reset();
      node.detail.clear();
      add_event(s_.events, sched::EventKind::kNodeUp, id);
      note_machine("node.up", node, cause);
      break;
    case RecordKind::kNodeDrain:
      (record.cause ? node.leaving : node.draining) = true;
      if (record.cause) node.until = record.until;
      add_event(
          s_.events,
          record.cause == MachineCause::kSpot && record.until ? sched::EventKind::kSpotNotice : sched::EventKind::kNodeDrain, id);
      s_.events.back().until = record.until.value_or(Instant());
      node.cleared = record.cause == MachineCause::kSpot && record.until;
      note_machine("node.draining", node, cause);
      break;
    case RecordKind::kNodeClear:
      node.cleared = true;
      add_event(s_.events, sched::EventKind::kSpotNotice, id);
      s_.events.back().until = node.until.value_or(s_.now);
      break;
    case RecordKind::kNodeDown:
      node.down = true;
      node.lost = record.cause.has_value();
      add_event(s_.events, sched::EventKind::kNodeDown, id);
      note_machine("node.down", node, cause);
      s_.runs.lose_tasks_on(id, "lost with its node");
      break;
    case RecordKind::kNodeGone:
      if (node.named) break;  // by a configuration of this very step
      add_event(s_.events, sched::EventKind::kNodeGone, id);
      note_machine("node.gone", node, cause);
      s_.runs.lose_tasks_on(id, "lost with its node");
      s_.node_ids.erase(known);
      s_.nodes[id.index()] = {};
      s_.nodes[id.index()].named = false;
      s_.prices.machines_changed();
      s_.governance.set_kinds();
      break;
    default: CHECK(false, "record {} of a machine", static_cast<int>(record.kind));
  }
  return {};
}

/// "spot: taken back at 12:03": what the backend said of it.
void FleetMachines::note_machine(std::string_view kind, const NodeBook& node, std::string_view cause) {
  std::string detail(cause == name_of(MachineCause::kOther) ? "" : cause);
  const auto add = [&](const std::string& text) {
    if (!text.empty()) detail += (detail.empty() ? "" : ": ") + text;
  };
  if (!cause.empty()) add(node.detail);
  if (node.until && kind == "node.draining") add(fmt::format("will be gone at {}", format_utc(*node.until)));
  s_.trail.note(kind, {}, node.machine.node.name, detail);
}

}  // namespace stint
