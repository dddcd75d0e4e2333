#include "sim/cost_meter.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sim {

CostMeter::CostMeter(const Workload& workload)
    : workload_(&workload), meters_(workload.nodes.size()), of_job_(workload.jobs.size()) {
  for (size_t n = 0; n < meters_.size(); ++n) {
    const SimNode& node = workload.nodes[n];
    meters_[n].capacity = node.node.gpus > 0 ? int64_t{node.node.gpus} * sched::kMilli : node.node.cpu_milli;
    meters_[n].rate = node.rate;
  }
  const Money nothing = Money::nanos(0, currency_of(workload));
  std::ranges::fill(of_job_, nothing);
  jobs_ = idle_ = nothing;
}

const std::vector<PricePoint>* CostMeter::prices_of(NodeId node) const {
  const int32_t series = workload_->nodes[node.index()].prices;
  return series < 0 ? nullptr : &workload_->prices[static_cast<size_t>(series)].points;
}

void CostMeter::hold(NodeId node, sched::JobId job, int64_t weight, Instant now) {
  read(node, now);
  Meter& meter = meters_[node.index()];
  auto at = std::ranges::find(meter.holders, job, &Holder::job);
  if (at == meter.holders.end()) at = meter.holders.insert(at, {job, 0});
  at->weight += weight;
  CHECK(at->weight >= 0, "job {} holds {} of node {}", job.index(), at->weight, node.index());
  if (at->weight == 0) meter.holders.erase(at);
}

void CostMeter::set_paid(NodeId node, bool paid, Instant now) {
  read(node, now);
  Meter& meter = meters_[node.index()];
  if (meter.paid == paid) return;  // a stretch is priced as a whole: it is not cut without need
  meter.paid = paid;
  set_rate(meter, meter.rate, now);
}

void CostMeter::read(NodeId node, Instant now) {
  Meter& meter = meters_[node.index()];
  if (const auto* prices = prices_of(node))
    for (; meter.next_price < prices->size() && (*prices)[meter.next_price].from <= now; ++meter.next_price) {
      const PricePoint& point = (*prices)[meter.next_price];
      // A point from before the meter ran sets the rate and prices nothing.
      const Instant from = std::max(point.from, meter.since);
      settle(meter, from);
      set_rate(meter, point.rate, from);
    }
  settle(meter, now);
}

void CostMeter::read_all(Instant now) {
  for (uint32_t n = 0; n < meters_.size(); ++n)
    read(NodeId(n), now);
}

void CostMeter::set_rate(Meter& meter, Rate rate, Instant now) {
  meter.rate = rate;
  meter.since = now;
  meter.handed_out = Money::nanos(0, rate.per_hour().currency());
}

void CostMeter::settle(Meter& meter, Instant now) {
  if (!meter.paid) return;
  const Money so_far = meter.rate.over(now - meter.since);
  const Money more = so_far - meter.handed_out;
  meter.handed_out = so_far;
  if (more.is_zero()) return;
  weights_.clear();
  int64_t held = 0;
  for (const Holder& h : meter.holders) {
    weights_.push_back(h.weight);
    held += h.weight;
  }
  weights_.push_back(std::max<int64_t>(meter.capacity - held, held == 0 ? 1 : 0));
  const std::vector<Money> parts = split_by_largest_remainder(more, weights_);
  for (size_t i = 0; i < meter.holders.size(); ++i) {
    of_job_[meter.holders[i].job.index()] += parts[i];
    jobs_ += parts[i];
  }
  idle_ += parts.back();
}

}  // namespace stint::sim
