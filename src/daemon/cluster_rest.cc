#include "daemon/cluster_rest.h"

namespace stint {

void ClusterRest::rest(const std::set<std::string>& machines) {
  if (told_ == machines) return;
  const Status done = bring_in_line_(machines);
  if (done.ok())
    told_ = machines;
  else
    told_.reset();
  const std::lock_guard lock(mutex_);
  problem_ = done.ok() ? std::string() : done.error().message;
}

std::string ClusterRest::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace stint
