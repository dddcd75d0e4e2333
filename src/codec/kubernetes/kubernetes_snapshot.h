// A cluster at one time, given to a Sink: machines with GPUs, and pods as runs of what owns them.
//
// A run is named after the topmost owner of its pod, so that replicas of one Deployment are one workload. The client is the namespace, or
// what a label says; whatever is left out is counted and noted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "codec/kubernetes/kubernetes_gpus.h"
#include "codec/kubernetes/kubernetes_state.h"
#include "codec/sink.h"

namespace stint {

struct KubernetesSnapshotOptions {
  std::optional<Instant> at;  ///< when it was taken: pods that run ran until then
  std::string client_label;   ///< label of pod or namespace that names the client; empty = the namespace does
};

class KubernetesSnapshot {
 public:
  /// @param state  must outlive it and not change meanwhile.
  KubernetesSnapshot(const KubernetesState& state, KubernetesSnapshotOptions options)
      : state_(state.contents()), options_(std::move(options)) {}

  /// Once.
  void give(Sink& sink);

 private:
  void read_slices();
  void give_nodes(Sink& sink);
  void give_node_doubts(Sink& sink) const;
  void give_pods(Sink& sink);
  void give_run(const KubernetesPod& pod, const Run& run, Sink& sink) const;
  void give_quotas(Sink& sink) const;
  void give_idle_machines(Sink& sink) const;
  void give_warnings(Sink& sink) const;
  void give_counts(Sink& sink) const;
  [[nodiscard]] Tenant tenant_of_pod(const KubernetesPod& pod) const;
  [[nodiscard]] std::optional<Run> run_of_pod(const KubernetesPod& pod);
  void read_times(const KubernetesPod& pod, Run& run) const;
  bool hold_claims(const KubernetesPod& pod, Run& run);

  const KubernetesContents& state_;
  const KubernetesSnapshotOptions options_;
  std::map<std::string, KubernetesGpus> gpus_;  ///< by node
  struct PoolDevice {
    std::string node;
    KubernetesDevice device;
  };
  std::map<KubernetesClaim::Result, PoolDevice> devices_;  ///< of the newest generation of each pool
  std::map<std::string, int64_t> accelerators_;            ///< that are no GPUs: nodes that have them
  std::map<std::string, int64_t> pods_on_;                 ///< by node: pods that hold GPUs now
  int64_t pods_without_gpus_ = 0, pods_elsewhere_ = 0, claims_not_there_ = 0;
};

}  // namespace stint
