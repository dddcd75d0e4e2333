// Machines that come and go: what the backend tells of them, what of that is written, and what follows.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/check.h"
#include "daemon/engine/engine_impl.h"
#include "model/machine_labels.h"

namespace stint {
namespace {

/// Told to leave so long before the machine goes, beside the time that they were promised for it.
constexpr Duration kClearedBefore = Duration::minutes(1);

}  // namespace

/// A new machine, or one that is there already and may have another price.
NodeBook& Engine::Impl::put_machine(const Machine& machine) {
  const auto known = node_ids.find(machine.node.name);
  if (known == node_ids.end()) {
    NodeSpec added = labelled(machine);
    std::vector<uint32_t> rules = rules_naming(machine.node.name, fleet.prices);
    const Rate charged = MachinePrices(machine.rate, fleet.prices, rules).at(now);
    added.gpu_rate = gpu_rate_of(machine.node, charged);
    prices_changed = true;
    const NodeId id = scheduler->add_node(added);
    node_ids.emplace(machine.node.name, id);
    if (id.index() == nodes.size()) nodes.emplace_back();
    CHECK(!nodes[id.index()].is_machine(), "machine '{}' in place of '{}'", machine.node.name,
          nodes[id.index()].machine.node.name);
    nodes[id.index()].machine = machine;
    nodes[id.index()].price_rules = std::move(rules);
    nodes[id.index()].rates.clear();
    nodes[id.index()].charge_from(now, charged);
    nodes[id.index()].named = false;
    return nodes[id.index()];
  }
  NodeBook& book = nodes[known->second.index()];
  if (book.machine.rate == machine.rate) return book;
  post_all_on(known->second);
  follow_prices(book);
  book.machine.rate = machine.rate;
  prices_changed = true;
  charge(known->second);
  return book;
}

Status Engine::Impl::apply_machine(const std::string& json) {
  TRY_ASSIGN(const Machine machine, parse_machine(json, "machine", fleet.currency));
  if (!scheduler) return invalid("a machine before the first configuration");
  const bool is_new = !node_ids.contains(machine.node.name);
  if (is_new && !machines_come) scheduler->expect_machines();
  machines_come |= is_new;
  NodeBook& book = put_machine(machine);
  book.reported |= is_new;
  const bool was_away = book.down || book.leaving;
  book.down = book.lost = book.leaving = book.cleared = false;
  book.until.reset();
  book.detail.clear();
  if (was_away && book.is_usable()) event_of(sched::EventKind::kNodeUp, node_ids.find(machine.node.name)->second);
  if (is_new || was_away) note(is_new ? "node.added" : "node.up", {}, machine.node.name, "");
  set_kinds();
  return {};
}

Status Engine::Impl::apply_node(const Record& record) {
  const auto known = node_ids.find(record.node);
  if (known == node_ids.end()) return invalid("no node '{}'", record.node);
  const NodeId id = known->second;
  NodeBook& node = nodes[id.index()];
  const std::string_view cause = record.cause ? name_of(*record.cause) : "";
  if (record.cause) node.detail = record.detail;
  switch (record.kind) {
    case RecordKind::kNodeUp:
      node.down = node.lost = node.draining = node.leaving = node.cleared = false;
      node.until.reset();
      node.detail.clear();
      event_of(sched::EventKind::kNodeUp, id);
      note_machine("node.up", node, cause);
      break;
    case RecordKind::kNodeDrain:
      (record.cause ? node.leaving : node.draining) = true;
      if (record.cause) node.until = record.until;
      event_of(record.cause == MachineCause::kSpot && record.until ? sched::EventKind::kSpotNotice : sched::EventKind::kNodeDrain,
               id);
      events.back().until = record.until.value_or(Instant());
      node.cleared = record.cause == MachineCause::kSpot && record.until;
      note_machine("node.draining", node, cause);
      break;
    case RecordKind::kNodeClear:
      node.cleared = true;
      event_of(sched::EventKind::kSpotNotice, id);
      events.back().until = node.until.value_or(now);
      break;
    case RecordKind::kNodeDown:
      node.down = true;
      node.lost = record.cause.has_value();
      event_of(sched::EventKind::kNodeDown, id);
      note_machine("node.down", node, cause);
      lose_tasks_on(id, "lost with its node");
      break;
    case RecordKind::kNodeGone:
      if (node.named) break;  // by a configuration of this very step
      event_of(sched::EventKind::kNodeGone, id);
      note_machine("node.gone", node, cause);
      lose_tasks_on(id, "lost with its node");
      node_ids.erase(known);
      nodes[id.index()] = {};
      nodes[id.index()].named = false;
      prices_changed = true;
      set_kinds();
      break;
    default: CHECK(false, "record {} of a machine", static_cast<int>(record.kind));
  }
  return {};
}

/// "spot: taken back at 12:03": what the backend said of it.
void Engine::Impl::note_machine(std::string_view kind, const NodeBook& node, std::string_view cause) {
  std::string detail(cause == name_of(MachineCause::kOther) ? "" : cause);
  const auto add = [&](const std::string& text) {
    if (!text.empty()) detail += (detail.empty() ? "" : ": ") + text;
  };
  if (!cause.empty()) add(node.detail);
  if (node.until && kind == "node.draining") add(fmt::format("will be gone at {}", format_utc(*node.until)));
  note(kind, {}, node.machine.node.name, detail);
}

void Engine::Impl::lose_tasks_on(NodeId node, std::string_view detail) {
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    bool hit = false;
    for (size_t i = jobs[j].placed.size(); i-- > 0;)
      if (jobs[j].placed[i].place.node == node) {
        hit = true;
        if (!jobs[j].placed[i].ended && live) desk.want(key_of(sched::JobId(j), jobs[j].placed[i]), LaunchWish::kKill);
        lose(sched::JobId(j), i, detail);
      }
    if (hit) after_loss(sched::JobId(j));
  }
}

/// @param first  since this engine opened: what the backend does not name then is gone, or is as the configuration says.
void Engine::Impl::hear_of_machines(Instant at, std::vector<MachineReport> news, bool first) {
  std::vector<MachineReport> heard = std::exchange(heard_later, {});
  if (first) {
    std::set<std::string> named;
    for (const MachineReport& report : backend->machines()) {
      named.insert(report.machine.node.name);
      heard.push_back(report);
    }
    std::vector<MachineReport> missing;
    for (const NodeBook& node : nodes) {
      if (!node.is_machine() || named.contains(node.machine.node.name) || kept_machines.contains(node.machine.node.name))
        continue;
      if (node.reported)
        missing.push_back({.news = MachineNews::kGone, .machine = node.machine, .detail = "no longer there after a restart"});
      else if (node.lost || node.leaving)
        missing.push_back({.news = MachineNews::kThere, .machine = node.machine});
    }
    std::ranges::move(missing, std::back_inserter(heard));
  }
  std::ranges::move(news, std::back_inserter(heard));
  for (MachineReport& report : heard)
    stage_machine(std::move(report));
  clear_those_that_go(at);
  retire_unnamed();
}

bool Engine::Impl::is_used(NodeId node) const {
  return std::ranges::any_of(jobs, [&](const JobBook& job) {
    return std::ranges::any_of(job.placed, [&](const PlacedTask& placed) { return placed.place.node == node; });
  });
}

bool Engine::Impl::is_staged(RecordKind kind, std::string_view node) const {
  return std::ranges::any_of(staged, [&](const Record& r) { return r.kind == kind && r.node == node; });
}

void Engine::Impl::stage_node(RecordKind kind, std::string_view node, const MachineReport& report) {
  if (is_staged(kind, node)) return;
  Record record;
  record.kind = kind;
  record.actor = backend->name();
  record.node = node;
  record.cause = report.cause;
  record.detail = report.detail;
  if (kind == RecordKind::kNodeDrain) record.until = report.until;
  staged.push_back(std::move(record));
}

/// What is news to the books becomes a record; what would depend on one of this step waits for the next.
void Engine::Impl::stage_machine(MachineReport report) {
  const std::string& name = report.machine.node.name;
  if (std::ranges::any_of(staged, [&](const Record& r) { return !r.node.empty() && r.node == name; }))
    return heard_later.push_back(std::move(report));
  const auto known = node_ids.find(name);
  const NodeBook* book = known == node_ids.end() ? nullptr : &nodes[known->second.index()];
  switch (report.news) {
    case MachineNews::kThere: {
      const bool is_another = book != nullptr && !is_same_but_price(book->machine, report.machine);
      // A machine of the configuration is what that says. One that is used and has its GPUs stays what its jobs were placed by.
      const bool has_its_gpus = is_another && book->machine.node.gpus == report.machine.node.gpus &&
                                book->machine.node.gpu_model == report.machine.node.gpu_model;
      if (is_another && book->reported && !(has_its_gpus && is_used(known->second))) {
        stage_node(RecordKind::kNodeGone, name, {.detail = "another machine bears its name now"});
        return heard_later.push_back(std::move(report));
      }
      if (is_another) {
        const Rate rate = report.machine.rate;
        report.machine = book->machine;
        if (book->reported) report.machine.rate = rate;
      }
      if (book != nullptr && !book->down && !book->leaving && book->machine.rate == report.machine.rate) return;
      Record record;
      record.kind = RecordKind::kMachine;
      record.actor = backend->name();
      record.node = name;  // for is_staged(): the payload has it in its JSON
      record.machine = to_json(report.machine);
      // As it will be read again.
      if (const Result<Machine> read = parse_machine(record.machine, "machine", fleet.currency); !read.ok()) {
        EventView refused{.kind = "node.refused"};
        refused.node = name;
        refused.detail = read.error().message;
        Record notice;
        notice.kind = RecordKind::kNotice;
        notice.notice = std::move(refused);
        staged.push_back(std::move(notice));
        return;
      }
      staged.push_back(std::move(record));
      return;
    }
    case MachineNews::kDraining:
      if (book == nullptr || (book->leaving && book->until == report.until)) return;
      stage_node(RecordKind::kNodeDrain, name, report);
      return;
    case MachineNews::kLost:
      if (book != nullptr && !book->down) stage_node(RecordKind::kNodeDown, name, report);
      return;
    case MachineNews::kGone:
      if (book == nullptr) return;
      // It may be back one day under its name in the configuration.
      stage_node(book->named ? RecordKind::kNodeDown : RecordKind::kNodeGone, name, report);
      return;
  }
}

void Engine::stage_machine(MachineReport report) {
  // What the backend is asked at the start may be answered later.
  if (report.news == MachineNews::kGone)
    impl_->kept_machines.erase(report.machine.node.name);
  else
    impl_->kept_machines.insert(report.machine.node.name);
  impl_->stage_machine(std::move(report));
}

void Engine::stage_lost_machines(const std::string& why) {
  std::set<std::string> used;
  for (const JobBook& job : impl_->jobs)
    for (const PlacedTask& placed : job.placed)
      used.insert(impl_->nodes[placed.place.node.index()].machine.node.name);
  for (const std::string& name : used) {
    Record record;
    record.kind = RecordKind::kNodeDown;
    record.actor = "daemon";
    record.node = name;
    record.cause = MachineCause::kOther;
    record.detail = why;
    impl_->staged.push_back(std::move(record));
  }
}

void Engine::keep_machines(std::set<std::string> names) { impl_->kept_machines = std::move(names); }

void Engine::stage_health(std::string_view node, std::string failure) {
  const auto known = impl_->node_ids.find(node);
  if (known == impl_->node_ids.end()) return;
  impl_->stage_machine({.news = failure.empty() ? MachineNews::kThere : MachineNews::kDraining,
                        .machine = impl_->nodes[known->second.index()].machine,
                        .cause = MachineCause::kBroken,
                        .detail = std::move(failure)});
}

/// Work on a machine that will be taken back leaves at once, and saves what it has; before a maintenance as late as that can be.
void Engine::Impl::clear_those_that_go(Instant at) {
  const auto goes = [](const NodeBook& n) { return n.leaving && n.until && !n.cleared && !n.down; };
  if (std::ranges::none_of(nodes, goes)) return;
  std::vector<Duration> longest(nodes.size());
  for (const JobBook& job : jobs)
    for (const PlacedTask& placed : job.placed)
      longest[placed.place.node.index()] = std::max(longest[placed.place.node.index()], job.request->grace);
  for (size_t n = 0; n < nodes.size(); ++n) {
    const NodeBook& node = nodes[n];
    if (!goes(node) || at + longest[n] + kClearedBefore < *node.until) continue;
    if (is_staged(RecordKind::kNodeClear, node.machine.node.name)) continue;
    Record record;
    record.kind = RecordKind::kNodeClear;
    record.node = node.machine.node.name;
    staged.push_back(std::move(record));
  }
}

/// Machines that the configuration no longer names are forgotten once they are empty.
void Engine::Impl::retire_unnamed() {
  std::vector<bool> used;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const NodeBook& node = nodes[n];
    if (!node.is_machine() || node.counts()) continue;
    if (used.empty()) {
      used.resize(nodes.size());
      for (const JobBook& job : jobs)
        for (const PlacedTask& placed : job.placed)
          used[placed.place.node.index()] = true;
    }
    if (!used[n]) stage_node(RecordKind::kNodeGone, node.machine.node.name, {.detail = "no longer in the configuration"});
  }
}

}  // namespace stint
