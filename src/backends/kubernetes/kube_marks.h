// What a Node says of its machine for the daemon: that it is cordoned, that a GPU of it is broken. So other schedulers place nothing there.
//
// A field is set together with an annotation that says who set it and why, in one request, and only what this daemon's annotation stands for is
// taken back: what others cordon or taint is theirs. Who takes back what was set here, and leaves the annotation, has the last word until
// something else is asked for.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "backends/machine_asks.h"
#include "codec/kubernetes/kubernetes_placing.h"
#include "kubernetes/kube_client.h"

namespace stint {

inline constexpr std::string_view kKubeCordoned = "stint/cordoned";     ///< annotation beside spec.unschedulable
inline constexpr std::string_view kKubeBrokenGpu = "stint/broken-gpu";  ///< annotation, and the key of its taint
inline constexpr std::string_view kKubeGoneAt = "stint/gone-at";        ///< annotation of others: the machine will be gone then

/// Who cordoned the node and why, where a daemon did; "" = none did.
std::string why_cordoned(const KubePlacingNode& node);

/// Is there anything to do? Cheap.
bool is_marked(const KubePlacingNode& node);

/// What brings the node in line; none where it is. Refused (409) where the node has changed since it was read. Pure.
/// @param mark  the daemon's.
std::optional<KubeChange> mark_request(const KubePlacingNode& node, const MachineAsk& ask, std::string_view mark);

/// Handed from the thread that knows what is asked of machines to the one that tells the API server, and what came of it back.
class KubeMachineAsks {
 public:
  void put(MachineAsks asks);
  /// Null = not known yet: nothing is to be changed.
  [[nodiscard]] std::shared_ptr<const MachineAsks> get() const;
  /// @param problem  why a machine was last not brought in line; "" = all were.
  void note(std::string problem);
  [[nodiscard]] std::string problem() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const MachineAsks> asks_;  // guarded
  std::string problem_;                      // guarded
};

}  // namespace stint
