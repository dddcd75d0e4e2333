#include "sched/place/gpu_models.h"

#include <algorithm>

namespace stint::sched {

void GpuModels::add(NodeId n, std::string_view model) {
  auto found = std::ranges::find(models_, model, &Model::name);
  if (found == models_.end()) found = models_.insert(found, Model{.name = std::string(model), .nodes = {}});
  if (found->nodes.empty()) ++in_use_;
  found->nodes.insert(std::ranges::lower_bound(found->nodes, n), n);
  if (of_node_.size() <= n.index()) of_node_.resize(n.index() + 1, kNone);
  of_node_[n.index()] = static_cast<int32_t>(found - models_.begin());
}

void GpuModels::remove(NodeId n) {
  if (of(n) == kNone) return;
  std::vector<NodeId>& nodes = models_[static_cast<size_t>(of(n))].nodes;
  nodes.erase(std::ranges::lower_bound(nodes, n));
  if (nodes.empty()) --in_use_;
  of_node_[n.index()] = kNone;
}

}  // namespace stint::sched
