// What of a run of Kubernetes is told beside it: cost is told by them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/tenant.h"

namespace stint {

struct RunOwner {
  std::string run_id;
  int restart = 0;
  std::string kind;         ///< of what the pod belongs to at the top, whose name is Run::name: "Deployment", "PyTorchJob", "Pod"
  std::vector<Tag> labels;  ///< of the pod, ascending by key
};

/// By run_id and restart.
using RunOwners = std::map<std::pair<std::string, int>, RunOwner>;

}  // namespace stint
