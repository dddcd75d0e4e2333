// Backfill: the first jobs that do not fit get a reservation, the others may start only where they do not delay it.
//
// A reservation is the earliest instant at which the job fits if all that runs ends at its latest end (time limit, or what
// is known of its duration), with the nodes it will take. A later job may pass if it ends before that instant, or takes only
// what will be spare beside the claims. Jobs whose end is not known count as running for ever: they start only on spare
// room, and a job that needs theirs gets no reservation. EASY reserves for the first job that does not fit, conservative for
// as many as kMostReservations; claims of earlier reservations count as held for ever by later ones, so a promise errs on the
// late side, and a reserved job that fits earlier starts earlier. For plain shapes all that is counting; what asks for more
// (CPU, memory, parts of GPUs, labels, neighbours, topology) is tried on the cluster, and the nodes it claims are closed to
// others of its kind that would still be there, whatever they would leave. That neighbours it refuses come near is not prevented.
// A job that has waited four hours for its first start is not passed without end by jobs whose end is not known: they are
// thought to run for as long again as they have, and room is kept for it where it fits soonest, if it need not be kept for
// longer than the job has waited already.
// Where durations are learnt, jobs whose end is not known are thought to end as half of those like them do; and one passes room that
// is kept on such a guess if nine in ten like it would have ended by then. What rests on time limits rests on no guess.
// A job that would not fit the usable nodes even if nothing ran there waits for a node: no other can delay it, so all others
// pass. Under orders that block at the head any other job without a reservation blocks: what passes it might delay it.
// Sources: Lifka 1995 (EASY); Mu'alem and Feitelson 2001 (conservative).
#include "sched/scheduler_backfill.h"

#include <algorithm>
#include <tuple>

namespace stint::sched {

namespace {
constexpr size_t kMostReservations = 32;
// Of 800 jobs that never save, on four seeds, against no bound: at 4 h the longest wait falls by 10 to 50 % and mean completion
// rises by 8 to 18 %; at 12 h by 0 to 11 % and 0 to 7 %.
constexpr Duration kOverdue = Duration::hours(4);
constexpr int kLikely = 500;       // of a thousand like it, so many have ended by when it likely ends
constexpr int kQuiteSurely = 900;  // the same, for who may pass a reservation that is a guess itself
constexpr Duration kLeastExpected = Duration::minutes(10);
constexpr Duration kBackfillPause = Duration::minutes(1);  // between two searches in detail for the same job
}  // namespace

Duration Backfilling::waited(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  return s_.clock.now - r.submitted - r.served;
}

/// Has it waited for so long that room is kept for it on a guess? Not one that has had a turn: it was stopped for others.
bool Backfilling::is_overdue(JobId j) const { return s_.jobs[j].starts == 0 && waited(j) >= kOverdue; }

std::vector<Ending> Backfilling::guessed_ends() const {
  std::vector<Ending> endings;
  for (const JobId j : s_.jobs.present()) {
    const JobRecord& r = s_.jobs[j];
    if (r.phase != Phase::kRunning) continue;
    const Instant likely = s_.policy.durations == Durations::kLearnt ? s_.forecasts.likely_end(j, kLikely) : kNever;
    const Instant guess = likely != kNever ? likely : s_.clock.now + std::max(kLeastExpected, s_.clock.now - r.started);
    endings.push_back({.at = std::min(r.latest_end, guess), .job = j});
  }
  std::ranges::sort(endings, {}, [&](const Ending& e) {
    const JobRecord& r = s_.jobs[e.job];
    return std::tuple(e.at, r.started, r.submitted, e.job);
  });
  return endings;
}

void Backfilling::start_jobs() {
  drop_stale_reservations();
  const size_t most = s_.policy.backfill == Backfill::kEasy ? 1 : kMostReservations;
  size_t confirmed = 0;  // reservations of jobs that were found waiting in this step, in their order
  size_t tried = 0;
  ++book_.pass;
  book_.passed.resize(s_.jobs.shape_count());
  const auto may_try = [&](ShapeId s) { return book_.passed[s.index()] != book_.pass && (tried < most || s_.heads.fits(s)); };
  s_.heads.try_in_order(may_try, [&](ShapeId s) {
    const JobId j = s_.pending.head(s)->job;
    if (s_.heads.close_if_limited(j)) return Tried::kClosed;
    const bool reserved = confirmed < book_.reservations.size() && book_.reservations[confirmed].job == j;
    if (start_beside(j, confirmed, reserved)) return Tried::kStarted;
    book_.passed[s.index()] = book_.pass;
    if (tried >= most) return Tried::kInVain;
    if (!reserved) {
      const bool minded_later = book_.reservations.size() > confirmed;
      book_.reservations.resize(confirmed);  // another order now: the later promises fall
      if (minded_later && start_beside(j, confirmed, false)) return Tried::kStarted;
      if (!is_worth_reserving(j) || !(reserve(j, false) || (is_overdue(j) && reserve(j, true)))) {
        if (!fits_usable_fleet(j)) return Tried::kInVain;
        if (blocks_at_head(s_.policy.order)) return Tried::kEnough;
        ++tried;
        return Tried::kInVain;
      }
    }
    ++tried;
    ++confirmed;
    return Tried::kInVain;
  });
}

/// Promises broken by the world (a node lost, a job past its limit, a budget spent) are made anew.
void Backfilling::drop_stale_reservations() {
  const auto stale = [&](const Reservation& r) {
    const JobRecord& job = s_.jobs[r.job];
    if (job.phase != Phase::kWaiting || r.at <= s_.clock.now || s_.budgets.spent(job.queue).valid()) return true;
    return std::ranges::any_of(r.claims, [&](const Claim& c) { return !s_.cluster.free()[c.node].usable; });
  };
  const auto first = std::find_if(book_.reservations.begin(), book_.reservations.end(), stale);
  book_.reservations.erase(first, book_.reservations.end());
}

bool Backfilling::reserve(JobId j, bool guess) {
  const Shape& shape = s_.jobs.shape_of(j);
  if (!guess && book_.ends.size() == 0) return false;
  if (!shape.plain) return reserve_in_detail(j, guess);
  RoomOnPaper room(s_.cluster, s_.open, s_.paper);
  claim_for_others(j, room);
  Instant at = kNever;
  const auto end_then = [&](JobId v, Instant end) {
    room.leave(s_.jobs.tasks_of(v));
    if (room.fits(shape)) at = std::max(s_.clock.now, end);
    return at == kNever;
  };
  if (guess) {
    for (const Ending& e : guessed_ends())
      if (!end_then(e.job, e.at)) break;
  } else {
    book_.ends.for_each_from_first([&](const Waiting& e) { return end_then(e.job, Instant::from_ns(e.rank.minor)); });
  }
  if (at == kNever || (guess && at - s_.clock.now > waited(j)) || !room.choose_nodes(shape)) return false;
  Reservation& made = book_.reservations.emplace_back(Reservation{.job = j, .at = at, .guessed = guess, .claims = {}});
  for (const auto& [node, gpus] : room.chosen()) {
    const auto known = std::find_if(made.claims.begin(), made.claims.end(), [n = node](const Claim& c) { return c.node == n; });
    if (known == made.claims.end())
      made.claims.push_back({.node = node, .gpus = gpus, .spare = room.room(node)});
    else
      known->gpus += gpus;
  }
  return true;
}

/// Trying on the cluster takes its time: where the order changes to and fro, it is not done each time.
bool Backfilling::is_worth_reserving(JobId j) {
  const ShapeId s = s_.jobs[j].shape;
  if (s_.jobs.shape(s).plain) return true;
  book_.reserved_for.resize(s_.jobs.shape_count());
  Attempted& last = book_.reserved_for[s.index()];
  if (last.job == j && s_.clock.now - last.at < kBackfillPause) return false;
  last = {.job = j, .at = s_.clock.now};
  return true;
}

/// The same for a job that asks for more than whole GPUs, by trying it on the cluster with those gone that will have ended.
bool Backfilling::reserve_in_detail(JobId j, bool guess) {
  std::vector<Ending> by_end;
  if (guess)
    by_end = guessed_ends();
  else
    book_.ends.for_each_from_first([&](const Waiting& e) {
      by_end.push_back({.at = Instant::from_ns(e.rank.minor), .job = e.job});
      return true;
    });
  if (by_end.empty()) return false;
  for (const Reservation& earlier : book_.reservations)
    for (const Claim& claim : earlier.claims)
      s_.open.close(s_.cluster, claim.node);
  const auto fits_after = [&](size_t count) {
    const Attempt trial(s_.cluster);
    end_on_paper(std::span(by_end).first(count));
    return s_.placer.nominate_in_detail(j);
  };
  // The more have ended, the more room there is (but for wanted neighbours that went): doubling, then halving.
  size_t too_few = 0;
  size_t enough = 1;
  bool fits_then = fits_after(enough);
  while (!fits_then && enough < by_end.size()) {
    too_few = enough;
    enough = std::min(2 * enough, by_end.size());
    fits_then = fits_after(enough);
  }
  while (fits_then && enough - too_few > 1) {
    const size_t middle = (too_few + enough) / 2;
    (fits_after(middle) ? enough : too_few) = middle;
  }
  const Instant at = std::max(s_.clock.now, by_end[enough - 1].at);
  fits_then = fits_then && !(guess && at - s_.clock.now > waited(j));
  if (fits_then) {
    const Attempt trial(s_.cluster);
    end_on_paper(std::span(by_end).first(enough));
    book_.reservations.push_back({.job = j, .at = at, .guessed = guess, .claims = claims_then(j)});
  }
  s_.open.release(s_.cluster);
  s_.open.catch_up(s_.cluster);
  return fits_then;
}

/// In a trial: they have ended.
void Backfilling::end_on_paper(std::span<const Ending> those) {
  for (const Ending& e : those)
    for (TaskId t = s_.jobs.first_task(e.job); t != s_.jobs.end_task(e.job); t = next(t))
      if (s_.cluster.task(t).on_node()) s_.cluster.gone(t, TaskState::kPending);
}

/// In a trial in which the job fits: the nodes it takes, with what it leaves of their whole GPUs.
std::vector<Claim> Backfilling::claims_then(JobId j) {
  std::vector<Claim> claims;
  {
    const Attempt trial(s_.cluster);
    CHECK(s_.placer.nominate_in_detail(j), "job {} does not fit where it has just fitted", j.index());
    for (const Task& task : s_.jobs.tasks_of(j))
      if (task.state == TaskState::kNominated && std::ranges::find(claims, task.place.node, &Claim::node) == claims.end())
        claims.push_back({.node = task.place.node, .spare = s_.cluster.coming()[task.place.node].whole_free});
  }
  for (Claim& claim : claims)
    claim.gpus = s_.cluster.coming()[claim.node].whole_free - claim.spare;
  return claims;
}

/// Would the tasks it needs run if nothing else did, on the nodes that are usable?
bool Backfilling::fits_usable_fleet(JobId j) {
  const ShapeId s = s_.jobs[j].shape;
  book_.fits_fleet.resize(s_.jobs.shape_count());
  FleetFit& known = book_.fits_fleet[s.index()];
  if (known.fleet_changes == s_.clock.fleet_changes) return known.fits;
  known.fleet_changes = s_.clock.fleet_changes;
  if (s_.jobs.shape(s).plain) {
    NodeBuckets::Counts counts{};
    for (uint32_t n = 0; n < s_.cluster.node_count(); ++n)
      if (s_.cluster.free()[NodeId(n)].usable && s_.capacity.at(NodeId(n)) != NodeBuckets::kNowhere)
        ++counts[static_cast<size_t>(s_.capacity.at(NodeId(n)))];
    return known.fits = OpenNodes::fits(s_.jobs.shape(s), counts);
  }
  const Attempt trial(s_.cluster);
  for (const JobId other : s_.jobs.present())
    for (TaskId t = s_.jobs.first_task(other); t != s_.jobs.end_task(other); t = next(t))
      if (s_.cluster.task(t).on_node()) s_.cluster.gone(t, TaskState::kPending);
  return known.fits = s_.placer.nominate_in_detail(j);
}

void Backfilling::claim_for_others(JobId j, RoomOnPaper& room) const {
  for (const Reservation& other : book_.reservations)
    for (const Claim& claim : other.claims)
      if (other.job != j) room.claim(claim.node, claim.gpus);
}

/// At most so many GPUs are not whole, or not free, because of the job: a part of one counts as one.
int32_t Backfilling::gpus_touched(JobId j) const {
  int32_t gpus = 0;
  for (const Task& task : s_.jobs.tasks_of(j)) {
    const Request& request = s_.cluster.request(task.request);
    const bool part = request.milli > 0 || request.gpu_memory.count() > 0 || !request.mig.empty();
    gpus += part ? 1 : request.gpus;
  }
  return gpus;
}

int64_t Backfilling::worth_of_room(JobId j) const {
  Duration waits = waited(j);
  for (const Reservation& reserved : book_.reservations)
    if (reserved.job == j) waits = std::min(waits, reserved.at - s_.clock.now);
  return s_.jobs.shape_of(j).total.gpu_milli * waits.whole_seconds() / kMilli;
}

void Backfilling::withhold_for_others(JobId j) {
  for (const Reservation& other : book_.reservations)
    if (other.job != j) withhold(other, INT32_MAX);
}

void Backfilling::forget_node(NodeId n) {
  std::erase_if(book_.reservations, [&](const Reservation& r) {
    return std::ranges::any_of(r.claims, [&](const Claim& claim) { return claim.node == n; });
  });
}

/// What its claims leave of their nodes' open GPUs is for everybody, unless CPU, memory or a part of a GPU is claimed too: then
/// only for those who ask for nothing but GPUs.
/// @param touched  GPUs, by the job that may pass; a part of a GPU may be one that is whole again when the claim begins.
void Backfilling::withhold(const Reservation& reservation, int32_t touched) {
  const bool plain = s_.jobs.shape_of(reservation.job).plain;
  for (const Claim& claim : reservation.claims) {
    if (!plain || claim.spare < touched) s_.open.close(s_.cluster, claim.node);
    const int open_now = s_.open.buckets().at(claim.node) + s_.open.withheld(claim.node);
    if (claim.spare < open_now) s_.open.withhold(s_.cluster, claim.node, open_now - std::max(claim.spare, 0));
  }
}

/// Starts the job if it fits beside the reservations; one that holds the `index`-th itself minds the earlier ones only.
bool Backfilling::start_beside(JobId j, size_t index, bool reserved) {
  if (!s_.heads.fits(s_.jobs[j].shape)) return false;
  const size_t minded = reserved ? index : book_.reservations.size();
  const Instant end = s_.ends.latest_end(j);
  auto is_in_the_way = [&, surely = std::optional<Instant>()](const Reservation& r) mutable {
    if (end <= r.at) return false;
    if (!r.guessed || s_.policy.durations != Durations::kLearnt) return true;
    if (!surely) surely = s_.forecasts.likely_end(j, kQuiteSurely);
    return *surely > r.at;
  };
  const int32_t touched = minded == 0 || s_.jobs.shape_of(j).plain ? 0 : gpus_touched(j);
  for (size_t i = 0; i < minded; ++i)
    if (is_in_the_way(book_.reservations[i])) withhold(book_.reservations[i], touched);
  const bool started = s_.starter.start(j, index == 0 ? Reason::kFree : Reason::kBackfill);
  s_.open.release(s_.cluster);
  if (!started) return false;
  if (reserved) book_.reservations.resize(index);
  for (Reservation& r : book_.reservations)
    if (end > r.at) spend_spare(r, j);
  return true;
}

/// The job will still be there when the reservation begins.
void Backfilling::spend_spare(Reservation& r, JobId j) const {
  for (const Task& task : s_.jobs.tasks_of(j))
    for (Claim& claim : r.claims)
      if (task.state == TaskState::kRunning && claim.node == task.place.node)
        claim.spare -= __builtin_popcountll(task.place.gpus);
}

std::optional<Instant> Backfilling::earliest_start(JobId j) {
  const size_t before = book_.reservations.size();
  if (!reserve(j, false)) return std::nullopt;
  const Instant at = book_.reservations.back().at;
  book_.reservations.resize(before);
  return at;
}

}  // namespace stint::sched
