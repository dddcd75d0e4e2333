// A client's namespace on a Kubernetes cluster, as objects of its API: from one description, who may do what there, how much the client may
// have, whom its pods reach, and how they are kept apart.
//
// Source: Kubernetes API reference v1.36, "Namespace", "ResourceQuota", "LimitRange", "NetworkPolicy", "Role", "RoleBinding", "PriorityClass";
// "Resource Quotas", "Pod Security Admission".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

/// An object as the API server takes it.
struct KubeManifest {
  std::string path;  ///< of the object: /api/v1/namespaces/team-acme
  std::string json;
};

/// How much a client may have, and what one container may. Quantities as Kubernetes writes them; "" = no bound.
struct KubeTenantQuota {
  std::optional<int64_t> gpus;  ///< whole ones; then slices of GPUs and resource claims need a number of their own
  std::string cpu, memory, storage;
  std::optional<int64_t> pods;
  std::map<std::string, int64_t, std::less<>> other;  ///< of extended resources: nvidia.com/mig-1g.10gb
};

struct KubeTenantPriority {
  std::optional<int32_t> value;  ///< none: the class is there already
  std::optional<int64_t> gpus;   ///< of pods of this class
};

/// Addresses beyond the namespace that its pods reach.
struct KubeTenantPeer {
  std::string to;              ///< 10.1.0.0/16
  std::vector<int32_t> ports;  ///< of TCP; empty = all, of any protocol
};

struct KubeTenant {
  std::string client, ns;
  std::vector<std::string> users, groups;  ///< work there
  std::vector<std::string> viewers;        ///< groups that look only
  std::string security = "restricted";     ///< of PodSecurity
  KubeTenantQuota quota;
  std::string default_cpu = "100m", default_memory = "256Mi";  ///< of a container that names none
  std::string most_cpu, most_memory;                           ///< of a container; "" = no bound
  std::map<std::string, KubeTenantPriority, std::less<>> priorities;
  std::vector<KubeTenantPeer> reaches;
  bool internet = false;                  ///< any public address
  std::vector<std::string> reached_from;  ///< namespaces
  std::string account;                    ///< of the daemon that makes Jobs there: "stint/stint-scheduler"; "" = none does
};

/// @param text  YAML (JSON is): `tenants:` with each client's description by its name. @param source  for messages.
/// @return the tenant of that name; error naming the file, the field and what it wants.
Result<KubeTenant> parse_kube_tenant(std::string_view text, const std::string& source, const std::string& client);

/// In the order to make them.
std::vector<KubeManifest> tenant_manifests(const KubeTenant& tenant);

}  // namespace stint
