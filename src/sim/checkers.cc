#include "sim/checkers.h"

#include <algorithm>

namespace stint::sim {
namespace {

bool frees_for_others(sched::Reason reason) {
  return reason == sched::Reason::kPriority || reason == sched::Reason::kReclaim || reason == sched::Reason::kConsolidation;
}

bool ends_job(sched::Reason reason) {
  return reason == sched::Reason::kTimeLimit || reason == sched::Reason::kHopelessTrial || reason == sched::Reason::kCancelled;
}

/// MIG instances count as nothing: how much of a GPU they are is for their geometry to say.
int64_t gpu_milli(const sched::Place& place) {
  return place.mig_profile >= 0 ? 0 : place.milli > 0 ? place.milli : __builtin_popcountll(place.gpus) * 1000LL;
}

}  // namespace

Checker::Checker(const Workload& workload, const CheckOptions& options)
    : workload_(&workload),
      options_(options),
      rooms_(workload),
      budgets_(workload),
      times_(workload),
      jobs_(workload.jobs.size()),
      queues_(workload.queues.size()) {
  // Tasks are numbered in the order in which jobs become known.
  uint32_t task = 0;
  for (size_t j = 0; j < jobs_.size(); ++j) {
    jobs_[j].first_task = task;
    task += static_cast<uint32_t>(workload.jobs[j].spec.tasks);
  }
}

bool Checker::saw(Instant now, std::span<const sched::Event> events, std::span<const sched::Decision> decisions) {
  if (now < now_) fail("spin", "time went back from {} to {}", format_utc(now_), format_utc(now));
  steps_at_once_ = now == now_ ? steps_at_once_ + 1 : 0;
  now_ = now;
  ++step_;
  if (steps_at_once_ > kMaxStepsAtOnce) fail("spin", "{} steps at this instant", steps_at_once_);
  for (const sched::Event& e : events)
    event(e);
  for (const sched::Decision& d : decisions)
    if (!violation_) decision(d);
  if (!violation_) check_limits();
  if (!violation_) check_promises();
  if (!violation_ && options_.starved_after != sched::kUnlimited) check_starved();
  return !violation_;
}

const sched::Request& Checker::request_of(sched::JobId job, sched::TaskId task) const {
  const sched::JobSpec& spec = workload_->jobs[job.index()].spec;
  if (spec.gang.valid())
    if (const auto& tasks = workload_->gangs[spec.gang.index()].tasks; !tasks.empty())
      return workload_->requests[tasks[task.index() - jobs_[job.index()].first_task].request.index()];
  return workload_->requests[spec.request.index()];
}

int32_t Checker::staying(const JobBook& job) const {
  return static_cast<int32_t>(std::ranges::count(job.tasks, false, &TaskBook::leaving));
}

int32_t Checker::min_tasks(sched::JobId job) const { return workload_->jobs[job.index()].spec.min_tasks; }

void Checker::event(const sched::Event& e) {
  switch (e.kind) {
    case sched::EventKind::kNodeUp: last_change_ = step_; return rooms_.set_up(e.node, true);
    case sched::EventKind::kNodeDrain: last_change_ = step_; return rooms_.close(e.node);
    case sched::EventKind::kSpotNotice: last_change_ = step_; return rooms_.close(e.node);
    case sched::EventKind::kNodeDown:
    case sched::EventKind::kNodeGone: last_change_ = step_; return node_lost(e.node);
    case sched::EventKind::kMetric: return times_.heard(e.job, e.rung, e.loss_micro);
    case sched::EventKind::kCheckpoint:
    case sched::EventKind::kTick: return;
    default: break;
  }
  last_change_ = step_;
  JobBook& job = jobs_[e.job.index()];
  switch (e.kind) {
    case sched::EventKind::kFinished:
      remove_all(e.job);
      job.state = State::kSucceeded;
      break;
    case sched::EventKind::kFailed:
      remove_all(e.job);
      if (++job.failures > workload_->jobs[e.job.index()].spec.retries) job.ends_after_leaving = true;
      emptied(e.job);
      break;
    case sched::EventKind::kLost:
    case sched::EventKind::kEvicted:
      for (size_t i = 0; i < job.tasks.size(); ++i)
        if (job.tasks[i].place.task == e.task) {
          remove_task(e.job, i);
          break;
        }
      if (job.tasks.empty()) emptied(e.job);
      break;
    case sched::EventKind::kCancel:
      job.cancelled = true;
      if (job.state == State::kWaiting) job.state = State::kEnded;
      break;
    case sched::EventKind::kSubmit:
      job.state = job.cancelled ? State::kEnded : State::kWaiting;  // taken back at the instant of submission
      job.waits_since = now_;
      job.waits_since_in = step_;
      break;
    default: break;
  }
}

void Checker::emptied(sched::JobId id) {
  JobBook& job = jobs_[id.index()];
  job.state = job.ends_after_leaving || job.cancelled ? State::kEnded : State::kWaiting;
  job.waits_since = now_;
  job.waits_since_in = step_;
}

void Checker::node_lost(NodeId node) {
  rooms_.set_up(node, false);
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    JobBook& job = jobs_[j];
    bool hit = false;
    for (size_t i = job.tasks.size(); i-- > 0;)
      if (job.tasks[i].place.node == node) {
        remove_task(sched::JobId(j), i);
        hit = true;
      }
    if (hit && job.tasks.empty())
      emptied(sched::JobId(j));
    else if (hit && staying(job) == 0)
      job.state = State::kLeaving;
  }
  promises_.clear();  // with a node gone, room that was enough may not be
}

void Checker::decision(const sched::Decision& d) {
  if (!d.job.valid() || d.job.index() >= jobs_.size()) return fail("state", "a decision for a job that does not exist");
  switch (d.kind) {
    case sched::DecisionKind::kStart: return start(d);
    case sched::DecisionKind::kGrow: return grow(d);
    case sched::DecisionKind::kEvict: return evict(d);
    case sched::DecisionKind::kReject: return reject(d);
    case sched::DecisionKind::kSkip: return skip(d);
  }
}

void Checker::start(const sched::Decision& d) {
  const sched::JobSpec& spec = workload_->jobs[d.job.index()].spec;
  JobBook& job = jobs_[d.job.index()];
  if (job.state != State::kWaiting) return fail("state", "job {} starts in state {}", d.job.index(), static_cast<int>(job.state));
  if (now_ < spec.not_before) fail("not-before", "job {} may start at {}", d.job.index(), format_utc(spec.not_before));
  for (const sched::JobId after : spec.after)
    if (jobs_[after.index()].state != State::kSucceeded)
      fail("dependency", "job {} starts before job {} has succeeded", d.job.index(), after.index());
  check_array(d.job);
  if (is_made(d.job)) fail("product", "job {} starts, but what it makes has been made", d.job.index());
  if (const std::string problem = budgets_.problem_of(spec.queue, now_); !problem.empty() && !job.admitted)
    fail("budget", "job {} starts, but {}", d.job.index(), problem);
  // It may start on room that others have left, perhaps not for it alone, within the time a promise takes.
  const bool held_when_open = d.reason == sched::Reason::kHeld && !times_.is_closed(spec.queue, now_ - options_.promise);
  if (times_.is_closed(spec.queue, now_) && !job.admitted && !held_when_open)
    fail("hours", "job {} starts while its queue is closed", d.job.index());
  job.admitted = false;
  job.state = State::kRunning;
  job.started = now_;
  job.started_in = step_;
  add_tasks(d.job, d.places);
  if (staying(job) < min_tasks(d.job))
    fail("gang", "job {} starts with {} of at least {} tasks", d.job.index(), staying(job), min_tasks(d.job));
  check_groups(d.job);
  std::erase_if(promises_, [&](const Promise& p) { return p.to == d.job; });
}

void Checker::grow(const sched::Decision& d) {
  JobBook& job = jobs_[d.job.index()];
  if (job.state != State::kRunning) return fail("state", "job {} grows in state {}", d.job.index(), static_cast<int>(job.state));
  const bool only_moves = d.reason == sched::Reason::kConsolidation && job.admitted;  // some of its tasks left for other room
  const sched::QueueId queue = workload_->jobs[d.job.index()].spec.queue;
  if (const std::string problem = budgets_.problem_of(queue, now_); !problem.empty() && !only_moves)
    fail("budget", "job {} grows, but {}", d.job.index(), problem);
  if (times_.is_closed(queue, now_) && !only_moves) fail("hours", "job {} grows while its queue is closed", d.job.index());
  add_tasks(d.job, d.places);
  check_groups(d.job);
  std::erase_if(promises_, [&](const Promise& p) { return p.to == d.job; });
}

void Checker::add_tasks(sched::JobId id, std::span<const sched::Place> places) {
  JobBook& job = jobs_[id.index()];
  const auto all = static_cast<uint32_t>(workload_->jobs[id.index()].spec.tasks);
  if (places.empty()) fail("gang", "job {} is given no places", id.index());
  for (const sched::Place& place : places) {
    if (violation_) return;
    if (place.task.index() < job.first_task || place.task.index() >= job.first_task + all)
      return fail("gang", "task {} is not of job {}", place.task.index(), id.index());
    if (std::ranges::any_of(job.tasks, [&](const TaskBook& t) { return t.place.task == place.task; }))
      return fail("state", "task {} of job {} runs already", place.task.index(), id.index());
    if (const std::string problem = rooms_.wrong_neighbours(place.node, request_of(id, place.task)); !problem.empty())
      return fail("affinity", "task {} of job {}: {}", place.task.index(), id.index(), problem);
    if (const std::string problem = rooms_.take(place, request_of(id, place.task)); !problem.empty())
      return fail("room", "task {} of job {}: {}", place.task.index(), id.index(), problem);
    budgets_.hold(workload_->jobs[id.index()].spec.queue, place.node, gpu_milli(place), now_);
    job.tasks.push_back({place, now_, false});
    charge(id, place, 1);
  }
}

void Checker::check_groups(sched::JobId id) {
  const sched::JobSpec& spec = workload_->jobs[id.index()].spec;
  if (!spec.gang.valid()) return;
  const sched::Gang& gang = workload_->gangs[spec.gang.index()];
  const JobBook& job = jobs_[id.index()];
  if (const std::string& level = gang.topology.required_level; !level.empty() && !job.tasks.empty())
    for (const TaskBook& t : job.tasks)
      if (!rooms_.same_domain(t.place.node, job.tasks[0].place.node, level))
        fail("topology", "job {} must be within one '{}', but has tasks on nodes {} and {}", id.index(), level,
             t.place.node.index(), job.tasks[0].place.node.index());
  if (gang.tasks.empty()) return;
  std::vector<int32_t> there(gang.groups.size());
  for (const TaskBook& t : job.tasks)
    if (const int32_t group = gang.tasks[t.place.task.index() - job.first_task].group; group >= 0 && !t.leaving)
      ++there[static_cast<size_t>(group)];
  for (size_t g = 0; g < there.size(); ++g)
    if (there[g] < gang.groups[g].min_tasks)
      fail("gang", "group {} of job {} runs with {} of at least {} tasks", g, id.index(), there[g], gang.groups[g].min_tasks);
}

void Checker::evict(const sched::Decision& d) {
  const sched::JobSpec& spec = workload_->jobs[d.job.index()].spec;
  JobBook& job = jobs_[d.job.index()];
  if (job.state != State::kRunning)
    return fail("state", "job {} is told to leave in state {}", d.job.index(), static_cast<int>(job.state));
  if (frees_for_others(d.reason)) {
    if (!spec.preemptible) fail("eviction", "job {} cannot be preempted", d.job.index());
    if (now_ - job.started < spec.min_runtime)
      fail("eviction", "job {} has run for {} s of at least {} s", d.job.index(), (now_ - job.started).to_seconds(),
           spec.min_runtime.to_seconds());
    std::erase_if(job.evictions, [&](Instant at) { return now_ - at > kHour; });
    job.evictions.push_back(now_);
    if (options_.count_evictions && job.evictions.size() > kMaxEvictionsPerHour)
      fail("thrash", "job {} stopped {} times within an hour", d.job.index(), job.evictions.size());
    if (!d.for_job.valid()) fail("promise", "job {} is stopped for others, but for no job", d.job.index());
    if (options_.count_evictions && d.for_job.valid() && should_not_have_started(job, d.for_job))
      fail("taken-back", "job {} was started {} s ago and is stopped for job {}, which waited then already ({})", d.job.index(),
           (now_ - job.started).to_seconds(), d.for_job.index(), d.reason == sched::Reason::kReclaim ? "reclaim" : "rank");
  }
  if (d.reason == sched::Reason::kHopelessTrial)
    if (const std::string problem = times_.problem_of_stopping(d.job); !problem.empty())
      fail("trial", "job {} {}", d.job.index(), problem);
  for (const sched::Place& place : d.places) {
    const auto at = std::ranges::find(job.tasks, place.task, [](const TaskBook& t) { return t.place.task; });
    if (at == job.tasks.end() || at->leaving)
      return fail("state", "task {} of job {} is told to leave but does not run", place.task.index(), d.job.index());
    at->leaving = true;
    charge(d.job, at->place, -1);
  }
  const int32_t left_over = staying(job);
  if (left_over > 0 && left_over < min_tasks(d.job))
    fail("gang", "job {} is left with {} of at least {} tasks", d.job.index(), left_over, min_tasks(d.job));
  if (left_over == 0)
    job.state = State::kLeaving;
  else
    check_groups(d.job);
  job.ends_after_leaving = job.ends_after_leaving || ends_job(d.reason);
  if (d.reason == sched::Reason::kConsolidation) job.admitted = true;  // it only moves
  if (!d.for_job.valid()) return;
  jobs_[d.for_job.index()].admitted = true;
  auto promise = std::ranges::find(promises_, d.for_job, &Promise::to);
  if (promise == promises_.end()) promise = promises_.insert(promise, {d.for_job, {}, now_});
  promise->ready = now_;
  for (const sched::Place& place : d.places)
    promise->leaving.emplace_back(d.job, place.task);
}

/// Was it started moments ago though `by` waited already and nothing has happened since but that time went on? Time alone opens
/// queues, renews budgets and brings on the hour of jobs that have one: whether it could do so is not judged.
bool Checker::should_not_have_started(const JobBook& job, sched::JobId by) const {
  if (now_ - job.started >= kTakenBackWithin || job.started_in < last_change_ ||
      jobs_[by.index()].waits_since_in > job.started_in)
    return false;
  if (job.started_in == step_) return true;
  const sched::JobSpec& spec = workload_->jobs[by.index()].spec;
  if (spec.not_before > job.started || spec.deferrable || times_.is_closed(spec.queue, job.started)) return false;
  for (sched::QueueId q = spec.queue; q.valid(); q = workload_->queues[q.index()].parent)
    if (workload_->queues[q.index()].budget) return false;
  return true;
}

void Checker::reject(const sched::Decision& d) {
  JobBook& job = jobs_[d.job.index()];
  if (job.state != State::kWaiting)
    return fail("state", "job {} is rejected in state {}", d.job.index(), static_cast<int>(job.state));
  if (d.reason == sched::Reason::kDependencyFailed) {
    const auto& after = workload_->jobs[d.job.index()].spec.after;
    if (std::ranges::none_of(after, [&](sched::JobId a) { return jobs_[a.index()].state == State::kEnded; }))
      fail("dependency", "job {} is rejected, but nothing it waits for has failed", d.job.index());
  } else if (could_run_alone(d.job)) {
    fail("lost", "job {} is rejected as never fitting, but would fit the idle fleet", d.job.index());
  }
  job.state = State::kEnded;
}

void Checker::skip(const sched::Decision& d) {
  JobBook& job = jobs_[d.job.index()];
  if (job.state != State::kWaiting)
    return fail("state", "job {} is skipped in state {}", d.job.index(), static_cast<int>(job.state));
  if (!is_made(d.job)) fail("product", "job {} is skipped, but no job has made what it makes", d.job.index());
  job.state = State::kSucceeded;
}

bool Checker::is_made(sched::JobId id) const {
  const sched::ProductId product = workload_->jobs[id.index()].spec.makes;
  if (!product.valid()) return false;
  for (size_t j = 0; j < jobs_.size(); ++j)
    if (workload_->jobs[j].spec.makes == product && jobs_[j].state == State::kSucceeded) return true;
  return false;
}

/// Jobs of its array or product that may keep it waiting: those that have not ended.
bool Checker::waits_for_its_like(sched::JobId id) const {
  const sched::JobSpec& spec = workload_->jobs[id.index()].spec;
  int32_t in_array = 0;
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const State state = jobs_[j].state;
    if (j == id.index() || (state != State::kWaiting && state != State::kRunning && state != State::kLeaving)) continue;
    const sched::JobSpec& other = workload_->jobs[j].spec;
    if (spec.makes.valid() && other.makes == spec.makes) return true;
    if (spec.array.valid() && spec.at_once > 0 && other.array == spec.array && ++in_array >= spec.at_once) return true;
  }
  return false;
}

void Checker::check_array(sched::JobId id) {
  const sched::JobSpec& spec = workload_->jobs[id.index()].spec;
  if (!spec.array.valid() || spec.at_once == 0) return;
  int32_t others = 0;
  for (size_t j = 0; j < jobs_.size(); ++j)
    if (workload_->jobs[j].spec.array == spec.array && (jobs_[j].state == State::kRunning || jobs_[j].state == State::kLeaving))
      ++others;
  if (others >= spec.at_once)
    fail("array", "job {} starts beside {} of its array, of which {} may run", id.index(), others, spec.at_once);
}

void Checker::remove_task(sched::JobId id, size_t at) {
  JobBook& job = jobs_[id.index()];
  const TaskBook task = job.tasks[at];
  job.tasks.erase(job.tasks.begin() + static_cast<std::ptrdiff_t>(at));
  const sched::Request& request = request_of(id, task.place.task);
  rooms_.give_back(task.place, request);
  budgets_.hold(workload_->jobs[id.index()].spec.queue, task.place.node, -gpu_milli(task.place), now_);
  if (!task.leaving) charge(id, task.place, -1);
  left(id, task.place.task);
  const double gpus =
      task.place.milli > 0 ? task.place.milli / 1000.0 : static_cast<double>(__builtin_popcountll(task.place.gpus));
  job.gpu_hours += (now_ - task.began).to_hours() * (task.place.mig_profile >= 0 ? 0 : gpus);
}

void Checker::remove_all(sched::JobId id) {
  JobBook& job = jobs_[id.index()];
  while (!job.tasks.empty())
    remove_task(id, job.tasks.size() - 1);
}

void Checker::left(sched::JobId job, sched::TaskId task) {
  for (Promise& promise : promises_)
    if (std::erase(promise.leaving, std::pair(job, task)) > 0) promise.ready = now_;
}

void Checker::charge(sched::JobId id, const sched::Place& place, int64_t sign) {
  const sched::JobSpec& spec = workload_->jobs[id.index()].spec;
  const sched::Request& request = request_of(id, place.task);
  const int64_t gpu = gpu_milli(place);
  for (sched::QueueId q = spec.queue; q.valid(); q = workload_->queues[q.index()].parent) {
    QueueBook& queue = queues_[q.index()];
    queue.gpu_milli += sign * gpu;
    queue.cpu_milli += sign * request.cpu_milli;
    queue.memory_bytes += sign * request.memory.count();
    queue.grown = queue.grown || sign > 0;
    if (spec.preemptible) continue;
    queue.firm_gpu_milli += sign * gpu;
    queue.firm_cpu_milli += sign * request.cpu_milli;
    queue.firm_memory_bytes += sign * request.memory.count();
  }
}

void Checker::check_limits() {
  for (size_t q = 0; q < queues_.size(); ++q) {
    QueueBook& queue = queues_[q];
    if (!queue.grown) continue;
    queue.grown = false;
    const sched::QueueSpec& spec = workload_->queues[q];
    const auto check = [&](std::string_view rule, const sched::QueueAmounts& most, int64_t gpu, int64_t cpu, int64_t memory) {
      if (most.gpu_milli && gpu > *most.gpu_milli)
        fail(rule, "queue '{}' holds {} of at most {} milli-GPU", spec.name, gpu, *most.gpu_milli);
      if (most.cpu_milli && cpu > *most.cpu_milli)
        fail(rule, "queue '{}' holds {} of at most {} milli-CPU", spec.name, cpu, *most.cpu_milli);
      if (most.memory_bytes && memory > *most.memory_bytes)
        fail(rule, "queue '{}' holds {} of at most {} bytes", spec.name, memory, *most.memory_bytes);
    };
    check("limit", spec.limit, queue.gpu_milli, queue.cpu_milli, queue.memory_bytes);
    check("guarantee", spec.deserved, queue.firm_gpu_milli, queue.firm_cpu_milli, queue.firm_memory_bytes);
  }
}

void Checker::check_promises() {
  for (const Promise& promise : promises_) {
    const JobBook& to = jobs_[promise.to.index()];
    const bool over = to.cancelled || to.state == State::kEnded || to.state == State::kSucceeded;
    // One that wants neighbours gives its room up when they have gone.
    const sched::RequestId request = workload_->jobs[promise.to.index()].spec.request;
    if (!workload_->requests[request.index()].affinity.empty()) continue;
    if (!over && promise.leaving.empty() && now_ - promise.ready > options_.promise)
      fail("promise", "room was freed for job {} at {}; it has not started", promise.to.index(), format_utc(promise.ready));
  }
  std::erase_if(promises_, [&](const Promise& promise) {
    const JobBook& to = jobs_[promise.to.index()];
    return to.cancelled || to.state == State::kEnded || to.state == State::kSucceeded;
  });
}

bool Checker::could_run_alone(sched::JobId id) const {
  const sched::JobSpec& spec = workload_->jobs[id.index()].spec;
  // Topology and sub-groups need another placer: such jobs are not judged.
  if (spec.gang.valid()) return false;
  if (now_ < spec.not_before || !times_.ever_opens(spec.queue)) return false;
  for (const sched::JobId after : spec.after)
    if (jobs_[after.index()].state != State::kSucceeded) return false;
  if ((spec.array.valid() || spec.makes.valid()) && waits_for_its_like(id)) return false;
  const sched::Request& request = workload_->requests[spec.request.index()];
  if (rooms_.capacity_for(request, spec.min_tasks) < spec.min_tasks) return false;
  if (request.gpu_memory.count() > 0) return false;  // what it counts as in a queue depends on the node
  const int64_t gpu = (int64_t{request.gpus} * 1000 + request.milli) * spec.min_tasks;
  const int64_t cpu = request.cpu_milli * spec.min_tasks, memory = request.memory.count() * spec.min_tasks;
  for (sched::QueueId q = spec.queue; q.valid(); q = workload_->queues[q.index()].parent) {
    const sched::QueueSpec& queue = workload_->queues[q.index()];
    if (queue.budget) return false;  // it may be spent for as long as it likes
    const auto within = [&](const sched::QueueAmounts& most) {
      return gpu <= most.gpu_milli.value_or(gpu) && cpu <= most.cpu_milli.value_or(cpu) &&
             memory <= most.memory_bytes.value_or(memory);
    };
    if (!within(queue.limit) || (!spec.preemptible && !within(queue.deserved))) return false;
  }
  return true;
}

/// Its queue is closed, or it may wait for a cheaper hour and still meet its deadline.
bool Checker::waits_for_its_hour(sched::JobId id) const {
  const sched::JobSpec& spec = workload_->jobs[id.index()].spec;
  if (times_.is_closed(spec.queue, now_)) return true;
  const Duration longest = std::min(spec.time_limit, spec.expected);
  return spec.deferrable && longest != sched::kUnlimited && jobs_[id.index()].started == Instant() &&
         now_ + longest <= spec.deadline;
}

void Checker::check_starved() {
  // Looking at every waiting job in every step would be slow; the bound is coarse anyway.
  if (now_ < next_starved_check_) return;
  next_starved_check_ = now_ + Duration::nanoseconds(options_.starved_after.count_ns() / 20);
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    JobBook& job = jobs_[j];
    if (job.state != State::kWaiting) continue;
    if (!could_run_alone(sched::JobId(j)) || waits_for_its_hour(sched::JobId(j)))
      job.waits_since = now_;
    else if (now_ - job.waits_since > options_.starved_after)
      fail("starved", "job {} has waited for {} h and would fit the fleet", j, (now_ - job.waits_since).to_hours());
  }
}

}  // namespace stint::sim
