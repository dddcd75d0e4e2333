// FleetPlan: a fleet as far as Changes alter it, and what a Change makes of it. Pure bookkeeping: prices, work and time are the
// business of the audit's books and of the replay. It is what tells whether two changes commute (model/change_algebra.h), what
// undoing one has to bring back, and which commands lead from one state to the other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/change.h"

namespace stint {

/// How one GPU is given out under a ShareGpus.
struct GpuSharing {
  int gpu = 0;
  SharingMode mode = SharingMode::kMig;
  std::vector<ShareGpus::Placement> seats;  ///< as the change placed them
  bool operator==(const GpuSharing&) const = default;
};

/// A node as far as Changes alter it. Empty text = not known.
struct PlannedNode {
  std::string name;
  std::string resource_id;  ///< as the provider calls it; never empty where `name` is not
  std::string provider, region, zone, instance_type;
  Market market = Market::kUnknown;
  std::string gpu_model;            ///< "" once it is another type: the catalogue knows
  int64_t gpu_count = 0;            ///< 0 = not known
  WeekHours off;                    ///< switched off in these hours
  std::vector<GpuSharing> sharing;  ///< ascending by gpu; empty = as it was found
  bool operator==(const PlannedNode&) const = default;
};

/// The longest a workload may hold its nodes.
struct PlannedLimit {
  std::string workload;
  Duration limit;
  bool operator==(const PlannedLimit&) const = default;
};

struct FleetPlan {
  std::vector<PlannedNode> nodes;    ///< ascending by name
  std::vector<Commit> commitments;   ///< bought by changes; ascending by provider, region, type, term, payment; one of each
  std::vector<PlannedLimit> limits;  ///< ascending by workload
  std::vector<SavingsPlan> savings_plans = {};  ///< bought by changes; ascending by provider, term, payment, rates; one of each
  bool operator==(const FleetPlan&) const = default;

  /// nullptr when there is none of that name.
  [[nodiscard]] const PlannedNode* find(std::string_view name) const;
};

/// The nodes that are there at `at`, where their inventory says since and until when.
FleetPlan fleet_plan(std::span<const Node> nodes, Instant at);

/// What undoing one change brings back: each thing it altered, before and after.
struct FleetUndo {
  template <typename T>
  struct Altered {
    std::string name;
    std::optional<T> before, after;  ///< none = not there
    bool operator==(const Altered&) const = default;
  };
  std::vector<Altered<PlannedNode>> nodes;  ///< ascending by name
  std::vector<Altered<Duration>> limits;    ///< ascending by workload
  std::vector<Commit> bought;
  std::vector<SavingsPlan> bought_plans = {};
  bool operator==(const FleetUndo&) const = default;
};

/// Carries the change out on paper. Schedules add up, of two limits the shorter holds, commitments add up, a node that becomes
/// another type loses how its GPUs were shared. More nodes than before are called as the replay calls them.
/// @return how to take it back; an error, and the fleet as it was, when a node is not there or none of the hours would be left.
Result<FleetUndo> carry_out(FleetPlan& fleet, const Change& change);

/// All of them, one after another, or none.
Result<FleetUndo> carry_out(FleetPlan& fleet, std::span<const Change> changes);

/// Takes a change back: property by property, so that what other changes altered meanwhile stays.
/// @return an error, and the fleet as it was, when another change altered the same property since.
Status undo(FleetPlan& fleet, const FleetUndo& undo);

}  // namespace stint
