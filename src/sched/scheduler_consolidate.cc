// Consolidation: a job for which enough GPUs are free, but scattered, gets them in one piece: a few running jobs move.
//
// A transaction: who has to leave is found on paper, then tried on the cluster: with them gone the waiting job must fit,
// and each of them must fit elsewhere on room that is free at once. Only then are they told to leave. The waiting job is
// promised what they free; for each of those that move, stand-ins (tasks of no job) keep its new room until it has left and
// takes their places. Its queue goes on paying for it meanwhile.
// Who moves: the cheapest, by work since the last checkpoint plus restart, in GPU-seconds; of whole GPUs the cheapest set of a
// node exactly. Only jobs that save their work, and none that has started lately or has its minimum run time before it: so
// no job is moved to and fro, and most of a job's time is work.
// What it may cost: not more than the waiting job has lost by waiting, nor than it would still lose where its start is known.
// As when to buy skis one could go on renting: what is paid is at most twice what knowing the future would have paid.
// Source for the rule: Karlin et al. 1988, competitive snoopy caching (rent or buy).
#include <algorithm>
#include <tuple>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

constexpr Duration kConsolidatePause = Duration::minutes(5);  // between two searches for one shape, whatever changes
constexpr Duration kSettled = Duration::minutes(10);          // no job moves sooner after a start …
constexpr int64_t kSettledPerRestart = 5;                     // … nor before so many restarts' worth of work
constexpr size_t kMostNodesSearched = 64;                     // looked at per task to be placed, the emptiest first
constexpr size_t kMostNodesInDetail = 24;
constexpr size_t kMostMoves = 16;
constexpr int kMostRefusals = 4;  // searches without those that would have had nowhere to go

/// One job that could leave a node.
struct Mover {
  JobId job;
  int32_t gpus = 0;  ///< on the node
  int64_t loss = 0;  ///< GPU-seconds
};

/// The cheapest of `movers` that together give back at least `missing` GPUs; of equals those named first.
/// @return the cost; none when all of them together do not suffice. `chosen` gets their indexes.
std::optional<int64_t> cheapest_set(std::span<const Mover> movers, int32_t missing, std::vector<size_t>& chosen) {
  struct Way {
    int64_t loss = 0;
    uint64_t members = 0;
  };
  std::vector<std::optional<Way>> by_gpus(static_cast<size_t>(missing) + 1);  // giving back so many, or more
  by_gpus[0] = Way{};
  for (size_t m = 0; m < std::min<size_t>(movers.size(), 64); ++m) {
    for (size_t g = by_gpus.size(); g-- > 1;) {
      const auto& before = by_gpus[g - std::min(g, static_cast<size_t>(movers[m].gpus))];
      if (!before || (by_gpus[g] && by_gpus[g]->loss <= before->loss + movers[m].loss)) continue;
      by_gpus[g] = Way{before->loss + movers[m].loss, before->members | uint64_t{1} << m};
    }
  }
  if (!by_gpus.back()) return std::nullopt;
  chosen.clear();
  for (uint64_t left = by_gpus.back()->members; left != 0; left &= left - 1)
    chosen.push_back(static_cast<size_t>(__builtin_ctzll(left)));
  return by_gpus.back()->loss;
}

}  // namespace

/// Tries the heads of the shapes that do not fit; where the first in line blocks the others, only that one.
/// @return whether others move for one.
bool Scheduler::Impl::consolidate() {
  if (!policy.consolidate || !any_movable || pending.count() == 0) {
    move_turns.finish();
    return false;
  }
  moved_for.resize(shapes.size());
  const bool first_only = blocks_at_head(policy.order);
  bool found = false;
  bool cut_short = false;
  try_in_order(
      [&](ShapeId s) { return first_only || is_scattered(s); },
      [&](ShapeId s) {
        if (first_only && !is_scattered(s)) return Tried::kEnough;
        const JobId j = pending.head(s)->job;
        if (close_if_limited(j)) return Tried::kClosed;
        if (!may_search(SearchFor::kMove)) {
          cut_short = true;
          return Tried::kEnough;
        }
        ripens = kNever;
        const bool plain = shapes[s].plain;
        found = tasks_within_limits(j) >= (plain ? terms_of(j).tasks : 1) && move_others_for(j);
        if (found) return Tried::kEnough;
        moved_for[s.index()] = {
            .job = j, .rank = jobs[j.index()].rank, .at = now, .changes = changes, .turn = move_turns.turn(), .ripens = ripens};
        return first_only ? Tried::kEnough : Tried::kInVain;
      });
  if (cut_short)
    move_turns.go_on_later();
  else if (!found)
    move_turns.finish();
  return found;
}

/// When the search is worth repeating: a while after it, if something has changed, or when a job may move that had not run
/// for long enough; kNever = not as things stand.
Instant Scheduler::Impl::move_again_at(const Attempted& last) const {
  const Instant soonest = last.at + kConsolidatePause;
  return last.changes != changes ? soonest : std::max(soonest, last.ripens);
}

/// Does its head not fit on what is open though that is enough, and was it not just tried in vain?
bool Scheduler::Impl::is_scattered(ShapeId s) const {
  const Waiting* const head = pending.head(s);
  if (!head) return false;
  const Attempted& last = moved_for[s.index()];
  const bool in_vain = last.job == head->job || !(head->rank < last.rank);
  if (last.job.valid() && in_vain && (move_again_at(last) > now || move_turns.waits_for_others(last.turn))) return false;
  return !fits(s) && shapes[s].total.gpu_milli > 0 && (!shapes[s].plain || has_parts_of_gpus || is_enough_open(head->job));
}

/// Are so many GPUs free and not promised, on all nodes together? Parts of GPUs only count for those who ask for them.
bool Scheduler::Impl::is_enough_open(JobId j) const {
  const ShapeId s = jobs[j.index()].shape;
  int64_t milli = 0;
  if (!shapes[s].plain || has_parts_of_gpus) {
    for (uint32_t n = 0; n < cluster.node_count(); ++n)
      if (cluster.free()[NodeId(n)].usable)
        milli += std::min(cluster.free()[NodeId(n)].milli_free, cluster.coming()[NodeId(n)].milli_free);
  } else {
    const NodeBuckets::Counts& counts = open.buckets().counts();
    for (size_t c = 0; c < counts.size(); ++c)
      milli += int64_t{kMilli} * static_cast<int64_t>(c) * counts[c];
  }
  return milli >= (shapes[s].plain ? shapes[s].total : least_amounts(j)).gpu_milli;
}

bool Scheduler::Impl::move_others_for(JobId j) {
  if (!is_enough_open(j)) return false;
  if (!shapes[jobs[j.index()].shape].plain || has_parts_of_gpus) return move_in_detail(j);
  const int64_t most = worth_of_moving(j);
  std::vector<JobId> refused;
  for (int attempt = 0; attempt < kMostRefusals; ++attempt) {
    sketch.begin(cluster.node_count());
    if (!find_movers(j, refused)) return move_in_detail(j);
    int64_t loss = 0;
    for (const Victim& v : sketch.victims)
      loss += loss_by_moving(v.job);
    if (loss > most) ripens = now;  // the longer it waits, the more it may cost
    if (loss > most || sketch.victims.size() > kMostMoves) return false;
    const std::optional<JobId> homeless = without_new_room(j);
    if (!homeless) {
      carry_out_moves(j);
      return true;
    }
    if (!homeless->valid()) return false;
    refused.push_back(*homeless);
  }
  return false;
}

/// In GPU-seconds: what waiting has cost the job so far, or what it still would, where that is known and less.
int64_t Scheduler::Impl::worth_of_moving(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  Duration waits = waited(j);
  for (const Reservation& reserved : reservations)
    if (reserved.job == j) waits = std::min(waits, reserved.at - now);
  return shapes[r.shape].total.gpu_milli * waits.whole_seconds() / kMilli;
}

int64_t Scheduler::Impl::loss_by_moving(JobId v) const {
  return cluster.amounts(terms_of(v).request).gpu_milli * jobs[v.index()].running * lost_if_stopped(v).whole_seconds() / kMilli;
}

/// One that only has to run for longer first is noted in `ripens`.
bool Scheduler::Impl::is_movable(JobId v) {
  const JobTerms& spec = terms_of(v);
  const JobRecord& r = jobs[v.index()];
  if (r.phase != Phase::kRunning || !spec.preemptible || spec.checkpoint.interval == kUnlimited) return false;
  const Instant settled = r.started + std::max({spec.min_runtime, kSettled, spec.checkpoint.restart * kSettledPerRestart});
  if (settled > now) ripens = std::min(ripens, settled);
  return settled <= now;
}

/// Whole GPUs only: a node for each task in placing order; where none has room, the one that is cleared most cheaply.
bool Scheduler::Impl::find_movers(JobId j, std::span<const JobId> refused) {
  const Shape& shape = shapes[jobs[j.index()].shape];
  NodeBuckets::Counts counts = open.buckets().counts();
  for (const Reservation& other : reservations)
    for (const Claim& claim : other.claims)
      if (other.job != j) claim_room(claim.node, claim.gpus, counts);
  for (const ShapePart& part : shape.parts) {
    for (int32_t i = 0; i < part.tasks; ++i) {
      NodeId chosen = open_node_for(part.gpus);
      if (!chosen.valid()) chosen = node_to_clear(part.gpus, refused);
      if (!chosen.valid()) return false;
      sketch.at(chosen).claimed += part.gpus;
      sketch.chosen.emplace_back(chosen, part.gpus);
    }
  }
  // One that left several nodes may have made another's leaving unnecessary.
  for (size_t v = sketch.victims.size(); v-- > 0;)
    if (!is_needed(sketch.victims[v].job)) sketch.victims.erase(sketch.victims.begin() + static_cast<ptrdiff_t>(v));
  return !sketch.victims.empty();
}

/// A node with so many GPUs neither held nor claimed, or that those found so far will leave; the fullest first.
NodeId Scheduler::Impl::open_node_for(int32_t gpus) {
  NodeId found;
  open.buckets().for_each_from(gpus, [&](NodeId n) {
    if (room_then(n) >= gpus) found = n;
    return !found.valid();
  });
  for (size_t k = 0; k < sketch.touched.size() && !found.valid(); ++k)
    if (room_then(sketch.touched[k]) >= gpus) found = sketch.touched[k];
  return found;
}

/// Of the emptiest nodes that one that loses least when `gpus` are free on it; its movers join the victims.
NodeId Scheduler::Impl::node_to_clear(int32_t gpus, std::span<const JobId> refused) {
  NodeId best;
  int64_t best_loss = 0;
  std::vector<JobId> best_movers;
  std::vector<Mover> movers;
  std::vector<size_t> chosen;
  size_t looked_at = 0;
  for (int32_t count = gpus - 1; count >= 0 && looked_at < kMostNodesSearched; --count) {
    open.buckets().for_each_from(count, [&](NodeId n) {
      if (open.buckets().at(n) != count || ++looked_at > kMostNodesSearched) return false;
      movers.clear();
      for (const JobId v : movable_on(n, refused)) {
        if (!shapes[jobs[v.index()].shape].plain) continue;
        int32_t here = 0;
        for (const Task& task : tasks_of(v))
          if (task.state == TaskState::kRunning && task.place.node == n) here += __builtin_popcountll(task.place.gpus);
        movers.push_back({.job = v, .gpus = here, .loss = loss_by_moving(v)});
      }
      const std::optional<int64_t> loss = cheapest_set(movers, std::max(0, gpus - room_then(n)), chosen);
      if (!loss || (best.valid() && best_loss <= *loss)) return true;
      best = n;
      best_loss = *loss;
      best_movers.clear();
      for (const size_t m : chosen)
        best_movers.push_back(movers[m].job);
      return true;
    });
  }
  for (const JobId v : best_movers) {
    sketch.victims.push_back({.job = v, .reason = Reason::kConsolidation});
    for (const Task& task : tasks_of(v))
      if (task.state == TaskState::kRunning) sketch.at(task.place.node).leaves += __builtin_popcountll(task.place.gpus);
  }
  return best;
}

/// Jobs on the node that may move and were not chosen or refused, by id.
std::vector<JobId> Scheduler::Impl::movable_on(NodeId n, std::span<const JobId> refused) {
  std::vector<JobId> found = jobs_on(n);
  std::erase_if(found, [&](JobId v) {
    return !is_movable(v) || std::ranges::find(refused, v) != refused.end() ||
           std::ranges::find(sketch.victims, v, &Victim::job) != sketch.victims.end();
  });
  return found;
}

/// Parts of GPUs, CPU, memory, MIG, groups, topology: by trying it on the cluster, with those that may move on the emptiest nodes.
bool Scheduler::Impl::move_in_detail(JobId j) {
  std::vector<Victim> movable;
  for (const NodeId n : emptiest_nodes(j))
    for (const JobId v : jobs_on(n))
      if (v != j && is_movable(v) && std::ranges::find(movable, v, &Victim::job) == movable.end())
        movable.push_back({.job = v, .reason = Reason::kConsolidation});
  const int64_t most = worth_of_moving(j);
  RoomRules rules;
  rules.everybody_placed = true;
  withhold_for_others(j);
  const std::optional<RoomPlan> plan = plan_room(j, movable, rules);
  open.release(cluster);
  if (!plan) return false;
  std::vector<JobId> moved;
  for (const TaskId t : plan->moved)
    if (const JobId v = cluster.task(t).job; std::ranges::find(moved, v) == moved.end()) moved.push_back(v);
  int64_t loss = 0;
  for (const JobId v : moved)
    loss += loss_by_moving(v);
  if (loss > most) ripens = now;  // the longer it waits, the more it may cost
  if (loss > most || moved.size() > kMostMoves) return false;
  carry_out(j, *plan, movable);
  return true;
}

/// Nodes that a task of it could run on, those with most GPU time free first; a bounded number.
std::vector<NodeId> Scheduler::Impl::emptiest_nodes(JobId j) const {
  const std::span<const Task> tasks = tasks_of(j);
  const auto could_run = [&](NodeId n) {
    return std::ranges::any_of(tasks, [&](const Task& t) { return cluster.is_eligible(t.request, n); });
  };
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < cluster.node_count(); ++n)
    if (cluster.coming()[NodeId(n)].usable && could_run(NodeId(n))) nodes.push_back(NodeId(n));
  const auto by_free = [&](NodeId a, NodeId b) {
    return std::tuple(-cluster.coming()[a].milli_free, a) < std::tuple(-cluster.coming()[b].milli_free, b);
  };
  const size_t most = std::min(nodes.size(), kMostNodesInDetail);
  std::partial_sort(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(most), nodes.end(), by_free);
  nodes.resize(most);
  return nodes;
}

/// Until open.release(): what others have reserved does not count as open.
void Scheduler::Impl::withhold_for_others(JobId j) {
  for (const Reservation& other : reservations)
    if (other.job != j) withhold(other, INT32_MAX);
}

void Scheduler::Impl::leave(JobId v) {
  for (TaskId t = first_task(v); t != end_task(v); t = next(t))
    if (cluster.task(t).state == TaskState::kRunning) cluster.leave(t);
}

/// Tries it all on the cluster. @return none when each of those that move has new room; the first that has none; or no job,
/// when the waiting one does not fit.
std::optional<JobId> Scheduler::Impl::without_new_room(JobId j) {
  std::vector<std::vector<TaskId>> stand_in;  // made before the trial: it cannot take back what is added
  for (const Victim& v : sketch.victims)
    stand_in.push_back(take_stand_ins(running_tasks(v.job)));
  std::optional<JobId> homeless;
  {
    const Attempt trial(cluster);
    for (const Victim& v : sketch.victims)
      leave(v.job);
    if (!promise_room(j)) homeless = JobId();
    withhold_for_others(j);
    for (size_t v = 0; v < stand_in.size() && !homeless; ++v)
      if (!place_stand_ins(stand_in[v])) homeless = sketch.victims[v].job;
    open.release(cluster);
  }
  open.catch_up(cluster);
  for (const std::vector<TaskId>& tasks : stand_in)
    give_back_stand_ins(tasks);
  return homeless;
}

/// The same in earnest.
void Scheduler::Impl::carry_out_moves(JobId j) {
  begin_to_hold(j);
  std::vector<std::vector<TaskId>> tasks;
  for (const Victim& v : sketch.victims) {
    tasks.push_back(running_tasks(v.job));
    evict(v.job, v.reason, j);
  }
  CHECK(promise_room(j), "job {} does not fit although others move for it", j.index());
  finish_holding(j);
  withhold_for_others(j);
  for (size_t v = 0; v < sketch.victims.size(); ++v) {
    const JobId moving = sketch.victims[v].job;
    Move& move = moves.emplace_back(Move{.job = moving, .tasks = tasks[v], .stand_ins = take_stand_ins(tasks[v]), .amounts = {}});
    CHECK(place_stand_ins(move.stand_ins), "job {} moves and has nowhere to go", moving.index());
    move.amounts = amounts_of(move.tasks);
    charge(moving, move.amounts, 1);
  }
  open.release(cluster);
}

/// Nominates the tasks of a plain job where the search on paper has put them.
bool Scheduler::Impl::promise_room(JobId j) {
  bool fits_then = true;
  const Shape& shape = shapes[jobs[j.index()].shape];
  for (size_t i = 0; i < shape.order.size() && fits_then; ++i) {
    const TaskId t(first_task(j).index() + static_cast<uint32_t>(shape.order[i]));
    const std::optional<Place> place = cluster.fit(cluster.task(t).request, sketch.chosen[i].first, Room::kComing);
    fits_then = place.has_value();
    if (fits_then) cluster.nominate(t, *place);
  }
  open.catch_up(cluster);
  return fits_then;
}

// ---- stand-ins -------------------------------------------------------------------------------------------------------

std::vector<TaskId> Scheduler::Impl::running_tasks(JobId v) const {
  std::vector<TaskId> tasks;
  for (TaskId t = first_task(v); t != end_task(v); t = next(t))
    if (cluster.task(t).state == TaskState::kRunning) tasks.push_back(t);
  return tasks;
}

/// As many tasks of no job, each asking for the same as one of these.
std::vector<TaskId> Scheduler::Impl::take_stand_ins(std::span<const TaskId> tasks) {
  std::vector<TaskId> taken;
  for (const TaskId t : tasks) {
    const RequestId request = cluster.task(t).request;
    if (idle_stand_ins.size() <= request.index()) idle_stand_ins.resize(request.index() + size_t{1});
    std::vector<TaskId>& idle = idle_stand_ins[request.index()];
    taken.push_back(idle.empty() ? cluster.add_task(JobId(), request) : idle.back());
    if (!idle.empty()) idle.pop_back();
  }
  return taken;
}

void Scheduler::Impl::give_back_stand_ins(std::span<const TaskId> stand_ins) {
  for (const TaskId t : stand_ins) {
    if (cluster.task(t).on_node()) cluster.gone(t, TaskState::kPending);
    idle_stand_ins[cluster.task(t).request.index()].push_back(t);
  }
}

/// On room that is free now, neither promised nor reserved. @return false when there is none for one of them.
bool Scheduler::Impl::place_stand_ins(std::span<const TaskId> stand_ins) {
  for (const TaskId t : stand_ins) {
    const RequestId request = cluster.task(t).request;
    std::optional<Place> place = pick_by_rules(cluster, request, Room::kFree, unclaimed({}), {});
    if (!place) return false;
    cluster.nominate(t, *place);
    open.catch_up(cluster);
  }
  return true;
}

/// `v` has left: the room kept for it is its own now. @return false when none was kept.
bool Scheduler::Impl::take_kept_room(JobId v) {
  const auto move = std::ranges::find(moves, v, &Move::job);
  if (move == moves.end()) return false;
  JobRecord& r = jobs[v.index()];
  r.phase = Phase::kHeld;
  r.admitted = true;
  arrive(v);
  for (size_t i = 0; i < move->tasks.size(); ++i) {
    const Place place = cluster.task(move->stand_ins[i]).place;
    cluster.gone(move->stand_ins[i], TaskState::kPending);
    cluster.nominate(move->tasks[i], place);
    ++r.held;
  }
  held.push_back(v);
  give_back_stand_ins(move->stand_ins);
  moves.erase(move);
  return true;
}

/// A task of a job that runs on has left for other room: it joins the rest from there, if that room is free already.
void Scheduler::Impl::join_at_kept_room(JobId v, TaskId t) {
  const auto move = std::ranges::find(moves, v, &Move::job);
  if (move == moves.end()) return;
  const auto at = std::ranges::find(move->tasks, t);
  if (at == move->tasks.end()) return;
  const auto i = at - move->tasks.begin();
  const TaskId stand_in = move->stand_ins[static_cast<size_t>(i)];
  Place place = cluster.task(stand_in).place;
  place.task = t;
  const bool is_free = cluster.can_run_nominated(stand_in);
  give_back_stand_ins({&stand_in, 1});
  const Amounts amounts = cluster.amounts(cluster.task(t).request);
  add_to(move->amounts, amounts, -1);
  move->tasks.erase(at);
  move->stand_ins.erase(move->stand_ins.begin() + i);
  if (move->tasks.empty()) moves.erase(move);
  if (!is_free) return charge(v, amounts, -1);
  cluster.run(t, place, now);
  open.catch_up(cluster);
  ++jobs[v.index()].running;
  decide_on(DecisionKind::kGrow, Reason::kConsolidation, v);
  add_place(place);
  meter(v);
}

/// No room is kept for it any longer, if any was.
void Scheduler::Impl::drop_move(JobId v) {
  const auto move = std::ranges::find(moves, v, &Move::job);
  if (move == moves.end()) return;
  give_back_stand_ins(move->stand_ins);
  ++room_made;
  charge(v, move->amounts, -1);
  moves.erase(move);
}

/// The node takes no job: those who were to move there wait like others when they have left.
void Scheduler::Impl::drop_moves_to(NodeId n) {
  const auto goes_there = [&](const Move& move) {
    return std::ranges::any_of(move.stand_ins, [&](TaskId t) { return cluster.task(t).place.node == n; });
  };
  for (auto move = std::ranges::find_if(moves, goes_there); move != moves.end(); move = std::ranges::find_if(moves, goes_there))
    drop_move(move->job);
}

}  // namespace stint::sched
