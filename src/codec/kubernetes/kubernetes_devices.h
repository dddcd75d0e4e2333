// Devices that nodes offer and pods claim (dynamic resource allocation), as who allocates them needs them.
//
// Understood: devices of one node; requests of so many devices, or all, of a class, with conditions on them; what they have to have in common,
// or in which they have to differ. What goes beyond is named in `not_understood`, and its claim is left to others.
//
// Source: Kubernetes API reference v1.36, resource.k8s.io/v1 "ResourceSlice", "DeviceClass", "ResourceClaim".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/kubernetes/kube_cel.h"
#include "codec/kubernetes/kubernetes_neighbours.h"
#include "codec/kubernetes/kubernetes_object.h"

namespace stint {

/// Finalizer of a claim that is allocated: it stays until that is taken back.
inline constexpr std::string_view kKubeClaimKept = "resource.kubernetes.io/delete-protection";

/// Some of the devices that a driver offers on a node.
struct KubeDeviceSlice {
  KubernetesMeta meta;
  std::string driver, pool, node;  ///< node "" = not of one node
  int64_t generation = 0;          ///< of the pool: older ones are void
  int64_t slices = 1;              ///< that the pool has of this generation
  std::vector<KubeDevice> devices;
};

struct KubeDeviceClass {
  KubernetesMeta meta;
  std::vector<KubeCondition> conditions;  ///< all of them hold
  std::string config;                     ///< for drivers: a JSON list, "" = none
  std::string not_understood;
};

struct KubeDeviceName {
  std::string driver, pool, device;
  auto operator<=>(const KubeDeviceName&) const = default;
};

struct KubeDeviceRequest {
  std::string name, kind;  ///< kind: DeviceClass
  int64_t count = 1;       ///< 0 = all that the node has
  std::vector<KubeCondition> conditions;
};
struct KubeDeviceRule {
  std::vector<std::string> requests;  ///< empty = all
  std::string attribute;
  bool differ = false;  ///< in it, in place of having it in common
};
struct KubeAllocated {
  std::string request;
  KubeDeviceName device;
  auto operator<=>(const KubeAllocated&) const = default;
};

struct KubeDeviceClaim {
  KubernetesMeta meta;
  std::string version;  ///< resourceVersion
  std::vector<KubeDeviceRequest> requests;
  std::vector<KubeDeviceRule> rules;
  std::string config;  ///< as of a class
  std::string print;   ///< of what is claimed: claims of which this is the same may have the same devices
  std::string not_understood;
  std::vector<std::string> marks;  ///< finalizers
  bool is_kept = false;            ///< it has the mark that keeps it while it is allocated
  bool deleting = false;
  bool is_allocated = false;
  std::vector<KubeAllocated> allocated;
  std::vector<KubeNodeTerm> nodes;        ///< allocated: one of these holds; empty = any node
  std::vector<std::string> reserved_for;  ///< uids
  std::string users;                      ///< the same whole: a JSON list, "" = none
};

}  // namespace stint
