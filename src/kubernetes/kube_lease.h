// Leadership among several of one program: a Lease object that one holds and renews; who does not hold it does nothing.
//
// Clocks of different machines are not compared: another's lease has run out when it has not changed for its whole duration by the clock
// here. A holder that could not renew for two thirds of the duration holds it no longer, before anybody else takes it.
// Source: Kubernetes API reference v1.36, "Lease"; client-go, "leaderelection".
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "kubernetes/kube_client.h"

namespace stint {

struct KubeLeaseRules {
  std::string ns = "default", name = "stint";
  std::string holder;                         ///< unique among all that might hold it
  Duration duration = Duration::seconds(15);  ///< at least 2 s
};

/// What a Lease says.
struct KubeLeaseState {
  std::string version;  ///< resourceVersion
  std::string holder;   ///< "" = it is free
  std::string since;    ///< acquireTime, as it stands there
  Duration duration;
  int64_t transitions = 0;
};
/// @return error when it is no Lease.
Result<KubeLeaseState> parse_kube_lease(std::string_view json);

/// Begins to try for it at once, on a thread of its own.
class KubeLease {
 public:
  KubeLease(std::shared_ptr<KubeClient> client, KubeLeaseRules rules);
  /// Gives it back, so that another need not wait.
  ~KubeLease();
  KubeLease(const KubeLease&) = delete;
  KubeLease& operator=(const KubeLease&) = delete;

  /// By any thread, before every change.
  [[nodiscard]] bool holds() const;
  /// Who has it, or why it is not known; for a person.
  [[nodiscard]] std::string standing();

 private:
  void run();
  void try_once();
  Status put(const std::optional<KubeLeaseState>& before, const std::string& holder);

  std::shared_ptr<KubeClient> client_;
  KubeLeaseRules rules_;
  std::atomic<int64_t> good_until_ns_ = 0;  ///< since boot
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;     // guarded
  std::string standing_;  // guarded
  // The thread's own.
  std::string seen_version_;
  Duration seen_at_;
  std::thread thread_;
};

}  // namespace stint
