// When jobs may start: those that may wait for a cheap hour, and queues that start work at certain hours only.
#pragma once

#include <optional>

#include "sched/scheduler_books.h"

namespace stint::sched {

class StartTimes {
 public:
  struct View {
    StepClock& clock;
    JobTable& jobs;
    const Cluster& cluster;
    OpenNodes& open;
    const QueueUsage& queues;
    Pending& pending;
    TimerHeap& timers;
  };
  StartTimes(const View& view, HourBook& book) : s_(view), book_(book) {}

  /// Its turn has come, but not its hour: puts it where it will be found then.
  bool put_off(JobId j);
  /// @return whether it waits for a cheaper hour, and a timer is set for that.
  bool defer(JobId j);
  /// The cheapest slot from now on, on nodes it can run on. @return none when it cannot be deferred, or no slot meets its deadline.
  [[nodiscard]] std::optional<Slot> slot_for(JobId j) const;
  /// The same for another deadline.
  [[nodiscard]] std::optional<Slot> slot_before(JobId j, Instant deadline) const;
  /// A deferrable job that starts now: what lies outside its market does not count as open until open.release().
  /// @return false, and nothing has changed, when there is nothing to leave out.
  bool withhold_dearer(JobId j);
  [[nodiscard]] bool is_closed(QueueId q, Instant at) const;
  /// When the queue and all above it are open: now or the beginning of an hour.
  [[nodiscard]] Instant opens_at(QueueId q) const;
  /// The same, and now where no queue has ever been closed.
  [[nodiscard]] bool is_open(QueueId q) const { return !book_.any_hours || opens_at(q) <= s_.clock.now; }
  void open_queues();
  /// Nothing is in its market any more.
  void forget_node(NodeId n);

 private:
  std::optional<Slot> slot_at_its_turn(JobId j);

  View s_;
  HourBook& book_;
};

}  // namespace stint::sched
