#include "sim/tally.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace stint::sim {

FreeGauge::FreeGauge(const Workload& workload) : nodes_(workload.nodes.size()) {
  for (size_t n = 0; n < nodes_.size(); ++n)
    nodes_[n].gpus = workload.nodes[n].node.gpus;
  std::vector<int64_t> tasks(workload.requests.size());
  for (const SimJob& job : workload.jobs) {
    const sched::JobSpec& spec = job.spec;
    if (spec.gang.valid() && !workload.gangs[spec.gang.index()].tasks.empty()) {
      for (const sched::GangTask& task : workload.gangs[spec.gang.index()].tasks)
        ++tasks[task.request.index()];
    } else {
      tasks[spec.request.index()] += spec.tasks;
    }
  }
  int64_t all = 0;
  for (size_t r = 0; r < tasks.size(); ++r)
    if (workload.requests[r].gpus > 0 || workload.requests[r].milli > 0) all += tasks[r];
  if (all == 0) return;
  for (size_t r = 0; r < tasks.size(); ++r) {
    const sched::Request& request = workload.requests[r];
    const double weight = static_cast<double>(tasks[r]) / static_cast<double>(all);
    if (request.gpus > 0) {
      whole_demand_[static_cast<size_t>(std::min(request.gpus, sched::kMaxGpusPerNode))] += weight;
    } else if (request.milli > 0 && tasks[r] > 0) {
      share_demand_.push_back({request.milli, weight});
    }
  }
}

double FreeGauge::unusable(const NodeState& node) const {
  if (node.free_milli == 0) return 0;
  int32_t whole = 0;
  for (const int16_t f : node.free)
    if (f == sched::kMilli) ++whole;
  double sum = 0;
  for (size_t g = 1; g < whole_demand_.size(); ++g) {
    if (whole_demand_[g] == 0) continue;
    const int32_t usable = static_cast<int32_t>(g) <= whole ? whole * sched::kMilli : 0;
    sum += whole_demand_[g] * static_cast<double>(node.free_milli - usable);
  }
  for (const ShareDemand& demand : share_demand_) {
    int32_t too_small = 0;
    for (const int16_t f : node.free)
      if (f < demand.milli) too_small += f;
    sum += demand.weight * static_cast<double>(too_small);
  }
  return sum;
}

void FreeGauge::add(const NodeState& node, int32_t sign) {
  if (!node.up) return;
  free_milli_ += sign * node.free_milli;
  unusable_milli_ += sign * node.unusable_milli;
}

void FreeGauge::set_up(NodeId id, bool up) {
  NodeState& node = nodes_[id.index()];
  if (node.up == up) return;
  add(node, -1);
  node.up = up;
  node.free_milli = 0;
  for (int32_t g = 0; g < node.gpus; ++g) {
    node.free[static_cast<size_t>(g)] = sched::kMilli;
    node.free_milli += sched::kMilli;
  }
  node.unusable_milli = unusable(node);
  add(node, 1);
  available_milli_ += (up ? 1 : -1) * int64_t{node.gpus} * sched::kMilli;
}

void FreeGauge::change(NodeId id, uint64_t gpus, int32_t milli, int32_t sign) {
  NodeState& node = nodes_[id.index()];
  if (!node.up || gpus == 0) return;
  add(node, -1);
  const int32_t amount = sign * (milli > 0 ? milli : sched::kMilli);
  for (int32_t g = 0; g < node.gpus; ++g) {
    if ((gpus >> g & 1) == 0) continue;
    int16_t& free = node.free[static_cast<size_t>(g)];
    free = static_cast<int16_t>(free + amount);
    node.free_milli += amount;
  }
  node.unusable_milli = unusable(node);
  add(node, 1);
}

void Timeline::add(const TimelinePoint& point) {
  points_.push_back(point);
  if (points_.size() < limit_) return;
  size_t kept = 0;
  for (size_t i = 0; i < points_.size(); i += 2)
    points_[kept++] = points_[i];
  points_.resize(kept);
  // Points are at least this far apart now; without the division below a burst at the start would keep them too dense.
  const Duration span = points_.back().at - points_.front().at;
  spacing_ = std::max(spacing_ * 2, Duration::nanoseconds(span.count_ns() / static_cast<int64_t>(limit_)));
}

std::vector<TimelinePoint> Timeline::take(const TimelinePoint& last) {
  if (!points_.empty() && points_.back().at == last.at) points_.pop_back();
  points_.push_back(last);
  return std::move(points_);
}

}  // namespace stint::sim
