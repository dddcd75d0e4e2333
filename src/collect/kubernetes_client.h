// Import from a live Kubernetes: what its API lists, once or as it changes, through the snapshot that files go through, too.
#pragma once

#include <memory>
#include <string>

#include "collect/file_import.h"
#include "kubernetes/kube_mirror.h"

namespace stint {

struct KubernetesImport {
  KubeIdentityOptions identity;
  std::string client_label;  ///< of pods or namespaces, names the client; "" = the namespace does
};

/// One import of what there is now. @return error with the address and the remedy when the cluster cannot be asked, or its machines and
/// pods not be listed; nothing is then stored. Kinds that may not be listed are named in the notes.
Result<ImportOutcome> import_kubernetes(HistoryFile& history, const KubernetesImport& import, Instant now);

/// A cluster that is followed: each import tells what changed since the last, pods that came and went meanwhile included.
class KubernetesFollower {
 public:
  static Result<KubernetesFollower> start(const KubernetesImport& import);
  /// @return as import_kubernetes(); what was not stored is told by the next.
  Result<ImportOutcome> import(HistoryFile& history, Instant now);

 private:
  KubernetesFollower(std::shared_ptr<KubeClient> client, std::unique_ptr<KubeMirror> mirror, std::string client_label)
      : client_(std::move(client)), mirror_(std::move(mirror)), client_label_(std::move(client_label)) {}
  std::shared_ptr<KubeClient> client_;
  std::unique_ptr<KubeMirror> mirror_;
  std::string client_label_;
};

}  // namespace stint
