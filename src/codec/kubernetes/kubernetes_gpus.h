// GPUs of a Kubernetes cluster: what a node has, and what part of them a pod takes, whatever shares them out.
//
// Extended resources are counted in whole numbers, but what one of them is depends on the node: a GPU, a replica of one (time slicing
// and MPS of NVIDIA's device plugin), a MIG instance, or a share that HAMi hands out.
// Source: NVIDIA k8s-device-plugin, "Shared Access to GPUs", and GPU feature discovery, "Generated Labels"; HAMi, "config"; KAI, "GPU sharing".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "codec/kubernetes/kubernetes_object.h"
#include "model/fleet.h"

namespace stint {

/// Of one node.
struct KubernetesGpus {
  std::string model;  ///< as the node's labels have it; "" = not told
  Bytes memory;       ///< of one GPU; 0 = not told
  int64_t count = 0;  ///< physical ones; 0 with `has_gpus`: not told
  bool has_gpus = false;
  int64_t replicas = 1;     ///< that one GPU is offered as
  std::string mig_profile;  ///< of every nvidia.com/gpu (strategy single)
  std::map<std::string, int64_t, std::less<>>
      mig_replicas;           ///< by profile: what one instance is offered as, where that is several
  int64_t milli_offered = 0;  ///< resources offered, ×1000; of all names
  std::string sharing;        ///< "time-slicing", "mps", "MIG 1g.10gb", "MIG", "HAMi", ""
};

KubernetesGpus gpus_of(const KubernetesNode& node);

/// True for the names under which device plugins offer GPUs or parts of them.
bool is_gpu_resource(std::string_view name);
/// True for accelerators that are no GPUs: TPUs, Neuron, Gaudi.
bool is_other_accelerator(std::string_view name);

/// Held by one pod: `count` GPUs or instances, `share` of each.
struct KubernetesHold {
  int64_t count = 0;
  std::optional<GpuShare> share;
  std::string container;  ///< the only one that asks for GPUs; else empty
};

/// @param node  where it runs; nullptr = not known (it waits, or the node is not in the snapshot): then what it asks for counts as whole
/// GPUs, MIG instances apart.
KubernetesHold hold_of(const KubernetesPod& pod, const KubernetesGpus* node);

/// How much of its GPU one instance of the profile is. @param model  as a label or driver writes it; "" = not known. None: no such profile.
std::optional<GpuShare> share_of_mig(std::string_view model, std::string_view profile);

/// Of all its containers, as the scheduler counts: those that run together, or the largest init container.
KubernetesResources requests_of(const KubernetesPod& pod);

/// Where a cloud says what a node is: provider, id, type, region, zone and market.
void read_place(const KubernetesNode& node, Node& out);

}  // namespace stint
