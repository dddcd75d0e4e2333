// What of a cluster its scheduler sees: nodes, pods and pod groups as they are now. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "codec/kubernetes/kubernetes_placing.h"

namespace stint {

/// What pods hold of one node.
struct KubeHeld {
  int64_t gpus = 0;
  int64_t cpu_milli = 0;
  int64_t memory = 0;  ///< bytes
  int64_t pods = 0;
};
KubeHeld held_by(const KubePlacingPod& pod);
/// What a node has for pods.
KubeHeld room_of(const KubePlacingNode& node);
void add(KubeHeld& sum, const KubeHeld& more);

class KubeCluster {
 public:
  std::map<std::string, KubePlacingNode, std::less<>> nodes;  ///< by name
  std::map<std::string, KubePlacingPod, std::less<>> pods;    ///< by uid
  std::map<std::string, int64_t, std::less<>> groups;         ///< least members, by namespace/name
  uint64_t node_changes = 0;                                  ///< counts what decides which pods may be on which nodes

  /// @param kind  "Node", "Pod", "PodGroup".
  void begin_list(const std::string& kind);
  void take(std::string_view json, const std::string& kind);
  void end_list(const std::string& kind);
  Result<KubernetesEvent> event(std::string_view line, const std::string& kind);
  /// A pod is bound, and the watch has not told yet.
  void bound(const std::string& uid, const std::string& node, std::vector<Tag> annotations);

  /// By node: of pods that are bound and have not ended, going ones included.
  [[nodiscard]] std::map<std::string, KubeHeld, std::less<>> held() const;

 private:
  void keep(KubePlacingObject object);

  struct Bound {
    std::string node;
    std::vector<Tag> annotations;
  };
  KubePlacingDecoder decoder_;
  std::map<std::string, std::set<std::string>> listing_;
  std::map<std::string, Bound, std::less<>> bound_;  ///< by uid, until the server tells
};

}  // namespace stint
