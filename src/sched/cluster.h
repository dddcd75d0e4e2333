// The cluster as the scheduler sees it: nodes, what is free, which tasks hold what, and what is promised to whom.
//
// Rooms. A task that was told to leave (releasing) still holds its room. A task may be nominated to room that leaving
// tasks still hold; when they have left, the room is its. `free` below is free now; `coming` counts leaving tasks' room
// as free and nominated tasks' room as taken.
//
// Trials. Everything that changes the cluster is written to an undo log while a trial is open, so that "would it fit if
// these were gone" is asked by doing it and taking it back. Trials nest.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/mig.h"
#include "sched/decision.h"
#include "sched/job.h"
#include "sched/node_table.h"
#include "sched/policy.h"

namespace stint::sched {

struct ClusterNode {
  std::string name;
  std::string gpu_model;
  int32_t gpus = 0;
  Bytes gpu_memory;  ///< of one GPU
  int64_t cpu_milli = 0;
  Bytes memory;
  int32_t max_tasks = 1 << 20;
  std::vector<Label> labels;  ///< the node's name is label "node" unless given
  bool whole_gpus = true;     ///< false: GPUs are given out as MIG instances only
  /// Instances that exist and stay as they are (profile, how many). Empty with a known geometry and `repartition`:
  /// idle GPUs are cut as needed.
  std::vector<MigAsk> static_mig;
  bool repartition = false;
};

enum class TaskState : uint8_t { kPending, kNominated, kRunning, kReleasing, kFailed, kDone };

/// Hot record of one task.
struct Task {
  JobId job;
  RequestId request;
  TaskState state = TaskState::kPending;
  int32_t group = -1;     ///< leaf of the gang
  int32_t priority = 0;   ///< inside the job
  Place place;            ///< valid when nominated, running or releasing
  Instant started;        ///< when it last began to run
};

class Cluster {
 public:
  NodeId add_node(const ClusterNode& node);
  RequestId intern(const Request& request);
  [[nodiscard]] const Request& request(RequestId r) const;
  [[nodiscard]] const ClusterNode& node(NodeId n) const;
  [[nodiscard]] size_t node_count() const;
  /// Free now.
  [[nodiscard]] const NodeTable& free() const;
  /// With leaving tasks gone and nominated tasks in.
  [[nodiscard]] const NodeTable& coming() const;

  // Journaled.
  void run(Task& task, const Place& place);       ///< pending or nominated → running, on free room
  void nominate(Task& task, const Place& place);  ///< pending → nominated, on coming room
  void leave(Task& task);                         ///< running → releasing
  void gone(Task& task, TaskState then);          ///< any → pending, failed or done; holds nothing
  void set_usable(NodeId n, bool usable);

  enum class Trial : size_t {};
  [[nodiscard]] Trial open_trial();
  void undo(Trial t);  ///< back to how it was at open_trial()
  void keep(Trial t);  ///< the changes stand; still undone with an enclosing trial
};

}  // namespace stint::sched
