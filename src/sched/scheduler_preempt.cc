// Preemption by rank: a waiting job takes the room of running jobs that have had more, all or nothing.
//
// Running jobs are looked at from the one that should give way first; each adds the room it would leave, until the waiting
// job fits. Then only those on the chosen nodes are stopped, without those that turn out not to be needed. The freed room is
// promised to the waiting job; it starts when the last of them has left.
// No A↔B loops: whom a job may stop ranks behind it by more than a margin, and has run for a quantum since its last start.
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

constexpr Duration kMargin = Duration::minutes(10);
constexpr Duration kShortestQuantum = Duration::minutes(2);
constexpr int64_t kQuantumPerRestart = 5;  // at most a sixth of the time goes into restarts
constexpr Duration kRetry = Duration::minutes(1);

}  // namespace

/// Rank a running job must exceed for `j` to stop it.
Rank Scheduler::Impl::victim_bound(JobId j) const {
  const Rank rank = jobs[j.index()].rank;
  // Remaining times of running jobs are kept as the instants they end at.
  if (policy.order == Order::kSrtf) return {.major = rank.major, .minor = now.ns() + rank.minor};
  return {.major = rank.major, .minor = rank.minor + kMargin.count_ns()};
}

Rank Scheduler::Impl::running_rank(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  const Duration so_far = r.served + (now - r.started);
  Rank rank = rank_of(policy, specs[j.index()], {.submitted = r.submitted, .served = so_far});
  if (policy.order == Order::kSrtf) rank.minor += now.ns();
  return rank;
}

bool Scheduler::Impl::may_stop(JobId j, JobId victim) const {
  const JobRecord& r = jobs[j.index()];
  const JobRecord& v = jobs[victim.index()];
  const JobSpec& spec = specs[victim.index()];
  if (v.phase != Phase::kRunning || !spec.preemptible || !shapes[v.shape].plain) return false;
  Duration least = spec.min_runtime;
  if (policy.order == Order::kStint) least = std::max({least, kShortestQuantum, spec.checkpoint.restart * kQuantumPerRestart});
  if (now - v.started < least) return false;
  return r.queue == v.queue || queue_rule(policy.order) == QueueRule::kOneLine || queues.compare(r.queue, v.queue) < 0;
}

/// Puts a job that runs in its place among the running, and sets the clock for its next level.
void Scheduler::Impl::rank_running(JobId j) {
  JobRecord& r = jobs[j.index()];
  r.rank = running_rank(j);
  running.insert({.rank = r.rank, .job = j});
  if (policy.order != Order::kStint) return;
  const Duration so_far = r.served + (now - r.started);
  const Duration end = end_of_level(level_of(so_far));
  if (end == kUnlimited) return;
  level_timers.push_back({.at = now + (end - so_far), .job = j, .kind = TimerKind::kLevel, .starts = r.starts});
  std::push_heap(level_timers.begin(), level_timers.end());
}

void Scheduler::Impl::fire_level_timers() {
  while (!level_timers.empty() && level_timers.front().at <= now) {
    const Timer timer = level_timers.front();
    std::pop_heap(level_timers.begin(), level_timers.end());
    level_timers.pop_back();
    const JobRecord& r = jobs[timer.job.index()];
    if (timer.starts != r.starts || r.phase != Phase::kRunning) continue;
    running.erase({.rank = r.rank, .job = timer.job});
    rank_running(timer.job);
  }
}

/// Tries the heads of the shapes that do not fit, first in order first. @return true when something was decided.
bool Scheduler::Impl::preempt() {
  if (!policy.preempt || !is_preemptive(policy.order)) return false;
  if (retry_at.size() < shapes.size()) retry_at.resize(shapes.size());
  std::optional<ShapeId> best;
  for (const ShapeId s : pending.shapes()) {
    if (!pending.head(s) || !shapes[s].plain || retry_at[s.index()] > now) continue;
    if (!best || pending.head_before(queues, s, *best)) best = s;
  }
  if (!best) return false;
  const Waiting head = *pending.head(*best);
  const JobRecord& r = jobs[head.job.index()];
  const QueueId limited = queues.limiting(r.queue, shapes[*best].total, shapes[*best].preemptible);
  if (limited.valid())
    pending.close(queues, r.queue, *best, limited);
  else if (!stop_others_for(head.job))
    retry_at[best->index()] = now + (policy.order == Order::kSrtf ? Duration::nanoseconds(1) : kRetry);
  return true;
}

bool Scheduler::Impl::stop_others_for(JobId j) {
  const Shape& shape = shapes[jobs[j.index()].shape];
  const Rank bound = victim_bound(j);
  sketch.begin(cluster.node_count());
  NodeBuckets::Counts counts = open.buckets().counts();
  for (const Reservation& other : reservations)
    for (const Claim& claim : other.claims)
      if (other.job != j) claim_room(claim.node, claim.gpus, counts);
  bool fits_then = false;
  running.for_each_from_last([&](const Waiting& candidate) {
    if (candidate.rank <= bound) return false;
    if (!may_stop(j, candidate.job)) return true;
    sketch.victims.push_back(candidate.job);
    add_room_of(candidate.job, counts);
    fits_then = OpenNodes::fits(shape, counts);
    return !fits_then;
  });
  if (!fits_then || !choose_nodes(shape)) return false;
  hold_room(j);
  return true;
}

/// Counts the GPUs `victim` would leave.
void Scheduler::Impl::add_room_of(JobId victim, NodeBuckets::Counts& counts) {
  for (const Task& task : tasks_of(victim)) {
    const NodeId n = task.place.node;
    if (task.state != TaskState::kRunning || open.buckets().at(n) == NodeBuckets::kNowhere) continue;
    NodeSketch& node = sketch.at(n);
    --counts[static_cast<size_t>(std::max(0, room_then(n)))];
    node.leaves += __builtin_popcountll(task.place.gpus);
    ++counts[static_cast<size_t>(std::max(0, room_then(n)))];
  }
}

/// GPUs of the node nobody would hold or claim.
int32_t Scheduler::Impl::room_then(NodeId n) const { return open.buckets().at(n) + sketch.leaves(n) - sketch.claimed(n); }

/// A node for each task, in placing order. Open nodes come first (the fullest that fits), then those where room was found
/// first: there are the jobs that should give way first. @return false when the greedy choice leads nowhere.
bool Scheduler::Impl::choose_nodes(const Shape& shape) {
  for (const ShapePart& part : shape.parts) {
    for (int32_t i = 0; i < part.tasks; ++i) {
      NodeId chosen;
      open.buckets().for_each_from(part.gpus, [&](NodeId n) {
        if (room_then(n) - sketch.leaves(n) >= part.gpus) chosen = n;
        return !chosen.valid();
      });
      for (size_t k = 0; k < sketch.touched.size() && !chosen.valid(); ++k)
        if (room_then(sketch.touched[k]) >= part.gpus) chosen = sketch.touched[k];
      if (!chosen.valid()) return false;
      sketch.at(chosen).claimed += part.gpus;
      sketch.chosen.emplace_back(chosen, part.gpus);
    }
  }
  return true;
}

/// Must `victim` leave for what was chosen? If not, what it would have left counts no longer.
bool Scheduler::Impl::is_needed(JobId victim) {
  const auto change_leaves = [&](int32_t sign) {
    bool enough = true;
    for (const Task& task : tasks_of(victim)) {
      if (task.state != TaskState::kRunning || open.buckets().at(task.place.node) == NodeBuckets::kNowhere) continue;
      sketch.nodes[task.place.node.index()].leaves += sign * __builtin_popcountll(task.place.gpus);
      enough = enough && room_then(task.place.node) >= 0;
    }
    return enough;
  };
  if (change_leaves(-1)) return false;
  change_leaves(1);
  return true;
}

/// Stops those in the way and promises the room.
void Scheduler::Impl::hold_room(JobId j) {
  JobRecord& r = jobs[j.index()];
  const Shape& shape = shapes[r.shape];
  pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
  r.phase = Phase::kHeld;
  arrive(j);
  // Those that should give way last are looked at first: may they stay after all?
  std::reverse(sketch.victims.begin(), sketch.victims.end());
  std::erase_if(sketch.victims, [&](JobId victim) { return !is_needed(victim); });
  for (const JobId victim : sketch.victims)
    evict(victim, Reason::kPriority, j);
  for (size_t i = 0; i < shape.order.size(); ++i) {
    const TaskId t(r.first_task + static_cast<uint32_t>(shape.order[i]));
    const NodeId n = sketch.chosen[i].first;
    std::optional<Place> place = cluster.fit(cluster.task(t).request, n, Room::kComing);
    CHECK(place.has_value(), "job {} does not fit on node {} for which others were stopped", j.index(), n.index());
    place->task = t;
    cluster.nominate(t, *place);
    ++r.held;
  }
  held.push_back(j);
  charge(j, shape.total, 1);
  open.catch_up(cluster);
}

}  // namespace stint::sched
