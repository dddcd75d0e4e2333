// What the backend is to start, in its own words: where a task runs, what it gets of the machine, and what its command finds around it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/engine/run_costs.h"

namespace stint {

/// What of a launch its request says: all but where it runs, and who starts with it.
/// @param task  of its groups
Launch launch_like(const JobRequest& request, int32_t task = 0);

class Launches {
 public:
  struct View {
    const FleetConfig& fleet;
    const std::vector<NodeBook>& nodes;
    const std::vector<JobBook>& jobs;
    const RunCosts& costs;
    const decltype(EngineOptions::launch_environment)& launch_environment;
  };
  explicit Launches(const View& view) : s_(view) {}

  [[nodiscard]] Launch launch_of(sched::JobId id, const PlacedTask& placed) const;
  /// As long as it was promised, but not beyond the end of its machine.
  [[nodiscard]] Duration grace_of(const LaunchKey& key, const PlacedTask& placed, Instant at) const;

 private:
  /// What holds a task to its part of a GPU where that is shared out by MPS; without an MPS server no process reads it.
  /// Source: NVIDIA, Multi-Process Service, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and CUDA_MPS_PINNED_DEVICE_MEM_LIMIT.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> mps_limits(const JobBook& job, const PlacedTask& placed) const;

  View s_;
};

}  // namespace stint
