// A Change as what a cluster's objects have to say for it: fields to set by server-side apply, pods to evict, and what is left to people.
//
// Machines that are given up are cordoned, and what something makes anew is evicted; jobs there run to their end. Work moves by the node selector
// of its pods' template, where a machine of that kind is there already.
// Sources: Kubernetes, "Well-Known Labels", "Pod deletion cost", "Horizontal Pod Autoscaling", "CronJob"; NVIDIA mig-parted, the configurations
// `all-PROFILE` of the GPU operator's MIG manager.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/kubernetes/kubernetes_state.h"
#include "model/fleet_plan.h"

namespace stint {

/// An object of the API: a Deployment, a node (no namespace), …
struct KubeObjectName {
  std::string kind, ns, name;
  auto operator<=>(const KubeObjectName&) const = default;
  /// "Deployment acme/llm", "Node gpu-3"
  [[nodiscard]] std::string text() const;
};

/// One that Stint may change.
struct KubeObjectKind {
  std::string_view kind, api_version, resource;
  bool in_namespace;
};
/// In the order in which they are to be looked through.
std::span<const KubeObjectKind> kube_object_kinds();
/// nullptr = none of those.
const KubeObjectKind* find_kube_object_kind(std::string_view kind);
/// "/apis/apps/v1/deployments": of all namespaces.
std::string kube_collection_path(const KubeObjectKind& kind);
/// "/apis/apps/v1/namespaces/acme/deployments/llm". @param name  of one of kube_object_kinds().
std::string kube_object_path(const KubeObjectName& name);

struct KubeField {
  std::string at;     ///< JSON pointer into the object: /spec/replicas
  std::string value;  ///< JSON
  bool operator==(const KubeField&) const = default;
};

struct KubePatch {
  KubeObjectName object;
  std::vector<KubeField> fields;
  bool is_made = false;  ///< an object of this change alone: taking the change back deletes it
  std::string says;      ///< for people: "takes no new pods"
};

struct KubeChangePlan {
  std::vector<KubePatch> patches;       ///< in their order; one for each object
  std::vector<KubeObjectName> evicted;  ///< pods, after the patches; what made them makes them anew elsewhere
  std::vector<std::string> stays;       ///< pods that run to their end on machines that are given up
  std::vector<std::string> by_hand;     ///< a line each
  std::vector<std::string> cut;         ///< machines whose GPUs the MIG manager cuts anew by a label of `patches`

  [[nodiscard]] bool does_nothing() const { return patches.empty() && evicted.empty(); }
};

/// What the API server has of it.
using KubeObjects = std::map<KubeObjectName, std::string>;  // JSON

/// Fields that an earlier run of the same change has set, as JSON, by object and pointer.
using KubeFieldsSet = std::map<KubeObjectName, std::map<std::string, std::string>>;

struct KubeChangeInput {
  std::span<const Change> changes;     ///< in their order
  const FleetPlan& fleet;              ///< before them
  const KubernetesContents& contents;  ///< nodes, pods, who owns them
  const KubeObjects& objects;          ///< those that touched_objects() names
  const KubeFieldsSet& set;  ///< numbers of replicas stay as they were set: the pods that they were counted by may be gone
  std::span<const std::string> autoscalers;  ///< HorizontalPodAutoscalers of the cluster, JSON each
  std::string kubectl_image;                 ///< of CronJobs that carry a schedule out; "" = schedules are left to people
};

/// Workloads whose pods run on machines of the changes; CronJobs of a limit by their name among `cron_jobs`. Ascending.
std::vector<KubeObjectName> touched_objects(std::span<const Change> changes, const KubernetesContents& contents,
                                            std::span<const KubeObjectName> cron_jobs);

KubeChangePlan plan_kube_change(const KubeChangeInput& input);

}  // namespace stint
