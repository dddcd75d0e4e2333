#include "backends/kubernetes/kube_teller.h"

#include <utility>

namespace stint {

KubeTeller::KubeTeller(std::shared_ptr<KubeClient> client, std::function<bool()> may)
    : client_(std::move(client)), may_(std::move(may)), thread_([this] { run(); }) {}

KubeTeller::~KubeTeller() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void KubeTeller::say(const std::string& about, std::string words, std::vector<KubeChange> changes) {
  {
    const std::scoped_lock lock(mutex_);
    Saying& saying = sayings_[about];
    if (saying.words == words) return;
    if (saying.changes.empty()) order_.push_back(about);
    saying = {std::move(words), std::move(changes)};
  }
  wake_.notify_all();
}

void KubeTeller::forget(const std::string& about) {
  const std::scoped_lock lock(mutex_);
  sayings_.erase(about);
}

void KubeTeller::run() {
  for (;;) {
    std::vector<std::string> order;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !order_.empty(); });
      if (stop_) return;
      order.swap(order_);
    }
    for (const std::string& about : order) {
      std::vector<KubeChange> changes;
      {
        const std::scoped_lock lock(mutex_);
        if (stop_) return;
        const auto saying = sayings_.find(about);
        if (saying == sayings_.end()) continue;  // bound meanwhile
        changes.swap(saying->second.changes);
      }
      for (const KubeChange& change : changes)
        if (may_()) (void)client_->change(change);
    }
  }
}

}  // namespace stint
