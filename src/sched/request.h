// Request: what one task needs on one node. Interned by the cluster, so that everything that is decided per kind
// of request (does it fit, which node is best, has it just failed) is computed once for all jobs that ask the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/machine.h"

namespace stint::sched {

/// The task must (or must not) be in the same domain of node label `topology_key` as a task carrying all `labels`.
struct AffinityTerm {
  std::vector<Label> labels;
  std::string topology_key;
  bool operator==(const AffinityTerm&) const = default;
};

/// How much longer a task takes while one of kind `beside` holds a part of its GPU, as it was measured.
struct Slowdown {
  std::string beside;
  int32_t percent = 0;
  bool operator==(const Slowdown&) const = default;
};

/// At most one of `gpus`, `milli`, `gpu_memory` and `mig` is set; none = CPU only.
struct Request {
  int32_t gpus = 0;                        ///< whole GPUs of one node
  int32_t milli = 0;                       ///< of ONE GPU, 1 … 999
  Bytes gpu_memory;                        ///< of ONE GPU: the share is this over the GPU's memory, rounded up to the milli
  std::vector<MigAsk> mig;                 ///< instances on the GPUs of one node
  int64_t cpu_milli = 0;                   ///< thousandths of a CPU
  Bytes memory;                            ///< of the host
  std::vector<std::string> gpu_models;     ///< any of these models; empty = any
  std::vector<Label> node_labels;          ///< the node carries all of these
  bool only_allowed_nodes = false;         ///< `allowed_nodes` holds, even when it is empty: then nothing fits
  std::vector<std::string> allowed_nodes;  ///< by name
  std::vector<Label> labels;               ///< of the task itself, seen by others' affinity
  std::vector<AffinityTerm> affinity;
  std::vector<AffinityTerm> anti_affinity;
  std::string shares_with;  ///< a part of a GPU only beside parts of requests with the same text here; MIG instances with any
  std::string work_kind;    ///< of a part of a GPU: the kind by which slowdowns are measured; empty = none that was
  /// Likewise: how many percent longer it may take for those that hold other parts of its GPU, their slowdowns added up; −1 = any. Beside
  /// a kind that was not measured it counts kMostSlowedPercent.
  int32_t max_slowdown_percent = -1;
  std::vector<Slowdown> slowdowns;  ///< its own, where it has such a bound; each kind once
  bool operator==(const Request&) const = default;
};

}  // namespace stint::sched
