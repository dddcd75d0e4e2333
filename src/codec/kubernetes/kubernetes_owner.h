// What a pod belongs to at the top: the Deployment of its ReplicaSet, the CronJob of its Job, whatever owns those.
#pragma once

#include "codec/kubernetes/kubernetes_state.h"

namespace stint {

/// By the owners that the cluster told, else by how Kubernetes names what a Deployment or a CronJob makes. A pod without an owner is its own: kind "Pod".
KubernetesReference top_owner(const KubernetesContents& contents, const KubernetesPod& pod);

}  // namespace stint
