// The nodes of a cluster as machines: what is news since the last look. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/kubernetes/kube_cluster.h"

namespace stint {

class KubeFleet {
 public:
  /// @param configured  prices and places, by name; what a machine is made of the cluster says.
  explicit KubeFleet(std::map<std::string, Machine, std::less<>> configured) : configured_(std::move(configured)) {}
  /// Machines that came, changed, take no work, take work again, and are gone.
  /// @param mark  of the caller: what it has cordoned itself is no news.
  std::vector<MachineReport> look(const KubeCluster& cluster, std::string_view mark = {});
  /// As of the last look, by name.
  [[nodiscard]] std::vector<MachineReport> machines() const;

 private:
  /// @param claimable  GPUs that claims get, where no device plugin offers them.
  [[nodiscard]] MachineReport report_of(const KubePlacingNode& node, const KubeHeld& held, int64_t claimable,
                                        std::string_view mark) const;

  std::map<std::string, Machine, std::less<>> configured_;
  std::map<std::string, MachineReport, std::less<>> reports_;  ///< the last, by machine
};

}  // namespace stint
