// What of a cluster its scheduler sees: nodes, pods and pod groups as they are now. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "backends/kubernetes/kube_devices.h"
#include "codec/kubernetes/kubernetes_placing.h"

namespace stint {

/// What pods hold of one node.
struct KubeHeld {
  int64_t gpus = 0;
  int64_t cpu_milli = 0;
  int64_t memory = 0;  ///< bytes
  int64_t pods = 0;
  std::map<std::string, int64_t, std::less<>> others;  ///< MIG devices, ephemeral storage, …: whole ones, by resource
};
KubeHeld held_by(const KubePlacingPod& pod);
/// What a node has for pods.
KubeHeld room_of(const KubePlacingNode& node);
void add(KubeHeld& sum, const KubeHeld& more);
void take_away(KubeHeld& sum, const KubeHeld& less);
/// Profile of a MIG device by its resource: "1g.10gb" of nvidia.com/mig-1g.10gb; "" = it is none.
std::string_view mig_profile_of_resource(std::string_view resource);

class KubeCluster {
 public:
  std::map<std::string, KubePlacingNode, std::less<>> nodes;             ///< by name
  std::map<std::string, KubePlacingPod, std::less<>> pods;               ///< by uid
  std::map<std::string, int64_t, std::less<>> groups;                    ///< least members, by namespace/name
  std::map<std::string, KubeVolumeClaim, std::less<>> claims;            ///< by namespace/name
  std::map<std::string, KubeVolume, std::less<>> volumes;                ///< by name
  std::map<std::string, KubeStorageClass, std::less<>> storage_classes;  ///< by name
  bool knows_volumes = false;                                            ///< those three are followed
  KubeDeviceState devices;
  uint64_t node_changes = 0;  ///< counts what decides which pods may be on which nodes

  /// @param kind  of KubePlacingDecoder.
  void begin_list(const std::string& kind);
  void take(std::string_view json, const std::string& kind);
  void end_list(const std::string& kind);
  Result<KubernetesEvent> event(std::string_view line, const std::string& kind);
  /// A pod is bound, and the watch has not told yet.
  void bound(const std::string& uid, const std::string& node, std::vector<Tag> annotations);

  /// Has it GPUs that can be given out whole, as MIG devices, or by claims?
  [[nodiscard]] bool is_machine(const KubePlacingNode& node) const;
  /// That its drivers offer to claims; 0 where a device plugin offers some.
  [[nodiscard]] int64_t claimable_gpus(const KubePlacingNode& node) const;
  /// Of a pod, by its claims.
  [[nodiscard]] int64_t claimed_gpus(const KubePlacingPod& pod) const;
  /// A claim was changed, and the watch has not told yet.
  void claimed(KubeDeviceClaim claim);

  /// By node: of pods that are bound and have not ended, going ones included.
  [[nodiscard]] std::map<std::string, KubeHeld, std::less<>> held() const;

 private:
  void keep(KubePlacingObject object);
  void note_listed(const std::string& kind, const std::string& key) {
    if (const auto listing = listing_.find(kind); listing != listing_.end()) listing->second.insert(key);
  }

  void read_slices() const;
  void keep_beside(const KubePlacingObject& object);
  void devices_changed();
  template <typename Object>
  void put(std::map<std::string, Object, std::less<>>& known, const Object& object, const std::string& key) {
    note_listed(object.meta.kind, key);
    known.insert_or_assign(key, object);
  }

  struct Bound {
    std::string node;
    std::vector<Tag> annotations;
  };
  KubePlacingDecoder decoder_;
  std::map<std::string, std::set<std::string>> listing_;
  std::map<std::string, Bound, std::less<>> bound_;                ///< by uid, until the server tells
  mutable std::map<std::string, int64_t, std::less<>> claimable_;  ///< GPUs by node, as of the slices
  mutable std::set<KubeDeviceName> gpus_;
  mutable bool slices_read_ = false;
};

}  // namespace stint
