// One group of machines on one type: does the work fit, on how many machines, and what that saves. The rules of `plan_rightsize`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advise/find/finder_text.h"
#include "advise/plan/plan_rightsize.h"

namespace stint {

/// Replicas of one model: its GPUs now and how busy they are.
struct ServicePool {
  int64_t gpus = 0;
  double busy = 0;       ///< GPUs of now, at the busiest 5 %
  int64_t together = 1;  ///< GPUs that a replica spans
};

/// Machines that are judged together.
struct RightsizeGroup {
  NodeGroup nodes;
  RightsizeRow row;  ///< without best, runner_up and dropped
  std::map<std::string, ServicePool> services;
  const GpuFacts* gpu = nullptr;
  Money hourly;               ///< of all nodes
  double vcpus_per_gpu = 0;   ///< of services
  bool demand_known = false;  ///< of some service: its owner's word stands against telemetry
};

/// none: telemetry or price is missing.
std::optional<RightsizeGroup> rightsize_group(const FleetView& fleet, const NodeGroup& nodes, const RightsizeOptions& options);

/// Types for a group, by what they save.
class RightsizeTargets {
 public:
  /// All must outlive it.
  RightsizeTargets(const FleetView& fleet, const RightsizeOptions& options, RightsizeMemo& memo)
      : fleet_(fleet), options_(options), memo_(memo) {}

  /// The group on that type, its services replayed, or why not.
  [[nodiscard]] Result<RightsizeTarget> on(const RightsizeGroup& group, const InstanceType& type) const;
  /// Fills best, runner_up and dropped of the group's row.
  void choose(RightsizeGroup& group) const;

 private:
  /// Does what is said of each service in milliseconds decide, and no ratio?
  [[nodiscard]] bool all_promised(const RightsizeGroup& group) const;
  /// As few machines as the arithmetic allows: what is left is for the replay to say.
  [[nodiscard]] Result<RightsizeTarget> at_best(const RightsizeGroup& group, const InstanceType& type, Money hourly) const;
  /// As many as the replay asks for.
  [[nodiscard]] Result<RightsizeTarget> replayed(const RightsizeGroup& group, RightsizeTarget target) const;
  enum class SpeedEnd : uint8_t { kSlow, kQuick };
  [[nodiscard]] Result<int64_t> count_for(const RightsizeGroup& group, const RightsizeTarget& target, int64_t least,
                                          SpeedEnd end) const;
  /// Empty: on so many machines services keep their promise.
  [[nodiscard]] std::string broken_promise(const RightsizeGroup& group, const InstanceType& type, int64_t count,
                                           SpeedEnd end) const;
  [[nodiscard]] Money saving_with(const RightsizeGroup& group, const InstanceType& type, Money hourly, int64_t count) const;
  [[nodiscard]] const PriceLookup::Quote* quote_for(const RightsizeGroup& group, const InstanceType& type) const;

  const FleetView& fleet_;
  const RightsizeOptions& options_;
  RightsizeMemo& memo_;
};

}  // namespace stint
