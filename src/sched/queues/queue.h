// Queues: the tree of tenants (departments, teams, projects) jobs are submitted to, and what each may hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/change.h"
#include "sched/ids.h"

namespace stint::sched {

/// Amounts of one queue per resource. None = unlimited.
struct QueueAmounts {
  std::optional<int64_t> gpu_milli;
  std::optional<int64_t> cpu_milli;
  std::optional<int64_t> memory_bytes;
  bool operator==(const QueueAmounts&) const = default;
};

/// Money a queue and all below it may spend on GPU time, at the rates of the nodes (NodeSpec::gpu_rate). What is spent
/// keeps its jobs from starting, not from going on.
struct Budget {
  Money amount;     ///< ≥ 0; for each period
  Duration period;  ///< it is renewed that often, what is left does not carry over; 0 = never
  Instant from;     ///< a period begins here, others before and after it
  bool operator==(const Budget&) const = default;
};

struct QueueSpec {
  std::string name;
  QueueId parent;                ///< not valid = top level; a parent is added before its children
  QueueAmounts deserved;         ///< guaranteed; what is not used is lent and comes back on demand
  QueueAmounts limit;            ///< never exceeded by preemptible jobs, deserved never by the others; at every level
  double over_quota_weight = 1;  ///< by which what is over is divided among siblings; 0 = none of it
  int32_t priority = 100;        ///< higher first
  int32_t created = 0;           ///< rank, smaller = older
  std::optional<Budget> budget;  ///< none = spends what it likes
  WeekHours closed;              ///< hours in which none of its jobs starts, nor of queues below it; not all of the week
  bool operator==(const QueueSpec&) const = default;
};

}  // namespace stint::sched
