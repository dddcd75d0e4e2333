// What a Node says of its machine for the daemon: that it is cordoned, that a GPU of it is broken. So other schedulers place nothing there.
//
// A field is set together with an annotation that says who set it and why, in one request, and only what this daemon's annotation stands for is
// taken back: what others cordon or taint is theirs. Who takes back what was set here, and leaves the annotation, has the last word until
// something else is asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "backends/machine_asks.h"
#include "base/result.h"
#include "base/time.h"
#include "codec/kubernetes/kubernetes_placing.h"
#include "kubernetes/kube_client.h"

namespace stint {

inline constexpr std::string_view kKubeCordoned = "stint/cordoned";     ///< annotation beside spec.unschedulable
inline constexpr std::string_view kKubeBrokenGpu = "stint/broken-gpu";  ///< annotation, and the key of its taint
inline constexpr std::string_view kKubeGoneAt = "stint/gone-at";        ///< annotation of others: the machine will be gone then

/// The daemon of that mark cordoned the node, and has not been overruled since.
bool is_cordoned_by(const KubePlacingNode& node, std::string_view mark);
/// Who cordoned it and why, where a daemon did; "" = none did.
std::string why_cordoned(const KubePlacingNode& node);

/// Is there anything to do? Cheap.
bool is_marked(const KubePlacingNode& node);

/// What brings the node in line; none where it is. Refused (409) where the node has changed since it was read. Pure.
/// @param mark  the daemon's.
std::optional<KubeChange> mark_request(const KubePlacingNode& node, const MachineAsk& ask, std::string_view mark);

/// Handed from the thread that knows what is asked of machines to the one that tells the API server, and what came of it back.
class KubeMachineAsks {
 public:
  /// Waits until the nodes say so, or that could not be done. @return error with the reason, or when it takes longer than `patience`.
  Status bring_in_line(MachineAsks asks, Duration patience);

  struct Asked {
    std::shared_ptr<const MachineAsks> asks;  ///< null = not known yet: nothing is to be changed
    int64_t number = 0;
  };
  [[nodiscard]] Asked get() const;
  /// All nodes were looked at with the asks of that number. @param open  some are not in line yet. @param problem  why; "" = it is under way
  void looked(int64_t number, bool open, std::string problem);

 private:
  mutable std::mutex mutex_;
  std::condition_variable told_;
  Asked asked_;          // guarded
  int64_t done_ = 0;     // guarded: the last number that is in line
  std::string problem_;  // guarded: of the last look
};

}  // namespace stint
