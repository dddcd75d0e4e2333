// Which node, of those a task fits: the seam between what must hold (Cluster::fit) and what is preferred.
//
// A picker is asked once per task. pick_by_rules looks at every node and needs nothing prepared; a placement index that
// keeps scores per request answers the same question faster for whole clusters.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "sched/place/cluster.h"

namespace stint::sched {

/// Among which nodes to choose.
struct Scope {
  bool everywhere = true;
  std::span<const NodeId> nodes;  ///< ascending; when not `everywhere`
  template <typename Visit>
  void for_each(const Cluster& cluster, Visit&& visit) const {
    if (everywhere)
      for (uint32_t n = 0; n < cluster.node_count(); ++n)
        visit(NodeId(n));
    else
      for (const NodeId n : nodes)
        visit(n);
  }
};

/// The node, and the place on it, for one more task with request `r`; none = it fits nowhere in `scope`.
/// Must only return what Cluster::fit would accept. Called once per task, never per node.
using PickPlace = std::function<std::optional<Place>(const Cluster&, RequestId r, Room room, const Scope& scope)>;

/// Fullest (kPack) or emptiest (kSpread) node first.
enum class NodeOrder : uint8_t { kPack, kSpread };

struct PlaceRules {
  NodeOrder gpu_tasks = NodeOrder::kPack;   ///< by GPUs free
  NodeOrder cpu_tasks = NodeOrder::kPack;   ///< by CPUs free; nodes without GPUs before those with
  SharedGpu shared_gpu = SharedGpu::kPack;  ///< kPack: GPUs already shared before whole ones, on whatever node
};

/// Looks at every node of the scope. With Room::kComing nodes where the task could run at once come first.
/// Ties: the same order by what is free now, then the node added first.
std::optional<Place> pick_by_rules(const Cluster& cluster, RequestId r, Room room, const Scope& scope, const PlaceRules& rules);

}  // namespace stint::sched
