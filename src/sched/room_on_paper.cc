#include "sched/room_on_paper.h"

#include <bit>

namespace stint::sched {

RoomOnPaper::RoomOnPaper(const Cluster& cluster, const OpenNodes& open, Scratch& scratch)
    : cluster_(cluster), open_(open), scratch_(scratch), counts_(open.buckets().counts()) {
  for (const NodeId n : scratch_.touched)
    scratch_.nodes[n.index()] = {};
  scratch_.sharers.clear();
  scratch_.touched.clear();
  scratch_.chosen.clear();
  scratch_.nodes.resize(cluster.node_count());
}

void RoomOnPaper::claim(NodeId n, int32_t gpus) {
  Scratch::Node& node = touch(n);
  --counts_[bucket(n)];
  node.claimed += gpus;
  ++counts_[bucket(n)];
}

void RoomOnPaper::leave(std::span<const Task> tasks) {
  for (const Task& task : tasks) {
    const NodeId n = task.place.node;
    if (task.state != TaskState::kRunning || open_.buckets().at(n) == NodeBuckets::kNowhere) continue;
    Scratch::Node& node = touch(n);
    --counts_[bucket(n)];
    node.leaves += gpus_left_by(task);
    ++counts_[bucket(n)];
  }
}

int32_t RoomOnPaper::gpus_left_by(const Task& task) {
  const Place& place = task.place;
  if (place.gpus == 0 || (place.milli == 0 && place.mig_profile < 0)) return std::popcount(place.gpus);
  scratch_.sharers.resize(cluster_.node_count());
  int32_t others = 0;
  cluster_.for_each_on(place.node, [&](TaskId t) { others += (cluster_.task(t).place.gpus & place.gpus) != 0 ? 1 : 0; });
  uint16_t& gone = scratch_.sharers[place.node.index()][static_cast<size_t>(std::countr_zero(place.gpus))];
  return ++gone == others ? 1 : 0;
}

NodeId RoomOnPaper::node_with(int32_t gpus) const {
  NodeId found;
  open_.buckets().for_each_from(gpus, [&](NodeId n) {
    if (room(n) >= gpus) found = n;
    return !found.valid();
  });
  for (size_t k = 0; k < scratch_.touched.size() && !found.valid(); ++k)
    if (room(scratch_.touched[k]) >= gpus) found = scratch_.touched[k];
  return found;
}

void RoomOnPaper::choose(NodeId n, int32_t gpus) {
  touch(n).claimed += gpus;
  scratch_.chosen.emplace_back(n, gpus);
}

bool RoomOnPaper::choose_nodes(const Shape& shape) {
  for (const ShapePart& part : shape.parts) {
    for (int32_t i = 0; i < part.tasks; ++i) {
      NodeId chosen;
      open_.buckets().for_each_from(part.gpus, [&](NodeId n) {
        if (room(n) - at(n).leaves >= part.gpus) chosen = n;
        return !chosen.valid();
      });
      for (size_t k = 0; k < scratch_.touched.size() && !chosen.valid(); ++k)
        if (room(scratch_.touched[k]) >= part.gpus) chosen = scratch_.touched[k];
      if (!chosen.valid()) return false;
      choose(chosen, part.gpus);
    }
  }
  return true;
}

bool RoomOnPaper::is_needed(std::span<const Task> tasks) {
  const auto change_leaves = [&](int32_t sign) {
    bool enough = true;
    for (const Task& task : tasks) {
      if (task.state != TaskState::kRunning || open_.buckets().at(task.place.node) == NodeBuckets::kNowhere) continue;
      scratch_.nodes[task.place.node.index()].leaves += sign * std::popcount(task.place.gpus);
      enough = enough && room(task.place.node) >= 0;
    }
    return enough;
  };
  if (change_leaves(-1)) return false;
  change_leaves(1);
  return true;
}

}  // namespace stint::sched
