// Where a pod may be because of what is around it: other pods, ports of machines, volumes, resources that the caller's books do not have. Pure.
//
// As kube-scheduler takes these rules: a pod that fits its own affinity may be the first anywhere; who is there keeps others away by its own
// anti-affinity, too; pods that are going still count for affinity and for ports, and no longer for an even spread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/kubernetes/kube_cluster.h"

namespace stint {

/// Pods on machines as of one moment. The cluster outlives it and does not change meanwhile.
class KubeAround {
 public:
  explicit KubeAround(const KubeCluster& cluster);
  /// One that is on its way to a machine.
  void add(const KubePlacingPod& pod, std::string_view node, const std::vector<KubeAllocation>& devices = {});
  /// Does more than room, selectors and taints decide where it may be?
  [[nodiscard]] bool concerns(const KubePlacingPod& pod) const;

 private:
  friend class KubeAsk;
  struct Present {
    const KubePlacingPod* pod;
    const KubePlacingNode* node;
  };
  [[nodiscard]] const std::vector<Present>& present() const;
  [[nodiscard]] const std::map<std::string, KubeHeld, std::less<>>& held() const;
  [[nodiscard]] KubeDeviceBook& devices() const;

  const KubeCluster* cluster_;
  std::vector<Present> added_;
  std::vector<Present> keeping_away_;  ///< those with anti-affinity of their own
  // Made when first asked for.
  mutable std::optional<std::vector<Present>> present_;
  mutable std::optional<std::map<std::string, KubeHeld, std::less<>>> held_;
  mutable std::optional<KubeDeviceBook> devices_;
  std::set<std::string, std::less<>> being_allocated_;  ///< claims, by namespace/name
};

/// One pod's wishes against what is around. Both outlive it.
class KubeAsk {
 public:
  KubeAsk(const KubePlacingPod& pod, const KubeAround& around);
  /// What keeps it from every node, and that waiting alone may change or not: its volume is not there. "" = nothing.
  [[nodiscard]] const std::string& why_nowhere() const { return nowhere_; }
  /// @return "" = it may be there, as far as this goes; room for GPUs, CPU and memory apart.
  [[nodiscard]] std::string why_not_on(const KubePlacingNode& node) const;
  /// Likewise by other pods alone.
  [[nodiscard]] std::string why_not_beside(const KubePlacingNode& node) const;
  /// Devices for its claims that have none yet, of those that are free. @return why not, where they are not free at the moment.
  [[nodiscard]] Result<std::vector<KubeAllocation>> devices_on(const KubePlacingNode& node) const;
  /// How many GPUs that will be; 0 = none, or they are allocated.
  [[nodiscard]] int64_t gpus_on(const KubePlacingNode& node) const;
  /// Its claims whose volumes are made where it goes to: "namespace/name".
  [[nodiscard]] const std::vector<std::string>& volumes_to_make() const { return to_make_; }

 private:
  using Domains = std::set<std::string, std::less<>>;
  struct Spread {
    const KubeSpread* asked;
    std::map<std::string, int64_t, std::less<>> pods;  ///< by domain
    int64_t fewest = 0;
    bool counts_itself = false;
  };
  void look_for_near();
  void look_for_apart();
  void look_at_spreads();
  void look_at_volumes();
  void look_at_claims();
  [[nodiscard]] bool is_eligible(const KubeSpread& spread, const KubePlacingNode& node) const;

  const KubePlacingPod& pod_;
  const KubeAround& around_;
  std::string nowhere_;
  std::vector<std::pair<const KubePodTerm*, Domains>> near_, apart_;
  bool is_first_ = false;                                            ///< no pod fits its affinity, and it does itself
  std::vector<std::pair<std::string, std::string>> kept_away_from_;  ///< label and domain, by pods that are there
  std::vector<Spread> spreads_;
  std::vector<const std::vector<KubeNodeTerm>*> volumes_;  ///< one term of each holds
  std::vector<std::string> to_make_;
  std::vector<const KubeDeviceClaim*> unallocated_;
  bool being_allocated_ = false;
  KubeHeld needs_;
};

/// What of it concerns pods of the same gang, which are placed together; "" = nothing.
std::string among_themselves(const std::vector<const KubePlacingPod*>& gang);

/// All of a claim that decides where its pod may be: of claims without devices what is asked for, else which it is.
std::string print_of_claims(const KubePlacingPod& pod, const KubeCluster& cluster);

/// What decides by turns: of pods that share it only the first is told, so that it is known where that went. "" = it looks at no other pods.
std::string turn_of(const KubePlacingPod& pod);

}  // namespace stint
