// Workloads: what kind of work it is, who held a device, and one run of a job.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "model/tenant.h"

namespace stint {

enum class WorkloadKind {
  kUnknown,
  kTraining,
  kFineTuning,
  kBatchInference,
  kRealtimeInference,
  kEvaluation,
  kNotebook,
};
std::string_view name_of(WorkloadKind k);  // "training", "fine-tuning", "batch-inference", "realtime-inference", …
Result<WorkloadKind> parse_workload_kind(std::string_view text);
/// Guesses from free text such as a namespace, pod, job or tag; kUnknown when nothing speaks for one kind.
WorkloadKind guess_workload_kind(std::string_view text);
/// Serving and notebooks wait for people: they are never moved to spot or switched off under load.
bool is_interactive(WorkloadKind k);

/// Who a sample or an allocation belongs to, as the source names it. All empty = the device itself.
struct Holder {
  std::string ns;  ///< Kubernetes namespace
  std::string pod;
  std::string container;
  std::string job;      ///< Slurm job id or Stint job id
  std::string process;  ///< pid or command
  std::string user;
  std::string account;  ///< Slurm account
  auto operator<=>(const Holder&) const = default;
  [[nodiscard]] bool empty() const { return *this == Holder{}; }
};
using HolderId = Id<struct HolderTag>;

/// The tenant of a holder: the first rule whose pattern matches, else namespace or account as the client,
/// pod (without its generated suffix or ordinal: replicas are one workload), job as the workload.
Tenant tenant_of(const Holder& holder, const std::vector<TenantRule>& rules);

enum class RunState { kUnknown, kPending, kRunning, kCompleted, kFailed, kCancelled, kTimeout, kPreempted, kNodeFail };
std::string_view name_of(RunState s);

/// What a run held on one node.
struct RunAllocation {
  std::string node;              ///< node name as telemetry calls it
  std::vector<int> gpu_indexes;  ///< empty = not known which
  int64_t gpu_count = 0;
};

/// One execution of a workload: start to end, on certain GPUs.
struct Run {
  std::string id;  ///< unique within the source; requeues differ in `restart`
  int restart = 0;
  std::string name;
  Holder holder;
  Tenant tenant;  ///< what the source itself says; rules fill the rest
  WorkloadKind kind = WorkloadKind::kUnknown;
  RunState state = RunState::kUnknown;
  std::optional<Instant> submitted;
  std::optional<Instant> started;
  std::optional<Instant> ended;  ///< of one that runs still: until when that is known; none = it is not
  std::optional<Duration> time_limit;
  int64_t gpus_requested = 0;
  std::optional<GpuShare> share;  ///< when a part of one GPU was held
  int64_t cpus = 0;
  Bytes memory;
  std::vector<RunAllocation> allocations;
  std::optional<bool> checkpointable;
};

}  // namespace stint
