// Key figures of a period: what a job and 1,000 inferences cost, how long work takes from submission to its end, and how well
// what is paid for is used.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/cost_statement.h"
#include "ledger/ledger.h"
#include "model/history.h"
#include "model/occupancy.h"

namespace stint {

/// Jobs of one kind that ended within the period; a job that was started again is one.
struct JobKpis {
  std::string kind;  ///< "training" (with fine-tuning), "evaluation", "batch inference", "other"
  size_t jobs = 0;
  size_t completed = 0;                    ///< with success, as far as the source says
  size_t unpriced = 0;                     ///< on machines whose price or number of GPUs is not known; in no amount below
  double gpu_hours = 0;                    ///< held by all of them within the period
  Money cost;                              ///< GPU-hours held × what a GPU-hour of the machine cost in the period
  Money cost_unfinished;                   ///< of it, of jobs that did not complete
  std::optional<Money> per_completed_job;  ///< cost / completed: what failed is paid for by what did not
  std::optional<Money> median, p90;        ///< of the completed jobs' own cost
};

/// From submission to the start, and to the end with success. Of jobs that say when they were submitted.
struct TimeToResult {
  size_t jobs = 0;
  Duration median_wait, p90_wait;
  Duration median, p90;
};

struct ServiceKpi {
  std::string service;             ///< the workload's name
  Money cost;                      ///< its inference money, idle money not included
  std::optional<double> requests;  ///< answered in the period; none = not known
  std::optional<Money> per_thousand;
};

/// What GPU-hours of one model cost, beside the catalogue's on-demand price of the same machines.
struct GpuPriceKpi {
  std::string gpu_model;  ///< empty = not known
  double gpu_hours = 0;   ///< there and charged
  Money cost;             ///< compute money of their machines
  Money per_gpu_hour;
  double listed_gpu_hours = 0;           ///< of machines whose on-demand price the catalogue knows, in the bill's currency
  std::optional<Money> listed;           ///< on-demand price of a GPU-hour of them
  std::optional<double> below_list_pct;  ///< how far their cost lies below it
};

/// Commitments: reserved instances and savings plans, as the bill marks them. None of it where the bill marks nothing.
struct CommitmentKpi {
  double coverage_pct = 0;     ///< of the charged GPU-hours, those that a commitment paid for
  double utilization_pct = 0;  ///< of the money committed, what machines used
  Money unused;
};

/// Share of the bill that names an owner, by what it names; percent.
struct OwnerShares {
  double client = 0, project = 0, team = 0, environment = 0;
};

struct Kpis {
  Interval period;
  CostBasis basis = CostBasis::kEffective;
  Money total;                               ///< the bill
  std::optional<Money> per_active_gpu_hour;  ///< all compute money, idle included, by GPU-hours with any activity
  std::optional<double> held_pct;            ///< of the GPU-hours there, those that somebody held
  std::optional<double> active_pct;          ///< of those held with telemetry, those that were active
  std::optional<double> below_list_pct;      ///< over all machines with a known on-demand price
  /// The same with what commitments cost unused: FinOps' effective savings rate. Below 0: commitments cost more than they save.
  std::optional<double> effective_savings_pct;
  std::vector<GpuPriceKpi> prices;  ///< descending by cost, then by model
  std::optional<CommitmentKpi> commitments;
  OwnerShares owned;
  std::vector<JobKpis> jobs;  ///< kinds that occur
  std::optional<TimeToResult> time;
  std::vector<ServiceKpi> services;  ///< descending by cost, then by name
};

/// @param ledger  posted from `occupancy`. @param catalog  for on-demand prices. @param requests  by service: how many it answered in the period.
/// @return error naming the services there are, when `requests` names another.
Result<Kpis> make_kpis(const History& history, const Occupancy& occupancy, const Ledger& ledger, const Catalog& catalog,
                       const std::map<std::string, double>& requests);

}  // namespace stint
