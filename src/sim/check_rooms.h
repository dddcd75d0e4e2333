// Who holds what on which node, kept for the checkers alone: the simplest bookkeeping that can be right.
#pragma once

#include <array>
#include <cstdint>
#include <string>
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

  /// How many tasks of this kind would fit on the nodes that are usable if nothing ran there, at most `enough`. By
  /// amounts, models, labels and names; −1 when the request asks for what this count does not know (MIG, affinity).
  [[nodiscard]] int64_t capacity_for(const sched::Request& request, int64_t enough) const;
  /// The same with what runs there now.
  [[nodiscard]] int64_t free_for(const sched::Request& request, int64_t enough) const;

 private:
  struct Room {
    bool up = true;
    bool open = true;
    int64_t cpu_milli = 0;
    int64_t memory_bytes = 0;
    int32_t tasks = 0;
    std::array<int32_t, sched::kMaxGpusPerNode> gpu_milli{};  // free
    std::array<MigLayout, sched::kMaxGpusPerNode> instances;  // cut out of it
  };
  [[nodiscard]] std::string take_gpus(Room& room, const sched::ClusterNode& node, const sched::Place& place,
                                      const sched::Request& request);
  [[nodiscard]] int64_t fitting(const sched::Request& request, const sched::ClusterNode& node, const Room& room) const;
  [[nodiscard]] static Room empty_room(const sched::ClusterNode& node);

  const Workload* workload_;
  std::vector<Room> nodes_;
};

/// Model, labels and names of the node are what the request wants.
bool node_matches(const sched::Request& request, const sched::ClusterNode& node);

}  // namespace stint::sim
