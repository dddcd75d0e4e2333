// The checker's own books of what queues have spent, from the workload's prices and what was held where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload.h"

namespace stint::sim {

class CheckedBudgets {
 public:
  explicit CheckedBudgets(const Workload& workload);

  /// A job of the queue holds so much more (or less) of the node from now on.
  void hold(sched::QueueId queue, NodeId node, int64_t gpu_milli, Instant now);
  /// What is wrong with a start in this queue now; "" = nothing.
  [[nodiscard]] std::string problem_of(sched::QueueId queue, Instant now);

 private:
  struct Book {
    sched::QueueId queue;
    std::vector<int64_t> held;  // by node, milli-GPU
    double spent = 0;           // in this period
    Instant period_end = sched::kNever;
  };
  void run_until(Instant now);
  [[nodiscard]] double cost_of_node(size_t node, Interval period) const;

  const Workload* workload_;
  std::vector<Book> books_;
  Instant now_;
  bool began_ = false;
};

}  // namespace stint::sim
