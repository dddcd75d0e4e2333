// Who holds what on which node, kept for the checkers alone: the simplest bookkeeping that can be right.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/mig.h"
#include "sched/decision.h"
#include "sim/workload.h"

namespace stint::sim {

class CheckedRooms {
 public:
  explicit CheckedRooms(const Workload& workload);

  void set_up(NodeId node, bool up);
  /// Takes no new tasks until it comes up again.
  void close(NodeId node);
  [[nodiscard]] bool usable(NodeId node) const { return nodes_[node.index()].up && nodes_[node.index()].open; }

  /// Books the place. @return empty, or which rule that breaks, in words; then nothing may be relied on any more.
  [[nodiscard]] std::string take(const sched::Place& place, const sched::Request& request);
  void give_back(const sched::Place& place, const sched::Request& request);
  /// @return empty, or whom a new task would have to have, or must not have, near it on that node.
  [[nodiscard]] std::string wrong_neighbours(NodeId node, const sched::Request& request) const;
  /// Both carry the label with the same value. Label "node" is the node's name unless given.
  [[nodiscard]] bool same_domain(NodeId a, NodeId b, std::string_view label) const;

  /// How many tasks of this kind would fit on the nodes that are usable if nothing ran there, at most `enough`. By
  /// amounts, models, labels and names; −1 when the request asks for what this count does not know (MIG, affinity, slowdowns).
  [[nodiscard]] int64_t capacity_for(const sched::Request& request, int64_t enough) const;

 private:
  struct Room {
    bool up = true;
    bool open = true;
    int64_t cpu_milli = 0;
    int64_t memory_bytes = 0;
    int32_t tasks = 0;
    std::array<int32_t, sched::kMaxGpusPerNode> gpu_milli{};   // free
    std::array<MigLayout, sched::kMaxGpusPerNode> instances;   // cut out of it
    std::vector<int32_t> stock;                                // by NodeSpec::static_mig: unused instances
    std::vector<const sched::Request*> there;                  // of tasks that neighbours may mind
    std::vector<std::pair<int, const sched::Request*>> parts;  // GPU, and who holds a part of it
  };
  [[nodiscard]] std::string take_gpus(Room& room, const NodeSpec& node, const sched::Place& place, const sched::Request& request);
  [[nodiscard]] static std::string take_instances(Room& room, const NodeSpec& node, const sched::Place& place,
                                                  const sched::Request& request);
  [[nodiscard]] static std::string slowed(const Room& room, int gpu);
  [[nodiscard]] bool any_in_domain(NodeId node, const sched::AffinityTerm& term) const;
  [[nodiscard]] int64_t fitting(const sched::Request& request, const NodeSpec& node, const Room& room) const;
  [[nodiscard]] static Room empty_room(const NodeSpec& node);

  const Workload* workload_;
  bool neighbours_matter_ = false;
  std::vector<Room> nodes_;
};

/// Model, labels and names of the node are what the request wants.
bool node_matches(const sched::Request& request, const NodeSpec& node);

}  // namespace stint::sim
