// Objects put onto a cluster by server-side apply: made, or their fields set that Stint states; what others state stays.
// Source: Kubernetes, "Server-Side Apply", "Dry-run".
#pragma once

#include <string>
#include <vector>

#include "codec/kubernetes/kube_tenant.h"
#include "kubernetes/kube_client.h"

namespace stint {

enum class KubeApply : uint8_t {
  kDryRun,  ///< the server validates and admits, and keeps nothing
  kForGood,
};

struct KubeApplied {
  std::string path;
  bool made = false;    ///< it was not there before
  std::string refusal;  ///< the server's words; "" = applied
};

/// In their order, each of them, also after one was refused. In a dry run, what lies in a namespace that is not there yet is
/// validated in `default`. @return one for each manifest; error when the cluster does not answer.
Result<std::vector<KubeApplied>> apply_manifests(KubeClient& client, const std::vector<KubeManifest>& manifests, KubeApply how);

}  // namespace stint
