// Lists that are read once and then followed, one thread for each.
//
// What the API server no longer remembers (410) is listed anew; a watch that is cut goes on from the last version that was seen; bookmarks
// keep that version young where nothing happens.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kubernetes/kube_client.h"

namespace stint {

struct KubeMirrorCounts {
  uint64_t lists = 0;   ///< read whole
  uint64_t events = 0;  ///< added, modified, deleted
  uint64_t cuts = 0;    ///< watches that ended before their time
  uint64_t expired = 0;
};

/// What becomes of what is read; the follower calls one at a time.
class KubeTaker {
 public:
  virtual ~KubeTaker() = default;
  /// What follows until end_list() is all there is of that kind.
  virtual void begin_list(const std::string& kind) = 0;
  virtual void take(std::string_view json, const std::string& kind) = 0;
  virtual void end_list(const std::string& kind, Instant at) = 0;
  /// One line of a watch. @return error when it is no event.
  virtual Result<KubernetesEvent> event(std::string_view line, const std::string& kind, Instant at) = 0;
  /// A watch was refused for good. @return false = it is followed no longer.
  virtual bool refused(const KubeList& what, const Error& why) = 0;
};

class KubeFollower {
 public:
  struct Followed {
    KubeList list;
    std::string version;  ///< "" = it was not listed yet
  };
  /// @param mutex  held while the taker is called.
  KubeFollower(std::shared_ptr<KubeClient> client, KubeTaker& taker, std::mutex& mutex)
      : client_(std::move(client)), taker_(taker), mutex_(mutex) {}
  /// Waits for the watches to end: `KubeClientOptions::watch_for` at most, unless the server hangs.
  ~KubeFollower();
  KubeFollower(const KubeFollower&) = delete;
  KubeFollower& operator=(const KubeFollower&) = delete;

  /// One list, now. @return the version to follow it from.
  Result<std::string> list(const KubeList& what);
  /// Once.
  void follow(std::vector<Followed> lists);
  /// Every list was read.
  [[nodiscard]] bool has_all() const { return unread_ == 0; }
  /// Why the last list that failed did; "" = the last succeeded.
  [[nodiscard]] std::string trouble();
  [[nodiscard]] KubeMirrorCounts counts() const;

 private:
  void run(Followed& one);
  bool list_again(Followed& one);
  void pause(int failures);

  std::shared_ptr<KubeClient> client_;
  KubeTaker& taker_;
  std::mutex& mutex_;
  std::mutex trouble_mutex_;
  std::string trouble_;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> unread_ = 0;
  std::atomic<uint64_t> lists_ = 0, events_ = 0, cuts_ = 0, expired_ = 0;
  std::vector<Followed> followed_;
  std::vector<std::thread> threads_;
};

}  // namespace stint
