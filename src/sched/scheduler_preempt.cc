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
#include "sched/scheduler_preempt.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace stint::sched {
namespace {

constexpr Duration kPreemptPause = Duration::minutes(1);  // between two searches for one shape, whatever changes
// A search is given up after so many running jobs: then those that should give way first are not the ones to stop.
constexpr size_t kMostLookedAt = 256;
constexpr size_t kMostLookedAtPerTask = 256;
constexpr size_t kMostSetAside = 16;     // searches for further queues of one shape, in one step
constexpr size_t kMostLimited = 8;       // searches for jobs that their queues' limits keep waiting, at one instant
constexpr size_t kComparedVictims = 32;  // as good as 64 in the figures of docs/benchmarks.md ("Who waits how long"), and cheaper

}  // namespace

void Preemption::end_step() {
  book_.claims_made.clear();
  book_.claims_left = false;
  if (book_.turns.unfinished())
    std::erase_if(book_.newcomers, [this](JobId j) { return !s_.contenders.leads_its_queue(j); });
  else
    book_.newcomers.clear();
}

Instant Preemption::next_search() const {
  if (s_.pending.count() == 0) return kNever;
  Instant next = book_.turns.wants_a_step() ? s_.clock.now + Heads::kSearchesGoOnAfter : kNever;
  // Ranks of running jobs matter to those that wait.
  if (!book_.level_timers.empty()) next = std::min(next, book_.level_timers.top().at);
  const auto at = [&](Instant again) {
    if (again > s_.clock.now) next = std::min(next, again);
  };
  if (s_.pending.any_closed() && rules_.other_grounds() && book_.limits_tried.changes != s_.clock.changes)
    at(book_.limits_tried.at + kPreemptPause);
  for (const ShapeId shape : s_.pending.shapes()) {
    if (shape.index() >= book_.attempted.size() || !book_.attempted[shape.index()].job.valid()) continue;
    const Attempted& last = book_.attempted[shape.index()];
    if (s_.policy.order == Order::kSrtf && last.changes != s_.clock.changes) continue;  // tries again with every event
    at(search_again_at(last));
  }
  return next;
}

bool Preemption::stop_for_one(Ground ground) {
  const bool moves_too = s_.policy.shares == ShareRule::kFair && s_.policy.consolidate && ground == Ground::kReclaim;
  const bool has_grounds = rules_.ranks_running() && (is_preemptive(s_.policy.order) || rules_.other_grounds());
  if (s_.pending.count() == 0 || !(has_grounds || moves_too)) {
    book_.turns.finish();
    return false;
  }
  book_.attempted.resize(s_.jobs.shape_count());
  if (s_.policy.order == Order::kStint) book_.waiting_gpu_milli = gpu_milli_waiting();
  open_limited();
  return stop_others(ground);
}

/// Those whose queues' limits keep them waiting may be tried, too: who gives way for them leaves room within the limit.
void Preemption::open_limited() {
  if (!s_.pending.any_closed() || !rules_.other_grounds()) return;
  const bool again = book_.limits_tried.at == s_.clock.now ||
                     (book_.limits_tried.changes != s_.clock.changes && book_.limits_tried.at + kPreemptPause <= s_.clock.now);
  if (!again) return;
  book_.limits_tried = {.job = {}, .rank = {}, .at = s_.clock.now, .changes = s_.clock.changes};
  s_.pending.open_all(s_.accounts.queues());
}

/// Could stopping others leave room within the limit that keeps `j` waiting?
bool Preemption::limit_may_give(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  const QueueId at = s_.accounts.queues().limiting(r.queue, s_.jobs.least_amounts(j), s_.jobs.shape(r.shape).preemptible);
  const bool of_its_own_queue = s_.policy.preempt && book_.lowest_priority < s_.jobs.terms_of(j).priority;
  return of_its_own_queue || (rules_.reclaims() && at != r.queue);
}

/// Tries the heads of the shapes that do not fit, first in order first; where queues may have grounds of their own, the first of
/// each queue.
bool Preemption::stop_others(Ground ground) {
  SearchRound round{.ground = ground, .what = ground == Ground::kReclaim ? SearchFor::kClaim : SearchFor::kStop};
  book_.claimed_in_vain.clear();
  s_.heads.try_in_order([&](ShapeId s) { return is_worth_a_search(s); },
                        [&](ShapeId s) {
                          const JobId j = s_.pending.head(s)->job;
                          const Tried tried = stop_others_in_round(j, round);
                          return tried == Tried::kInVain ? on_to_the_next_queue(j, round) : tried;
                        });
  s_.pending.bring_back(s_.accounts.queues());
  if (!round.found) try_newcomers(round);
  if (round.cut_short) put_off_the_rest(ground);
  if (ground == Ground::kReclaim)
    std::ranges::copy(book_.claimed_in_vain, std::back_inserter(book_.claims_made));
  else
    note_in_vain(round);
  book_.claimed_in_vain.clear();
  return round.found;
}

/// What is left over comes in the next step, with the further queues of the shapes that were looked at in this one.
void Preemption::put_off_the_rest(Ground ground) {
  book_.turns.go_on_later();
  book_.claims_left |= ground == Ground::kReclaim;
  for (Attempted& last : book_.attempted)
    if (last.others_at == s_.clock.now) last.others_at = Attempted().others_at;
}

/// Those that have had their turn wait for the others. A job for whose claim there was no search has not had its.
void Preemption::note_in_vain(const SearchRound& round) {
  std::ranges::sort(book_.claims_made);
  const auto has_claim_left = [this](JobId j) { return book_.claims_left && !std::ranges::binary_search(book_.claims_made, j); };
  std::erase_if(book_.claimed_in_vain, has_claim_left);
  std::ranges::sort(book_.claimed_in_vain);
  std::erase_if(book_.newcomers, [this](JobId j) { return std::ranges::binary_search(book_.claimed_in_vain, j); });
  for (const auto& [s, search] : round.in_vain) {
    if (search.at == s_.clock.now && has_claim_left(search.job)) continue;
    Attempted& last = book_.attempted[s.index()];
    const Instant others_at = last.others_at;
    last = search;
    last.others_at = others_at;
  }
  if (!round.found && !round.cut_short && !book_.claims_left) book_.turns.finish();
}

Tried Preemption::stop_others_in_round(JobId j, SearchRound& round) {
  if (s_.times.put_off(j)) return Tried::kClosed;
  const bool limited = s_.accounts.tasks_within_limits(j) == 0;
  const bool limit_stays =
      limited && (book_.limits_tried.at != s_.clock.now || !limit_may_give(j) || ++round.limited_tried > kMostLimited);
  if (s_.accounts.budgets().spent(s_.jobs[j].queue).valid() || limit_stays) {
    s_.heads.close_if_limited(j);
    return Tried::kClosed;
  }
  if (!s_.heads.may_search(round.what)) {
    round.cut_short = true;
    return Tried::kEnough;
  }
  book_.ripens = kNever;
  book_.too_large = INT64_MAX;
  round.found = stop_others_for(j, round.ground);
  if (round.found) return Tried::kEnough;
  book_.claimed_in_vain.push_back(j);
  if (limited && round.ground != Ground::kReclaim) {
    s_.heads.close_if_limited(j);
    return Tried::kClosed;
  }
  const ShapeId s = s_.jobs[j].shape;
  const auto known = std::ranges::find(round.in_vain, s, &std::pair<ShapeId, Attempted>::first);
  if (known == round.in_vain.end()) {
    round.in_vain.emplace_back(s, Attempted{.job = j,
                                            .rank = s_.jobs[j].rank,
                                            .at = s_.clock.now,
                                            .changes = s_.clock.changes,
                                            .turn = book_.turns.turn(),
                                            .ripens = book_.ripens,
                                            .too_large = book_.too_large});
  } else {  // of another queue, which has grounds of its own
    known->second.ripens = std::min(known->second.ripens, book_.ripens);
    known->second.too_large = std::min(known->second.too_large, book_.too_large);
  }
  return Tried::kInVain;
}

/// The shape's head, `j`, found none to stop: lets the first of another queue be its head, now or when it was not tried just before.
Tried Preemption::on_to_the_next_queue(JobId j, SearchRound& round) {
  if (!rules_.other_grounds()) return Tried::kInVain;
  const ShapeId s = s_.jobs[j].shape;
  Attempted& last = book_.attempted[s.index()];
  const Instant others_again = last.others_at + kPreemptPause;
  if (last.others_at != s_.clock.now && others_again > s_.clock.now) {
    Attempted& search = std::ranges::find(round.in_vain, s, &std::pair<ShapeId, Attempted>::first)->second;
    search.ripens = std::min(search.ripens, others_again);
    return Tried::kInVain;
  }
  if (++round.set_aside > kMostSetAside) return Tried::kInVain;
  last.others_at = s_.clock.now;
  s_.pending.set_aside(s_.accounts.queues(), s_.jobs[j].queue, s);
  return Tried::kClosed;
}

/// In vain, in this round.
bool Preemption::was_tried(JobId j) const { return std::ranges::find(book_.claimed_in_vain, j) != book_.claimed_in_vain.end(); }

/// Tries those that have become the first of their queue and shape, and were not their shape's head when it was tried. Those come first
/// for whom earlier steps had no time.
void Preemption::try_newcomers(SearchRound& round) {
  round.what = round.ground == Ground::kReclaim ? SearchFor::kClaimOfNewcomer : SearchFor::kStopOfNewcomer;
  std::vector<JobId> heads;
  for (const JobId j : book_.newcomers) {
    if (!s_.contenders.leads_its_queue(j) || was_tried(j) || std::ranges::find(heads, j) != heads.end()) continue;
    if (heads.size() == Heads::kMostSearches) {
      round.cut_short = true;
      break;
    }
    heads.push_back(j);
  }
  const auto later = [&](JobId a, JobId b) {
    const JobRecord& x = s_.jobs[a];
    const JobRecord& y = s_.jobs[b];
    return s_.pending.before(s_.accounts.queues(), y.queue, y.shape, x.queue, x.shape);
  };
  std::ranges::make_heap(heads, later);
  for (; !heads.empty() && !round.found; heads.pop_back()) {
    std::ranges::pop_heap(heads, later);
    const JobId j = heads.back();
    const ShapeId s = s_.jobs[j].shape;
    const bool alone = std::ranges::find(round.in_vain, s, &std::pair<ShapeId, Attempted>::first) == round.in_vain.end();
    if (alone && book_.attempted[s.index()].job.valid())
      round.in_vain.emplace_back(s, book_.attempted[s.index()]);  // which still holds
    (void)stop_others_in_round(j, round);
  }
}

int64_t Preemption::gpu_milli_waiting() const {
  int64_t sum = 0;
  for (const ShapeId s : s_.pending.shapes())
    sum += s_.pending.count(s) * s_.jobs.shape(s).total.gpu_milli;
  return sum;
}

/// When the search is worth repeating: a while after it, if something has changed, when a job may be stopped that had
/// not run for long enough, or when enough waits to fill the room of one that was too large; kNever = not as things stand.
Instant Preemption::search_again_at(const Attempted& last) const {
  const Instant soonest = last.at + (s_.policy.order == Order::kSrtf ? Duration::nanoseconds(1) : kPreemptPause);
  const bool fills = last.too_large != INT64_MAX && book_.waiting_gpu_milli >= last.too_large;
  return last.changes != s_.clock.changes || fills ? soonest : std::max(soonest, last.ripens);
}

/// Were victims not just looked for in vain?
bool Preemption::is_worth_a_search(ShapeId s) {
  const Waiting* const head = s_.pending.head(s);
  const Attempted& last = book_.attempted[s.index()];
  if (head == nullptr || !last.job.valid()) return head != nullptr;
  // Nor would one that ranks behind a job that failed find more, unless its queue may claim something.
  const bool in_vain = last.job == head->job || (!s_.accounts.queues().any_deserved() && !(head->rank < last.rank));
  if (!in_vain || could_take_back_start(head->job)) return true;
  return search_again_at(last) <= s_.clock.now && !book_.turns.waits_for_others(last.turn);
}

/// Could it stop one that is to start in this step? Then it looks for victims now: later, work would be lost.
bool Preemption::could_take_back_start(JobId j) {
  if (!rules_.other_grounds()) return false;
  if (s_.accounts.queues().any_deserved()) s_.sketch.taken.assign(s_.accounts.queues().size(), Amounts());
  const Rank bound = rules_.victim_bound(j);
  return std::ranges::any_of(s_.draft.decisions(), [&](const Decision& d) {
    return d.kind == DecisionKind::kStart && rules_.may_drop_start(d.job) && rules_.ground_to_stop(j, d.job, bound).has_value();
  });
}

bool Preemption::stop_others_for(JobId j, Ground ground) {
  const Shape& shape = s_.jobs.shape_of(j);
  const int32_t within = s_.accounts.tasks_within_limits(j);
  if (ground == Ground::kReclaim && within > 0 && s_.consolidation.move_for_claim(j)) return true;
  if (!shape.plain || within == 0) return s_.room.make_room_in_detail(j, ground);
  if (within < shape.tasks) return false;  // others are stopped for whole jobs only
  s_.sketch.begin();
  if (s_.accounts.queues().any_deserved()) s_.sketch.taken.assign(s_.accounts.queues().size(), Amounts());
  RoomOnPaper room(s_.cluster, s_.open, s_.paper);
  s_.backfill.claim_for_others(j, room);
  if (!find_victims(j, room) || !room.choose_nodes(shape)) return false;
  hold_room(j, room);
  return true;
}

/// Hands running jobs to `enough`, the one that should give way first before the others, until it says that they are.
/// Under `stint` so many that rank last are compared at a time. @param most  looked at. @param may_stop  whether its
/// leaving would help.
template <typename MayStop, typename Enough>
bool Preemption::choose_victims(JobId j, size_t most, MayStop&& may_stop, Enough&& enough) {
  const Rank bound = rules_.victim_bound(j);
  const bool by_rank_only = !rules_.other_grounds();
  const size_t compared = s_.policy.order == Order::kStint ? kComparedVictims : 1;
  bool found = false;
  size_t looked_at = 0;
  std::vector<MayLeave>& batch = s_.sketch.may_leave;
  const auto take_batch = [&] {
    for (size_t v = 0; v < batch.size() && !found; ++v) {
      Victim& victim = batch[v].victim;
      if (!s_.sketch.taken.empty() && v > 0) {  // those before it may have met the claim
        const std::optional<Reason> ground = rules_.ground_to_stop(j, victim.job, bound);
        if (!ground) continue;
        victim.reason = *ground;
      }
      found = enough(victim);
    }
    batch.clear();
    return !found;
  };
  const auto look_at = [&](const Waiting& next) {
    if ((by_rank_only && next.rank <= bound) || ++looked_at > most) return false;
    const JobId v = next.job;
    const std::optional<Reason> ground = rules_.ground_to_stop(j, v, bound);
    if (!ground || !may_stop(v)) return true;
    const MayLeave candidate{.rank = rules_.leaving_rank(v), .victim = {.job = v, .reason = *ground}};
    const auto behind = std::ranges::upper_bound(batch, candidate.rank, std::greater(), &MayLeave::rank);
    batch.insert(behind, candidate);  // among equals the one that was looked at first goes first
    return batch.size() < compared || take_batch();
  };
  book_.running.for_each_from_last(look_at, [&](const Waiting& soon) {  // what it will read is far apart in memory
    const char* const record = reinterpret_cast<const char*>(&s_.jobs[soon.job]);
    __builtin_prefetch(record);
    __builtin_prefetch(record + 64);
  });
  take_batch();
  return found;
}

/// Collects victims until a plain job fits.
bool Preemption::find_victims(JobId j, RoomOnPaper& room) {
  const Shape& shape = s_.jobs.shape_of(j);
  const size_t most = kMostLookedAt + kMostLookedAtPerTask * static_cast<size_t>(shape.tasks);
  return choose_victims(
      j, most, [&](JobId v) { return s_.jobs.shape_of(v).plain; },
      [&](const Victim& victim) {
        add_victim(victim);
        room.leave(s_.jobs.tasks_of(victim.job));
        return room.fits(shape);
      });
}

void Preemption::add_victim(const Victim& victim) {
  s_.sketch.victims.push_back(victim);
  if (s_.sketch.taken.empty()) return;
  const JobRecord& v = s_.jobs[victim.job];
  for (QueueId at = v.queue; at.valid(); at = s_.accounts.queues().spec(at).parent)
    add_to(s_.sketch.taken[at.index()], s_.jobs.shape(v.shape).total);
}

/// Those that run leave; those that were only to start in this step do not start.
void Preemption::stop_victims_for(JobId j) {
  for (const Victim& victim : s_.sketch.victims)
    if (!s_.life.take_back_start(victim.job)) s_.life.evict(victim.job, victim.reason, j);
}

/// Stops those in the way and promises the room.
void Preemption::hold_room(JobId j, RoomOnPaper& room) {
  s_.life.begin_to_hold(j);
  // Those that should give way last are looked at first: may they stay after all?
  std::reverse(s_.sketch.victims.begin(), s_.sketch.victims.end());
  std::erase_if(s_.sketch.victims, [&](const Victim& victim) { return !room.is_needed(s_.jobs.tasks_of(victim.job)); });
  stop_victims_for(j);
  const Shape& shape = s_.jobs.shape_of(j);
  for (size_t i = 0; i < shape.order.size(); ++i) {
    const TaskId t = TaskId(s_.jobs.first_task(j).index() + static_cast<uint32_t>(shape.order[i]));
    const NodeId n = room.chosen()[i].first;
    std::optional<Place> place = s_.cluster.fit(s_.cluster.task(t).request, n, Room::kComing);
    CHECK(place.has_value(), "job {} does not fit on node {} for which others were stopped", j.index(), n.index());
    place->task = t;
    s_.cluster.nominate(t, *place);
  }
  s_.life.finish_holding(j);
}

}  // namespace stint::sched
