// Consolidation as a class: who moves, and for whom.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/scheduler_backfill.h"
#include "sched/scheduler_room.h"

namespace stint::sched {

class Consolidation {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    const JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    const Pending& pending;
    const Accounts& accounts;
    const StopRules& rules;
    Heads& heads;
    Lifecycle& life;
    Moves& moves;
    Backfilling& backfill;
    RoomMaker& room;
    Instant& claim_ripens;  ///< StopBook::ripens: of a search for others to stop that asks for a move first
    VictimSketch& sketch;
    RoomOnPaper::Scratch& paper;
  };
  Consolidation(const View& view, ConsolidationBook& book) : s_(view), book_(book) {}

  /// Tries the heads of the shapes that do not fit; where the first in line blocks the others, only that one.
  /// @return whether others move for one.
  bool move_for_one();
  /// The same for one that may claim room, where enough is free but scattered.
  bool move_for_claim(JobId j);
  /// When move_for_one() may find what it did not find, though nothing happens; kNever = then it will not.
  [[nodiscard]] Instant next_search() const;

 private:
  [[nodiscard]] Instant move_again_at(const Attempted& last) const;
  [[nodiscard]] bool is_scattered(ShapeId s) const;
  [[nodiscard]] bool is_enough_open(JobId j) const;
  bool move_others_for(JobId j);
  [[nodiscard]] int64_t loss_by_moving(JobId v) const;
  bool is_movable(JobId v);
  bool find_movers(JobId j, RoomOnPaper& room, std::span<const JobId> refused);
  NodeId node_to_clear(int32_t gpus, RoomOnPaper& room, std::span<const JobId> refused);
  std::vector<JobId> movable_on(NodeId n, std::span<const JobId> refused);
  bool move_in_detail(JobId j);
  [[nodiscard]] std::vector<NodeId> emptiest_nodes(JobId j) const;
  std::optional<JobId> without_new_room(JobId j, const RoomOnPaper& room);
  void carry_out_moves(JobId j, const RoomOnPaper& room);
  bool promise_room(JobId j, const RoomOnPaper& room);

  View s_;
  ConsolidationBook& book_;
};

}  // namespace stint::sched
