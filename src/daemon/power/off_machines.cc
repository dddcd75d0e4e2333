#include "daemon/power/off_machines.h"

namespace stint {
namespace {

/// Who writes them does so every few minutes.
constexpr Duration kKept = kHour * 24;

}  // namespace

void OffMachines::put(const std::set<std::string>& names, Instant now) {
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names)
    since_.try_emplace(name, now);
  std::erase_if(since_, [&](const auto& machine) {
    if (names.contains(machine.first)) return false;
    been_.emplace_back(machine.first, Interval{machine.second, now});
    return true;
  });
  while (!been_.empty() && been_.front().second.end < now - kKept)
    been_.pop_front();
}

void OffMachines::mark(std::vector<NodeView>& nodes) const {
  const std::lock_guard lock(mutex_);
  for (NodeView& node : nodes)
    if (node.state == NodeState::kDrained && since_.contains(node.name)) node.state = NodeState::kOff;
}

std::vector<Interval> OffMachines::absences(std::string_view name, Instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<Interval> all;
  for (const auto& [node, when] : been_)
    if (node == name) all.push_back(when);
  if (const auto off = since_.find(name); off != since_.end() && off->second < now) all.push_back({off->second, now});
  return all;
}

}  // namespace stint
