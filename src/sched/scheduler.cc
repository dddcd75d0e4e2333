#include "sched/scheduler.h"

#include <algorithm>
#include <tuple>

#include "sched/scheduler_impl.h"

namespace stint::sched {

Scheduler::Scheduler(const Policy& policy) : impl_(std::make_unique<Impl>(policy)) {}
Scheduler::Scheduler(const Scheduler& other) : impl_(std::make_unique<Impl>(*other.impl_)) { impl_->books.draft.begin(); }
Scheduler& Scheduler::operator=(const Scheduler& other) {
  if (this != &other) *this = Scheduler(other);
  return *this;
}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

NodeId Scheduler::add_node(const NodeSpec& node) {
  const NodeId id = impl_->books.fleet.cluster.add_node(node);
  for (uint32_t r = 0; r < impl_->books.fleet.cluster.request_count(); ++r)
    impl_->books.fleet.scores.forget(RequestId(r));  // it may be allowed on the new node
  impl_->books.accounts.queues.add_capacity(
      {.gpu_milli = int64_t{node.gpus} * kMilli, .cpu_milli = node.cpu_milli, .memory_bytes = node.memory.count()});
  if (id.index() == impl_->books.fleet.gpu_rates.size()) impl_->books.fleet.gpu_rates.emplace_back();
  impl_->books.fleet.gpu_rates[id.index()] = node.gpu_rate;
  if (node.gpus > 0) {
    impl_->books.fleet.price_tiers.set(id, node.gpu_rate);
    impl_->books.fleet.gpu_models.add(id, node.gpu_model);
  }
  impl_->books.fleet.capacity.set(id, node.whole_gpus ? node.gpus : NodeBuckets::kNowhere);
  ++impl_->books.clock.changes;
  ++impl_->books.clock.room_made;
  ++impl_->books.clock.fleet_changes;
  return id;
}

void Scheduler::expect_machines() { impl_->books.fleet.machines_may_come = true; }

QueueId Scheduler::add_queue(const QueueSpec& queue) {
  const QueueId id = impl_->books.accounts.queues.add(queue);
  impl_->books.accounts.budgets.add(queue);
  impl_->books.line.pending.renumber(impl_->books.accounts.queues);
  CHECK(!queue.closed.all(), "queue {} is never open", queue.name);
  impl_->books.hours.any_hours |= queue.closed.any();
  impl_->books.hours.opens.push_back(kNever);
  ++impl_->books.clock.changes;
  return id;
}

void Scheduler::change_queue(QueueId queue, const QueueSpec& spec) {
  CHECK(!spec.closed.all(), "queue {} is never open", spec.name);
  Impl& s = *impl_;
  s.books.accounts.queues.set_spec(queue, spec);
  s.books.hours.any_hours |= spec.closed.any();
  // Whoever waited for a limit, or for hours, may go now: all are asked again.
  for (uint32_t q = 0; q < s.books.accounts.queues.size(); ++q) {
    s.books.hours.opens[q] = kNever;
    s.books.line.pending.share_changed(s.books.accounts.queues, QueueId(q), true);
  }
  ++s.books.clock.changes;
  ++s.books.clock.room_made;
  ++s.books.clock.fleet_changes;
}

RequestId Scheduler::intern(const Request& request) { return impl_->books.fleet.cluster.intern(request); }
GangId Scheduler::intern(const Gang& gang) { return impl_->books.jobs.book().shapes.intern(gang); }

StudyId Scheduler::add_study(const TrialRules& rules) {
  impl_->books.studies.emplace_back(rules);
  return StudyId(static_cast<uint32_t>(impl_->books.studies.size() - 1));
}

JobId Scheduler::add(const JobSpec& job) {
  Impl& s = *impl_;
  CHECK(job.tasks > 0 && job.min_tasks > 0 && job.min_tasks <= job.tasks, "{} of {} tasks", job.min_tasks, job.tasks);
  CHECK(job.queue.valid() && job.queue.index() < s.books.accounts.queues.size(), "job without a queue");
  CHECK(!job.study.valid() || job.study.index() < s.books.studies.size(), "no study {}", job.study.index());
  const JobId id(static_cast<uint32_t>(s.books.jobs.book().records.size()));
  s.books.stopping.lowest_priority = std::min(s.books.stopping.lowest_priority, job.priority);
  s.books.stopping.highest_priority = std::max(s.books.stopping.highest_priority, job.priority);
  s.books.jobs.book().any_movable |= job.preemptible && job.checkpoint.interval != kUnlimited;
  s.books.jobs.book().has_parts_of_gpus |=
      job.request.valid() && s.books.fleet.cluster.amounts(job.request).gpu_milli % kMilli != 0;
  JobRecord& record = s.books.jobs.book().records.emplace_back();
  record.shape = s.books.jobs.book().shapes.intern(job, s.books.fleet.cluster);
  record.terms = s.books.jobs.book().terms.intern(record.shape, job);
  record.queue = job.queue;
  record.submitted = job.submitted;
  record.time_limit = job.time_limit;
  record.expected = job.expected;
  if (job.kin.known()) {
    s.books.jobs.book().kins.resize(id.index() + size_t{1});
    s.books.jobs.book().kins.back() = job.kin;
  }
  record.first_task = static_cast<uint32_t>(s.books.fleet.cluster.tasks().size());
  const Gang* gang = s.books.jobs.book().shapes.gang(job.gang);
  for (int32_t t = 0; t < job.tasks; ++t) {
    const GangTask own =
        gang == nullptr || gang->tasks.empty() ? GangTask{.request = job.request} : gang->tasks[static_cast<size_t>(t)];
    s.books.fleet.cluster.add_task(id, own.request, own.group, own.priority);
  }
  return id;
}

void Scheduler::reserve(size_t jobs, size_t tasks) {
  impl_->books.jobs.book().records.reserve(impl_->books.jobs.book().records.size() + jobs);
  impl_->books.fleet.cluster.reserve_tasks(impl_->books.fleet.cluster.tasks().size() + tasks);
}

void Scheduler::Impl::take_in(Instant at, std::span<const Event> happened) {
  CHECK(at >= books.clock.now, "time goes back from {} to {}", format_utc(books.clock.now), format_utc(at));
  books.clock.now = at;
  books.draft.begin();
  const auto in_order = [](const Event& a, const Event& b) {
    return std::tuple(a.kind, a.job, a.node, a.task) < std::tuple(b.kind, b.job, b.node, b.task);
  };
  accounts.advance();
  if (!std::is_sorted(happened.begin(), happened.end(), in_order)) {
    books.events.assign(happened.begin(), happened.end());
    std::stable_sort(books.events.begin(), books.events.end(), in_order);
    happened = books.events;
  }
  for (const Event& e : happened)
    happenings.apply(e);
}

std::span<const Decision> Scheduler::step(Instant now, std::span<const Event> events) {
  Impl& s = *impl_;
  s.take_in(now, events);
  const auto is_loss = [](const Event& e) {
    return e.kind == EventKind::kNodeDown || e.kind == EventKind::kNodeGone || e.kind == EventKind::kLost;
  };
  // A task that was told to leave by an earlier event of this instant (its gang lost another node, say) and has been lost with its own
  // node since is told nothing.
  if (std::ranges::any_of(events, is_loss))
    s.books.draft.withdraw_orders([&](TaskId t) { return s.books.fleet.cluster.task(t).state == TaskState::kReleasing; });
  s.happenings.fire_timers();
  s.times.open_queues();
  s.contenders.fire_level_timers();
  s.decide();
  return s.books.draft.close();
}

Instant Scheduler::next_wakeup() const {
  const Impl& s = *impl_;
  Instant next = s.books.runs.timers.empty() ? kNever : s.books.runs.timers.top().at;
  if (s.books.line.waits_for_budget && s.books.line.pending.count() > 0)
    next = std::min(next, s.books.accounts.budgets.next_renewal());
  if (s.books.hours.any_hours && !s.books.hours.opens.empty())
    next = std::min(next, *std::ranges::min_element(s.books.hours.opens));
  next = std::min({next, s.consolidation.next_search(), s.preemption.next_search()});
  return next;
}

int64_t Scheduler::waiting_gpu_milli() const {
  int64_t milli = 0;
  for (const ShapeId s : impl_->books.line.pending.shapes())
    if (impl_->books.line.pending.head(s) != nullptr)
      milli += impl_->books.line.pending.count(s) * impl_->books.jobs.book().shapes[s].total.gpu_milli;
  return milli;
}

uint64_t Scheduler::fingerprint() const {
  const Impl& s = *impl_;
  uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15ULL; };
  mix(s.books.clock.now.ns());
  for (const JobRecord& r : s.books.jobs.book().records) {
    mix(static_cast<int64_t>(r.phase));
    mix(r.failures);
    mix((r.in_play ? 1 : 0) + (r.on_hold ? 2 : 0) + (r.admitted ? 4 : 0));
    mix(r.cut_short);
    mix(r.started.ns());
    mix(r.served.count_ns());
    mix(r.rank.minor);
  }
  for (const Task& task : s.books.fleet.cluster.tasks()) {
    mix(static_cast<int64_t>(task.state));
    if (!task.on_node()) continue;
    mix(task.place.node.index());
    mix(static_cast<int64_t>(task.place.gpus));
    mix(task.place.milli);
    mix(task.place.mig_start);
  }
  for (uint32_t n = 0; n < s.books.fleet.cluster.node_count(); ++n)
    mix(s.books.fleet.cluster.free()[NodeId(n)].usable ? 1 : 0);
  for (uint32_t q = 0; q < s.books.accounts.queues.size(); ++q)
    s.books.accounts.queues.mix_into(QueueId(q), mix);
  s.books.accounts.budgets.mix_into(mix);
  if (s.policy.durations == Durations::kLearnt) mix(s.books.durations.learnt());
  for (const Reservation& r : s.books.backfill.reservations)
    mix(r.at.ns());
  return hash;
}

std::optional<BudgetStanding> Scheduler::budget_of(QueueId queue) const { return budget_of(queue, impl_->books.clock.now); }
std::optional<BudgetStanding> Scheduler::budget_of(QueueId queue, Instant at) const {
  return impl_->books.accounts.budgets.standing(queue, at);
}
const DurationBook& Scheduler::durations() const { return impl_->books.durations; }
void Scheduler::learn(const DurationBook& known) { impl_->books.durations.merge(known); }
const Cluster& Scheduler::cluster() const { return impl_->books.fleet.cluster; }
std::span<const Task> Scheduler::tasks_of(JobId job) const { return impl_->jobs.tasks_of(job); }

}  // namespace stint::sched
