// Preemption: a waiting job takes the room of running ones, all or nothing.
//
// On three grounds: a job of its own queue with lower priority that its age does not make up for; a queue that holds more
// than it deserves while its own stays within what it deserves (reclaim); under preemptive orders, a job that ranks behind
// it because it has had more.
// Running jobs are looked at from the one that should give way first: lowest priority, then least work lost (or youngest:
// Policy::victims). Each adds the room it would leave, until the waiting job fits. Then only those on the chosen nodes are
// stopped, without those that turn out not to be needed. The freed room is promised to the waiting job; it starts when the last
// of them has left. Under `stint` a job's rank says whether it may be stopped, under `srtf` it also says who is.
// No A↔B loops: priority and what is deserved order jobs strictly; whom a job may stop by rank ranks behind it by more than
// a margin, has run for a quantum since its last start, and does not run on what its queue is guaranteed (else it takes its
// room back, and so for ever). Taking turns is for jobs that can save their work: one that would lose everything is never
// stopped by rank. Nor is one that holds more than all that wait could use: the rest of its room would stand idle, and the
// large jobs would pay for the small ones.
// One that would be stopped in the step that starts it is not started; once started, it runs for a minute before one that
// waited then already stops it.
// And no job is stopped time and again before it gets anywhere: one that was to give way before it had run for an hour has a
// term of two minutes after its next start, and twice that with every further time, up to 16 minutes. So a job gives way at
// most seven times within an hour, however many come that rank before it or may claim its room, and a claim waits for minutes
// at most.
#include <algorithm>
#include <functional>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

constexpr Duration kMargin = Duration::minutes(10);
constexpr Duration kShortestQuantum = Duration::minutes(2);
constexpr int64_t kQuantumPerLoss = 5;  // at most a sixth of the time is lost by taking turns
// A search is given up after so many running jobs: then those that should give way first are not the ones to stop.
constexpr size_t kMostLookedAt = 256;
constexpr size_t kMostLookedAtPerTask = 256;
constexpr size_t kMostSetAside = 16;     // searches for further queues of one shape, in one step
constexpr size_t kMostLimited = 8;       // searches for jobs that their queues' limits keep waiting, at one instant
constexpr size_t kComparedVictims = 32;  // as good as 64 in the figures of docs/benchmarks.md ("Who waits how long"), and cheaper
constexpr Duration kLongEnough = Duration::hours(1);  // who ran for so long was not cut short
constexpr Duration kFirstTerm = Duration::minutes(2);
constexpr int kMostDoublings = 3;
constexpr Duration kLeastTerm = Duration::minutes(1);  // of one that started while who stops it waited already
constexpr int kMostTakenBack = 8;                      // starts of one job in one step, so that steps end; a further one stands

/// Of ranks, which are INT64_MAX where it is not known how long a job runs.
int64_t capped_sum(int64_t rank, int64_t more) {
  int64_t sum = 0;
  return __builtin_add_overflow(rank, more, &sum) ? INT64_MAX : sum;
}

}  // namespace

/// Rank a running job must exceed for `j` to stop it.
Rank Scheduler::Impl::victim_bound(JobId j) const {
  const Rank rank = jobs[j.index()].rank;
  // Remaining times of running jobs are kept as the instants they end at.
  if (policy.order == Order::kSrtf) return {.major = rank.major, .minor = capped_sum(rank.minor, now.ns())};
  return {.major = rank.major, .minor = capped_sum(rank.minor, kMargin.count_ns())};
}

/// Since when its work would be lost if it were stopped now. A job that has never saved is taken at its word: it saves at
/// least once in its interval.
Instant Scheduler::Impl::work_kept_at(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  const Duration interval = terms_of(j).checkpoint.interval;
  return r.saved > r.started || interval == kUnlimited ? r.saved : std::max(r.saved, now - interval);
}

/// Of the time of each of its GPUs: the work since it last saved, and its restart.
Duration Scheduler::Impl::lost_if_stopped(JobId j) const { return now - work_kept_at(j) + terms_of(j).checkpoint.restart; }

/// Among running jobs the last gives way first: lowest priority, then who loses least of each GPU's time (work since the last
/// checkpoint plus restart), or who started last.
Rank Scheduler::Impl::leaving_rank(JobId j) const {
  const JobTerms& spec = terms_of(j);
  const Instant since =
      policy.victims == VictimOrder::kLeastLostWork ? work_kept_at(j) - spec.checkpoint.restart : jobs[j.index()].started;
  return {.major = -spec.priority, .minor = since.ns()};
}

/// Where a running job stands in `running`: those behind a waiting job may have to give way to it. Orders without ranks of
/// their own keep the order in which they give way.
Rank Scheduler::Impl::running_rank(JobId j) const {
  if (!is_preemptive(policy.order)) return leaving_rank(j);
  const JobRecord& r = jobs[j.index()];
  Rank rank = rank_after(j, r.served + (now - r.started));
  if (policy.order == Order::kSrtf) rank.minor = capped_sum(rank.minor, now.ns());
  return rank;
}

/// Does it take back what other queues hold above their due? Not where remaining time alone decides, over all queues: what
/// is taken back by share would be taken again by rank, for ever.
bool Scheduler::Impl::reclaims() const {
  return policy.reclaim && (queues.any_deserved() || policy.shares == ShareRule::kFair) &&
         (queue_rule(policy.order) == QueueRule::kByShare || !is_preemptive(policy.order));
}

/// Could anybody be stopped for another reason than rank?
bool Scheduler::Impl::other_grounds() const { return (policy.preempt && lowest_priority < highest_priority) || reclaims(); }

/// Would the running job, stopped, wait ahead of that rank? Where age makes up for priority, one of lower priority may; if it
/// were stopped it would come back first, and so for ever.
bool Scheduler::Impl::goes_first_again(JobId j, const Rank& rank) const {
  if (policy.ageing.count_ns() == 0 || queue_rule(policy.order) != QueueRule::kByShare) return false;
  const JobRecord& r = jobs[j.index()];
  return rank_after(j, r.served + (now - r.started)) < rank;
}

/// How long it runs after its start before others stop it.
Duration Scheduler::Impl::term_of(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  const int cut_short = std::max<int>(r.cut_short, r.freed_for ? 1 : 0);  // others were not stopped for nothing
  const Duration term = cut_short == 0 ? Duration() : kFirstTerm * (int64_t{1} << (cut_short - 1));
  return std::max(term, terms_of(j).min_runtime);
}

/// It runs, and is told to leave for others.
void Scheduler::Impl::note_cut_short(JobId j) {
  JobRecord& r = jobs[j.index()];
  const int before = now - r.started < kLongEnough ? r.cut_short : 0;
  r.cut_short = static_cast<uint8_t>(std::min(before, kMostDoublings) + 1);
}

/// Why `j` may stop `victim` now. One that only has to run for longer first is noted in `ripens`.
std::optional<Reason> Scheduler::Impl::ground_to_stop(JobId j, JobId victim, const Rank& bound) {
  const JobRecord& r = jobs[j.index()];
  const JobRecord& v = jobs[victim.index()];
  const JobTerms& spec = terms_of(victim);
  if (v.phase != Phase::kRunning || !spec.preemptible) return std::nullopt;
  const bool is_older = policy.order != Order::kSrtf && r.submitted <= v.started;
  const auto after = [&](Duration runtime, Reason ground) {
    if (is_older) runtime = std::max(runtime, kLeastTerm);
    if (now - v.started >= runtime || start_to_drop(victim) != kNoDecision) return std::optional(ground);
    ripens = std::min(ripens, v.started + runtime);
    return std::optional<Reason>();
  };
  if (policy.preempt && r.queue == v.queue && spec.priority < terms_of(j).priority && !goes_first_again(victim, r.rank))
    return after(term_of(victim), Reason::kPriority);
  if (policy.shares == ShareRule::kFair) {
    if (reclaims() && r.queue != v.queue && may_claim_fairly(j)) return after(term_of(victim), Reason::kReclaim);
  } else if (reclaims() && queues.may_reclaim(r.queue, shapes[r.shape].total, v.queue, sketch.taken)) {
    return after(term_of(victim), Reason::kReclaim);
  }
  if (!is_preemptive(policy.order) || !policy.preempt || v.rank <= bound) return std::nullopt;
  const bool its_turn =
      r.queue == v.queue || queue_rule(policy.order) == QueueRule::kOneLine || queues.compare(r.queue, v.queue) < 0;
  if (!its_turn) return std::nullopt;
  if (reclaims() && queues.is_guaranteed(v.queue, shapes[v.shape].total, r.queue)) return std::nullopt;
  if (policy.order != Order::kStint) return after(spec.min_runtime, Reason::kPriority);
  if (spec.checkpoint.interval == kUnlimited) return std::nullopt;
  if (const int64_t size = shapes[v.shape].total.gpu_milli; size > waiting_gpu_milli) {
    too_large = std::min(too_large, size);
    return std::nullopt;
  }
  const Duration quantum = std::max(kShortestQuantum, lost_if_stopped(victim) * kQuantumPerLoss);
  return after(std::max(quantum, term_of(victim)), Reason::kPriority);
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
  set_timer(level_timers, now + (end - so_far), j, TimerKind::kLevel);
}

void Scheduler::Impl::fire_level_timers() {
  while (!level_timers.empty() && level_timers.top().at <= now) {
    const Timer timer = level_timers.pop();
    const JobRecord& r = jobs[timer.job.index()];
    if (timer.starts != r.starts || r.phase != Phase::kRunning) continue;
    ++changes;
    running.erase({.rank = r.rank, .job = timer.job});
    rank_running(timer.job);
  }
}

/// Stops others for one that waits. @return whether others leave for one.
bool Scheduler::Impl::preempt() { return stop_others_if_any(Ground::kAny); }

bool Scheduler::Impl::stop_others_if_any(Ground ground) {
  const bool moves_too = policy.shares == ShareRule::kFair && policy.consolidate && ground == Ground::kReclaim;
  const bool has_grounds = ranks_running() && (is_preemptive(policy.order) || other_grounds());
  if (pending.count() == 0 || !(has_grounds || moves_too)) {
    stop_turns.finish();
    return false;
  }
  attempted.resize(shapes.size());
  moved_for.resize(shapes.size());
  if (policy.order == Order::kStint) waiting_gpu_milli = gpu_milli_waiting();
  open_limited();
  return stop_others(ground);
}

/// Those whose queues' limits keep them waiting may be tried, too: who gives way for them leaves room within the limit.
void Scheduler::Impl::open_limited() {
  if (!pending.any_closed() || !other_grounds()) return;
  const bool again = limits_tried.at == now || (limits_tried.changes != changes && limits_tried.at + kPreemptPause <= now);
  if (!again) return;
  limits_tried = {.job = {}, .rank = {}, .at = now, .changes = changes};
  pending.open_all(queues);
}

/// Could stopping others leave room within the limit that keeps `j` waiting?
bool Scheduler::Impl::limit_may_give(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  const QueueId at = queues.limiting(r.queue, least_amounts(j), shapes[r.shape].preemptible);
  const bool of_its_own_queue = policy.preempt && lowest_priority < terms_of(j).priority;
  return of_its_own_queue || (reclaims() && at != r.queue);
}

/// Tries the heads of the shapes that do not fit, first in order first; where queues may have grounds of their own, the first of
/// each queue.
bool Scheduler::Impl::stop_others(Ground ground) {
  SearchRound round{.ground = ground, .what = ground == Ground::kReclaim ? SearchFor::kClaim : SearchFor::kStop};
  claimed_in_vain.clear();
  try_in_order([&](ShapeId s) { return is_worth_a_search(s); },
               [&](ShapeId s) {
                 const JobId j = pending.head(s)->job;
                 const Tried tried = stop_others_in_round(j, round);
                 return tried == Tried::kInVain ? on_to_the_next_queue(j, round) : tried;
               });
  pending.bring_back(queues);
  if (!round.found) try_newcomers(round);
  if (round.cut_short) stop_turns.go_on_later();
  if (ground != Ground::kReclaim) {
    std::ranges::sort(claimed_in_vain);
    std::erase_if(newcomers, [this](JobId j) { return std::ranges::binary_search(claimed_in_vain, j); });
    for (auto& [s, search] : round.in_vain) {
      search.others_at = attempted[s.index()].others_at;
      attempted[s.index()] = search;
    }
    if (!round.found && !round.cut_short) stop_turns.finish();
  }
  claimed_in_vain.clear();
  return round.found;
}

Tried Scheduler::Impl::stop_others_in_round(JobId j, SearchRound& round) {
  if (put_off(j)) return Tried::kClosed;
  const bool limited = tasks_within_limits(j) == 0;
  const bool limit_stays = limited && (limits_tried.at != now || !limit_may_give(j) || ++round.limited_tried > kMostLimited);
  if (budgets.spent(jobs[j.index()].queue).valid() || limit_stays) {
    close_if_limited(j);
    return Tried::kClosed;
  }
  if (!may_search(round.what)) {
    round.cut_short = true;
    return Tried::kEnough;
  }
  ripens = kNever;
  too_large = INT64_MAX;
  round.found = stop_others_for(j, round.ground);
  if (round.found) return Tried::kEnough;
  claimed_in_vain.push_back(j);
  if (limited && round.ground != Ground::kReclaim) {
    close_if_limited(j);
    return Tried::kClosed;
  }
  const ShapeId s = jobs[j.index()].shape;
  const auto known = std::ranges::find(round.in_vain, s, &std::pair<ShapeId, Attempted>::first);
  if (known == round.in_vain.end()) {
    round.in_vain.emplace_back(s, Attempted{.job = j,
                                            .rank = jobs[j.index()].rank,
                                            .at = now,
                                            .changes = changes,
                                            .turn = stop_turns.turn(),
                                            .ripens = ripens,
                                            .too_large = too_large});
  } else {  // of another queue, which has grounds of its own
    known->second.ripens = std::min(known->second.ripens, ripens);
    known->second.too_large = std::min(known->second.too_large, too_large);
  }
  return Tried::kInVain;
}

/// The shape's head, `j`, found none to stop: lets the first of another queue be its head, now or when it was not tried just before.
Tried Scheduler::Impl::on_to_the_next_queue(JobId j, SearchRound& round) {
  if (!other_grounds()) return Tried::kInVain;
  const ShapeId s = jobs[j.index()].shape;
  Attempted& last = attempted[s.index()];
  const Instant others_again = last.others_at + kPreemptPause;
  if (last.others_at != now && others_again > now) {
    Attempted& search = std::ranges::find(round.in_vain, s, &std::pair<ShapeId, Attempted>::first)->second;
    search.ripens = std::min(search.ripens, others_again);
    return Tried::kInVain;
  }
  if (++round.set_aside > kMostSetAside) return Tried::kInVain;
  last.others_at = now;
  pending.set_aside(queues, jobs[j.index()].queue, s);
  return Tried::kClosed;
}

/// It waits from now on. What was in vain for its shape's head need not be for it, when that is of another queue.
void Scheduler::Impl::note_newcomer(JobId j) {
  const bool by_priority = policy.preempt && lowest_priority < terms_of(j).priority;
  if ((by_priority || reclaims()) && leads_its_queue(j)) newcomers.push_back(j);
}

/// Is it the first of its queue and shape, and may that queue start jobs?
bool Scheduler::Impl::leads_its_queue(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  return r.phase == Phase::kWaiting && pending.leads(queues, r.queue, r.shape, j);
}

/// In vain, in this round.
bool Scheduler::Impl::was_tried(JobId j) const { return std::ranges::find(claimed_in_vain, j) != claimed_in_vain.end(); }

/// One more in this step? If not, the others come in the steps behind.
bool Scheduler::Impl::may_search(SearchFor what) {
  uint32_t& made = searches[static_cast<size_t>(what)];
  if (made == kMostSearches) return false;
  ++made;
  return true;
}

/// Tries those that have become the first of their queue and shape, and were not their shape's head when it was tried. Those come first
/// for whom earlier steps had no time.
void Scheduler::Impl::try_newcomers(SearchRound& round) {
  round.what = round.ground == Ground::kReclaim ? SearchFor::kClaimOfNewcomer : SearchFor::kStopOfNewcomer;
  std::vector<JobId> heads;
  for (const JobId j : newcomers) {
    if (!leads_its_queue(j) || was_tried(j) || std::ranges::find(heads, j) != heads.end()) continue;
    if (heads.size() == kMostSearches) {
      round.cut_short = true;
      break;
    }
    heads.push_back(j);
  }
  const auto later = [&](JobId a, JobId b) {
    const JobRecord& x = jobs[a.index()];
    const JobRecord& y = jobs[b.index()];
    return pending.before(queues, y.queue, y.shape, x.queue, x.shape);
  };
  std::ranges::make_heap(heads, later);
  for (; !heads.empty() && !round.found; heads.pop_back()) {
    std::ranges::pop_heap(heads, later);
    const JobId j = heads.back();
    const ShapeId s = jobs[j.index()].shape;
    const bool alone = std::ranges::find(round.in_vain, s, &std::pair<ShapeId, Attempted>::first) == round.in_vain.end();
    if (alone && attempted[s.index()].job.valid()) round.in_vain.emplace_back(s, attempted[s.index()]);  // which still holds
    (void)stop_others_in_round(j, round);
  }
}

int64_t Scheduler::Impl::gpu_milli_waiting() const {
  int64_t sum = 0;
  for (const ShapeId s : pending.shapes())
    sum += pending.count(s) * shapes[s].total.gpu_milli;
  return sum;
}

/// When the search is worth repeating: a while after it, if something has changed, when a job may be stopped that had
/// not run for long enough, or when enough waits to fill the room of one that was too large; kNever = not as things stand.
Instant Scheduler::Impl::search_again_at(const Attempted& last) const {
  const Instant soonest = last.at + (policy.order == Order::kSrtf ? Duration::nanoseconds(1) : kPreemptPause);
  const bool fills = last.too_large != INT64_MAX && waiting_gpu_milli >= last.too_large;
  return last.changes != changes || fills ? soonest : std::max(soonest, last.ripens);
}

/// Were victims not just looked for in vain?
bool Scheduler::Impl::is_worth_a_search(ShapeId s) {
  const Waiting* const head = pending.head(s);
  const Attempted& last = attempted[s.index()];
  if (head == nullptr || !last.job.valid()) return head != nullptr;
  // Nor would one that ranks behind a job that failed find more, unless its queue may claim something.
  const bool in_vain = last.job == head->job || (!queues.any_deserved() && !(head->rank < last.rank));
  if (!in_vain || could_take_back_start(head->job)) return true;
  return search_again_at(last) <= now && !stop_turns.waits_for_others(last.turn);
}

/// Could it stop one that is to start in this step? Then it looks for victims now: later, work would be lost.
bool Scheduler::Impl::could_take_back_start(JobId j) {
  if (!other_grounds()) return false;
  if (queues.any_deserved()) sketch.taken.assign(queues.size(), Amounts());
  const Rank bound = victim_bound(j);
  return std::ranges::any_of(decisions, [&](const Decision& d) {
    return d.kind == DecisionKind::kStart && start_to_drop(d.job) != kNoDecision && ground_to_stop(j, d.job, bound).has_value();
  });
}

bool Scheduler::Impl::stop_others_for(JobId j, Ground ground) {
  const Shape& shape = shapes[jobs[j.index()].shape];
  const int32_t within = tasks_within_limits(j);
  if (const ShapeId s = jobs[j.index()].shape;
      ground == Ground::kReclaim && within > 0 && policy.consolidate && any_movable && is_scattered(s)) {
    if (move_others_for(j)) return true;
    moved_for[s.index()] = {.job = j, .rank = jobs[j.index()].rank, .at = now, .changes = changes, .ripens = ripens};
  }
  if (!shape.plain || within == 0) return make_room_in_detail(j, ground);
  if (within < shape.tasks) return false;  // others are stopped for whole jobs only
  sketch.begin(cluster.node_count());
  if (queues.any_deserved()) sketch.taken.assign(queues.size(), Amounts());
  NodeBuckets::Counts counts = open.buckets().counts();
  for (const Reservation& other : reservations)
    for (const Claim& claim : other.claims)
      if (other.job != j) claim_room(claim.node, claim.gpus, counts);
  if (!find_victims(j, counts) || !choose_nodes(shape)) return false;
  hold_room(j);
  return true;
}

/// Hands running jobs to `enough`, the one that should give way first before the others, until it says that they are.
/// Under `stint` so many that rank last are compared at a time. @param most  looked at. @param may_stop  whether its
/// leaving would help.
template <typename MayStop, typename Enough>
bool Scheduler::Impl::choose_victims(JobId j, size_t most, MayStop&& may_stop, Enough&& enough) {
  const Rank bound = victim_bound(j);
  const bool by_rank_only = !other_grounds();
  const size_t compared = policy.order == Order::kStint ? kComparedVictims : 1;
  bool found = false;
  size_t looked_at = 0;
  std::vector<MayLeave>& batch = sketch.may_leave;
  const auto take_batch = [&] {
    std::ranges::stable_sort(batch, std::greater(), &MayLeave::rank);
    for (size_t v = 0; v < batch.size() && !found; ++v) {
      Victim& victim = batch[v].victim;
      if (!sketch.taken.empty() && v > 0) {  // those before it may have met the claim
        const std::optional<Reason> ground = ground_to_stop(j, victim.job, bound);
        if (!ground) continue;
        victim.reason = *ground;
      }
      found = enough(victim);
    }
    batch.clear();
    return !found;
  };
  const auto look_at = [&](const Waiting& candidate) {
    if ((by_rank_only && candidate.rank <= bound) || ++looked_at > most) return false;
    const JobId v = candidate.job;
    const std::optional<Reason> ground = ground_to_stop(j, v, bound);
    if (!ground || !may_stop(v)) return true;
    batch.push_back({.rank = leaving_rank(v), .victim = {.job = v, .reason = *ground}});
    return batch.size() < compared || take_batch();
  };
  running.for_each_from_last(look_at, [&](const Waiting& soon) {  // what it will read is far apart in memory
    const char* const record = reinterpret_cast<const char*>(&jobs[soon.job.index()]);
    __builtin_prefetch(record);
    __builtin_prefetch(record + 64);
  });
  take_batch();
  return found;
}

/// Collects victims until a plain job fits. @param counts  nodes by what is open on them.
bool Scheduler::Impl::find_victims(JobId j, NodeBuckets::Counts& counts) {
  const Shape& shape = shapes[jobs[j.index()].shape];
  const size_t most = kMostLookedAt + kMostLookedAtPerTask * static_cast<size_t>(shape.tasks);
  return choose_victims(
      j, most, [&](JobId v) { return shapes[jobs[v.index()].shape].plain; },
      [&](const Victim& victim) {
        add_victim(victim);
        add_room_of(victim.job, counts);
        return OpenNodes::fits(shape, counts);
      });
}

void Scheduler::Impl::add_victim(const Victim& victim) {
  sketch.victims.push_back(victim);
  if (sketch.taken.empty()) return;
  const JobRecord& v = jobs[victim.job.index()];
  for (QueueId at = v.queue; at.valid(); at = queues.spec(at).parent)
    add_to(sketch.taken[at.index()], shapes[v.shape].total);
}

/// Does the victim run where a task of `j` could? One that minds its neighbours may have to do with anybody.
bool Scheduler::Impl::could_make_room(JobId victim, JobId j) const {
  const std::span<const Task> tasks = tasks_of(j);
  return std::ranges::any_of(tasks_of(victim), [&](const Task& theirs) {
    return theirs.state == TaskState::kRunning && std::ranges::any_of(tasks, [&](const Task& task) {
             return cluster.minds_neighbours(task.request) || cluster.is_eligible(task.request, theirs.place.node);
           });
  });
}

/// Those that run leave; those that were only to start in this step do not start.
void Scheduler::Impl::stop_victims_for(JobId j) {
  for (const Victim& victim : sketch.victims)
    if (!take_back_start(victim.job)) evict(victim.job, victim.reason, j);
}

/// This step's decision to start `v`, where it may still be dropped: not for one that starts on room others have left for it,
/// nor where another may have started to be beside it. kNoDecision = there is none.
size_t Scheduler::Impl::start_to_drop(JobId v) const {
  if (jobs[v.index()].started != now || std::ranges::count(taken_back, v) >= kMostTakenBack) return kNoDecision;
  const auto wants_neighbours = [&](const Decision& d) {
    return d.job != v && d.kind == DecisionKind::kStart &&
           std::ranges::any_of(tasks_of(d.job), [&](const Task& t) { return !cluster.request(t.request).affinity.empty(); });
  };
  const auto is_start = [&](const Decision& d) { return d.kind == DecisionKind::kStart && d.job == v; };
  const auto found = std::ranges::find_if(decisions, is_start);
  if (found == decisions.end() || found->reason == Reason::kHeld) return kNoDecision;
  if (is_neighbour(v) && std::ranges::any_of(decisions, wants_neighbours)) return kNoDecision;
  return static_cast<size_t>(found - decisions.begin());
}

/// `v` does not start after all, and waits on as before. @return false when its start stands, or it runs for longer.
bool Scheduler::Impl::take_back_start(JobId v) {
  const size_t d = start_to_drop(v);
  if (d == kNoDecision) return false;
  const size_t begin = d == 0 ? 0 : places_end[d - 1];
  const size_t count = places_end[d] - begin;
  places.erase(places.begin() + static_cast<ptrdiff_t>(begin), places.begin() + static_cast<ptrdiff_t>(begin + count));
  decisions.erase(decisions.begin() + static_cast<ptrdiff_t>(d));
  places_end.erase(places_end.begin() + static_cast<ptrdiff_t>(d));
  for (size_t later = d; later < places_end.size(); ++later)
    places_end[later] -= count;
  stop_serving(v);
  release(v, TaskState::kPending);
  std::erase(growing, v);
  taken_back.push_back(v);
  wait(v);
  return true;
}

void Scheduler::Impl::begin_to_hold(JobId j) {
  JobRecord& r = jobs[j.index()];
  pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
  r.phase = Phase::kHeld;
  arrive(j);
}

/// Its tasks are nominated: counts them.
void Scheduler::Impl::finish_holding(JobId j) {
  JobRecord& r = jobs[j.index()];
  Amounts promised;
  for (const Task& task : tasks_of(j)) {
    if (task.state != TaskState::kNominated) continue;
    ++r.held;
    add_to(promised, cluster.amounts(task.request));
  }
  held.push_back(j);
  charge(j, promised, 1);
  open.catch_up(cluster);
}

/// Counts the GPUs `victim` would leave.
void Scheduler::Impl::add_room_of(JobId victim, NodeBuckets::Counts& counts) {
  for (const Task& task : tasks_of(victim)) {
    const NodeId n = task.place.node;
    if (task.state != TaskState::kRunning || open.buckets().at(n) == NodeBuckets::kNowhere) continue;
    NodeSketch& node = sketch.at(n);
    --counts[bucket_then(n)];
    node.leaves += gpus_left_by(task);
    ++counts[bucket_then(n)];
  }
}

/// A GPU that several share is left by the last of them.
int32_t Scheduler::Impl::gpus_left_by(const Task& task) {
  const Place& place = task.place;
  if (place.gpus == 0 || (place.milli == 0 && place.mig_profile < 0)) return __builtin_popcountll(place.gpus);
  sketch.sharers.resize(cluster.node_count());
  int32_t others = 0;
  cluster.for_each_on(place.node, [&](TaskId t) { others += (cluster.task(t).place.gpus & place.gpus) != 0 ? 1 : 0; });
  uint16_t& gone = sketch.sharers[place.node.index()][static_cast<size_t>(__builtin_ctzll(place.gpus))];
  return ++gone == others ? 1 : 0;
}

/// GPUs of the node that would be neither held nor claimed.
int32_t Scheduler::Impl::room_then(NodeId n) const { return open.buckets().at(n) + sketch.leaves(n) - sketch.claimed(n); }

/// The same as an index of buckets.
size_t Scheduler::Impl::bucket_then(NodeId n) const { return static_cast<size_t>(std::clamp(room_then(n), 0, kMaxGpusPerNode)); }

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
  begin_to_hold(j);
  // Those that should give way last are looked at first: may they stay after all?
  std::reverse(sketch.victims.begin(), sketch.victims.end());
  std::erase_if(sketch.victims, [&](const Victim& victim) { return !is_needed(victim.job); });
  stop_victims_for(j);
  const Shape& shape = shapes[jobs[j.index()].shape];
  for (size_t i = 0; i < shape.order.size(); ++i) {
    const TaskId t = TaskId(first_task(j).index() + static_cast<uint32_t>(shape.order[i]));
    const NodeId n = sketch.chosen[i].first;
    std::optional<Place> place = cluster.fit(cluster.task(t).request, n, Room::kComing);
    CHECK(place.has_value(), "job {} does not fit on node {} for which others were stopped", j.index(), n.index());
    place->task = t;
    cluster.nominate(t, *place);
  }
  finish_holding(j);
}

}  // namespace stint::sched
