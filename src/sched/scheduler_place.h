// Where tasks go: plain shapes by counting, what asks for more by scores and by looking.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/place/place_gang.h"
#include "sched/scheduler_books.h"

namespace stint::sched {

class Placer {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    JobTable& jobs;  ///< counts tasks that run
    const QueueUsage& queues;
    StepDraft& draft;
  };
  Placer(const View& view, FleetBook& book) : s_(view), book_(book) {}

  /// Runs those tasks of a plain job that do not run yet and fit, largest first, each on the fullest node.
  Amounts place_tasks(JobId j, int32_t at_most);
  /// Places what comes next of a job that asks for more than whole GPUs: the tasks it needs to run together, or one more. Within
  /// the limits of its queues.
  std::optional<Amounts> place_in_detail(JobId j);
  /// Promises room that is coming to the tasks that must run together. @return false: it does not fit.
  bool nominate_in_detail(JobId j);
  /// Places tasks of a job, all or none: the cheapest and of one model, where that counts.
  bool place_together(JobId j, std::span<const TaskId> tasks, Room room);
  /// The same by the policy's rules alone.
  bool place_by_rules(JobId j, std::span<const TaskId> tasks, Room room);
  /// Tells the scores what is asked for.
  void observe(JobId j);
  /// Could as many tasks as it needs run if nothing else did? Says yes where counting is not enough to know.
  [[nodiscard]] bool fits_idle_fleet(JobId j) const;
  /// The nodes of the scope without those that are closed.
  Scope unclaimed(const Scope& scope);

 private:
  [[nodiscard]] bool goes_by_price(const Request& request) const;
  [[nodiscard]] std::vector<int32_t> models_for(JobId j) const;
  [[nodiscard]] int32_t model_for_all(JobId j) const;
  [[nodiscard]] NodeId open_node(int32_t gpus, bool by_price, int32_t model) const;
  PickPlace picker();
  PickPlace cheapest_picker();
  std::optional<Place> pick_place(const Cluster& c, RequestId r, Room room, const Scope& scope);

  View s_;
  FleetBook& book_;
};

}  // namespace stint::sched
