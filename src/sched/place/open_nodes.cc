#include "sched/place/open_nodes.h"

#include <algorithm>

namespace stint::sched {
namespace {

/// Bit per GPU that is wholly free and not promised.
uint64_t open_gpus(const Cluster& cluster, NodeId n) {
  const NodeRecord& free = cluster.free()[n];
  const NodeRecord& coming = cluster.coming()[n];
  if (!free.usable || free.tasks_free <= 0 || coming.tasks_free <= 0) return 0;
  return free.whole & coming.whole;
}

}  // namespace

void OpenNodes::catch_up(const Cluster& cluster) {
  const NodeTable::Changes free = cluster.free().changed_since(free_seen_);
  const NodeTable::Changes coming = cluster.coming().changed_since(coming_seen_);
  free_seen_ = cluster.free().log_end();
  coming_seen_ = cluster.coming().log_end();
  if (free.lost || coming.lost) {
    for (uint32_t n = 0; n < cluster.node_count(); ++n)
      buckets_.set(NodeId(n), count_of(cluster, NodeId(n)));
    return;
  }
  look_at(cluster, free.nodes);
  // A start or an end changes both tables alike: then the logs are the same.
  if (!std::equal(free.nodes.begin(), free.nodes.end(), coming.nodes.begin(), coming.nodes.end())) look_at(cluster, coming.nodes);
}

void OpenNodes::look_at(const Cluster& cluster, std::span<const NodeId> nodes) {
  for (const NodeId n : nodes)
    buckets_.set(n, count_of(cluster, n));
}

void OpenNodes::withhold(const Cluster& cluster, NodeId n, int gpus) {
  if (gpus <= withheld(n)) return;
  withheld_.resize(cluster.node_count());
  if (withheld_[n.index()] == 0) withheld_nodes_.push_back(n);
  withheld_[n.index()] = static_cast<int8_t>(gpus);
  buckets_.set(n, count_of(cluster, n));
}

void OpenNodes::close(const Cluster& cluster, NodeId n) {
  closed_.resize(cluster.node_count());
  if (closed_[n.index()]) return;
  closed_[n.index()] = true;
  closed_nodes_.push_back(n);
}

void OpenNodes::release(const Cluster& cluster) {
  for (const NodeId n : closed_nodes_)
    closed_[n.index()] = false;
  closed_nodes_.clear();
  for (const NodeId n : withheld_nodes_) {
    withheld_[n.index()] = 0;
    buckets_.set(n, count_of(cluster, n));
  }
  withheld_nodes_.clear();
}

int OpenNodes::count_of(const Cluster& cluster, NodeId n) const {
  // Nodes that hand out MIG instances only have no whole GPUs to give.
  if (!cluster.free()[n].usable || !cluster.node(n).whole_gpus) return NodeBuckets::kNowhere;
  return std::max(0, __builtin_popcountll(open_gpus(cluster, n)) - withheld(n));
}

uint64_t OpenNodes::first_gpus(const Cluster& cluster, NodeId n, int32_t gpus) {
  uint64_t left = open_gpus(cluster, n);
  uint64_t taken = 0;
  for (int32_t i = 0; i < gpus; ++i) {
    CHECK(left != 0, "node {} has fewer than {} open GPUs", n.index(), gpus);
    taken |= left & (~left + 1);
    left &= left - 1;
  }
  return taken;
}

bool OpenNodes::fits_whole(const Shape& shape, const NodeBuckets::Counts& counts) {
  if (shape.min_tasks == shape.tasks) return fits(shape, counts);
  Shape whole = shape;
  whole.min_tasks = whole.tasks;
  return fits(whole, counts);
}

bool OpenNodes::fits(const Shape& shape, const NodeBuckets::Counts& counts) {
  const bool alike = shape.parts.size() == 1;
  if (alike || shape.min_tasks == shape.tasks) {
    // Those of one size fit or not whatever the order they are placed in; the largest of several sizes are placed first.
    const int32_t wanted = alike ? shape.min_tasks : shape.parts.front().tasks;
    const auto gpus = static_cast<size_t>(shape.parts.front().gpus);
    int32_t fitting = 0;
    for (size_t c = gpus; c < counts.size() && fitting < wanted; ++c)
      if (counts[c] > 0) fitting += counts[c] * static_cast<int32_t>(c / gpus);
    if (alike || fitting < wanted) return fitting >= wanted;
  }
  NodeBuckets::Counts left = counts;
  int32_t placed = 0;
  for (const ShapePart& part : shape.parts) {
    const auto gpus = static_cast<size_t>(part.gpus);
    int32_t to_place = part.tasks;
    for (size_t c = gpus; c < left.size() && to_place > 0; ++c) {
      if (left[c] == 0) continue;
      // A node with c open GPUs takes one task after the other until the next would not fit.
      const auto per_node = static_cast<int32_t>(c / gpus);
      const int32_t full = std::min(left[c], to_place / per_node);
      left[c] -= full;
      left[c % gpus] += full;
      to_place -= full * per_node;
      if (left[c] > 0 && to_place > 0) {
        --left[c];
        ++left[c - static_cast<size_t>(to_place) * gpus];
        to_place = 0;
      }
    }
    placed += part.tasks - to_place;
  }
  return placed >= shape.min_tasks;
}

}  // namespace stint::sched
