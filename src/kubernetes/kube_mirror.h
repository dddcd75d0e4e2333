// A cluster's objects as they are now: listed, then watched, one thread for each kind.
//
// What may not be read, or is not there, is named and left out, as far as the import goes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codec/kubernetes/kubernetes_state.h"
#include "kubernetes/kube_follower.h"

namespace stint {

/// What this cluster has of kKubernetesResources. @return error when the API cannot be asked.
Result<std::vector<KubeList>> discover_kube_lists(KubeClient& client);

/// Reads them one after another into `state`. @return what may not be listed, a sentence each. A kind that the cluster does not know is
/// passed over; nodes and pods that may not be listed are an error.
Result<std::vector<std::string>> list_all_into(KubeClient& client, const std::vector<KubeList>& lists, KubernetesState& state);

class KubeMirror {
 public:
  /// Lists everything once, then follows it. @return error when the API cannot be asked, or nodes or pods may not be listed.
  static Result<std::unique_ptr<KubeMirror>> start(std::shared_ptr<KubeClient> client);
  KubeMirror(const KubeMirror&) = delete;
  KubeMirror& operator=(const KubeMirror&) = delete;

  /// Runs `use` while nothing changes.
  void with(const std::function<void(KubernetesState&)>& use);
  /// What is not followed, and why; a sentence each.
  [[nodiscard]] std::vector<std::string> gaps();
  [[nodiscard]] KubeMirrorCounts counts() const { return follower_.counts(); }

 private:
  struct Taker final : KubeTaker {
    void begin_list(const std::string& kind) override;
    void take(std::string_view json, const std::string& kind) override;
    void end_list(const std::string& kind, Instant at) override;
    Result<KubernetesEvent> event(std::string_view line, const std::string& kind, Instant at) override;
    bool refused(const KubeList& what, const Error& why) override;

    std::mutex mutex;  ///< of what follows
    KubernetesState state;
    std::vector<std::string> gaps;
  };
  explicit KubeMirror(std::shared_ptr<KubeClient> client) : follower_(std::move(client), taker_, taker_.mutex) {}

  Taker taker_;
  KubeFollower follower_;
};

}  // namespace stint
