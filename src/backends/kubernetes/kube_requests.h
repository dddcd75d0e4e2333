// What the API server is asked to change, as requests. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace stint
