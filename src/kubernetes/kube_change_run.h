// A Change carried out on a cluster: what it asks of objects is read, applied and taken back by server-side apply.
//
// Each object keeps what it said before in an annotation, set in the same request as the change, so that nothing but the cluster has to be kept, the
// same again changes nothing, and whoever is cut short goes on. A value that somebody else changed since is theirs: it is not taken back.
// Sources: Kubernetes, "Server-Side Apply", "API-initiated Eviction"; NVIDIA mig-parted, the label nvidia.com/mig.config.state.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codec/kubernetes/kube_change.h"
#include "kubernetes/kube_apply.h"

namespace stint {

/// What the cluster would be told, by what it has now. Changes nothing.
/// @param key  of the changes together; the same for the same changes. @param kubectl_image  KubeChangeInput's.
Result<KubeChangePlan> read_kube_change(KubeClient& client, std::span<const Change> changes, const std::string& key,
                                        const FleetPlan& fleet, const std::string& kubectl_image);

struct KubeChanged {
  KubeObjectName object;
  std::string says;     ///< what was done
  std::string refusal;  ///< the server's words, or what keeps it from being done; "" = done
};

/// In the plan's order, each of them, also after one was refused.
/// @param key  read_kube_change's. @param cut_within  for the MIG manager to be done. @return error when the cluster does
/// not answer.
Result<std::vector<KubeChanged>> carry_out_on_cluster(KubeClient& client, const KubeChangePlan& plan, const std::string& key,
                                                      KubeApply how, Duration cut_within);

/// All objects that the change of `key` touched; empty = there are none.
Result<std::vector<KubeChanged>> take_back_on_cluster(KubeClient& client, const std::string& key);

}  // namespace stint
