// A Change of a cluster as files for who keeps its objects in a repository: a Kustomize component with patches, and what is not kept there, the machines.
// Source: Kustomize, "Components", "patches".
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "codec/kubernetes/kube_change.h"

namespace stint {

/// Text by name of the file. Pods are left out: their workloads make them. @param title  of the change.
Result<std::map<std::string, std::string>> kube_change_files(const KubeChangePlan& plan, const std::string& title);

/// The object with the fields that the patch sets, as JSON.
std::string kube_patch_json(const KubePatch& patch);

}  // namespace stint
