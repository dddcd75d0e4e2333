#include "sim/workload.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sched/markets.h"

namespace stint::sim {

std::optional<Rate> plan_rate(const SpendPlan& plan, const SimNode& node) {
  if (!is_on_demand(node.market) || node.provider != plan.provider || node.prices >= 0) return std::nullopt;
  const auto type = std::ranges::find_if(plan.rates, [&](const SpendPlan::TypeRate& t) {
    return t.instance_type == node.instance_type && (t.region.empty() || t.region == node.region);
  });
  if (type == plan.rates.end() || type->rate.per_hour().currency() != node.rate.per_hour().currency() || type->rate >= node.rate)
    return std::nullopt;
  return type->rate;
}

namespace {

constexpr int64_t kMostCommitted = 100'000;

int64_t mig_milli(const MigAsk& ask) {
  // "3g.40gb": three of the GPU's seven compute slices.
  const int64_t slices = ask.profile.empty() ? 0 : ask.profile.front() - '0';
  return (slices * ask.count * sched::kMilli + 6) / 7;
}

int64_t request_milli(const Workload& workload, const sched::Request& request) {
  if (request.gpus > 0) return int64_t{request.gpus} * sched::kMilli;
  if (request.milli > 0) return request.milli;
  if (request.gpu_memory.count() > 0) {
    for (const SimNode& n : workload.nodes)
      if (const int64_t whole = n.node.gpu_memory.count(); whole > 0)
        return std::min<int64_t>((request.gpu_memory.count() * sched::kMilli + whole - 1) / whole, sched::kMilli);
    return sched::kMilli;
  }
  int64_t milli = 0;
  for (const MigAsk& ask : request.mig)
    milli += mig_milli(ask);
  return milli;
}

Status check_budget(const Workload& w, size_t i) {
  if (!w.queues[i].budget) return {};
  const sched::Budget& budget = *w.queues[i].budget;
  if (budget.amount.currency() != currency_of(w))
    return invalid("queue {} '{}': its budget is not in {}, the currency of the first node", i, w.queues[i].name,
                   currency_of(w).code());
  if (budget.amount.count_nanos() < 0) return invalid("queue {} '{}': a budget below 0", i, w.queues[i].name);
  if (budget.period < Duration()) return invalid("queue {} '{}': a budget period below 0", i, w.queues[i].name);
  return {};
}

Status check_tables(const Workload& w) {
  for (size_t i = 0; i < w.queues.size(); ++i)
    TRY(check_budget(w, i));
  for (size_t i = 0; i < w.queues.size(); ++i)
    if (w.queues[i].parent.valid() && w.queues[i].parent.index() >= i)
      return invalid("queue {} '{}': its parent must stand before it", i, w.queues[i].name);
  for (size_t i = 0; i < w.gangs.size(); ++i)
    for (const sched::GangTask& task : w.gangs[i].tasks)
      if (!task.request.valid() || task.request.index() >= w.requests.size())
        return invalid("gang {}: a task's request is not in the table of {} requests", i, w.requests.size());
  for (size_t i = 0; i < w.prices.size(); ++i) {
    const auto& points = w.prices[i].points;
    for (const RatePoint& point : points)
      if (point.rate.per_hour().currency() != currency_of(w))
        return invalid("prices {} '{}': not in {}, the currency of the first node", i, w.prices[i].name, currency_of(w).code());
    for (size_t k = 1; k < points.size(); ++k)
      if (points[k].from <= points[k - 1].from) return invalid("prices {} '{}': points must ascend", i, w.prices[i].name);
  }
  for (size_t i = 0; i < w.commitments.size(); ++i) {
    const Commitment& c = w.commitments[i];
    if (c.count < 1 || c.count > kMostCommitted)
      return invalid("commitment {}: {} instances; 1 to {} are possible", i, c.count, kMostCommitted);
    if (c.rate.per_hour().currency() != currency_of(w))
      return invalid("commitment {}: its rate is not in {}, the currency of the first node", i, currency_of(w).code());
  }
  for (size_t i = 0; i < w.spend_plans.size(); ++i) {
    const SpendPlan& plan = w.spend_plans[i];
    const auto sound = [&](Rate rate) {
      return rate.per_hour().currency() == currency_of(w) && rate.per_hour().count_nanos() > 0;
    };
    if (!sound(plan.committed) || !std::ranges::all_of(plan.rates, [&](const auto& type) { return sound(type.rate); }))
      return invalid("savings plan {}: an amount that is not above 0 or not in {}, the currency of the first node", i,
                     currency_of(w).code());
  }
  return {};
}

Status check_node(const Workload& w, size_t i) {
  const SimNode& n = w.nodes[i];
  if (n.node.gpus < 0 || n.node.gpus > sched::kMaxGpusPerNode)
    return invalid("node {} '{}': {} GPUs; 0 to {} are possible", i, n.node.name, n.node.gpus, sched::kMaxGpusPerNode);
  if (n.node.cpu_milli < 0 || n.node.memory.count() < 0) return invalid("node {} '{}': CPU or memory below 0", i, n.node.name);
  if (n.prices >= 0 && static_cast<size_t>(n.prices) >= w.prices.size())
    return invalid("node {} '{}': no price series {}", i, n.node.name, n.prices);
  if (n.rate.per_hour().currency() != currency_of(w))
    return invalid("node {} '{}': its rate is not in {}, the currency of the first node", i, n.node.name, currency_of(w).code());
  if (n.present_until <= n.present_from) return invalid("node {} '{}': is never present", i, n.node.name);
  return {};
}

Status check_job(const Workload& w, size_t i) {
  const SimJob& job = w.jobs[i];
  const sched::JobSpec& spec = job.spec;
  if (!spec.queue.valid() || spec.queue.index() >= w.queues.size()) return invalid("job {} '{}': no such queue", i, job.name);
  if (!spec.request.valid() || spec.request.index() >= w.requests.size())
    return invalid("job {} '{}': no such request", i, job.name);
  if (spec.gang.valid() && spec.gang.index() >= w.gangs.size()) return invalid("job {} '{}': no such gang", i, job.name);
  if (spec.tasks < 1 || spec.min_tasks < 1 || spec.min_tasks > spec.tasks)
    return invalid("job {} '{}': {} of {} tasks; 1 <= min_tasks <= tasks must hold", i, job.name, spec.min_tasks, spec.tasks);
  if (job.run_time <= Duration()) return invalid("job {} '{}': run time must be above 0", i, job.name);
  if (job.failures > 0 && (job.fails_after <= Duration() || job.fails_after >= job.run_time))
    return invalid("job {} '{}': must fail after it starts and before it would end", i, job.name);
  if (spec.checkpoint.interval <= Duration()) return invalid("job {} '{}': checkpoint interval must be above 0", i, job.name);
  if (i > 0 && spec.submitted < w.jobs[i - 1].spec.submitted)
    return invalid("job {} '{}': submitted before the job above it; sort by time", i, job.name);
  if (spec.array.valid() && spec.array.index() >= w.arrays.size()) return invalid("job {} '{}': no such array", i, job.name);
  if (spec.at_once < 0) return invalid("job {} '{}': {} of its array at once", i, job.name, spec.at_once);
  if (spec.makes.valid() && spec.makes.index() >= w.products.size()) return invalid("job {} '{}': no such product", i, job.name);
  if (spec.study.valid() && spec.study.index() >= w.studies.size()) return invalid("job {} '{}': no such study", i, job.name);
  if (!job.losses_micro.empty() && !spec.study.valid())
    return invalid("job {} '{}': has losses, but belongs to no study", i, job.name);
  for (const sched::JobId after : spec.after)
    if (!after.valid() || after.index() >= i) return invalid("job {} '{}': may only wait for jobs above it", i, job.name);
  return {};
}

Status check_pools(const Workload& w) {
  std::vector<int32_t> nodes(w.pools.size());
  for (const SimNode& n : w.nodes) {
    if (n.pool < 0) continue;
    if (static_cast<size_t>(n.pool) >= w.pools.size()) return invalid("node '{}': no pool {}", n.node.name, n.pool);
    if (n.present_from > Instant() || n.present_until < sched::kNever)
      return invalid("node '{}': of a pool, and present at certain times only", n.node.name);
    ++nodes[static_cast<size_t>(n.pool)];
  }
  for (size_t p = 0; p < w.pools.size(); ++p) {
    const NodePool& pool = w.pools[p];
    if (pool.rules.min_nodes < 0 || pool.rules.min_nodes > pool.rules.max_nodes || pool.rules.max_nodes != nodes[p])
      return invalid("pool '{}': {} to {} nodes, and {} name it", pool.name, pool.rules.min_nodes, pool.rules.max_nodes,
                     nodes[p]);
    if (pool.provisioning < Duration()) return invalid("pool '{}': provisioning takes less than no time", pool.name);
  }
  return {};
}

Status check_queues_and_studies(const Workload& w) {
  for (const sched::QueueSpec& queue : w.queues)
    if (queue.closed.all()) return invalid("queue '{}': is never open", queue.name);
  for (const Study& s : w.studies)
    if (s.rules.first_rung < 1 || s.rules.most < s.rules.first_rung || s.rules.reduction < 2)
      return invalid("study '{}': rungs from {} to {}, reduction {}; 1 <= first_rung <= most and reduction >= 2 must hold",
                     s.name, s.rules.first_rung, s.rules.most, s.rules.reduction);
  return {};
}

Status check_outages(const Workload& w) {
  std::vector<Outage> sorted = w.outages;
  std::ranges::stable_sort(sorted, {}, [](const Outage& o) { return std::pair(o.node, o.notice); });
  for (size_t i = 0; i < sorted.size(); ++i) {
    const Outage& o = sorted[i];
    if (!o.node.valid() || o.node.index() >= w.nodes.size()) return invalid("an outage names no node of the workload");
    const std::string& name = w.nodes[o.node.index()].node.name;
    if (o.down < o.notice || o.up <= o.down)
      return invalid("node '{}': outage at {}: notice, down, up must follow each other", name, format_utc(o.down));
    if (i > 0 && sorted[i - 1].node == o.node && o.notice < sorted[i - 1].up)
      return invalid("node '{}': outage at {}: overlaps the one before", name, format_utc(o.down));
  }
  return {};
}

}  // namespace

std::string_view name_of(OutageCause c) {
  switch (c) {
    case OutageCause::kNodeFailure: return "node-failure";
    case OutageCause::kGpuFailure: return "gpu-failure";
    case OutageCause::kSpotInterruption: return "spot-interruption";
    case OutageCause::kMaintenance: return "maintenance";
  }
  return "unknown";
}

Interval submissions_of(const Workload& workload) {
  if (workload.jobs.empty()) return {};
  return {workload.jobs.front().spec.submitted, workload.jobs.back().spec.submitted};
}

int64_t gpu_milli_of(const Workload& workload, const SimJob& job) {
  if (job.spec.gang.valid()) {
    const sched::Gang& gang = workload.gangs[job.spec.gang.index()];
    if (!gang.tasks.empty()) {
      int64_t milli = 0;
      for (const sched::GangTask& task : gang.tasks)
        milli += request_milli(workload, workload.requests[task.request.index()]);
      return milli;
    }
  }
  return request_milli(workload, workload.requests[job.spec.request.index()]) * job.spec.tasks;
}

std::vector<sched::MarketPrices> market_prices(const Workload& workload) {
  const auto key_of = [&](uint32_t n) {
    const SimNode& node = workload.nodes[n];
    return std::optional(std::tuple(node.prices, node.node.gpus, node.rate.per_hour()));
  };
  const auto windows_of = [&](uint32_t n) {
    const SimNode& node = workload.nodes[n];
    std::vector<sched::PriceWindow> windows;
    const auto add = [&](Instant from, Instant until, Rate rate) {
      if (from < until) windows.push_back({.when = {from, until}, .rate = gpu_rate_of(node.node, rate)});
    };
    const std::vector<RatePoint> none;
    const auto& points = node.prices < 0 ? none : workload.prices[static_cast<size_t>(node.prices)].points;
    add(Instant(), points.empty() ? sched::kNever : points.front().from, node.rate);
    for (size_t p = 0; p < points.size(); ++p)
      add(points[p].from, p + 1 < points.size() ? points[p + 1].from : sched::kNever, points[p].rate);
    return windows;
  };
  return sched::markets_by(static_cast<uint32_t>(workload.nodes.size()), key_of, windows_of);
}

Currency currency_of(const Workload& workload) {
  return workload.nodes.empty() ? Currency() : workload.nodes.front().rate.per_hour().currency();
}

bool has_budgets(const Workload& workload) {
  return std::ranges::any_of(workload.queues, [](const sched::QueueSpec& queue) { return queue.budget.has_value(); });
}

Status check_workload(const Workload& workload) {
  TRY(check_tables(workload));
  for (size_t i = 0; i < workload.nodes.size(); ++i)
    TRY(check_node(workload, i));
  for (size_t i = 0; i < workload.jobs.size(); ++i)
    TRY(check_job(workload, i));
  TRY(check_queues_and_studies(workload));
  TRY(check_pools(workload));
  return check_outages(workload);
}

}  // namespace stint::sim
