// Says to the API server what need not be said at once: why pods wait. On a thread of its own, so that bindings do not wait for it.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kubernetes/kube_client.h"

namespace stint {

class KubeTeller {
 public:
  /// @param may  asked before each: is it still this program's to say?
  KubeTeller(std::shared_ptr<KubeClient> client, std::function<bool()> may);
  ~KubeTeller();
  KubeTeller(const KubeTeller&) = delete;
  KubeTeller& operator=(const KubeTeller&) = delete;

  /// @param about  of one name the last counts, unless it has been said; the same words are said once.
  void say(const std::string& about, std::string words, std::vector<KubeChange> changes);
  void forget(const std::string& about);

 private:
  void run();

  struct Saying {
    std::string words;
    std::vector<KubeChange> changes;  ///< empty = said
  };
  std::shared_ptr<KubeClient> client_;
  std::function<bool()> may_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Saying> sayings_;  // guarded
  std::vector<std::string> order_;         // guarded: those that are to be said
  bool stop_ = false;                      // guarded
  std::thread thread_;
};

}  // namespace stint
