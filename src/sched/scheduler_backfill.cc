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
#include <algorithm>
#include <tuple>

#include "sched/scheduler_impl.h"

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

/// When the job will have ended if it starts (or started) as planned; kNever = cannot be said.
Instant Scheduler::Impl::latest_end(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  const Duration longest = r.longest_run();
  if (longest == kUnlimited) return kNever;
  return std::max(now, (r.phase == Phase::kRunning ? r.started : now) + longest);
}

Duration Scheduler::Impl::waited(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  return now - r.submitted - r.served;
}

/// Has it waited for so long that room is kept for it on a guess? Not one that has had a turn: it was stopped for others.
bool Scheduler::Impl::is_overdue(JobId j) const { return jobs[j.index()].starts == 0 && waited(j) >= kOverdue; }

/// All that runs, first to end first: at its latest end, or, where none is known or that is later, when it likely ends, or, where
/// nothing is learnt of it, when it has run for as long again. (Run times of jobs are heavy-tailed: the longer one has run, the
/// longer it still will.)
std::vector<Ending> Scheduler::Impl::guessed_ends() const {
  std::vector<Ending> endings;
  for (const JobId j : present) {
    const JobRecord& r = jobs[j.index()];
    if (r.phase != Phase::kRunning) continue;
    const Instant likely = policy.durations == Durations::kLearnt ? likely_end(j, kLikely) : kNever;
    const Instant guess = likely != kNever ? likely : now + std::max(kLeastExpected, now - r.started);
    endings.push_back({.at = std::min(r.latest_end, guess), .job = j});
  }
  std::ranges::sort(endings, {}, [&](const Ending& e) {
    const JobRecord& r = jobs[e.job.index()];
    return std::tuple(e.at, r.started, r.submitted, e.job);
  });
  return endings;
}

/// Starts jobs in order; keeps the reservations of those that do not fit, and lets others pass beside them.
void Scheduler::Impl::start_with_reservations() {
  drop_stale_reservations();
  const size_t most = policy.backfill == Backfill::kEasy ? 1 : kMostReservations;
  size_t confirmed = 0;  // reservations of jobs that were found waiting in this step, in their order
  size_t tried = 0;
  ++pass;
  passed.resize(shapes.size());
  const auto may_try = [&](ShapeId s) { return passed[s.index()] != pass && (tried < most || fits(s)); };
  try_in_order(may_try, [&](ShapeId s) {
    const JobId j = pending.head(s)->job;
    if (close_if_limited(j)) return Tried::kClosed;
    const bool reserved = confirmed < reservations.size() && reservations[confirmed].job == j;
    if (start_beside(j, confirmed, reserved)) return Tried::kStarted;
    passed[s.index()] = pass;
    if (tried >= most) return Tried::kInVain;
    if (!reserved) {
      const bool minded_later = reservations.size() > confirmed;
      reservations.resize(confirmed);  // another order now: the later promises fall
      if (minded_later && start_beside(j, confirmed, false)) return Tried::kStarted;
      if (!is_worth_reserving(j) || !(reserve(j, false) || (is_overdue(j) && reserve(j, true)))) {
        if (!fits_usable_fleet(j)) return Tried::kInVain;
        if (blocks_at_head(policy.order)) return Tried::kEnough;
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
void Scheduler::Impl::drop_stale_reservations() {
  const auto stale = [&](const Reservation& r) {
    const JobRecord& job = jobs[r.job.index()];
    if (job.phase != Phase::kWaiting || r.at <= now || budgets.spent(job.queue).valid()) return true;
    return std::ranges::any_of(r.claims, [&](const Claim& c) { return !cluster.free()[c.node].usable; });
  };
  const auto first = std::find_if(reservations.begin(), reservations.end(), stale);
  reservations.erase(first, reservations.end());
}

/// Finds the earliest instant at which the job fits, and claims the nodes. @param guess  when jobs end, see guessed_ends().
/// @return false when it cannot be said, or is guessed to be later than it has waited already.
bool Scheduler::Impl::reserve(JobId j, bool guess) {
  const Shape& shape = shapes[jobs[j.index()].shape];
  if (!guess && ends.size() == 0) return false;
  if (!shape.plain) return reserve_in_detail(j, guess);
  sketch.begin(cluster.node_count());
  NodeBuckets::Counts counts = open.buckets().counts();
  for (const Reservation& earlier : reservations)
    for (const Claim& claim : earlier.claims)
      claim_room(claim.node, claim.gpus, counts);
  Instant at = kNever;
  const auto end_then = [&](JobId v, Instant end) {
    add_room_of(v, counts);
    if (OpenNodes::fits(shape, counts)) at = std::max(now, end);
    return at == kNever;
  };
  if (guess) {
    for (const Ending& e : guessed_ends())
      if (!end_then(e.job, e.at)) break;
  } else {
    ends.for_each_from_first([&](const Waiting& e) { return end_then(e.job, Instant::from_ns(e.rank.minor)); });
  }
  if (at == kNever || (guess && at - now > waited(j)) || !choose_nodes(shape)) return false;
  Reservation& made = reservations.emplace_back(Reservation{.job = j, .at = at, .guessed = guess, .claims = {}});
  for (const auto& [node, gpus] : sketch.chosen) {
    const auto known = std::find_if(made.claims.begin(), made.claims.end(), [n = node](const Claim& c) { return c.node == n; });
    if (known == made.claims.end())
      made.claims.push_back({.node = node, .gpus = gpus, .spare = room_then(node)});
    else
      known->gpus += gpus;
  }
  return true;
}

/// Trying on the cluster takes its time: where the order changes to and fro, it is not done each time.
bool Scheduler::Impl::is_worth_reserving(JobId j) {
  const ShapeId s = jobs[j.index()].shape;
  if (shapes[s].plain) return true;
  reserved_for.resize(shapes.size());
  Attempted& last = reserved_for[s.index()];
  if (last.job == j && now - last.at < kBackfillPause) return false;
  last = {.job = j, .at = now};
  return true;
}

/// The same for a job that asks for more than whole GPUs, by trying it on the cluster with those gone that will have ended.
bool Scheduler::Impl::reserve_in_detail(JobId j, bool guess) {
  std::vector<Ending> by_end;
  if (guess)
    by_end = guessed_ends();
  else
    ends.for_each_from_first([&](const Waiting& e) {
      by_end.push_back({.at = Instant::from_ns(e.rank.minor), .job = e.job});
      return true;
    });
  if (by_end.empty()) return false;
  for (const Reservation& earlier : reservations)
    for (const Claim& claim : earlier.claims)
      open.close(cluster, claim.node);
  const auto fits_after = [&](size_t count) {
    const Attempt trial(cluster);
    end_on_paper(std::span(by_end).first(count));
    return nominate_in_detail(j);
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
  const Instant at = std::max(now, by_end[enough - 1].at);
  fits_then = fits_then && !(guess && at - now > waited(j));
  if (fits_then) {
    const Attempt trial(cluster);
    end_on_paper(std::span(by_end).first(enough));
    reservations.push_back({.job = j, .at = at, .guessed = guess, .claims = claims_then(j)});
  }
  open.release(cluster);
  open.catch_up(cluster);
  return fits_then;
}

/// In a trial: they have ended.
void Scheduler::Impl::end_on_paper(std::span<const Ending> those) {
  for (const Ending& e : those)
    for (TaskId t = first_task(e.job); t != end_task(e.job); t = next(t))
      if (cluster.task(t).on_node()) cluster.gone(t, TaskState::kPending);
}

/// In a trial in which the job fits: the nodes it takes, with what it leaves of their whole GPUs.
std::vector<Claim> Scheduler::Impl::claims_then(JobId j) {
  std::vector<Claim> claims;
  {
    const Attempt trial(cluster);
    CHECK(nominate_in_detail(j), "job {} does not fit where it has just fitted", j.index());
    for (const Task& task : tasks_of(j))
      if (task.state == TaskState::kNominated && std::ranges::find(claims, task.place.node, &Claim::node) == claims.end())
        claims.push_back({.node = task.place.node, .spare = cluster.coming()[task.place.node].whole_free});
  }
  for (Claim& claim : claims)
    claim.gpus = cluster.coming()[claim.node].whole_free - claim.spare;
  return claims;
}

/// Would the tasks it needs run if nothing else did, on the nodes that are usable?
bool Scheduler::Impl::fits_usable_fleet(JobId j) {
  const ShapeId s = jobs[j.index()].shape;
  fits_fleet.resize(shapes.size());
  FleetFit& known = fits_fleet[s.index()];
  if (known.fleet_changes == fleet_changes) return known.fits;
  known.fleet_changes = fleet_changes;
  if (shapes[s].plain) {
    NodeBuckets::Counts counts{};
    for (uint32_t n = 0; n < cluster.node_count(); ++n)
      if (cluster.free()[NodeId(n)].usable && capacity.at(NodeId(n)) != NodeBuckets::kNowhere)
        ++counts[static_cast<size_t>(capacity.at(NodeId(n)))];
    return known.fits = OpenNodes::fits(shapes[s], counts);
  }
  const Attempt trial(cluster);
  for (const JobId other : present)
    for (TaskId t = first_task(other); t != end_task(other); t = next(t))
      if (cluster.task(t).on_node()) cluster.gone(t, TaskState::kPending);
  return known.fits = nominate_in_detail(j);
}

void Scheduler::Impl::claim_room(NodeId n, int32_t gpus, NodeBuckets::Counts& counts) {
  NodeSketch& node = sketch.at(n);
  --counts[bucket_then(n)];
  node.claimed += gpus;
  ++counts[bucket_then(n)];
}

/// At most so many GPUs are not whole, or not free, because of the job: a part of one counts as one.
int32_t Scheduler::Impl::gpus_touched(JobId j) const {
  int32_t gpus = 0;
  for (const Task& task : tasks_of(j)) {
    const Request& request = cluster.request(task.request);
    const bool part = request.milli > 0 || request.gpu_memory.count() > 0 || !request.mig.empty();
    gpus += part ? 1 : request.gpus;
  }
  return gpus;
}

/// What its claims leave of their nodes' open GPUs is for everybody, unless CPU, memory or a part of a GPU is claimed too: then
/// only for those who ask for nothing but GPUs.
/// @param touched  GPUs, by the job that may pass; a part of a GPU may be one that is whole again when the claim begins.
void Scheduler::Impl::withhold(const Reservation& reservation, int32_t touched) {
  const bool plain = shapes[jobs[reservation.job.index()].shape].plain;
  for (const Claim& claim : reservation.claims) {
    if (!plain || claim.spare < touched) open.close(cluster, claim.node);
    const int open_now = open.buckets().at(claim.node) + open.withheld(claim.node);
    if (claim.spare < open_now) open.withhold(cluster, claim.node, open_now - std::max(claim.spare, 0));
  }
}

/// Starts the job if it fits beside the reservations; one that holds the `index`-th itself minds the earlier ones only.
bool Scheduler::Impl::start_beside(JobId j, size_t index, bool reserved) {
  if (!fits(jobs[j.index()].shape)) return false;
  const size_t minded = reserved ? index : reservations.size();
  const Instant end = latest_end(j);
  auto is_in_the_way = [&, surely = std::optional<Instant>()](const Reservation& r) mutable {
    if (end <= r.at) return false;
    if (!r.guessed || policy.durations != Durations::kLearnt) return true;
    if (!surely) surely = likely_end(j, kQuiteSurely);
    return *surely > r.at;
  };
  const int32_t touched = minded == 0 || shapes[jobs[j.index()].shape].plain ? 0 : gpus_touched(j);
  for (size_t i = 0; i < minded; ++i)
    if (is_in_the_way(reservations[i])) withhold(reservations[i], touched);
  const bool started = start(j, index == 0 ? Reason::kFree : Reason::kBackfill);
  open.release(cluster);
  if (!started) return false;
  if (reserved) reservations.resize(index);
  for (Reservation& r : reservations)
    if (end > r.at) spend_spare(r, j);
  return true;
}

/// The job will still be there when the reservation begins.
void Scheduler::Impl::spend_spare(Reservation& r, JobId j) const {
  for (const Task& task : tasks_of(j))
    for (Claim& claim : r.claims)
      if (task.state == TaskState::kRunning && claim.node == task.place.node)
        claim.spare -= __builtin_popcountll(task.place.gpus);
}

}  // namespace stint::sched
