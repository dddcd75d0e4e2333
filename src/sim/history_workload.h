// A recorded History as a Workload: the jobs that ran become jobs to be run again, on the machines that were there.
//
// What is known is kept: when a job was submitted, how long it ran, how many GPUs it held on how many nodes, on which GPU
// model. What no record says is assumed, the same for all: jobs called checkpointable save every hour (one minute each, which is part
// of the time they took) and take five minutes to restart, others lose everything when stopped; serving and notebooks are not preempted. Work that only
// telemetry shows (pods without job records) has no submission and no length, so it cannot be replayed; it is not here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "model/history.h"
#include "sim/workload.h"

namespace stint::sim {

struct HistoryWorkload {
  Workload workload;
  int64_t runs = 0;                         ///< in the History
  std::map<std::string, int64_t> left_out;  ///< runs and nodes that cannot be replayed, by reason
  int64_t nodes_without_price = 0;          ///< in the fleet at no cost: the money of the replay is too low then
};

/// What a node costs an hour where the History does not say; none = not known.
using PriceOfNode = std::function<std::optional<Rate>(const Node&)>;

enum class WithoutJobs : uint8_t { kError, kMachinesAlone };

/// How a job saves of which a record says no more than that it does: every hour, a minute each, five minutes to restart.
sched::CheckpointBehaviour recorded_checkpoints();
/// The work in a run that took `wall` without being stopped. A job that saves took its checkpoints within that time, so a replay that adds
/// them again to the work comes to the same wall time. @param wall  > 0.
Duration work_within(Duration wall, const sched::CheckpointBehaviour& checkpoints);

/// Priorities: real-time inference 125, notebooks 75, evaluation, batch inference and unknown work 60, training 50.
/// @return error when no machine is left, and when no job is, unless machines alone will do.
Result<HistoryWorkload> workload_of(const History& history, const PriceOfNode& price_of,
                                    WithoutJobs without_jobs = WithoutJobs::kError);

}  // namespace stint::sim
