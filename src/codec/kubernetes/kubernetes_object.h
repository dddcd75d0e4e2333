// Objects of the Kubernetes API as values: what an inventory of GPUs and their pods needs of each kind.
//
// Fields are taken as the API server writes them; those it leaves out are empty. Kinds that may own pods are all one
// `KubernetesOwner`, whatever group they come from: only who owns whom is read of them.
// Source: Kubernetes API reference v1.36, "Node", "Pod", "ResourceQuota", "ResourceSlice", "ResourceClaim", "ObjectMeta".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/tenant.h"

namespace stint {

/// Amounts in thousandths of the resource's unit: `500m` of a CPU is 500, `2` GPUs are 2000. Bytes too.
using KubernetesResources = std::map<std::string, int64_t, std::less<>>;

struct KubernetesReference {
  std::string kind, name, uid;
};

struct KubernetesMeta {
  std::string kind, ns, name, uid;
  std::string generate_name;  ///< the prefix the API server made the name from; empty = it was given whole
  std::optional<Instant> created;
  std::vector<Tag> labels;
  std::optional<KubernetesReference> owner;  ///< the controller, else the first owner

  /// Empty = it has no such label.
  [[nodiscard]] std::string_view label(std::string_view key) const;
};

struct KubernetesNode {
  KubernetesMeta meta;
  std::string provider_id;
  std::string gpu_register;  ///< HAMi's annotation of the node's GPUs
  bool unschedulable = false;
  std::optional<bool> ready;
  std::optional<Instant> gone;  ///< when it was seen to be deleted
  KubernetesResources capacity, allocatable;
};

struct KubernetesContainer {
  std::string name, image;
  bool sidecar = false;  ///< an init container that goes on beside the others
  KubernetesResources requests;
};

struct KubernetesPod {
  KubernetesMeta meta;
  std::string node, phase, reason, priority_class, gpu_fraction;
  std::vector<KubernetesContainer> init_containers, containers;
  std::vector<std::string> claims;  ///< ResourceClaims of DRA; an empty one was not made yet
  std::optional<Duration> time_limit;
  std::optional<Instant> scheduled, started, ended, deleted;
  std::string waits_for;   ///< reason of PodScheduled=False: "Unschedulable", "SchedulingGated"
  bool gone = false;       ///< deleted; `ended` says when
  std::string disruption;  ///< reason of DisruptionTarget: "PreemptionByScheduler", "DeletionByTaintManager", …
};

/// ReplicaSet, Job, Workflow, PyTorchJob, …
struct KubernetesOwner {
  KubernetesMeta meta;
};

struct KubernetesNamespace {
  KubernetesMeta meta;
};

struct KubernetesQuota {
  KubernetesMeta meta;
  KubernetesResources hard, used;
};

struct KubernetesDevice {
  std::string name, product, uuid, mig_profile, parent_uuid;
  std::optional<bool> is_gpu;  ///< none = it does not say
  std::optional<int64_t> index;
};

/// Devices of one pool that a DRA driver offers on one node.
struct KubernetesSlice {
  KubernetesMeta meta;
  std::string driver, pool, node;
  int64_t generation = 0;
  std::vector<KubernetesDevice> devices;
};

struct KubernetesClaim {
  KubernetesMeta meta;
  struct Result {
    std::string driver, pool, device;
    auto operator<=>(const Result&) const = default;
  };
  std::vector<Result> allocated;
};

/// An Event of type Warning that is about a pod.
struct KubernetesWarning {
  KubernetesMeta meta;
  std::string pod, reason;
  int64_t count = 1;  ///< how often it was said
};

/// Of a kind that says nothing about GPUs.
struct KubernetesOther {
  KubernetesMeta meta;
};

using KubernetesObject = std::variant<KubernetesNode, KubernetesPod, KubernetesOwner, KubernetesNamespace, KubernetesQuota,
                                      KubernetesSlice, KubernetesClaim, KubernetesWarning, KubernetesOther>;

/// One line of a watch.
struct KubernetesEvent {
  enum class Kind : uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
  Kind kind = Kind::kBookmark;
  std::string version;                     ///< of the object or bookmark: where to go on after it
  std::optional<KubernetesObject> object;  ///< of the first three; none = it could not be understood
  int error_code = 0;                      ///< of an error: 410 = the version is too old, list anew
  std::string message;                     ///< of an error, or why the object could not be understood
};

class KubernetesDecoder {
 public:
  KubernetesDecoder();
  ~KubernetesDecoder();
  KubernetesDecoder(const KubernetesDecoder&) = delete;
  KubernetesDecoder& operator=(const KubernetesDecoder&) = delete;

  /// @param json  one object. @param kind  of an object that does not say it, as in a `PodList`, or of which only the metadata was asked for
  /// (PartialObjectMetadata); else empty.
  /// @return error naming the object and the field that cannot be understood.
  Result<KubernetesObject> decode(std::string_view json, std::string_view kind = {});
  /// @param line  of a watch. @return error when it is none.
  Result<KubernetesEvent> decode_event(std::string_view line, std::string_view kind = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// `500m`, `16Gi`, `1e3`, `128`, `1.5` in thousandths, rounded up. None for anything else, below zero, or beyond what fits.
/// Source: k8s.io/apimachinery, "resource.Quantity".
std::optional<int64_t> parse_kubernetes_quantity(std::string_view text);

}  // namespace stint
