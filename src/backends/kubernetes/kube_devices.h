// Which devices claims get on a node (dynamic resource allocation). Pure.
//
// On one node the first devices that do for all requests together, in the order in which the driver tells them; requests go one after another
// and go back where a rule among them fails, up to a bound.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/kubernetes/kubernetes_devices.h"

namespace stint {

/// Devices, classes and claims of a cluster as they are now.
struct KubeDeviceState {
  std::map<std::string, KubeDeviceSlice, std::less<>> slices;   ///< by name
  std::map<std::string, KubeDeviceClass, std::less<>> classes;  ///< by name
  std::map<std::string, KubeDeviceClaim, std::less<>> claims;   ///< by namespace/name
  bool known = false;                                           ///< they are followed
};

struct KubeAllocation {
  std::string claim;  ///< namespace/name
  std::vector<KubeAllocated> devices;
  int64_t gpus = 0;  ///< of those
};

/// As of one moment; the state outlives it and does not change meanwhile.
class KubeDeviceBook {
 public:
  explicit KubeDeviceBook(const KubeDeviceState& state);
  /// Of the claims that have none yet. @param of_all  as if nothing were taken.
  /// @return one for each of them; else why not.
  [[nodiscard]] Result<std::vector<KubeAllocation>> allocate(const std::vector<const KubeDeviceClaim*>& claims,
                                                             std::string_view node, bool of_all) const;
  void take(const std::vector<KubeAllocation>& allocations);
  /// Whole GPUs of the node's drivers.
  [[nodiscard]] int64_t gpus_of(std::string_view node) const;
  /// Of all nodes.
  [[nodiscard]] const std::set<KubeDeviceName>& gpus() const { return gpus_; }

 private:
  struct Offered {
    const KubeDevice* device;
    KubeDeviceName name;
    bool is_gpu;
  };
  class Search;
  const KubeDeviceState* state_;
  std::map<std::string, std::vector<Offered>, std::less<>> by_node_;
  std::set<KubeDeviceName> gpus_, taken_;
};

}  // namespace stint
