#include "daemon/engine/machine_reports.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stint {
namespace {

/// Told to leave so long before the machine goes, beside the time that they were promised for it.
constexpr Duration kClearedBefore = Duration::minutes(1);

}  // namespace

void MachineReports::hear(Instant at, std::vector<MachineReport> news, bool first) {
  std::vector<MachineReport> heard = std::exchange(heard_later_, {});
  if (first) {
    std::set<std::string> named;
    for (const MachineReport& report : s_.backend->machines()) {
      named.insert(report.machine.node.name);
      heard.push_back(report);
    }
    std::vector<MachineReport> missing;
    for (const NodeBook& node : s_.nodes) {
      if (!node.is_machine() || named.contains(node.machine.node.name) || kept_.contains(node.machine.node.name)) continue;
      if (node.reported)
        missing.push_back({.news = MachineNews::kGone, .machine = node.machine, .detail = "no longer there after a restart"});
      else if (node.lost || node.leaving)
        missing.push_back({.news = MachineNews::kThere, .machine = node.machine});
    }
    std::ranges::move(missing, std::back_inserter(heard));
  }
  std::ranges::move(news, std::back_inserter(heard));
  for (MachineReport& report : heard)
    stage(std::move(report));
  clear_those_that_go(at);
  retire_unnamed();
}

bool MachineReports::is_used(NodeId node) const {
  return std::ranges::any_of(s_.jobs, [&](const JobBook& job) {
    return std::ranges::any_of(job.placed, [&](const PlacedTask& placed) { return placed.place.node == node; });
  });
}

bool MachineReports::is_staged(RecordKind kind, std::string_view node) const {
  return std::ranges::any_of(s_.staged, [&](const Record& r) { return r.kind == kind && r.node == node; });
}

void MachineReports::stage_node(RecordKind kind, std::string_view node, const MachineReport& report) {
  if (is_staged(kind, node)) return;
  Record record;
  record.kind = kind;
  record.actor = s_.backend->name();
  record.node = node;
  record.cause = report.cause;
  record.detail = report.detail;
  if (kind == RecordKind::kNodeDrain) record.until = report.until;
  s_.staged.push_back(std::move(record));
}

void MachineReports::stage(MachineReport report) {
  const std::string& name = report.machine.node.name;
  if (std::ranges::any_of(s_.staged, [&](const Record& r) { return !r.node.empty() && r.node == name; }))
    return heard_later_.push_back(std::move(report));
  const auto known = s_.node_ids.find(name);
  const NodeBook* book = known == s_.node_ids.end() ? nullptr : &s_.nodes[known->second.index()];
  switch (report.news) {
    case MachineNews::kThere: {
      const bool is_another = book != nullptr && !is_same_but_price(book->machine, report.machine);
      // A machine of the configuration is what that says. One that is used and has its GPUs stays what its jobs were placed by.
      const bool has_its_gpus = is_another && book->machine.node.gpus == report.machine.node.gpus &&
                                book->machine.node.gpu_model == report.machine.node.gpu_model;
      if (is_another && book->reported && !(has_its_gpus && is_used(known->second))) {
        stage_node(RecordKind::kNodeGone, name, {.detail = "another machine bears its name now"});
        return heard_later_.push_back(std::move(report));
      }
      if (is_another) {
        const Rate rate = report.machine.rate;
        report.machine = book->machine;
        if (book->reported) report.machine.rate = rate;
      }
      if (book != nullptr && !book->down && !book->leaving && book->machine.rate == report.machine.rate) return;
      Record record;
      record.kind = RecordKind::kMachine;
      record.actor = s_.backend->name();
      record.node = name;  // for is_staged(): the payload has it in its JSON
      record.machine = to_json(report.machine);
      // As it will be read again.
      if (const Result<Machine> read = parse_machine(record.machine, "machine", s_.fleet.currency); !read.ok()) {
        EventView refused{.kind = "node.refused"};
        refused.node = name;
        refused.detail = read.error().message;
        Record notice;
        notice.kind = RecordKind::kNotice;
        notice.notice = std::move(refused);
        s_.staged.push_back(std::move(notice));
        return;
      }
      s_.staged.push_back(std::move(record));
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

/// Work on a machine that will be taken back leaves at once, and saves what it has; before a maintenance as late as that can be.
void MachineReports::clear_those_that_go(Instant at) {
  const auto goes = [](const NodeBook& n) { return n.leaving && n.until && !n.cleared && !n.down; };
  if (std::ranges::none_of(s_.nodes, goes)) return;
  std::vector<Duration> longest(s_.nodes.size());
  for (const JobBook& job : s_.jobs)
    for (const PlacedTask& placed : job.placed)
      longest[placed.place.node.index()] = std::max(longest[placed.place.node.index()], job.request->grace);
  for (size_t n = 0; n < s_.nodes.size(); ++n) {
    const NodeBook& node = s_.nodes[n];
    if (!goes(node) || at + longest[n] + kClearedBefore < *node.until) continue;
    if (is_staged(RecordKind::kNodeClear, node.machine.node.name)) continue;
    Record record;
    record.kind = RecordKind::kNodeClear;
    record.node = node.machine.node.name;
    s_.staged.push_back(std::move(record));
  }
}

/// Machines that the configuration no longer names are forgotten once they are empty.
void MachineReports::retire_unnamed() {
  std::vector<bool> used;
  for (size_t n = 0; n < s_.nodes.size(); ++n) {
    const NodeBook& node = s_.nodes[n];
    if (!node.is_machine() || node.counts()) continue;
    if (used.empty()) {
      used.resize(s_.nodes.size());
      for (const JobBook& job : s_.jobs)
        for (const PlacedTask& placed : job.placed)
          used[placed.place.node.index()] = true;
    }
    if (!used[n]) stage_node(RecordKind::kNodeGone, node.machine.node.name, {.detail = "no longer in the configuration"});
  }
}

}  // namespace stint
