// Why a job waits and what would start it. Remedies are found by asking: on a trial of the cluster, or on its counts, with
// what the remedy would change.
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

constexpr size_t kMostVictimsTried = 256;
constexpr int64_t kMostAheadCounted = 10'000;

class Explainer {
 public:
  /// Scratch and trials of it are used; all else is as before when run() returns.
  struct View {
    const Policy& policy;
    const StepClock& clock;
    const JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    const std::vector<Rate>& gpu_rates;
    const Pending& pending;
    const QueueUsage& queues;
    const QueueBudgets& budgets;
    const Forecasts& forecasts;
    const StopRules& rules;
    const StartTimes& times;
    const Gates& gates;
    Placer& placer;
    Backfilling& backfill;
  };
  Explainer(const View& view, JobId j)
      : s_(view), j_(j), r_(s_.jobs[j]), spec_(s_.jobs.terms_of(j)), shape_(s_.jobs.shape(r_.shape)) {}

  Explanation run() {
    if (r_.phase != Phase::kEnded) e_.expected = s_.forecasts.expected_run(j_);
    switch (r_.phase) {
      case Phase::kKnown: return e_;
      case Phase::kEnded: e_.standing = Standing::kEnded; return e_;
      case Phase::kHeld: e_.standing = Standing::kNominated; return e_;
      case Phase::kRunning:
      case Phase::kLeaving: e_.standing = Standing::kRunning; return e_;
      case Phase::kNotYet: not_yet(); break;
      case Phase::kOnHold:
        e_.standing = Standing::kWaiting;
        e_.obstacle = Obstacle::kOnHold;
        return e_;
      case Phase::kWaiting: waiting(); break;
    }
    std::ranges::stable_sort(e_.remedies, {}, [](const Remedy& r) { return r.cost ? r.cost->count_nanos() : INT64_MAX; });
    return std::move(e_);
  }

 private:
  void waiting() {
    e_.standing = Standing::kWaiting;
    s_.open.catch_up(s_.cluster);
    count_ahead();
    find_start();
    find_obstacle();
    find_likely_start();
    find_remedies();
  }

  void not_yet() {
    e_.standing = Standing::kWaiting;
    e_.obstacle = Obstacle::kNotBefore;
    e_.starts_at = spec_.not_before;
    for (const JobId needed : spec_.after) {
      if (s_.jobs[needed].phase == Phase::kEnded) continue;
      e_.obstacle = Obstacle::kDependency;
      e_.behind = needed;
      e_.starts_at.reset();
      return;
    }
    if (spec_.makes.valid() && s_.gates.maker_of(spec_.makes) != j_) {
      e_.obstacle = Obstacle::kBeingMade;
      e_.behind = s_.gates.maker_of(spec_.makes);
      e_.starts_at.reset();
    } else if (spec_.array.valid() && !r_.in_play) {
      e_.obstacle = Obstacle::kArray;
      e_.starts_at.reset();
    } else if (spec_.not_before <= s_.clock.now) {
      find_cheaper_hour();
    }
  }

  /// Every gate is open but the price's.
  void find_cheaper_hour() {
    const std::optional<Slot> slot = s_.times.slot_for(j_);
    if (!slot) return;
    e_.obstacle = Obstacle::kDeferred;
    e_.starts_at = slot->start;
    const std::optional<Slot> now = s_.times.slot_before(j_, s_.clock.now + r_.longest_run());
    const auto of_all = [&](Money of_one_gpu) { return scale(of_one_gpu, shape_.total.gpu_milli, kMilli); };
    e_.deferral = Deferral{.latest_start = spec_.deadline - r_.longest_run(), .cost = of_all(slot->cost), .cost_now = {}};
    if (now) e_.deferral->cost_now = of_all(now->cost);
    if (now && fits_with([] {})) add({.kind = RemedyKind::kNotDeferred, .cost = of_all(now->cost - slot->cost)});
    wait_costs_nothing();
  }

  void count_ahead() {
    Waiting first = {.rank = r_.rank, .job = j_};
    s_.pending.for_each([&](QueueId, ShapeId, const Waiting& w) {
      if (s_.jobs[w.job].phase != Phase::kWaiting || !goes_before(w, {.rank = r_.rank, .job = j_})) return;
      ++e_.jobs_ahead;
      if (goes_before(w, first)) first = w;
    });
    if (first.job != j_) e_.behind = first.job;
  }

  [[nodiscard]] bool goes_before(const Waiting& w, const Waiting& other) const {
    const JobRecord& r = s_.jobs[w.job];
    const JobRecord& o = s_.jobs[other.job];
    const QueueRule rule = line_rule(s_.policy);
    if (rule == QueueRule::kByShare) {
      if (const int by_share = s_.queues.compare(r.queue, o.queue); by_share != 0) return by_share < 0;
    } else if (rule == QueueRule::kByClaim) {
      const uint64_t claims = s_.queues.claims(r.queue, s_.jobs.shape(r.shape).total);
      const uint64_t others = s_.queues.claims(o.queue, s_.jobs.shape(o.shape).total);
      if (claims != others) return claims > others;
    }
    return w.before(other);
  }

  void find_start() {
    const auto reserved = std::find_if(s_.backfill.reservations().begin(), s_.backfill.reservations().end(),
                                       [&](const Reservation& r) { return r.job == j_; });
    if (reserved != s_.backfill.reservations().end()) {
      e_.standing = Standing::kReserved;
      if (!reserved->guessed) e_.starts_at = reserved->at;
      return;
    }
    e_.starts_at = s_.backfill.earliest_start(j_);
  }

  /// Where room is all it waits for: GPUs are counted as those that run end and those before it start, one after the other.
  void find_likely_start() {
    if (!waits_for_room() && e_.obstacle != Obstacle::kBehindGang && e_.obstacle != Obstacle::kBehindOrder) return;
    if (e_.jobs_ahead > kMostAheadCounted) return;
    std::vector<Waiting> ahead;
    s_.pending.for_each([&](QueueId, ShapeId, const Waiting& w) {
      const JobRecord& r = s_.jobs[w.job];
      if (r.phase == Phase::kWaiting && r.rank == w.rank && goes_before(w, {.rank = r_.rank, .job = j_})) ahead.push_back(w);
    });
    std::ranges::sort(ahead, [&](const Waiting& a, const Waiting& b) { return goes_before(a, b); });
    const std::optional<Instant> at = start_after(ahead, 500);
    const std::optional<Instant> earliest = start_after(ahead, 250);
    const std::optional<Instant> latest = start_after(ahead, 750);
    if (at && earliest && latest)
      e_.likely_start = LikelyStart{.at = *at, .earliest = std::min(*earliest, *at), .latest = std::max(*latest, *at)};
  }

  [[nodiscard]] std::optional<Instant> start_after(std::span<const Waiting> ahead, int per_mille) const {
    struct End {
      Instant at;
      int64_t gpu_milli = 0;
      bool operator<(const End& o) const { return at > o.at; }  // a heap of those that end first
    };
    std::vector<End> ends;
    for (const JobId v : s_.jobs.present())
      ends.push_back({.at = s_.jobs[v].phase == Phase::kRunning ? s_.forecasts.likely_end(v, per_mille) : s_.clock.now,
                      .gpu_milli = s_.jobs.shape_of(v).total.gpu_milli});
    std::make_heap(ends.begin(), ends.end());
    int64_t free = open_milli();
    Instant at = s_.clock.now;
    const auto wait_for = [&](int64_t gpu_milli) {
      while (free < gpu_milli && !ends.empty() && ends.front().at != kNever) {
        at = std::max(at, ends.front().at);
        free += ends.front().gpu_milli;
        std::pop_heap(ends.begin(), ends.end());
        ends.pop_back();
      }
      return free >= gpu_milli;
    };
    for (const Waiting& w : ahead) {
      const int64_t need = s_.jobs.shape_of(w.job).total.gpu_milli;
      if (!wait_for(need)) return std::nullopt;
      const Instant end = s_.forecasts.likely_end(w.job, per_mille);
      free -= need;
      ends.push_back({.at = end == kNever ? kNever : at + (end - s_.clock.now), .gpu_milli = need});
      std::push_heap(ends.begin(), ends.end());
    }
    // It waits for something: if it were only counted, it would run.
    if (!wait_for(shape_.total.gpu_milli)) return std::nullopt;
    if (at == s_.clock.now && !ends.empty() && ends.front().at != kNever) at = std::max(at, ends.front().at);
    return at;
  }

  void find_obstacle() {
    const QueueId limited = s_.queues.limiting(r_.queue, shape_.total, shape_.preemptible);
    if (const Instant opens = s_.times.opens_at(r_.queue); opens > s_.clock.now) {
      find_hours(opens);
    } else if (s_.budgets.spent(r_.queue).valid()) {
      find_budget();
    } else if (limited.valid()) {
      const bool by_limit = s_.queues.limiting(r_.queue, shape_.total, true).valid();
      e_.obstacle = by_limit ? Obstacle::kQueueLimit : Obstacle::kGuarantee;
      e_.at_queue = limited;
    } else if (fits_with([] {})) {
      e_.obstacle = s_.backfill.reservations().empty() ? Obstacle::kBehindOrder : Obstacle::kBehindGang;
      if (!s_.backfill.reservations().empty()) e_.behind = s_.backfill.reservations().front().job;
    } else if (!could_ever_fit()) {
      e_.obstacle = Obstacle::kConstraint;
    } else {
      e_.missing_gpu_milli = std::max<int64_t>(0, shape_.total.gpu_milli - open_milli());
      e_.obstacle = e_.missing_gpu_milli > 0            ? Obstacle::kNoRoom
                    : kept_apart(Misfit::kSlowed)       ? Obstacle::kSlowed
                    : kept_apart(Misfit::kOthersShares) ? Obstacle::kOthersShares
                                                        : Obstacle::kFragmented;
    }
  }

  /// Would a task of it fit somewhere if it might be beside those that are there?
  [[nodiscard]] bool kept_apart(Misfit from_others) const {
    return std::ranges::any_of(s_.jobs.tasks_of(j_), [&](const Task& task) {
      for (uint32_t n = 0; n < s_.cluster.node_count(); ++n)
        if (s_.cluster.why_not(task.request, NodeId(n), Room::kComing) == from_others) return true;
      return false;
    });
  }

  /// Waits for nothing but room that those who run hold.
  [[nodiscard]] bool waits_for_room() const {
    return e_.obstacle == Obstacle::kNoRoom || e_.obstacle == Obstacle::kFragmented || e_.obstacle == Obstacle::kOthersShares ||
           e_.obstacle == Obstacle::kSlowed;
  }

  /// Those of its queue and of all above it; the lowest that is closed now is named.
  void find_hours(Instant opens) {
    e_.obstacle = Obstacle::kClosed;
    e_.at_queue = r_.queue;
    while (!s_.times.is_closed(e_.at_queue, s_.clock.now))
      e_.at_queue = s_.queues.spec(e_.at_queue).parent;
    not_before(opens);
  }

  /// The spent budget that is renewed last, and what that means for its start.
  void find_budget() {
    e_.obstacle = Obstacle::kBudget;
    for (QueueId at = s_.budgets.spent(r_.queue); at.valid();) {
      const std::optional<BudgetStanding> standing = s_.budgets.standing(at, s_.clock.now);
      const auto later = [](const BudgetStanding& a, const BudgetStanding& b) {
        return a.renewed_at.value_or(kNever) > b.renewed_at.value_or(kNever);
      };
      if (!e_.budget || later(*standing, *e_.budget)) e_.budget = standing;
      const QueueId above = s_.queues.spec(at).parent;
      at = above.valid() ? s_.budgets.spent(above) : QueueId();
    }
    e_.at_queue = e_.budget->queue;
    not_before(e_.budget->renewed_at.value_or(kNever));
  }

  /// Whatever room says, it does not start earlier than that.
  void not_before(Instant earliest) {
    if (earliest != kNever && fits_with([] {}))
      e_.starts_at = earliest;
    else if (earliest != kNever && e_.starts_at)
      e_.starts_at = std::max(*e_.starts_at, earliest);
    else
      e_.starts_at.reset();
  }

  void find_remedies() {
    if (e_.obstacle == Obstacle::kQueueLimit || e_.obstacle == Obstacle::kGuarantee) {
      const int64_t missing = s_.queues.missing_gpu_milli(e_.at_queue, shape_.total, shape_.preemptible);
      if (missing > 0) add({.kind = RemedyKind::kRaiseLimit, .amount = missing});
    }
    if (waits_for_room()) {
      try_one_victim();
      try_priorities();
      try_more_gpus();
    }
    if (e_.obstacle == Obstacle::kBudget) {
      const std::optional<Machines> machine = cheapest(1);
      const std::optional<Money> own =
          machine ? over_its_run(Rate::per_hour(scale(machine->gpu_rate.per_hour(), shape_.total.gpu_milli, kMilli)))
                  : std::nullopt;
      const Money overdrawn = e_.budget->spent - e_.budget->budget;
      add({.kind = RemedyKind::kRaiseBudget, .cost = own ? overdrawn + *own : overdrawn});
    }
    if (e_.starts_at) wait_costs_nothing();
  }

  void wait_costs_nothing() { add({.kind = RemedyKind::kWait, .at = *e_.starts_at, .cost = Money::nanos(0, currency())}); }

  /// The youngest job of lower priority whose leaving alone would do.
  void try_one_victim() {
    std::vector<JobId> lower = lower_than(spec_.priority);
    std::sort(lower.begin(), lower.end(), [&](JobId a, JobId b) {
      const auto key = [&](JobId v) { return std::tuple(s_.jobs.terms_of(v).priority, -s_.jobs[v].started.ns(), v); };
      return key(a) < key(b);
    });
    lower.resize(std::min(lower.size(), kMostVictimsTried));
    for (const JobId victim : lower) {
      if (!fits_with([&] { sched::leave(s_.cluster, s_.jobs, victim); })) continue;
      Remedy remedy = {.kind = RemedyKind::kEvictLower, .job = victim};
      if (const QueueId theirs = s_.jobs[victim].queue; theirs != r_.queue) remedy.other_queue = theirs;
      add_loss(remedy, {&victim, 1});
      return add(remedy);
    }
  }

  /// The lowest priority at which all below it in its queue, who then give way, leave enough.
  void try_priorities() {
    if (!s_.policy.preempt) return;
    const auto is_of_another_queue = [&](JobId v) { return s_.jobs[v].queue != r_.queue; };
    std::vector<int32_t> priorities;
    for (const JobId v : s_.jobs.present())
      if (!is_of_another_queue(v)) priorities.push_back(s_.jobs.terms_of(v).priority);
    std::sort(priorities.begin(), priorities.end());
    priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
    for (const int32_t p : priorities) {
      if (p < spec_.priority) continue;
      std::vector<JobId> victims = lower_than(p + 1);
      std::erase_if(victims, is_of_another_queue);
      if (!fits_without(victims)) continue;
      keep_needed(victims);
      Remedy remedy = {.kind = RemedyKind::kHigherPriority, .amount = p + 1};
      add_loss(remedy, victims);
      return add(remedy);
    }
  }

  [[nodiscard]] bool fits_without(std::span<const JobId> victims) {
    return fits_with([&] {
      for (const JobId v : victims)
        sched::leave(s_.cluster, s_.jobs, v);
    });
  }

  /// Those that must leave: without halves that are not needed first, then one by one, as far as trying is worth it.
  void keep_needed(std::vector<JobId>& victims) {
    size_t tried = 0;
    for (size_t piece = victims.size() / 2; piece > 0; piece /= 2)
      for (size_t at = 0; at < victims.size() && tried < kMostVictimsTried;) {
        std::vector<JobId> fewer = victims;
        fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(at),
                    fewer.begin() + static_cast<ptrdiff_t>(std::min(at + piece, fewer.size())));
        ++tried;
        if (fits_without(fewer))
          victims = std::move(fewer);
        else
          at += piece;
      }
  }

  /// What stopping them costs: the work since they last saved, and their restarts.
  void add_loss(Remedy& remedy, std::span<const JobId> victims) {
    int64_t milli_seconds = 0;
    Money cost = Money::nanos(0, currency());
    for (const JobId v : victims) {
      const Duration again = s_.rules.lost_if_stopped(v);
      for (const Task& task : s_.jobs.tasks_of(v)) {
        if (task.state != TaskState::kRunning) continue;
        const int64_t milli = s_.cluster.gpu_milli(task);
        milli_seconds += milli * again.whole_seconds();
        cost += scale(s_.gpu_rates[task.place.node.index()].over(again), milli, kMilli);
      }
    }
    remedy.lost_gpu_seconds = milli_seconds / kMilli;
    if (prices_known()) remedy.cost = cost;
  }

  struct Machines {
    NodeId like;
    int32_t count = 0;
    Rate gpu_rate;
    Rate per_hour;  // of all of them
  };
  /// The machines that so many of its tasks cost least on.
  [[nodiscard]] std::optional<Machines> cheapest(int32_t tasks) const {
    const RequestId request = s_.jobs.tasks_of(j_).front().request;
    const int32_t each = std::max(1, s_.cluster.request(request).gpus);
    std::optional<Machines> best;
    for (uint32_t n = 0; n < s_.cluster.node_count(); ++n) {
      const Rate gpu_rate = s_.gpu_rates[n];
      if (gpu_rate.per_hour().is_zero() || !s_.cluster.is_eligible(request, NodeId(n))) continue;
      const int32_t gpus = s_.cluster.node(NodeId(n)).gpus;
      const int32_t count = (tasks + gpus / each - 1) / (gpus / each);
      const Rate per_hour = Rate::per_hour(scale(gpu_rate.per_hour(), int64_t{count} * gpus, 1));
      if (!best || per_hour < best->per_hour)
        best = Machines{.like = NodeId(n), .count = count, .gpu_rate = gpu_rate, .per_hour = per_hour};
    }
    return best;
  }

  /// For as long as it will run, where that is known.
  [[nodiscard]] std::optional<Money> over_its_run(Rate per_hour) const {
    const Duration longest = r_.longest_run();
    if (longest == kUnlimited) return std::nullopt;
    return per_hour.over(longest);
  }

  [[nodiscard]] bool prices_known() const {
    return std::ranges::any_of(s_.gpu_rates, [](Rate rate) { return !rate.per_hour().is_zero(); });
  }
  [[nodiscard]] Currency currency() const {
    return s_.gpu_rates.empty() ? Currency() : s_.gpu_rates.front().per_hour().currency();
  }

  /// How many more whole GPUs, on as few nodes as possible, would do.
  void try_more_gpus() {
    if (!shape_.plain) return;
    const int32_t per_node = shape_.parts.front().gpus;
    NodeBuckets::Counts counts = s_.open.buckets().counts();
    for (int32_t extra = 1; shape_.tasks == 1 && extra < per_node; ++extra)
      if (counts[static_cast<size_t>(per_node - extra)] > 0) return add_gpus(extra, 1);
    for (int32_t nodes = 1; nodes <= shape_.tasks; ++nodes) {
      ++counts[static_cast<size_t>(per_node)];
      if (OpenNodes::fits(shape_, counts)) return add_gpus(int64_t{nodes} * per_node, nodes);
    }
  }

  /// @param tasks  of it would go on the machines that are added.
  void add_gpus(int64_t gpus, int32_t tasks) {
    Remedy remedy = {.kind = RemedyKind::kMoreGpus, .amount = gpus};
    if (const std::optional<Machines> machines = cheapest(tasks)) {
      remedy.like = machines->like;
      remedy.machines = machines->count;
      remedy.per_hour = machines->per_hour;
      remedy.cost = over_its_run(machines->per_hour);
    }
    add(remedy);
  }

  [[nodiscard]] std::vector<JobId> lower_than(int32_t priority) const {
    std::vector<JobId> lower;
    for (const JobId v : s_.jobs.present())
      if (s_.jobs[v].phase == Phase::kRunning && s_.jobs.terms_of(v).preemptible && s_.jobs.terms_of(v).priority < priority)
        lower.push_back(v);
    return lower;
  }

  /// Would it fit after `change`, on what is coming then?
  template <typename Change>
  [[nodiscard]] bool fits_with(Change&& change) {
    const Attempt trial(s_.cluster);
    change();
    return s_.placer.nominate_in_detail(j_);
  }

  [[nodiscard]] bool could_ever_fit() const {
    for (const Task& task : s_.jobs.tasks_of(j_)) {
      const auto eligible = s_.cluster.eligible(task.request);
      if (std::all_of(eligible.begin(), eligible.end(), [](uint64_t word) { return word == 0; })) return false;
    }
    return true;
  }

  [[nodiscard]] int64_t open_milli() const {
    int64_t milli = 0;
    for (const NodeRecord& node : s_.cluster.coming().all())
      if (node.usable) milli += node.milli_free;
    return milli;
  }

  void add(const Remedy& remedy) { e_.remedies.push_back(remedy); }

  View s_;
  JobId j_;
  const JobRecord& r_;
  const JobTerms& spec_;
  const Shape& shape_;
  Explanation e_;
};

}  // namespace

Explanation Scheduler::explain(JobId job) const {
  Impl& s = *impl_;
  CHECK(job.index() < s.jobs.size(), "no job {}", job.index());
  return Explainer({.policy = s.policy,
                    .clock = s.books.clock,
                    .jobs = s.jobs,
                    .cluster = s.books.fleet.cluster,
                    .open = s.books.fleet.open,
                    .gpu_rates = s.books.fleet.gpu_rates,
                    .pending = s.books.line.pending,
                    .queues = s.books.accounts.queues,
                    .budgets = s.books.accounts.budgets,
                    .forecasts = s.forecasts,
                    .rules = s.rules,
                    .times = s.times,
                    .gates = s.gates,
                    .placer = s.placer,
                    .backfill = s.backfill},
                   job)
      .run();
}

std::vector<JobId> Scheduler::waiting_line() const {
  Impl s(*impl_);
  Pending& pending = s.books.line.pending;
  const QueueUsage& queues = s.accounts.queues();
  for (uint32_t q = 0; q < queues.size(); ++q)
    pending.share_changed(queues, QueueId(q), true);  // opens what limits have closed
  std::vector<JobId> jobs;
  s.heads.try_in_order([](ShapeId) { return true; },
                       [&](ShapeId head) {
                         const JobId j = pending.head(head)->job;
                         const JobRecord& r = s.jobs[j];
                         if (const QueueId spent = s.accounts.budgets().spent(r.queue); spent.valid()) {
                           pending.close(queues, r.queue, r.shape, spent);
                           return Tried::kClosed;
                         }
                         pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
                         s.accounts.charge(j, s.jobs.shape(r.shape).total, 1);
                         jobs.push_back(j);
                         return Tried::kStarted;
                       });
  return jobs;
}

}  // namespace stint::sched
