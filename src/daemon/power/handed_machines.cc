#include "daemon/power/handed_machines.h"

#include <algorithm>
#include <optional>

namespace stint {
namespace {

constexpr Duration kAgainAfter = Duration::minutes(1);

/// None: its pool is configured no more, and with it what the machine is.
std::optional<MachineReport> coming(const CapacityBook& book, const std::string& name, const std::string& pool_name, Rate rate) {
  const auto& pools = book.rules().pools;
  const auto pool = std::ranges::find(pools, pool_name, &CapacityPool::name);
  if (pool == pools.end()) return std::nullopt;
  MachineReport report{.news = MachineNews::kThere, .machine = pool->machine};
  report.machine.node.name = name;
  report.machine.rate = rate;
  return report;
}

MachineReport report_of(MachineNews news, const std::string& name, std::string detail) {
  MachineReport report{.news = news, .machine = {}, .detail = std::move(detail)};
  report.machine.node.name = name;
  return report;
}

MachineReport going(const std::string& name, std::optional<Instant> until, bool maintenance, std::string detail) {
  MachineReport report = report_of(MachineNews::kDraining, name, std::move(detail));
  report.until = until;
  if (until) report.cause = maintenance ? MachineCause::kMaintenance : MachineCause::kSpot;
  return report;
}

}  // namespace

std::vector<MachineReport> HandedMachines::begin(const CapacityBook& book, const std::set<std::string>& switched) {
  std::vector<MachineReport> reports;
  for (const auto& [name, made] : book.machines()) {
    if (switched.contains(name) || !made.was_ready) continue;
    handed_.emplace(name, Instant());
    if (made.state != MadeState::kReady) continue;
    if (auto report = coming(book, name, made.pool, made.rate); report) reports.push_back(std::move(*report));
  }
  return reports;
}

std::vector<MachineReport> HandedMachines::of(const CapacityStep& step, const CapacityBook& book,
                                              const std::set<std::string>& switched) {
  std::vector<MachineReport> reports;
  for (const CapacityNews& news : step.news) {
    if (switched.contains(news.machine) || !news.was_ready) continue;
    if (news.event == CapacityEvent::kReady) {
      handed_.emplace(news.machine, Instant());
      if (auto report = coming(book, news.machine, news.pool, news.rate); report) reports.push_back(std::move(*report));
    } else if (news.event == CapacityEvent::kDraining) {
      reports.push_back(going(news.machine, news.until, news.maintenance, news.detail));
    } else if (news.event == CapacityEvent::kLost || news.event == CapacityEvent::kGone) {
      reports.push_back(report_of(MachineNews::kGone, news.machine, news.detail));
    }
  }
  return reports;
}

std::vector<MachineReport> HandedMachines::missing(Instant now, const CapacityBook& book,
                                                   const std::map<std::string, NodeView>& nodes,
                                                   const std::set<std::string>& switched) {
  std::vector<MachineReport> reports;
  for (auto handed = handed_.begin(); handed != handed_.end();) {
    const auto& [name, told] = *handed;
    const auto made = book.machines().find(name);
    const bool is_there = made != book.machines().end() && made->second.was_ready && !switched.contains(name);
    if (!is_there && nodes.contains(name) && !switched.contains(name))
      reports.push_back(report_of(MachineNews::kGone, name, "it is not there any more"));
    handed = is_there || nodes.contains(name) ? std::next(handed) : handed_.erase(handed);
  }
  for (auto& [name, told] : handed_) {
    const auto machine = book.machines().find(name);
    if (machine == book.machines().end() || !machine->second.was_ready || switched.contains(name)) continue;
    const MadeMachine& made = machine->second;
    const auto node = nodes.find(name);
    if (made.state == MadeState::kReady) {
      if (node != nodes.end() || told + kAgainAfter > now) continue;
      told = now;
      if (auto report = coming(book, name, made.pool, made.rate); report) reports.push_back(std::move(*report));
    } else if (node != nodes.end() && node->second.state == NodeState::kUp) {
      reports.push_back(going(name, made.until, false, made.detail));
    }
  }
  return reports;
}

}  // namespace stint
