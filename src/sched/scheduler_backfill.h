// Backfill as a class: what it keeps is its own, and others see what they need of reservations.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/scheduler_start.h"

namespace stint::sched {

/// When a running job ends, or is thought to.
struct Ending {
  Instant at;
  JobId job;
};

class Backfilling {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    const JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    const NodeBuckets& capacity;
    const Pending& pending;
    const QueueBudgets& budgets;
    const Forecasts& forecasts;
    const KnownEnds& ends;
    Placer& placer;
    Heads& heads;
    Starter& starter;
    RoomOnPaper::Scratch& paper;
  };
  Backfilling(const View& view, BackfillBook& book) : s_(view), book_(book) {}

  /// Starts jobs in order; keeps the reservations of those that do not fit, and lets others pass beside them.
  void start_jobs();

  /// Finds the earliest instant at which the job fits, and claims the nodes. @param guess  when jobs end, see guessed_ends().
  /// @return false when it cannot be said, or is guessed to be later than it has waited already.
  bool reserve(JobId j, bool guess);
  /// When it would, were it the last to reserve: nothing is kept for it.
  std::optional<Instant> earliest_start(JobId j);
  [[nodiscard]] const std::vector<Reservation>& reservations() const { return book_.reservations; }
  /// What is reserved for others than `j` is theirs.
  void claim_for_others(JobId j, RoomOnPaper& room) const;
  /// Until open.release(): what others have reserved does not count as open.
  void withhold_for_others(JobId j);
  /// In GPU-seconds: what waiting has cost the job so far, or what it still would, where that is known and less.
  [[nodiscard]] int64_t worth_of_room(JobId j) const;
  /// Nothing of the node is kept for anybody.
  void forget_node(NodeId n);

 private:
  [[nodiscard]] Duration waited(JobId j) const;
  [[nodiscard]] bool is_overdue(JobId j) const;
  [[nodiscard]] std::vector<Ending> guessed_ends() const;
  void drop_stale_reservations();
  bool is_worth_reserving(JobId j);
  bool reserve_in_detail(JobId j, bool guess);
  void end_on_paper(std::span<const Ending> those);
  std::vector<Claim> claims_then(JobId j);
  bool fits_usable_fleet(JobId j);
  [[nodiscard]] int32_t gpus_touched(JobId j) const;
  void withhold(const Reservation& reservation, int32_t touched);
  bool start_beside(JobId j, size_t index, bool reserved);
  void spend_spare(Reservation& r, JobId j) const;

  View s_;
  BackfillBook& book_;
};

}  // namespace stint::sched
