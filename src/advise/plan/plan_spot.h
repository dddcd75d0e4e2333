// A spot plan: which jobs suit spot capacity, how often they should checkpoint, when they end, what they cost, and over which pools.
//
// Runs of one client, name and kind are a group. For every pool (type, region, zone) that can hold the group the interruptions of a
// machine-hour are a Gamma belief: a prior, and what the History saw there (spot_hazard.h). A run on several machines is lost
// with the first of them, and begins again on new ones. The checkpoint interval is the one of least expected time among whole numbers of segments (spot_job.h), beside
// Daly's; cost and finish are means and ninetieth percentiles of a simulation in which the rate is uncertain too.
// Runs that are there at the same time are spread over the cheapest pools with a bound on what one of them can take back at
// once (spot_mix.h), and the share kept on demand is what the deadline asks for.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "advise/find/finder.h"
#include "advise/plan/spot_job.h"
#include "advise/prove/spot_hazard.h"

namespace stint {

struct SpotPlanOptions {
  double checkpoint_h = 1.0 / 60;
  double restart_h = 5.0 / 60;    ///< from having an instance to working, paid; also at the beginning
  double mean_wait_h = 0.25;      ///< for capacity after a loss; not paid
  double mean_between_h = 20;     ///< prior of interruptions of one machine
  double prior_hours = 100;       ///< what the prior is worth
  std::optional<double> weibull;  ///< shape of the hazard; none = exponential
  /// Shape of a bathtub in place of it: share lost early, hours of the early losses, of the late ones, and the limit (spot_hazard.h); the
  /// hours are stretched so that the mean life is that of the belief.
  std::optional<std::array<double, 4>> bathtub;
  double finish_within = 1.5;  ///< deadline of a run, × its length on demand
  double most_on_spot = 0.9;   ///< share of progress
  double most_at_once = 0.5;   ///< share of concurrent runs that one pool may take back
  uint64_t seed = 42;
  int trials = 2'000;
};

/// Capacity that is given and taken back together.
struct SpotPool {
  std::string provider, region, zone, instance_type;  ///< zone "": not known
  Money spot;                                         ///< an instance-hour
  double throughput = 1;                              ///< of a GPU, relative to where the group runs now; the lower estimate
  InterruptionRate rate;                              ///< of one instance, posterior
  int64_t interruptions = 0;                          ///< that the History saw
  double watched_h = 0;                               ///< instance-hours on spot that it saw
  double cost_per_hour_of_work = 0;                   ///< of one machine's work as now, expected
};

enum class SpotFit { kFits, kInteractive, kCannotResume, kTooShort, kNotCheaper, kNoPrice, kNeverEnds, kNoTime };
std::string_view name_of(SpotFit fit);

/// How a group would run in its cheapest pool. Per run.
struct SpotOutcome {
  double interval_h = 0;       ///< of work between checkpoints, numeric; the whole work when it cannot resume
  double daly_interval_h = 0;  ///< by the formula, where the hazard is exponential
  SpotOutlook outlook;         ///< hours of the run
  Money cost, cost_p90;        ///< all on spot
  double on_spot = 0;          ///< share of progress that the deadline leaves for spot
  Money mixed_cost;            ///< with that share; the rest on demand
};

struct SpotShare {
  SpotPool pool;
  int64_t runs = 0;  ///< of those there at once; 0: to fall back on
};

struct SpotGroup {
  std::string client, name;
  WorkloadKind kind = WorkloadKind::kUnknown;
  std::string provider, region, instance_type;
  bool on_spot_now = false;  ///< its machines are spot already: nothing is saved by moving
  bool recorded = true;      ///< false: no job records; each machine's hours are taken as one run
  int64_t runs = 0;
  int64_t at_once = 1;   ///< runs that were there at the same time, at most
  int64_t machines = 1;  ///< of a run, mean rounded up
  double work_h = 0;     ///< of a run, mean
  std::optional<bool> checkpointable;
  Money on_demand;  ///< an instance-hour as paid now; on spot already: as listed
  Money run_cost;   ///< on demand: work × machines × price × share of the machine's GPUs
  SpotFit fit = SpotFit::kFits;
  double discount_pct = 0;         ///< of the best pool's price
  double discount_needed_pct = 0;  ///< below it spot is dearer: what starting and interruptions cost
  std::optional<SpotOutcome> outcome;
  std::vector<SpotShare> pools;  ///< cheapest first; those used and up to two to fall back on
  Money saving_per_month;        ///< expected; zero where it does not fit or is on spot already
};

struct SpotPlan {
  std::vector<SpotGroup> groups;  ///< descending by saving, then client and name
  std::vector<Change> changes;    ///< machines on demand on which nothing but fitting groups ran
  std::vector<std::string> notes;
  Money run_cost_per_month;  ///< of all groups, on demand
  Money saving_per_month;
};

/// Deterministic for a seed. @return error when an option is out of range.
Result<SpotPlan> plan_spot(const FleetView& fleet, const SpotPlanOptions& options);

}  // namespace stint
