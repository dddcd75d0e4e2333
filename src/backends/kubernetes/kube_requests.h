// What the API server is asked to change, as requests. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/kubernetes/kube_devices.h"
#include "codec/kubernetes/kubernetes_placing.h"
#include "kubernetes/kube_client.h"

namespace stint {

/// Puts a pod on a node; the annotations come with it. Refused (409) where the pod has a node, or is another of its name.
KubeChange bind_request(const KubePlacingPod& pod, std::string_view node, const std::vector<Tag>& annotations);
/// Asks it to leave; 429 where a disruption budget keeps it.
KubeChange evict_request(const KubePlacingPod& pod, Duration grace);
/// Ends it.
KubeChange delete_request(const KubePlacingPod& pod, Duration grace);
/// PodScheduled=False.
KubeChange condition_request(const KubePlacingPod& pod, std::string_view reason, std::string_view message, Instant now);
/// An event beside it; a second of the same words is refused (409).
KubeChange event_request(const KubePlacingPod& pod, std::string_view reason, std::string_view message, Instant now);
KubeChange annotate_request(const KubePlacingPod& pod, std::string_view key, std::string_view value);
/// The volume of a claim that waits for its first pod is to be made for this node.
KubeChange choose_node_request(const KubeVolumeClaim& claim, std::string_view node);
/// A claim stays while it is allocated. Refused (409) where it has changed.
KubeChange keep_claim_request(const KubeDeviceClaim& claim);
/// What the classes of its requests say to drivers, as it stands in an allocation: a JSON list.
std::string class_configs(const KubeDeviceClaim& claim, const KubeDeviceState& state);
/// Its devices, where it has none yet, and the pod that has them; likewise. @param configs  of class_configs()
KubeChange reserve_request(const KubeDeviceClaim& claim, const std::vector<KubeAllocated>& devices, std::string_view configs,
                           const KubePlacingPod& pod, std::string_view node);
/// The pod no longer has them. @param devices_too  nor has the claim.
KubeChange release_request(const KubeDeviceClaim& claim, const KubePlacingPod& pod, bool devices_too);
/// May this account do that anywhere? The answer's body says "allowed".
KubeChange may_request(std::string_view verb, std::string_view group, std::string_view resource);

}  // namespace stint
