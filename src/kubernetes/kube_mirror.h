// A cluster's objects as they are now: listed, then watched, one thread for each kind.
//
// What the API server no longer remembers (410) is listed anew; a watch that is cut goes on from the last version that was seen; bookmarks
// keep that version young where nothing happens. What may not be read, or is not there, is named and left out, as far as the import goes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "codec/kubernetes/kubernetes_state.h"
#include "kubernetes/kube_client.h"

namespace stint {

/// What this cluster has of kKubernetesResources. @return error when the API cannot be asked.
Result<std::vector<KubeList>> discover_kube_lists(KubeClient& client);

/// Reads them one after another into `state`. @return what may not be listed, a sentence each. A kind that the cluster does not know is
/// passed over; nodes and pods that may not be listed are an error.
Result<std::vector<std::string>> list_all_into(KubeClient& client, const std::vector<KubeList>& lists, KubernetesState& state);

struct KubeMirrorCounts {
  uint64_t lists = 0;   ///< read whole
  uint64_t events = 0;  ///< added, modified, deleted
  uint64_t cuts = 0;    ///< watches that ended before their time
  uint64_t expired = 0;
};

class KubeMirror {
 public:
  /// Lists everything once, then follows it. @return error when the API cannot be asked, or nodes or pods may not be listed.
  static Result<std::unique_ptr<KubeMirror>> start(std::shared_ptr<KubeClient> client);
  /// Waits for the watches to end: `KubeClientOptions::watch_for` at most, unless the server hangs.
  ~KubeMirror();
  KubeMirror(const KubeMirror&) = delete;
  KubeMirror& operator=(const KubeMirror&) = delete;

  /// Runs `use` while nothing changes.
  void with(const std::function<void(KubernetesState&)>& use);
  /// What is not followed, and why; a sentence each.
  [[nodiscard]] std::vector<std::string> gaps();
  [[nodiscard]] KubeMirrorCounts counts() const;

 private:
  struct Followed {
    KubeList list;
    std::string version;
  };
  explicit KubeMirror(std::shared_ptr<KubeClient> client) : client_(std::move(client)) {}
  void follow(Followed& one);
  bool list_again(Followed& one);
  void pause(int failures);

  std::shared_ptr<KubeClient> client_;
  std::mutex mutex_;  ///< state_ and gaps_
  KubernetesState state_;
  std::vector<std::string> gaps_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> lists_ = 0, events_ = 0, cuts_ = 0, expired_ = 0;
  std::vector<Followed> followed_;
  std::vector<std::thread> threads_;
};

}  // namespace stint
