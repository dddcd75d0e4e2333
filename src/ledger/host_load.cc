#include "ledger/host_load.h"

#include <string_view>

namespace stint {

HostLoad::HostLoad(const History& history) : history_(history) {
  std::map<std::string_view, NodeId> names;
  for (uint32_t n = 0; n < history.nodes.size(); ++n)
    if (history.nodes[n].vcpus > 0 || history.nodes[n].memory > Bytes()) names.emplace(history.nodes[n].name, NodeId(n));
  for (const Run& run : history.runs) {
    if (!run.started || run.allocations.empty() || (run.cpus == 0 && run.memory == Bytes())) continue;
    const auto nodes = static_cast<int64_t>(run.allocations.size());
    for (const RunAllocation& allocation : run.allocations) {
      const auto it = names.find(allocation.node);
      if (it == names.end()) continue;
      const Interval when = intersect({*run.started, run.ended.value_or(history.period.end)}, history.period);
      for (Instant t = when.begin.hour_start(); t < when.end; t = t + kHour) {
        const int64_t seconds = intersect(when, {t, t + kHour}).length().whole_seconds();
        Taken& taken = taken_[it->second][t.hour_index()];
        taken.cpu_seconds += run.cpus * seconds / nodes;
        taken.mebibyte_seconds += (run.memory.count() >> 20) * seconds / nodes;
      }
    }
  }
}

bool HostLoad::full(NodeId id, int64_t hour_index) const {
  const auto node = taken_.find(id);
  if (node == taken_.end()) return false;
  const auto hour = node->second.find(hour_index);
  if (hour == node->second.end()) return false;
  constexpr int64_t kSeconds = 3600;
  const Node& host = history_.nodes[id.index()];
  const Taken& taken = hour->second;
  if (host.vcpus > 0 && taken.cpu_seconds > (host.vcpus - kFreeCpusNeeded) * kSeconds) return true;
  return host.memory > Bytes() && taken.mebibyte_seconds > ((host.memory - kFreeMemoryNeeded).count() >> 20) * kSeconds;
}

}  // namespace stint
