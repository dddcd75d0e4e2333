// Where runs were: puts every run of the History on the GPUs it held, deterministically, also where the
// source names only the node and a count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/history.h"
#include "model/occupancy.h"

namespace stint {

/// Something a run can hold: a whole GPU, or one MIG instance.
struct GpuSlot {
  NodeId node;
  int index = -1;       ///< of the GPU in its node
  uint32_t device = 0;  ///< into History::devices, or into Occupancy::inferred_devices when `inferred`
  bool inferred = false;
  bool takes_runs = true;  ///< false: the whole of a GPU that is cut into instances
};

/// A run's hold on one slot.
struct RunHold {
  uint32_t run = 0;       ///< index into History::runs
  Interval when;          ///< within the period
  DeviceParts share = 0;  ///< of the slot while it is held
};

/// `share` of a device for `part` of an hour, rounded down.
DeviceParts parts_in_hour(DeviceParts share, Duration part);

/// Runs that name their GPUs are placed first, then those that give a count: each on the lowest-indexed slots
/// that are free for all of its hours, and, when there are too few, on those least taken. Order within both:
/// History::runs.
/// @param slots  ascending by node, then in the order in which GPUs are given out.
/// @return per slot, ascending by begin, then by run. Holds of one slot can exceed it: the caller cuts them.
std::vector<std::vector<RunHold>> place_runs(const History& history, std::span<const GpuSlot> slots, Interval period);

/// GPUs that runs prove to exist on each node, by NodeId: the highest index named, or the largest count of one run.
std::vector<int64_t> gpus_seen_by_runs(const History& history);

}  // namespace stint
