// What a scheduler has to know of nodes, pods and pod groups, beyond what an inventory needs: who places a pod, on which nodes it may be, and
// what it asks for that is not understood here, so that it is left alone and not placed wrongly.
//
// Source: Kubernetes API reference v1.36, "PodSpec", "Taint", "Toleration", "NodeSelectorTerm"; "Assigning Pods to Nodes"; "Taints and
// Tolerations"; scheduler-plugins, "Coscheduling".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "codec/kubernetes/kubernetes_devices.h"
#include "codec/kubernetes/kubernetes_neighbours.h"
#include "codec/kubernetes/kubernetes_object.h"

namespace stint {

struct KubeTaint {
  std::string key, value, effect;  ///< "NoSchedule", "NoExecute", "PreferNoSchedule"
  auto operator<=>(const KubeTaint&) const = default;
};
struct KubeToleration {
  std::string key, value, effect;  ///< "" of key and effect = any
  bool exists = false;             ///< whatever the value
};
struct KubePlacingNode {
  KubernetesNode node;
  std::string version;  ///< resourceVersion
  std::vector<KubeTaint> taints;
  std::string taints_json;       ///< as they stand there; "" = none
  std::vector<Tag> annotations;  ///< those that begin with "stint/"
  bool deleting = false;
  bool whole_gpus = false;   ///< it has nvidia.com/gpu, and each of them is a GPU
  bool mig_devices = false;  ///< it has nvidia.com/mig-…, each of them a device, and no whole GPUs
  [[nodiscard]] bool is_machine() const { return whole_gpus || mig_devices; }
  /// "" = it has none of that name.
  [[nodiscard]] std::string_view annotation(std::string_view key) const;
};

struct KubePlacingPod {
  KubernetesPod pod;
  std::string version;           ///< resourceVersion
  std::string scheduler;         ///< whose name it bears
  KubernetesResources requests;  ///< of all its containers and its overhead
  int64_t priority = 0;
  Duration grace = Duration::seconds(30);
  bool gated = false, deleting = false;
  std::vector<Tag> annotations;  ///< those that begin with "stint/"
  std::vector<Tag> selector;
  std::vector<KubeToleration> tolerations;
  bool has_terms = false;  ///< required node affinity: one of `terms`
  std::vector<KubeNodeTerm> terms;
  KubeNeighbours around;
  std::vector<std::string> not_understood;  ///< what it asks for beyond that, as fields of its specification
  std::string scheduled_message;            ///< of PodScheduled=False
  std::optional<int64_t> exit_code;         ///< once its containers have ended: the first that is not 0, else 0
  std::string exit_reason;                  ///< of that container: "OOMKilled", "Error"
  std::string waiting_reason;   ///< of the first container that has not begun: "ContainerCreating", "ImagePullBackOff"
  std::string waiting_message;  ///< likewise

  [[nodiscard]] std::string_view annotation(std::string_view key) const;
  [[nodiscard]] bool has_ended() const { return pod.phase == "Succeeded" || pod.phase == "Failed"; }
};

/// PodGroup of the coscheduling plugin.
struct KubePodGroup {
  KubernetesMeta meta;
  int64_t min_member = 0;
};

using KubePlacingObject = std::variant<KubePlacingNode, KubePlacingPod, KubePodGroup, KubeVolumeClaim, KubeVolume,
                                       KubeStorageClass, KubeDeviceSlice, KubeDeviceClass, KubeDeviceClaim>;

/// One line of a watch.
struct KubePlacingEvent {
  KubernetesEvent event;                    ///< its object stays empty
  std::optional<KubePlacingObject> object;  ///< none = a bookmark, an error, or not understood (event.message)
};

class KubePlacingDecoder {
 public:
  KubePlacingDecoder();
  ~KubePlacingDecoder();
  KubePlacingDecoder(const KubePlacingDecoder&) = delete;
  KubePlacingDecoder& operator=(const KubePlacingDecoder&) = delete;

  /// @param kind  "Node", "Pod", "PodGroup", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "ResourceSlice", "DeviceClass" or
  /// "ResourceClaim". @return error naming the object and the field that cannot be understood.
  Result<KubePlacingObject> decode(std::string_view json, std::string_view kind);
  Result<KubePlacingEvent> decode_event(std::string_view line, std::string_view kind);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Why the node takes no new pod at the moment; "" = it does.
std::string why_no_work(const KubePlacingNode& node);
/// By selector, required node affinity and taints that stay; not by room. @return why not; "" = it may.
std::string why_not_on(const KubePlacingPod& pod, const KubePlacingNode& node);
/// The first two of those alone. @return as why_not_on().
std::string why_not_asked_for(const KubePlacingPod& pod, const KubePlacingNode& node);
/// The third. @param passing_too  and taints that say how the node is at the moment.
std::string why_not_tolerated(const KubePlacingPod& pod, const KubePlacingNode& node, bool passing_too = false);
/// One of the terms holds.
bool one_holds(const std::vector<KubeNodeTerm>& terms, const KubernetesNode& node);

}  // namespace stint
