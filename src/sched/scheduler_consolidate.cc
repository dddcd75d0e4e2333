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
#include "sched/scheduler_consolidate.h"

#include <algorithm>
#include <tuple>

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

bool Consolidation::move_for_one() {
  if (!s_.policy.consolidate || !s_.jobs.any_movable() || s_.pending.count() == 0) {
    book_.turns.finish();
    return false;
  }
  book_.moved_for.resize(s_.jobs.shape_count());
  const bool first_only = blocks_at_head(s_.policy.order);
  bool found = false;
  bool cut_short = false;
  s_.heads.try_in_order([&](ShapeId s) { return first_only || is_scattered(s); },
                        [&](ShapeId s) {
                          if (first_only && !is_scattered(s)) return Tried::kEnough;
                          const JobId j = s_.pending.head(s)->job;
                          if (s_.heads.close_if_limited(j)) return Tried::kClosed;
                          if (!s_.heads.may_search(SearchFor::kMove)) {
                            cut_short = true;
                            return Tried::kEnough;
                          }
                          book_.ripens = kNever;
                          const bool plain = s_.jobs.shape(s).plain;
                          found =
                              s_.accounts.tasks_within_limits(j) >= (plain ? s_.jobs.terms_of(j).tasks : 1) && move_others_for(j);
                          if (found) return Tried::kEnough;
                          book_.moved_for[s.index()] = {.job = j,
                                                        .rank = s_.jobs[j].rank,
                                                        .at = s_.clock.now,
                                                        .changes = s_.clock.changes,
                                                        .turn = book_.turns.turn(),
                                                        .ripens = book_.ripens};
                          return first_only ? Tried::kEnough : Tried::kInVain;
                        });
  if (cut_short)
    book_.turns.go_on_later();
  else if (!found)
    book_.turns.finish();
  return found;
}

/// When the search is worth repeating: a while after it, if something has changed, or when a job may move that had not run
/// for long enough; kNever = not as things stand.
Instant Consolidation::move_again_at(const Attempted& last) const {
  const Instant soonest = last.at + kConsolidatePause;
  return last.changes != s_.clock.changes ? soonest : std::max(soonest, last.ripens);
}

/// Does its head not fit on what is open though that is enough, and was it not just tried in vain?
bool Consolidation::is_scattered(ShapeId s) const {
  const Waiting* const head = s_.pending.head(s);
  if (!head) return false;
  const Attempted& last = book_.moved_for[s.index()];
  const bool in_vain = last.job == head->job || !(head->rank < last.rank);
  if (last.job.valid() && in_vain && (move_again_at(last) > s_.clock.now || book_.turns.waits_for_others(last.turn)))
    return false;
  return !s_.heads.fits(s) && s_.jobs.shape(s).total.gpu_milli > 0 &&
         (!s_.jobs.shape(s).plain || s_.jobs.has_parts_of_gpus() || is_enough_open(head->job));
}

/// Are so many GPUs free and not promised, on all nodes together? Parts of GPUs only count for those who ask for them.
bool Consolidation::is_enough_open(JobId j) const {
  const ShapeId s = s_.jobs[j].shape;
  int64_t milli = 0;
  if (!s_.jobs.shape(s).plain || s_.jobs.has_parts_of_gpus()) {
    for (uint32_t n = 0; n < s_.cluster.node_count(); ++n)
      if (s_.cluster.free()[NodeId(n)].usable)
        milli += std::min(s_.cluster.free()[NodeId(n)].milli_free, s_.cluster.coming()[NodeId(n)].milli_free);
  } else {
    const NodeBuckets::Counts& counts = s_.open.buckets().counts();
    for (size_t c = 0; c < counts.size(); ++c)
      milli += int64_t{kMilli} * static_cast<int64_t>(c) * counts[c];
  }
  return milli >= (s_.jobs.shape(s).plain ? s_.jobs.shape(s).total : s_.jobs.least_amounts(j)).gpu_milli;
}

bool Consolidation::move_for_claim(JobId j) {
  const ShapeId s = s_.jobs[j].shape;
  book_.moved_for.resize(s_.jobs.shape_count());
  if (!s_.policy.consolidate || !s_.jobs.any_movable() || !is_scattered(s)) return false;
  book_.ripens = kNever;
  if (move_others_for(j)) return true;
  s_.claim_ripens = std::min(s_.claim_ripens, book_.ripens);
  book_.moved_for[s.index()] = {
      .job = j, .rank = s_.jobs[j].rank, .at = s_.clock.now, .changes = s_.clock.changes, .ripens = book_.ripens};
  return false;
}

Instant Consolidation::next_search() const {
  Instant next = s_.pending.count() > 0 && book_.turns.wants_a_step() ? s_.clock.now + Heads::kSearchesGoOnAfter : kNever;
  for (const ShapeId shape : s_.pending.shapes()) {
    if (shape.index() >= book_.moved_for.size() || !book_.moved_for[shape.index()].job.valid()) continue;
    if (const Instant again = move_again_at(book_.moved_for[shape.index()]); again > s_.clock.now) next = std::min(next, again);
  }
  return next;
}

bool Consolidation::move_others_for(JobId j) {
  if (!is_enough_open(j)) return false;
  if (!s_.jobs.shape_of(j).plain || s_.jobs.has_parts_of_gpus()) return move_in_detail(j);
  const int64_t most = s_.backfill.worth_of_room(j);
  std::vector<JobId> refused;
  for (int attempt = 0; attempt < kMostRefusals; ++attempt) {
    s_.sketch.begin();
    RoomOnPaper room(s_.cluster, s_.open, s_.paper);
    s_.backfill.claim_for_others(j, room);
    if (!find_movers(j, room, refused)) return move_in_detail(j);
    int64_t loss = 0;
    for (const Victim& v : s_.sketch.victims)
      loss += loss_by_moving(v.job);
    if (loss > most) book_.ripens = s_.clock.now;  // the longer it waits, the more it may cost
    if (loss > most || s_.sketch.victims.size() > kMostMoves) return false;
    const std::optional<JobId> homeless = without_new_room(j, room);
    if (!homeless) {
      carry_out_moves(j, room);
      return true;
    }
    if (!homeless->valid()) return false;
    refused.push_back(*homeless);
  }
  return false;
}

int64_t Consolidation::loss_by_moving(JobId v) const {
  return s_.cluster.amounts(s_.jobs.terms_of(v).request).gpu_milli * s_.jobs[v].running *
         s_.rules.lost_if_stopped(v).whole_seconds() / kMilli;
}

/// One that only has to run for longer first is noted in `ripens`.
bool Consolidation::is_movable(JobId v) {
  const JobTerms& spec = s_.jobs.terms_of(v);
  const JobRecord& r = s_.jobs[v];
  if (r.phase != Phase::kRunning || !spec.preemptible || spec.checkpoint.interval == kUnlimited) return false;
  const Instant settled = r.started + std::max({spec.min_runtime, kSettled, spec.checkpoint.restart * kSettledPerRestart});
  if (settled > s_.clock.now) book_.ripens = std::min(book_.ripens, settled);
  return settled <= s_.clock.now;
}

/// Whole GPUs only: a node for each task in placing order; where none has room, the one that is cleared most cheaply.
bool Consolidation::find_movers(JobId j, RoomOnPaper& room, std::span<const JobId> refused) {
  const Shape& shape = s_.jobs.shape_of(j);
  for (const ShapePart& part : shape.parts) {
    for (int32_t i = 0; i < part.tasks; ++i) {
      NodeId chosen = room.node_with(part.gpus);
      if (!chosen.valid()) chosen = node_to_clear(part.gpus, room, refused);
      if (!chosen.valid()) return false;
      room.choose(chosen, part.gpus);
    }
  }
  // One that left several nodes may have made another's leaving unnecessary.
  for (size_t v = s_.sketch.victims.size(); v-- > 0;)
    if (!room.is_needed(s_.jobs.tasks_of(s_.sketch.victims[v].job)))
      s_.sketch.victims.erase(s_.sketch.victims.begin() + static_cast<ptrdiff_t>(v));
  return !s_.sketch.victims.empty();
}

/// Of the emptiest nodes that one that loses least when `gpus` are free on it; its movers join the victims.
NodeId Consolidation::node_to_clear(int32_t gpus, RoomOnPaper& room, std::span<const JobId> refused) {
  NodeId best;
  int64_t best_loss = 0;
  std::vector<JobId> best_movers;
  std::vector<Mover> movers;
  std::vector<size_t> chosen;
  size_t looked_at = 0;
  for (int32_t count = gpus - 1; count >= 0 && looked_at < kMostNodesSearched; --count) {
    s_.open.buckets().for_each_from(count, [&](NodeId n) {
      if (s_.open.buckets().at(n) != count || ++looked_at > kMostNodesSearched) return false;
      movers.clear();
      for (const JobId v : movable_on(n, refused)) {
        if (!s_.jobs.shape_of(v).plain) continue;
        int32_t here = 0;
        for (const Task& task : s_.jobs.tasks_of(v))
          if (task.state == TaskState::kRunning && task.place.node == n) here += __builtin_popcountll(task.place.gpus);
        movers.push_back({.job = v, .gpus = here, .loss = loss_by_moving(v)});
      }
      const std::optional<int64_t> loss = cheapest_set(movers, std::max(0, gpus - room.room(n)), chosen);
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
    s_.sketch.victims.push_back({.job = v, .reason = Reason::kConsolidation});
    room.leave(s_.jobs.tasks_of(v));
  }
  return best;
}

/// Jobs on the node that may move and were not chosen or refused, by id.
std::vector<JobId> Consolidation::movable_on(NodeId n, std::span<const JobId> refused) {
  std::vector<JobId> found = s_.jobs.jobs_on(n);
  std::erase_if(found, [&](JobId v) {
    return !is_movable(v) || std::ranges::find(refused, v) != refused.end() ||
           std::ranges::find(s_.sketch.victims, v, &Victim::job) != s_.sketch.victims.end();
  });
  return found;
}

/// Parts of GPUs, CPU, memory, MIG, groups, topology: by trying it on the cluster, with those that may move on the emptiest nodes.
bool Consolidation::move_in_detail(JobId j) {
  std::vector<Victim> movable;
  for (const NodeId n : emptiest_nodes(j))
    for (const JobId v : s_.jobs.jobs_on(n))
      if (v != j && is_movable(v) && std::ranges::find(movable, v, &Victim::job) == movable.end())
        movable.push_back({.job = v, .reason = Reason::kConsolidation});
  const int64_t most = s_.backfill.worth_of_room(j);
  RoomRules rules;
  rules.everybody_placed = true;
  s_.backfill.withhold_for_others(j);
  const std::optional<RoomPlan> plan = s_.room.plan_room(j, movable, rules);
  s_.open.release(s_.cluster);
  if (!plan) return false;
  std::vector<JobId> moved;
  for (const TaskId t : plan->moved)
    if (const JobId v = s_.cluster.task(t).job; std::ranges::find(moved, v) == moved.end()) moved.push_back(v);
  int64_t loss = 0;
  for (const JobId v : moved)
    loss += loss_by_moving(v);
  if (loss > most) book_.ripens = s_.clock.now;  // the longer it waits, the more it may cost
  if (loss > most || moved.size() > kMostMoves) return false;
  s_.room.carry_out(j, *plan, movable);
  return true;
}

/// Nodes that a task of it could run on, those with most GPU time free first; a bounded number.
std::vector<NodeId> Consolidation::emptiest_nodes(JobId j) const {
  const std::span<const Task> tasks = s_.jobs.tasks_of(j);
  const auto could_run = [&](NodeId n) {
    return std::ranges::any_of(tasks, [&](const Task& t) { return s_.cluster.is_eligible(t.request, n); });
  };
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < s_.cluster.node_count(); ++n)
    if (s_.cluster.coming()[NodeId(n)].usable && could_run(NodeId(n))) nodes.push_back(NodeId(n));
  const auto by_free = [&](NodeId a, NodeId b) {
    return std::tuple(-s_.cluster.coming()[a].milli_free, a) < std::tuple(-s_.cluster.coming()[b].milli_free, b);
  };
  const size_t most = std::min(nodes.size(), kMostNodesInDetail);
  std::partial_sort(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(most), nodes.end(), by_free);
  nodes.resize(most);
  return nodes;
}

/// Tries it all on the cluster. @return none when each of those that move has new room; the first that has none; or no job,
/// when the waiting one does not fit.
std::optional<JobId> Consolidation::without_new_room(JobId j, const RoomOnPaper& room) {
  std::vector<std::vector<TaskId>> stand_in;  // made before the trial: it cannot take back what is added
  for (const Victim& v : s_.sketch.victims)
    stand_in.push_back(s_.moves.take_stand_ins(s_.moves.running_tasks(v.job)));
  std::optional<JobId> homeless;
  {
    const Attempt trial(s_.cluster);
    for (const Victim& v : s_.sketch.victims)
      leave(s_.cluster, s_.jobs, v.job);
    if (!promise_room(j, room)) homeless = JobId();
    s_.backfill.withhold_for_others(j);
    for (size_t v = 0; v < stand_in.size() && !homeless; ++v)
      if (!s_.moves.place_stand_ins(stand_in[v])) homeless = s_.sketch.victims[v].job;
    s_.open.release(s_.cluster);
  }
  s_.open.catch_up(s_.cluster);
  for (const std::vector<TaskId>& tasks : stand_in)
    s_.moves.give_back_stand_ins(tasks);
  return homeless;
}

/// The same in earnest.
void Consolidation::carry_out_moves(JobId j, const RoomOnPaper& room) {
  s_.life.begin_to_hold(j);
  std::vector<std::vector<TaskId>> tasks;
  for (const Victim& v : s_.sketch.victims) {
    tasks.push_back(s_.moves.running_tasks(v.job));
    s_.life.evict(v.job, v.reason, j);
  }
  CHECK(promise_room(j, room), "job {} does not fit although others move for it", j.index());
  s_.life.finish_holding(j);
  s_.backfill.withhold_for_others(j);
  for (size_t v = 0; v < s_.sketch.victims.size(); ++v)
    s_.moves.keep_free_room(s_.sketch.victims[v].job, tasks[v]);
  s_.open.release(s_.cluster);
}

/// Nominates the tasks of a plain job where the search on paper has put them.
bool Consolidation::promise_room(JobId j, const RoomOnPaper& room) {
  bool fits_then = true;
  const Shape& shape = s_.jobs.shape_of(j);
  for (size_t i = 0; i < shape.order.size() && fits_then; ++i) {
    const TaskId t(s_.jobs.first_task(j).index() + static_cast<uint32_t>(shape.order[i]));
    const std::optional<Place> place = s_.cluster.fit(s_.cluster.task(t).request, room.chosen()[i].first, Room::kComing);
    fits_then = place.has_value();
    if (fits_then) s_.cluster.nominate(t, *place);
  }
  s_.open.catch_up(s_.cluster);
  return fits_then;
}

}  // namespace stint::sched
