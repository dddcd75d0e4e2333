#include "daemon/replicas/replica_plan.h"

#include <algorithm>

namespace stint {

std::string_view name_of(ReplicaPhase phase) {
  constexpr std::array<std::string_view, kReplicaPhases.size()> kNames = {"waiting", "starting", "ready", "draining", "leaving"};
  return kNames[static_cast<size_t>(phase)];
}

ReplicaPlan plan_replicas(size_t wanted, std::span<const Replica> there, std::span<const std::string> places) {
  std::vector<const Replica*> current, old;
  size_t ready = 0;
  for (const Replica& replica : there) {
    if (replica.phase > ReplicaPhase::kReady) continue;
    (replica.current ? current : old).push_back(&replica);
    ready += replica.phase == ReplicaPhase::kReady ? 1 : 0;
  }
  ReplicaPlan plan;
  const auto end = [&plan, &ready](const Replica& replica) {
    const bool answers = replica.phase == ReplicaPhase::kReady;
    (answers ? plan.drain : plan.stop).push_back(replica.job);
    ready -= answers ? 1 : 0;
  };
  for (const Replica* replica : old)
    if (replica->phase != ReplicaPhase::kReady || ready > wanted) end(*replica);
  // Those furthest from answering first, of those alike the last.
  std::ranges::stable_sort(current, std::ranges::greater(), &Replica::phase);
  while (current.size() > wanted) {
    end(*current.back());
    current.pop_back();
  }
  for (const std::string& place : places) {
    if (current.size() + plan.begin.size() >= wanted) break;
    if (std::ranges::find(there, place, &Replica::place) == there.end()) plan.begin.push_back(place);
  }
  return plan;
}

}  // namespace stint
