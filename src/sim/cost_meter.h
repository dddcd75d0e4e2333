// The meter on every machine: what it has cost so far, and whose money that was.
//
// A machine's cost runs while it is paid for, at the rate of the hour. It is split over the tasks on it by the GPU they
// hold (on machines without GPUs: by CPU); what no job holds is idle money. Roundings never add up: each stretch at one rate
// is priced as a whole and what has been handed out before is taken off, so the parts are the bill to the nano-unit.
// A commitment is a meter too: it runs while nothing it covers does, as idle money; a node that is covered runs at the committed rate.
// So is a savings plan: a node it pays for runs at its rate, one it pays for in part at a mixture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "sched/ids.h"
#include "sim/workload.h"

namespace stint::sim {

class CostMeter {
 public:
  explicit CostMeter(const Workload& workload);

  /// Commitments are paid for from here on.
  void begin(Instant now);
  /// `job` holds `weight` more (or less) of `node` from now on: milli-GPU, or milli-CPU on a machine without GPUs.
  void hold(NodeId node, sched::JobId job, int64_t weight, Instant now);
  /// The machine is paid for from now on, or no longer.
  void set_paid(NodeId node, bool paid, Instant now);
  /// Brings one machine, or all, up to date; changes of price up to then included.
  void read(NodeId node, Instant now);
  void read_all(Instant now);

  // As of the last reading of each machine.
  [[nodiscard]] Money of_job(sched::JobId job) const { return of_job_[job.index()]; }
  [[nodiscard]] Money jobs() const { return jobs_; }
  [[nodiscard]] Money idle() const { return idle_; }
  [[nodiscard]] Money total() const { return jobs_ + idle_; }

 private:
  struct Holder {
    sched::JobId job;
    int64_t weight = 0;
  };
  struct Meter {
    int64_t capacity = 0;  // milli-GPU or milli-CPU
    bool paid = false;
    Rate rate;  // since `since`
    Instant since;
    Money handed_out;  // since `since`
    size_t next_price = 0;
    std::vector<Holder> holders;
    Rate market;              // what it costs when no commitment covers it
    int32_t pool = -1;        // of commitments that may cover it
    int32_t covered_by = -1;  // index into committed_
    bool in_plan = false;     // a savings plan may pay for it
  };
  /// Commitments to one type in one region, and the nodes they may cover.
  struct Pool {
    std::vector<size_t> commitments;
    std::vector<NodeId> nodes;  // ascending
  };
  struct Committed {
    Rate rate;         // of one instance
    int64_t free = 0;  // instances that cover nothing
    Meter unused;      // what these cost
  };
  /// A savings plan, and the nodes it pays for in that order.
  struct Spending {
    struct Use {
      NodeId node;
      Money wanted;  // an hour of it, out of the commitment
    };
    Money committed;
    std::vector<Use> uses;
    Meter unused;  // what is not used of it
  };
  void add_commitments();
  void add_spend_plans();
  /// Whatever has come or gone: who pays for what from now on.
  void spend(Instant now);
  void set_free(Committed& committed, int64_t free, Instant now);
  void cover(const Pool& pool, Instant now);
  void settle(Meter& meter, Instant now);
  void set_rate(Meter& meter, Rate rate, Instant now);
  [[nodiscard]] const std::vector<RatePoint>* prices_of(NodeId node) const;

  const Workload* workload_;
  std::vector<Meter> meters_;
  std::vector<Committed> committed_;  // as in the workload
  std::vector<Pool> pools_;
  std::vector<Spending> spending_;   // as in the workload
  std::vector<Money> open_, asked_;  // scratch, by node: on demand as long as no plan pays, and what the plans ask for the rest
  std::vector<Money> of_job_;
  Money jobs_, idle_;
  std::vector<int64_t> weights_;  // scratch
};

}  // namespace stint::sim
