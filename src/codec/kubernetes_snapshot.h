// A cluster at one time, gathered object by object in any order, then given to a Sink: machines with GPUs, and pods as runs of what
// owns them.
//
// A run is named after the topmost owner of its pod, so that replicas of one Deployment are one workload. The client is the namespace, or
// what a label says; whatever is left out is counted and noted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/kubernetes_gpus.h"
#include "codec/kubernetes_object.h"
#include "codec/sink.h"

namespace stint {

struct KubernetesSnapshotOptions {
  std::optional<Instant> at;  ///< when it was taken: pods that run ran until then
  std::string client_label;   ///< label of pod or namespace that names the client; empty = the namespace does
};

class KubernetesSnapshot {
 public:
  explicit KubernetesSnapshot(KubernetesSnapshotOptions options) : options_(std::move(options)) {}

  /// Of two of one kind and uid (or namespace and name) the later counts.
  void add(KubernetesObject object);
  /// Gives all of it away; once.
  void give(Sink& sink);

 private:
  void keep(KubernetesNode node);
  void keep(KubernetesPod pod);
  void keep(KubernetesOwner owner);
  void keep(KubernetesNamespace ns);
  void keep(KubernetesQuota quota);
  void keep(KubernetesSlice slice);
  void keep(KubernetesClaim claim);
  void keep(KubernetesOther other);
  void remember(const KubernetesMeta& meta);

  void read_slices();
  void give_nodes(Sink& sink);
  void give_node_doubts(Sink& sink) const;
  void give_pods(Sink& sink);
  void give_quotas(Sink& sink) const;
  void give_counts(Sink& sink) const;
  [[nodiscard]] KubernetesReference top_owner(const KubernetesPod& pod) const;
  [[nodiscard]] Tenant tenant_of_pod(const KubernetesPod& pod) const;
  [[nodiscard]] std::optional<Run> run_of_pod(const KubernetesPod& pod);
  void read_times(const KubernetesPod& pod, Run& run) const;
  bool hold_claims(const KubernetesPod& pod, Run& run);

  const KubernetesSnapshotOptions options_;
  std::map<std::string, KubernetesNode> nodes_;
  std::map<std::string, KubernetesPod> pods_;
  std::map<std::string, KubernetesReference> owned_;  ///< by uid of what is owned
  std::map<std::string, std::vector<Tag>> namespace_labels_;
  std::map<std::string, KubernetesQuota> quotas_;
  std::map<std::string, KubernetesSlice> slices_;
  std::map<std::pair<std::string, std::string>, KubernetesClaim> claims_;  ///< by namespace and name
  std::map<std::string, int64_t> other_kinds_;
  std::map<std::string, KubernetesGpus> gpus_;  ///< by node
  struct PoolDevice {
    std::string node;
    KubernetesDevice device;
  };
  std::map<KubernetesClaim::Result, PoolDevice> devices_;  ///< of the newest generation of each pool
  std::map<std::string, int64_t> accelerators_;            ///< that are no GPUs: nodes that have them
  int64_t pods_without_gpus_ = 0, pods_elsewhere_ = 0, claims_not_there_ = 0;
};

}  // namespace stint
