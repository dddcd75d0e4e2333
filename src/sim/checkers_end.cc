// Checks at the end of a replay: is anything lost, and do work and money add up?
#include <algorithm>
#include <cmath>

#include "sim/checkers.h"

namespace stint::sim {
namespace {

// Sums of doubles of this size agree to well within this.
bool about_equal(double a, double b) { return std::abs(a - b) <= 1e-6 + 1e-9 * std::max(std::abs(a), std::abs(b)); }

}  // namespace

void Checker::ended(const ReplayResult& result) {
  if (violation_) return;
  now_ = std::max(now_, result.period.end);
  for (uint32_t j = 0; j < jobs_.size(); ++j)
    remove_all(sched::JobId(j));
  check_lost(result);
  check_work(result);
  check_money(result);
}

void Checker::check_lost(const ReplayResult& result) {
  const bool anything_runs =
      std::ranges::any_of(jobs_, [](const JobBook& job) { return job.state == State::kRunning || job.state == State::kLeaving; });
  bool blocked = false;
  for (uint32_t j = 0; j < jobs_.size(); ++j)
    blocked = blocked || (jobs_[j].state == State::kWaiting && !could_run_alone(sched::JobId(j)));
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobBook& job = jobs_[j];
    const JobEnding ending = result.jobs[j].ending;
    const bool agree = job.state == State::kUnknown     ? ending == JobEnding::kNotSubmitted
                       : job.state == State::kWaiting   ? ending == JobEnding::kWaiting
                       : job.state == State::kSucceeded ? ending == JobEnding::kSucceeded || ending == JobEnding::kMadeAlready
                       : job.state == State::kEnded     ? ending < JobEnding::kWaiting && ending != JobEnding::kSucceeded
                                                        : ending == JobEnding::kRunning;
    if (!agree) fail("lost", "job {} is in state {}, but the replay says '{}'", j, static_cast<int>(job.state), name_of(ending));
    if (job.state == State::kWaiting && !anything_runs && !(options_.strict_order && blocked) && could_run_alone(sched::JobId(j)))
      fail("lost", "nothing runs any more, but job {}, which fits the idle fleet, still waits", j);
  }
}

void Checker::check_work(const ReplayResult& result) {
  double held = 0, needed = 0;
  bool only_gpus = true;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    held += jobs_[j].gpu_hours;
    const SimJob& job = workload_->jobs[j];
    only_gpus = only_gpus && workload_->requests[job.spec.request.index()].mig.empty() &&
                (!job.spec.gang.valid() || workload_->gangs[job.spec.gang.index()].tasks.empty());
    if (only_gpus && !about_equal(jobs_[j].gpu_hours, result.jobs[j].gpu_hours))
      fail("work", "job {} held {} GPU-hours, the replay says {}", j, jobs_[j].gpu_hours, result.jobs[j].gpu_hours);
    if (result.jobs[j].ending == JobEnding::kSucceeded)
      needed += job.run_time.to_hours() * static_cast<double>(gpu_milli_of(*workload_, job)) / 1000.0;
  }
  if (!only_gpus) return;  // MIG instances and mixed gangs are counted in other parts
  const GpuHours& hours = result.gpu_hours;
  if (!about_equal(held, hours.held)) fail("work", "{} GPU-hours held, the replay says {}", held, hours.held);
  if (hours.useful < needed - 1e-6 - 1e-9 * needed)
    fail("work", "succeeded jobs needed {} GPU-hours, only {} were useful", needed, hours.useful);
  if (hours.useful + hours.lost > held + 1e-6 + 1e-9 * held)
    fail("work", "{} GPU-hours useful and {} lost, but only {} held", hours.useful, hours.lost, held);
  if (!about_equal(hours.useful + hours.lost + hours.overhead, hours.held))
    fail("work", "useful, lost and overhead sum to {} GPU-hours of {}", hours.useful + hours.lost + hours.overhead, hours.held);
}

Money Checker::cost_of_node(size_t n, Interval period) const {
  const SimNode& node = workload_->nodes[n];
  const bool always = node.market == Market::kOwned || node.market == Market::kReserved;
  // The instants at which being paid for, or the price, may change.
  std::vector<Instant> cuts = {period.begin, period.end, node.present_from, node.present_until};
  for (const Outage& o : workload_->outages)
    if (o.node.index() == n && !always) cuts.insert(cuts.end(), {o.down, o.up});
  const std::vector<RatePoint> none;
  const auto& prices = node.prices < 0 ? none : workload_->prices[static_cast<size_t>(node.prices)].points;
  for (const RatePoint& point : prices)
    cuts.push_back(point.from);
  std::ranges::sort(cuts);
  Money sum = Money::nanos(0, currency_of(*workload_));
  for (size_t i = 1; i < cuts.size(); ++i) {
    const Interval piece = intersect({cuts[i - 1], cuts[i]}, period);
    if (piece.empty() || piece.begin < node.present_from || piece.begin >= node.present_until) continue;
    const bool away = std::ranges::any_of(workload_->outages, [&](const Outage& o) {
      return o.node.index() == n && !always && o.down <= piece.begin && piece.begin < o.up;
    });
    if (away) continue;
    Rate rate = node.rate;
    for (const RatePoint& point : prices)
      if (point.from <= piece.begin) rate = point.rate;
    sum += rate.over(piece.length());
  }
  return sum;
}

void Checker::check_money(const ReplayResult& result) {
  const Money nothing = Money::nanos(0, currency_of(*workload_));
  Money nodes = nothing, jobs = nothing;
  for (size_t n = 0; n < workload_->nodes.size(); ++n)
    nodes += cost_of_node(n, result.period);
  for (const JobOutcome& outcome : result.jobs)
    jobs += outcome.cost;
  // Nodes of pools are paid for while they are switched on only, and when that was no event says.
  if (workload_->pools.empty() ? nodes != result.money.total : nodes < result.money.total)
    fail("money", "the nodes cost {}, the replay says {}", nodes.to_decimal(), result.money.total.to_decimal());
  if (jobs != result.money.jobs || jobs + result.money.idle != result.money.total)
    fail("money", "jobs {} and idle {} are not the total {}", jobs.to_decimal(), result.money.idle.to_decimal(),
         result.money.total.to_decimal());
}

}  // namespace stint::sim
