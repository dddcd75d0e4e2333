// Backfill: the first jobs that do not fit get a reservation, the others may start only where they do not delay it.
//
// A reservation is the earliest instant at which the job fits if all that runs ends at its latest end (time limit, or what
// is known of its duration), with the nodes it will take. A later job may pass if it ends before that instant, or takes only
// what will be spare beside the claims. Jobs whose end is not known count as running for ever: they start only on spare
// room, and a job that needs theirs gets no reservation. EASY reserves for the first job that does not fit, conservative for
// as many as kMostReservations; claims of earlier reservations count as held for ever by later ones, so a promise errs on the
// late side, and a reserved job that fits earlier starts earlier.
// A job that would not fit the usable nodes even if nothing ran there waits for a node: nobody can delay it, so all others
// pass. Under orders that block at the head any other job without a reservation blocks: what passes it might delay it.
// Sources: Lifka 1995 (EASY); Mu'alem and Feitelson 2001 (conservative).
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {

namespace {
constexpr size_t kMostReservations = 32;
}

/// When the job will have ended if it starts (or started) as planned; kNever = cannot be said.
Instant Scheduler::Impl::latest_end(JobId j) const {
  const JobSpec& spec = specs[j.index()];
  const Duration longest = longest_run(spec);
  if (longest == kUnlimited) return kNever;
  const JobRecord& r = jobs[j.index()];
  return std::max(now, (r.phase == Phase::kRunning ? r.started : now) + longest);
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
      reservations.resize(confirmed);  // another order now: the later promises fall
      if (!reserve(j)) {
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
    return std::any_of(r.claims.begin(), r.claims.end(),
                       [&](const Claim& c) { return open.buckets().at(c.node) == NodeBuckets::kNowhere; });
  };
  const auto first = std::find_if(reservations.begin(), reservations.end(), stale);
  reservations.erase(first, reservations.end());
}

/// Finds the earliest instant at which a plain job fits, and claims the nodes. @return false when that cannot be said.
bool Scheduler::Impl::reserve(JobId j) {
  const Shape& shape = shapes[jobs[j.index()].shape];
  if (!shape.plain || ends.size() == 0) return false;
  sketch.begin(cluster.node_count());
  NodeBuckets::Counts counts = open.buckets().counts();
  for (const Reservation& earlier : reservations)
    for (const Claim& claim : earlier.claims)
      claim_room(claim.node, claim.gpus, counts);
  Instant at = kNever;
  ends.for_each_from_first([&](const Waiting& running_job) {
    add_room_of(running_job.job, counts);
    if (OpenNodes::fits(shape, counts)) at = std::max(now, Instant::from_ns(running_job.rank.minor));
    return at == kNever;
  });
  if (at == kNever || !choose_nodes(shape)) return false;
  Reservation& made = reservations.emplace_back(Reservation{.job = j, .at = at, .claims = {}});
  for (const auto& [node, gpus] : sketch.chosen) {
    const auto known = std::find_if(made.claims.begin(), made.claims.end(), [n = node](const Claim& c) { return c.node == n; });
    if (known == made.claims.end())
      made.claims.push_back({.node = node, .gpus = gpus, .spare = room_then(node)});
    else
      known->gpus += gpus;
  }
  return true;
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

/// What the claim leaves of its node's open GPUs is for everybody.
void Scheduler::Impl::withhold(const Claim& claim) {
  const int open_now = open.buckets().at(claim.node) + open.withheld(claim.node);
  if (claim.spare < open_now) open.withhold(cluster, claim.node, open_now - std::max(claim.spare, 0));
}

/// Starts the job if it fits beside the reservations; one that holds the `index`-th itself minds the earlier ones only.
bool Scheduler::Impl::start_beside(JobId j, size_t index, bool reserved) {
  if (!fits(jobs[j.index()].shape)) return false;
  const size_t minded = reserved ? index : reservations.size();
  const Instant end = latest_end(j);
  for (size_t i = 0; i < minded; ++i)
    if (end > reservations[i].at)
      for (const Claim& claim : reservations[i].claims)
        withhold(claim);
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
