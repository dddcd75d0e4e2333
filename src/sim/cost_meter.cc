#include "sim/cost_meter.h"

#include <algorithm>

#include "base/check.h"
#include "model/discount.h"

namespace stint::sim {

CostMeter::CostMeter(const Workload& workload)
    : workload_(&workload), meters_(workload.nodes.size()), of_job_(workload.jobs.size()) {
  for (size_t n = 0; n < meters_.size(); ++n) {
    const SimNode& node = workload.nodes[n];
    meters_[n].capacity = node.node.gpus > 0 ? int64_t{node.node.gpus} * sched::kMilli : node.node.cpu_milli;
    meters_[n].rate = meters_[n].market = node.rate;
  }
  add_commitments();
  add_spend_plans();
  const Money nothing = Money::nanos(0, currency_of(workload));
  std::ranges::fill(of_job_, nothing);
  jobs_ = idle_ = nothing;
}

void CostMeter::add_commitments() {
  for (size_t i = 0; i < workload_->commitments.size(); ++i) {
    const Commitment& c = workload_->commitments[i];
    committed_.push_back({.rate = c.rate, .free = 0, .unused = {}});
    const auto same = [&](const Pool& pool) {
      const Commitment& first = workload_->commitments[pool.commitments[0]];
      return first.provider == c.provider && first.region == c.region && first.instance_type == c.instance_type;
    };
    auto pool = std::ranges::find_if(pools_, same);
    if (pool == pools_.end()) {
      pool = pools_.insert(pools_.end(), Pool());
      for (uint32_t n = 0; n < meters_.size(); ++n) {
        const SimNode& node = workload_->nodes[n];
        if (!is_on_demand(node.market) || node.provider != c.provider || node.region != c.region ||
            node.instance_type != c.instance_type)
          continue;
        meters_[n].pool = static_cast<int32_t>(pool - pools_.begin());
        pool->nodes.emplace_back(n);
      }
    }
    pool->commitments.push_back(i);
  }
}

void CostMeter::add_spend_plans() {
  for (const SpendPlan& plan : workload_->spend_plans) {
    Spending spending{.committed = plan.committed.per_hour(), .uses = {}, .unused = {}};
    for (uint32_t n = 0; n < meters_.size(); ++n)
      if (const auto rate = plan_rate(plan, workload_->nodes[n])) {
        spending.uses.push_back({NodeId(n), rate->per_hour()});
        meters_[n].in_plan = true;
      }
    std::ranges::stable_sort(spending.uses, [&](const Spending::Use& a, const Spending::Use& b) {
      const auto list = [&](const Spending::Use& use) { return meters_[use.node.index()].market.per_hour(); };
      return is_greater_discount(a.wanted, list(a), b.wanted, list(b));
    });
    spending_.push_back(std::move(spending));
  }
  if (spending_.empty()) return;
  open_.resize(meters_.size());
  asked_.resize(meters_.size());
}

void CostMeter::spend(Instant now) {
  if (spending_.empty()) return;
  for (size_t n = 0; n < meters_.size(); ++n) {
    open_[n] = meters_[n].market.per_hour();
    asked_[n] = Money::nanos(0, open_[n].currency());
  }
  for (Spending& plan : spending_) {
    Money left = plan.committed;
    for (const Spending::Use& use : plan.uses) {
      const Meter& meter = meters_[use.node.index()];
      if (left.is_zero()) break;
      if (!meter.paid || meter.covered_by >= 0) continue;
      Money& open = open_[use.node.index()];
      // Of a node that another plan pays for in part, the rest.
      const Money wanted = scale(use.wanted, open.count_nanos(), meter.market.per_hour().count_nanos());
      const Money paid = std::min(wanted, left);
      if (paid.is_zero()) continue;
      left -= paid;
      asked_[use.node.index()] += paid;
      open -= scale(open, paid.count_nanos(), wanted.count_nanos());
    }
    if (const Rate unused = Rate::per_hour(left); plan.unused.rate != unused) {
      settle(plan.unused, now);
      set_rate(plan.unused, unused, now);
    }
  }
  for (uint32_t n = 0; n < meters_.size(); ++n) {
    Meter& meter = meters_[n];
    const Rate rate = Rate::per_hour(open_[n] + asked_[n]);
    if (!meter.in_plan || meter.covered_by >= 0 || meter.rate == rate) continue;
    read(NodeId(n), now);
    set_rate(meter, rate, now);
  }
}

void CostMeter::begin(Instant now) {
  for (Spending& plan : spending_) {
    plan.unused.paid = true;
    set_rate(plan.unused, Rate::per_hour(plan.committed), now);
  }

  for (size_t i = 0; i < committed_.size(); ++i) {
    committed_[i].unused.paid = true;
    set_free(committed_[i], workload_->commitments[i].count, now);
  }
}

void CostMeter::set_free(Committed& committed, int64_t free, Instant now) {
  settle(committed.unused, now);
  committed.free = free;
  set_rate(committed.unused, Rate::per_hour(scale(committed.rate.per_hour(), free, 1)), now);
}

// Whatever has come or gone: commitments cover as many nodes of the pool as they can.
void CostMeter::cover(const Pool& pool, Instant now) {
  for (const size_t i : pool.commitments) {
    Committed& committed = committed_[i];
    for (const NodeId node : pool.nodes) {
      if (committed.free == 0) break;
      Meter& meter = meters_[node.index()];
      if (!meter.paid || meter.covered_by >= 0) continue;
      read(node, now);
      meter.covered_by = static_cast<int32_t>(i);
      set_rate(meter, committed.rate, now);
      set_free(committed, committed.free - 1, now);
    }
  }
}

const std::vector<RatePoint>* CostMeter::prices_of(NodeId node) const {
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
  if (meter.covered_by >= 0) {
    Committed& committed = committed_[static_cast<size_t>(meter.covered_by)];
    meter.covered_by = -1;
    set_free(committed, committed.free + 1, now);
  }
  set_rate(meter, meter.market, now);
  if (meter.pool >= 0) cover(pools_[static_cast<size_t>(meter.pool)], now);
  if (meter.in_plan) spend(now);
}

void CostMeter::read(NodeId node, Instant now) {
  Meter& meter = meters_[node.index()];
  if (const auto* prices = prices_of(node))
    for (; meter.next_price < prices->size() && (*prices)[meter.next_price].from <= now; ++meter.next_price) {
      const RatePoint& point = (*prices)[meter.next_price];
      // A point from before the meter ran sets the rate and prices nothing.
      const Instant from = std::max(point.from, meter.since);
      settle(meter, from);
      meter.market = point.rate;
      if (meter.covered_by < 0) set_rate(meter, point.rate, from);
    }
  settle(meter, now);
}

void CostMeter::read_all(Instant now) {
  for (uint32_t n = 0; n < meters_.size(); ++n)
    read(NodeId(n), now);
  for (Committed& committed : committed_)
    settle(committed.unused, now);
  for (Spending& plan : spending_)
    settle(plan.unused, now);
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
