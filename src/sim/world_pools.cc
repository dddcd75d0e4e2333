// Pools of nodes that grow and shrink by demand: what is switched on is paid for from then and usable when it is ready, what
// is switched off is gone. Only nodes without work are switched off, those with the highest index first.
//
// Pools are asked in their order, once a minute: what an earlier one takes on of the waiting work the later ones need not.
// The first is the primary one, those behind it take what it cannot.
#include <algorithm>

#include "base/check.h"
#include "sim/world.h"

namespace stint::sim {
namespace {

constexpr Duration kLook = Duration::minutes(1);

}  // namespace

void World::set_up_pools() {
  for (const NodePool& pool : workload_->pools)
    pools_.push_back({.scaler = sched::Scaler(pool.rules, pool.rules.min_nodes), .nodes = {}, .gpus_of_node = 0});
  if (pools_.empty()) return;
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    const SimNode& node = workload_->nodes[n];
    if (node.pool < 0) continue;
    Pool& pool = pools_[static_cast<size_t>(node.pool)];
    pool.nodes.emplace_back(n);
    pool.gpus_of_node = std::max(pool.gpus_of_node, node.node.gpus);
    if (std::ssize(pool.nodes) > workload_->pools[static_cast<size_t>(node.pool)].rules.min_nodes) switch_off(NodeId(n));
  }
  queue_.push(begin_, static_cast<uint8_t>(Kind::kLook), {});
}

void World::look_at_pools() {
  if (static_cast<size_t>(ended_) < jobs_.size()) queue_.push(now_ + kLook, static_cast<uint8_t>(Kind::kLook), {});
  int64_t waiting_milli = 0;
  if (told_waiting_milli_) {
    waiting_milli = *told_waiting_milli_;
  } else {
    for (const Job& job : jobs_)
      if (job.state == State::kWaiting) waiting_milli += job.gpu_milli;
  }
  int64_t waiting = (waiting_milli + sched::kMilli - 1) / sched::kMilli;
  for (size_t p = 0; p < pools_.size(); ++p) {
    Pool& pool = pools_[p];
    sched::ScalingSignals signals;
    int64_t held = 0;
    int64_t capacity = 0;
    int32_t on = 0;
    for (const NodeId n : pool.nodes) {
      const NodeState& node = nodes_[n.index()];
      if (node.power == Power::kOff) continue;
      ++on;
      if (node.power == Power::kStarting) {
        ++signals.starting_nodes;
        continue;
      }
      capacity += int64_t{workload_->nodes[n.index()].node.gpus} * sched::kMilli;
      held += node.held_milli;
      if (!node.jobs.empty()) ++signals.busy_nodes;
    }
    if (capacity > 0) signals.utilization = static_cast<double>(held) / static_cast<double>(capacity);
    signals.waiting_gpus = waiting;
    const sched::ScalingDecision decision = pool.scaler.step(now_, on, signals);
    const int32_t changed = decision.nodes > on ? switch_on(pool, decision.nodes - on) : 0;
    if (decision.nodes < on) switch_off_idle(pool, on - decision.nodes);
    waiting = std::max<int64_t>(0, waiting - int64_t{signals.starting_nodes + changed} * pool.gpus_of_node);
  }
}

/// @return how many of them there were to be switched on.
int32_t World::switch_on(Pool& pool, int32_t count) {
  int32_t done = 0;
  for (size_t i = 0; i < pool.nodes.size() && done < count; ++i) {
    NodeState& node = nodes_[pool.nodes[i].index()];
    // Away once for being off; more than that, and the provider has none to give.
    if (node.power != Power::kOff || node.away > 1) continue;
    node.power = Power::kStarting;
    meter_.set_paid(pool.nodes[i], true, now_);
    const auto index = static_cast<size_t>(workload_->nodes[pool.nodes[i].index()].pool);
    queue_.push(now_ + workload_->pools[index].provisioning, static_cast<uint8_t>(Kind::kNodeComes), {pool.nodes[i].index(), 0});
    ++result_.nodes_started;
    ++done;
  }
  return done;
}

void World::switch_off_idle(Pool& pool, int32_t count) {
  for (size_t i = pool.nodes.size(); i-- > 0 && count > 0;) {
    const NodeState& node = nodes_[pool.nodes[i].index()];
    if (node.power != Power::kOn || node.away > 0 || !node.jobs.empty()) continue;
    switch_off(pool.nodes[i]);
    ++result_.nodes_stopped;
    --count;
  }
}

void World::switch_off(NodeId n) {
  NodeState& node = nodes_[n.index()];
  node.power = Power::kOff;
  ++node.away;
  sched::Event event;
  event.kind = sched::EventKind::kNodeDown;
  event.node = n;
  events_.push_back(event);
  gauge_.set_up(n, false);
  meter_.set_paid(n, false, now_);
}

}  // namespace stint::sim
