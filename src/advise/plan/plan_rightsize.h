// Right-sizing a fleet: for each service and each job's machine the cheapest type and count that still does the work.
//
// Jobs keep a machine each: of every type that holds the fullest GPU's memory and whose GPUs do the busiest 5 % with room to spare the
// cheapest is taken. Services are replicas of a model, so their count is free: each service needs
//   more than (its busy GPUs, p95) × (1 + headroom) / (throughput relative to now)
// GPUs, and at least two replicas where there are two now; and its recorded hours, replayed on as many (prove/service_pools.h), keep p99
// within what is promised of it (advise/promises.h), or what it is today. Machines that hold replicas of the same services are decided together, others
// each for themselves: no group's busiest service speaks for another. Then every type of several GPUs is tried for all that fit it at once, since they may fill fewer machines
// together. The lower end of the throughput decides; the upper end says what it would be if it holds.
// Work in MIG instances needs a GPU whose instances hold it and keep it apart.
// A service's GPU that is ≥ 90 % busy or full is too small: then a type may cost more.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/find/finder.h"
#include "advise/find/resize_fit.h"
#include "advise/prove/service_replay.h"

namespace stint {

/// A service's demand as its owner knows it: 500 requests/s, 200 on one of the present GPUs.
struct ServiceDemand {
  double per_second = 0;
  double per_gpu = 1;  ///< > 0
};

struct RightsizeOptions {
  double headroom = 0.2;                         ///< of services
  double least_saving = 0.05;                    ///< of the cost now: less is not worth a move
  std::map<std::string, ServiceDemand> demands;  ///< by service; the others' is what telemetry shows
};

/// Another type for a group.
struct RightsizeTarget {
  const InstanceType* type = nullptr;
  Money hourly;            ///< of one
  int64_t count = 0;       ///< at the lower throughput
  int64_t count_best = 0;  ///< at the higher
  RelativeThroughput throughput;
  Money saving_per_month;  ///< with `count`; negative: it costs more
  Money saving_best;       ///< with `count_best`
};

struct RightsizeDropped {
  const InstanceType* type = nullptr;
  std::string reason;
};

struct RightsizeRow {
  std::vector<std::string> nodes;  ///< ascending
  std::string provider, region, instance_type, gpu_model, category;
  bool services = false;  ///< replicas, whose count is free
  int64_t service_count = 0;
  std::vector<std::string> service_names;  ///< ascending
  int64_t gpus = 0;                        ///< of all machines
  double busy_gpus = 0;                    ///< services: sum of busy p95; demands that were given in their place
  ResizeNeed need;
  bool too_small = false;
  std::optional<double> p99_ms;  ///< of requests, the worst hour's device; × 1/throughput on another type
  Money monthly;
  std::optional<RightsizeTarget> best;       ///< none: the present one is
  std::optional<RightsizeTarget> runner_up;  ///< the next cheapest that does
  std::vector<RightsizeDropped> dropped;     ///< cheaper ones with GPUs enough that do not do, cheapest first, three at most
};

struct RightsizePlan {
  std::vector<RightsizeRow> rows;  ///< descending by saving, then by first node
  std::vector<std::string> notes;  ///< what was left out
  Money monthly;                   ///< of the groups looked at
  Money saving_per_month;          ///< of the rows that save (saves()): what the audit books where nothing else touches them
  Money saving_best;
  Money growth_per_month;  ///< what the other rows with a target would cost more, in no saving
};

/// Answers worked out before, of one fleet, its prices and the same options: a search of plans asks for the same pools again and again.
struct RightsizeMemo {
  struct Pool {
    std::vector<RightsizeRow> rows;
    int64_t unseen = 0;  ///< machines that nothing can be said of
  };
  std::map<std::string, Pool> pools;               ///< by what the books say of their machines
  std::map<std::string, ServiceOutlook> outlooks;  ///< by change
};

/// @return error when a demand names no service of the fleet.
Result<RightsizePlan> plan_rightsize(const FleetView& fleet, const RightsizeOptions& options);

/// Is the target a saving, with machines that take the place of present ones? Else it is growth: a service that is too small now, or a demand that
/// was given, needs more than there is.
bool saves(const RightsizeRow& row, const RightsizeTarget& target);

/// What applies a row; one with `best`.
Change change_of(const RightsizeRow& row);

/// Of each row whose target is growth a line with what it would cost; they are in no plan.
std::vector<std::string> growth_notes(const RightsizePlan& plan);

}  // namespace stint
