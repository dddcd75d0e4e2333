// A schedule plan: when machines may be off, what work could run at a cheaper hour or place, and reservations that outlast their work.
//
// Windows: every machine's hours of the week that are idle by habit, less what starting again costs; exact (idle_windows.h).
// Later: runs that no person waits for, each at the cheapest hour of a tariff or on a machine that is owned or reserved and idle, within its slack
// (sched/time_price.h; exact for a run by itself, runs are placed in the order in which they began).
// Elsewhere: the same type in a cheaper region where the data may be, less moving the data. Shorter, and off GPUs: as the audit finds them.
// Parts are priced each by itself; together they are `stint audit`'s to combine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/find/finder.h"
#include "advise/find/run_groups.h"

namespace stint {

struct SchedulePlanOptions {
  double restart_h = 1;          ///< what coming back costs: starting, warming up, and that habits break
  Duration slack = kHour * 12;   ///< how much later a run that no person waits for may end
  WeekHours off_peak;            ///< cheaper hours of a tariff; none = every hour costs the same
  double off_peak_discount = 0;  ///< 0 … 1
  double data_gb = 0;            ///< of a group of machines, moved once to another region
  Money transfer_per_gb;
};

struct OffWindows {
  std::vector<std::string> nodes;
  std::string instance_type;
  WorkloadKind kind = WorkloadKind::kUnknown;
  WeekHours off;
  int64_t windows = 0;     ///< a week
  Money saving_per_month;  ///< less starting again
  Money restarts_per_month;
};

/// Runs of a group at a better time.
struct LaterRuns {
  std::string client, name, instance_type;
  int64_t runs = 0;
  int64_t moved = 0;      ///< to a cheaper hour
  int64_t onto_idle = 0;  ///< of them, onto owned or reserved machines that stand idle
  int64_t in_pieces = 0;  ///< of them, interrupted in dear hours
  Duration mean_delay;    ///< of the end, of those that moved
  Money cost_now;         ///< of all runs in the period, at the tariff
  Money cost_then;
};

struct PricedFinding {
  Finding finding;         ///< as the audit words it
  Money saving_per_month;  ///< alone
  Money once;              ///< moving data; zero for others
  std::optional<double> pays_after_months;
};

struct SchedulePlan {
  std::vector<OffWindows> windows;       ///< descending by saving
  std::vector<LaterRuns> later;          ///< those that save, descending
  std::vector<PricedFinding> shorter;    ///< reservations that outlast their work
  std::vector<PricedFinding> elsewhere;  ///< cheaper regions that are allowed
  std::vector<PricedFinding> off_gpu;
  std::vector<std::string> notes;
};

/// @return error when an option is out of range.
Result<SchedulePlan> plan_schedule(const FleetView& fleet, const SchedulePlanOptions& options);

}  // namespace stint
