// Nodes by the model of their GPUs: the tasks of a gang wait for each other, so they go on GPUs that are alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sched/ids.h"

namespace stint::sched {

class GpuModels {
 public:
  static constexpr int32_t kNone = -1;

  /// @param model  of all its GPUs; may be empty: those are one model, too
  void add(NodeId n, std::string_view model);
  void remove(NodeId n);
  /// Index of the node's model; kNone where it has no GPUs.
  [[nodiscard]] int32_t of(NodeId n) const { return n.index() < of_node_.size() ? of_node_[n.index()] : kNone; }
  /// Ascending.
  [[nodiscard]] const std::vector<NodeId>& nodes(int32_t model) const { return models_[static_cast<size_t>(model)].nodes; }
  /// Models that have nodes.
  [[nodiscard]] size_t in_use() const { return in_use_; }

 private:
  friend struct SnapshotParts;
  struct Model {
    std::string name;
    std::vector<NodeId> nodes;
  };
  std::vector<Model> models_;
  std::vector<int32_t> of_node_;
  size_t in_use_ = 0;
};

}  // namespace stint::sched
