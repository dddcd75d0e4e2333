// Making a failing scenario small.
#include <algorithm>

#include "sim/explore.h"

namespace stint::sim {
namespace {

// Without jobs [begin, end). Later ids move up; whoever waited for a removed job no longer does.
void remove_jobs(Scenario& scenario, size_t begin, size_t end) {
  auto& jobs = scenario.workload.jobs;
  jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(begin), jobs.begin() + static_cast<std::ptrdiff_t>(end));
  const auto removed = static_cast<uint32_t>(end - begin);
  for (SimJob& job : jobs) {
    std::erase_if(job.spec.after, [&](sched::JobId a) { return a.index() >= begin && a.index() < end; });
    for (sched::JobId& a : job.spec.after)
      if (a.index() >= end) a = sched::JobId(a.index() - removed);
  }
}

void remove_outages(Scenario& scenario, size_t begin, size_t end) {
  auto& outages = scenario.workload.outages;
  outages.erase(outages.begin() + static_cast<std::ptrdiff_t>(begin), outages.begin() + static_cast<std::ptrdiff_t>(end));
}

void remove_nodes(Scenario& scenario, size_t begin, size_t end) {
  Workload& w = scenario.workload;
  w.nodes.erase(w.nodes.begin() + static_cast<std::ptrdiff_t>(begin), w.nodes.begin() + static_cast<std::ptrdiff_t>(end));
  std::erase_if(w.outages, [&](const Outage& o) { return o.node.index() >= begin && o.node.index() < end; });
  for (Outage& o : w.outages)
    if (o.node.index() >= end) o.node = NodeId(o.node.index() - static_cast<uint32_t>(end - begin));
  for (size_t p = 0; p < w.pools.size(); ++p) {
    sched::ScalingRules& rules = w.pools[p].rules;
    rules.max_nodes = static_cast<int32_t>(std::ranges::count(w.nodes, static_cast<int32_t>(p), &SimNode::pool));
    rules.min_nodes = std::min(rules.min_nodes, rules.max_nodes);
  }
}

class Shrinker {
 public:
  Shrinker(Scenario scenario, const StillFails& still_fails, int tries)
      : best_(std::move(scenario)), still_fails_(still_fails), tries_(tries) {}

  Scenario run() {
    bool smaller = true;
    while (smaller && tries_ > 0) {
      smaller = false;
      smaller |= drop_chunks(best_.workload.jobs.size(), remove_jobs);
      smaller |= drop_chunks(best_.workload.outages.size(), remove_outages);
      smaller |= drop_chunks(best_.workload.nodes.size(), remove_nodes);
      smaller |= simplify();
    }
    return std::move(best_);
  }

 private:
  template <typename Change>
  bool attempt(const Change& change) {
    if (tries_ <= 0) return false;
    Scenario candidate = best_;
    change(candidate);
    if (candidate.workload.nodes.empty() || candidate.workload.jobs.empty() || !check_workload(candidate.workload).ok())
      return false;
    --tries_;
    if (!still_fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // Halves first, then ever smaller pieces.
  template <typename Remove>
  bool drop_chunks(size_t count, const Remove& remove) {
    bool any = false;
    for (size_t size = std::max<size_t>(count / 2, 1); size >= 1 && count > 0; size /= 2) {
      for (size_t begin = 0; begin < count;) {
        const size_t end = std::min(begin + size, count);
        if (attempt([&](Scenario& s) { remove(s, begin, end); })) {
          count -= end - begin;
          any = true;
        } else {
          begin = end;
        }
      }
    }
    return any;
  }

  // One field of one job after another set to what says nothing.
  bool simplify() {
    bool any = false;
    const sched::JobSpec plain;
    for (size_t j = 0; j < best_.workload.jobs.size(); ++j) {
      const auto set = [&](auto member, auto value) {
        if (best_.workload.jobs[j].spec.*member == value) return;
        any |= attempt([&](Scenario& s) { s.workload.jobs[j].spec.*member = value; });
      };
      set(&sched::JobSpec::time_limit, plain.time_limit);
      set(&sched::JobSpec::min_runtime, plain.min_runtime);
      set(&sched::JobSpec::not_before, plain.not_before);
      set(&sched::JobSpec::deadline, plain.deadline);
      set(&sched::JobSpec::priority, plain.priority);
      set(&sched::JobSpec::preemptible, plain.preemptible);
      set(&sched::JobSpec::gang, plain.gang);
      set(&sched::JobSpec::after, plain.after);
      set(&sched::JobSpec::deferrable, plain.deferrable);
      set(&sched::JobSpec::min_tasks, best_.workload.jobs[j].spec.tasks);
      // An attempt that holds replaces best_: nothing of it is kept over one.
      const auto job = [&]() -> const SimJob& { return best_.workload.jobs[j]; };
      if (job().cancelled != sched::kNever) any |= attempt([&](Scenario& s) { s.workload.jobs[j].cancelled = sched::kNever; });
      if (job().spec.study.valid())
        any |= attempt([&](Scenario& s) {
          s.workload.jobs[j].spec.study = {};
          s.workload.jobs[j].losses_micro.clear();
        });
      if (job().failures > 0) any |= attempt([&](Scenario& s) { s.workload.jobs[j].failures = 0; });
      if (job().spec.checkpoint.interval != sched::kUnlimited)
        any |= attempt([&](Scenario& s) { s.workload.jobs[j].spec.checkpoint = {}; });
      if (job().run_time > Duration::minutes(1))
        any |= attempt([&](Scenario& s) {
          s.workload.jobs[j].run_time = Duration::nanoseconds(s.workload.jobs[j].run_time.count_ns() / 2);
        });
    }
    for (size_t q = 0; q < best_.workload.queues.size(); ++q) {
      const auto queue = [&]() -> const sched::QueueSpec& { return best_.workload.queues[q]; };
      if (queue().limit.gpu_milli) any |= attempt([&](Scenario& s) { s.workload.queues[q].limit = {}; });
      if (queue().deserved.gpu_milli) any |= attempt([&](Scenario& s) { s.workload.queues[q].deserved = {}; });
      if (queue().closed.any()) any |= attempt([&](Scenario& s) { s.workload.queues[q].closed = {}; });
    }
    if (!best_.workload.pools.empty())
      any |= attempt([&](Scenario& s) {
        s.workload.pools.clear();
        for (SimNode& node : s.workload.nodes)
          node.pool = -1;
      });
    if (best_.copy_at_step >= 0) any |= attempt([](Scenario& s) { s.copy_at_step = -1; });
    return any;
  }

  Scenario best_;
  const StillFails& still_fails_;
  int tries_;
};

}  // namespace

Scenario shrink(Scenario scenario, const StillFails& still_fails, int tries) {
  return Shrinker(std::move(scenario), still_fails, tries).run();
}

}  // namespace stint::sim
