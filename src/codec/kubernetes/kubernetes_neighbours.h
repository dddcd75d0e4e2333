// What a pod asks of what is around it: near other pods, apart from them, evenly spread, a port of its machine, volumes that are in one place.
// As read; who is around is looked at by who places.
//
// Source: Kubernetes API reference v1.36, "PodAffinityTerm", "TopologySpreadConstraint", "ContainerPort", "PersistentVolume",
// "PersistentVolumeClaim", "StorageClass"; "Assigning Pods to Nodes"; "Pod Topology Spread Constraints"; "Volume Binding Mode".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/kubernetes/kubernetes_object.h"

namespace stint {

/// One requirement of a label, or of a node's name.
struct KubeLabelRule {
  std::string key, how;  ///< "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
  std::vector<std::string> values;
  bool of_name = false;
};
using KubeNodeTerm = std::vector<KubeLabelRule>;  ///< all of them; an empty one matches nothing

/// @param name  of the node; "" of a pod.
bool matches(const KubeLabelRule& rule, const std::vector<Tag>& labels, std::string_view name = {});

/// Which pods, by their labels.
struct KubeSelector {
  bool nothing = true;  ///< none was given: it matches no pod
  std::vector<KubeLabelRule> rules;
  [[nodiscard]] bool holds(const std::vector<Tag>& labels) const;
};

/// Pods of these namespaces that the selector holds for, in one domain of a node label.
struct KubePodTerm {
  KubeSelector selector;
  std::vector<std::string> namespaces;
  bool everywhere = false;  ///< in place of those: any namespace, also where namespaces are chosen by label
  std::string domain;       ///< key of a node label
  [[nodiscard]] bool is_about(const KubernetesMeta& pod) const;
};

struct KubeSpread {
  int64_t most_apart = 1;  ///< maxSkew
  int64_t least_domains = 1;
  std::string domain;
  KubeSelector selector;
  bool only_where_it_may_be = true;   ///< nodeAffinityPolicy: Honor
  bool only_where_tolerated = false;  ///< nodeTaintsPolicy: Honor
};

struct KubeHostPort {
  std::string ip, protocol;
  int64_t port = 0;
  [[nodiscard]] bool is_in_the_way_of(const KubeHostPort& other) const;
};

struct KubeNeighbours {
  std::vector<KubePodTerm> near, apart;  ///< required
  std::vector<KubeSpread> spreads;       ///< DoNotSchedule
  std::vector<KubeHostPort> ports;
  std::vector<std::string> claims;  ///< PersistentVolumeClaims, by name
  /// Does where other pods are decide where this one may be?
  [[nodiscard]] bool looks_at_pods() const { return !near.empty() || !apart.empty() || !spreads.empty() || !ports.empty(); }
};

struct KubeVolumeClaim {
  KubernetesMeta meta;
  std::string volume;       ///< that it is bound to; "" = none yet
  std::string kind;         ///< StorageClass
  std::string chosen;       ///< node for which its volume is to be made
  bool of_one_pod = false;  ///< ReadWriteOncePod
};
struct KubeVolume {
  KubernetesMeta meta;
  bool has_terms = false;
  std::vector<KubeNodeTerm> terms;  ///< one of these, where it has any
};
struct KubeStorageClass {
  KubernetesMeta meta;
  std::string provisioner;
  bool waits = false;  ///< WaitForFirstConsumer
  bool has_terms = false;
  std::vector<KubeNodeTerm> terms;
};

}  // namespace stint
