// What a record changes, what the scheduler hears of it, and what its decisions change.
//
// Records of one step are applied in the order of their kinds, which is the order in which the scheduler applies events of one
// instant; so the books here and the scheduler's state agree without asking each other.
#include <algorithm>

#include "base/check.h"
#include "daemon/engine/engine_impl.h"
#include "sched/policy_text.h"
#include "sched/reason_words.h"

namespace stint {
namespace {

JobState ends_as(sched::Reason reason) {
  switch (reason) {
    case sched::Reason::kTimeLimit: return JobState::kTimeLimit;
    case sched::Reason::kHopelessTrial: return JobState::kStopped;
    case sched::Reason::kCancelled: return JobState::kCancelled;
    default: return JobState::kWaiting;
  }
}

}  // namespace

std::string_view words_of(sched::Reason r) { return sched::describe(r); }

Status Engine::Impl::apply(const Record& record) {
  switch (record.kind) {
    case RecordKind::kFleet: return apply_fleet(record.fleet);
    case RecordKind::kBudget:
    case RecordKind::kBudgetGone: return apply_budget(record);
    case RecordKind::kForget:
      if (scheduler) forget(record.keep);
      return {};
    case RecordKind::kLearn: scheduler->learn(sim::durations_of(record.lengths)); return {};
    case RecordKind::kSubmit: return apply_submit(record);
    case RecordKind::kMachine: return apply_machine(record.machine);
    case RecordKind::kNodeUp:
    case RecordKind::kNodeDrain:
    case RecordKind::kNodeClear:
    case RecordKind::kNodeDown:
    case RecordKind::kNodeGone: return apply_node(record);
    case RecordKind::kEnded:
    case RecordKind::kLost: apply_report(record.report, record.done); return {};
    case RecordKind::kNotice: note(record.notice); return {};
    case RecordKind::kTick: return {};
    default: break;
  }
  const sched::JobId id = find(record.job);
  if (!id.valid()) {
    // Asked for while it was there, and ended.
    if (record.job >= 1 && record.job <= accepted) return {};
    return invalid("no job {}", record.job);
  }
  switch (record.kind) {
    case RecordKind::kCheckpoint:
      if (has_ended(book(id).state)) break;
      event_of(sched::EventKind::kCheckpoint, id);
      note("job.checkpoint", id, "", "");
      break;
    case RecordKind::kTrial: apply_trial(id, record); break;
    case RecordKind::kCancel: apply_cancel(id); break;
    case RecordKind::kHold: apply_hold(id, true); break;
    case RecordKind::kRelease: apply_hold(id, false); break;
    case RecordKind::kAdopt: apply_adoption(id, record.nodes); break;
    case RecordKind::kApprove:
    case RecordKind::kRefuse: decide_approval(record); break;
    default: break;
  }
  return {};
}

void Engine::Impl::event_of(sched::EventKind kind, sched::JobId job) {
  sched::Event& event = events.emplace_back();
  event.kind = kind;
  event.job = job;
}

void Engine::Impl::event_of(sched::EventKind kind, NodeId node) {
  sched::Event& event = events.emplace_back();
  event.kind = kind;
  event.node = node;
}

Status Engine::Impl::apply_fleet(const std::string& json) {
  TRY_ASSIGN(FleetConfig next, parse_fleet_config(json, "fleet"));
  TRY(check_fleet(next));
  if (!scheduler) {
    TRY_ASSIGN(const sched::Policy policy, sched::parse_policy(next.policy));
    scheduler.emplace(policy);
  }
  fleet.policy = next.policy;
  fleet.machines_come = next.machines_come;
  if (next.machines_come && !machines_come) {
    scheduler->expect_machines();
    machines_come = true;
  }
  for (uint32_t q = 0; q < fleet.queues.size(); ++q) {
    if (next.queues[q] == fleet.queues[q]) continue;
    scheduler->change_queue(sched::QueueId(q), next.queues[q]);
    fleet.queues[q] = next.queues[q];
    note_of_queue("queue.changed", next.queues[q].name, "other terms in the configuration");
  }
  for (size_t q = fleet.queues.size(); q < next.queues.size(); ++q) {
    const sched::QueueId id = scheduler->add_queue(next.queues[q]);
    queue_ids.emplace(next.queues[q].name, id);
    queues.emplace_back().posted = Money::nanos(0, next.currency);
    fleet.queues.push_back(next.queues[q]);
  }
  for (NodeBook& known : nodes)
    known.named = false;
  fleet.currency = next.currency;
  fleet.topology = std::move(next.topology);
  for (const NodeId node : repriced_by(next))
    post_all_on(node);
  set_prices(std::move(next.prices));
  for (const Machine& machine : next.nodes)
    put_machine(machine).named = true;
  for (NodeBook& known : nodes) {
    if (!known.is_machine() || known.named || known.reported || known.draining) continue;
    known.draining = true;
    event_of(sched::EventKind::kNodeDrain, node_ids.find(known.machine.node.name)->second);
    note("node.draining", {}, known.machine.node.name, "no longer in the configuration");
  }
  fleet.nodes = std::move(next.nodes);
  for (const BudgetRule& rule : next.govern.budgets) {
    const auto before = std::ranges::find(fleet.govern.budgets, rule.name, &BudgetRule::name);
    // Another amount: what was told of is told again.
    if (before == fleet.govern.budgets.end() || before->per_month != rule.per_month) govern.told.erase(rule.name);
    // What the file says comes before what a command said.
    std::erase_if(govern.budgets, [&](const BudgetRule& set) { return set.name == rule.name; });
  }
  fleet.govern = std::move(next.govern);
  set_kinds();
  govern.changed = true;
  return {};
}

namespace {

/// Whose jobs it is like: of its client's user, by its name and by what it runs. What the daemon starts itself is a service, which
/// runs until it is stopped.
sched::Kin kin_of_request(std::string_view client, const JobRequest& r) {
  if (std::ranges::any_of(r.tags, [](const auto& tag) { return tag.first.starts_with(kOwnTags); })) return {};
  const std::string runs = r.script.empty() ? fmt::format("{}", fmt::join(r.command, " "))
                                            : fmt::format("{} {}", r.script, fmt::join(r.arguments, " "));
  return sched::kin_of(fmt::format("{}/{}", client, r.user), r.name.empty() && !r.command.empty() ? r.command.front() : r.name,
                       runs);
}

}  // namespace

Status Engine::Impl::apply_submit(const Record& record) {
  if (record.job != accepted + 1) return invalid("job {} where job {} must come", record.job, accepted + 1);
  const std::string client(client_of_queue(record.request.queue));
  if (record.number > 0 && record.number != next_number(client))
    return invalid("job {} of {} where job {} must come", record.number, client, next_number(client));
  const int64_t number = record.number > 0 ? record.number : record.job;
  const auto queue = queue_ids.find(record.request.queue);
  if (queue == queue_ids.end()) return invalid("no queue '{}'", record.request.queue);
  const auto request = std::make_shared<const JobRequest>(record.request);
  const JobRequest& r = *request;
  const MostCost cost = most_cost_of(r);
  const bool needs_approval = !record.reason.empty();
  if (needs_approval)
    govern.approvals.emplace(record.job, ApprovalView{.why = record.reason,
                                                      .asked_by = record.actor,
                                                      .most_cost = money_of(cost.spend.nanos, currency()),
                                                      .by = "",
                                                      .decided = {},
                                                      .approved = false,
                                                      .reason = ""});
  sched::JobSpec spec;
  spec.queue = queue->second;
  spec.request = scheduler->intern(request_of(client, r));
  if (const auto gang = gang_of(r)) spec.gang = scheduler->intern(*gang);
  if (!r.makes.empty()) spec.makes = product_of(client, r.makes);
  spec.tasks = r.tasks;
  spec.min_tasks = r.min_tasks > 0 ? r.min_tasks : r.tasks;
  spec.priority = r.priority;
  spec.preemptible = r.preemptible;
  spec.submitted = now;
  spec.not_before = r.not_before;
  spec.deadline = r.deadline;
  spec.deferrable = r.deferrable;
  spec.time_limit = r.time_limit;
  spec.expected = r.expected;
  spec.kin = kin_of_request(client, r);
  spec.min_runtime = r.min_runtime;
  spec.retries = r.retries;
  spec.checkpoint = r.checkpoint;
  if (!r.study.empty()) spec.study = study_of(client, r);
  for (const int64_t after : r.after)
    if (const sched::JobId id = find(after); id.valid()) spec.after.push_back(id);  // any other has succeeded: see check_submit
  if (r.array > 0 && r.at_once > 0) {
    spec.array = sched::ArrayId(arrays++);
    spec.at_once = r.at_once;
  }
  for (int32_t i = 0; i < std::max(r.array, 1); ++i) {
    const sched::JobId id = scheduler->add(spec);
    CHECK(id.index() == jobs.size(), "job {} got id {}", jobs.size(), id.index());
    JobBook& job = jobs.emplace_back();
    job.id = ++accepted;
    job.number = number + i;
    job.request = request;
    job.queue = spec.queue;
    // Not a count of our own: the scheduler's stand-ins for jobs that move have numbers among them.
    job.first_task = static_cast<uint32_t>(scheduler->tasks_of(id).data() - scheduler->cluster().tasks().data());
    job.submitted = now;
    job.posted = Money::nanos(0, currency());
    job.array_first = r.array > 0 ? record.job : 0;
    job.array_index = i;
    job.on_hold = r.on_hold;
    open_account(id, cost, needs_approval);
    ++queues[job.queue.index()].waiting;
    note("job.submitted", id, "", "");
    if (needs_approval) note("job.needs-approval", id, "", record.reason);
    if (needs_approval || r.on_hold) {
      set_state(id, needs_approval ? JobState::kNeedsApproval : JobState::kOnHold);
      event_of(sched::EventKind::kHold, id);
    }
    event_of(sched::EventKind::kSubmit, id);
  }
  if (const std::string name = others_job_of(r); !name.empty()) others.insert_or_assign(name, record.job);
  numbered[client] = jobs.back().number;
  if (record.number == 0) unnumbered = accepted;
  return {};
}

/// Made with its first trial. Submits of one study have the same rungs: see check_study.
sched::StudyId Engine::Impl::study_of(std::string_view client, const JobRequest& request) {
  const auto known =
      std::ranges::find_if(studies, [&](const StudyBook& s) { return s.client == client && s.name == request.study; });
  if (known != studies.end()) return sched::StudyId(static_cast<uint32_t>(known - studies.begin()));
  const sched::StudyId id = scheduler->add_study(request.rungs);
  CHECK(id.index() == studies.size(), "study {} got id {}", studies.size(), id.index());
  studies.push_back({.client = std::string(client), .name = request.study, .rungs = request.rungs});
  return id;
}

void Engine::Impl::apply_trial(sched::JobId id, const Record& record) {
  JobBook& job = book(id);
  const bool runs = job.state == JobState::kRunning || job.state == JobState::kLeaving;
  if (!runs || (!job.reports.empty() && record.rung <= job.reports.back().rung)) return;
  event_of(sched::EventKind::kMetric, id);
  events.back().rung = record.rung;
  events.back().loss_micro = record.loss_micro;
  job.reports.push_back({.rung = record.rung, .loss_micro = record.loss_micro, .at = now});
  note("job.trial", id, "", fmt::format("rung {}: loss {:g}", record.rung, static_cast<double>(record.loss_micro) / 1e6));
}

/// Its task is no longer there.
void Engine::Impl::lose(sched::JobId id, size_t at, std::string_view detail) {
  JobBook& job = book(id);
  PlacedTask& placed = job.placed[at];
  if (!placed.ended) {
    post(id, placed, now);
    job.ends.push_back({.task = placed.task,
                        .attempt = placed.attempt,
                        .node = nodes[placed.place.node.index()].machine.node.name,
                        .started = placed.started,
                        .ended = now,
                        .exit_code = 0,
                        .signal = 0,
                        .detail = std::string(detail),
                        .gpus = placed.place.gpus,
                        .gpu_milli = gpu_milli(job, placed.place)});
  }
  job.placed.erase(job.placed.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Some of its tasks are gone. As the scheduler does: enough of them go on, the rest of too few is stopped.
void Engine::Impl::after_loss(sched::JobId id) {
  JobBook& job = book(id);
  touched.push_back(id);
  leave_with_the_others(id);
  if (job.placed.empty()) left(id);
}

/// It was told to leave and had done its work before it heard of that. Where all tasks of the job have, the job is done; else they leave
/// like the others.
void Engine::Impl::left_by_itself(sched::JobId id, size_t at) {
  JobBook& job = book(id);
  job.placed[at].ended = true;
  touched.push_back(id);
  if (!std::ranges::all_of(job.placed, &PlacedTask::ended)) return;
  job.placed.clear();
  event_of(sched::EventKind::kFinished, id);
  end(id, JobState::kSucceeded);
}

/// A task that was told to leave has.
void Engine::Impl::leave(sched::JobId id, size_t at) {
  JobBook& job = book(id);
  const PlacedTask& placed = job.placed[at];
  event_of(sched::EventKind::kEvicted, id);
  events.back().task = sched::TaskId(job.first_task + static_cast<uint32_t>(placed.task));
  events.back().node = placed.place.node;
  job.placed.erase(job.placed.begin() + static_cast<std::ptrdiff_t>(at));
}

/// A job whose tasks have not all done their work runs again with all of them.
void Engine::Impl::leave_with_the_others(sched::JobId id) {
  const std::vector<PlacedTask>& placed = book(id).placed;
  for (size_t i = placed.size(); i-- > 0;)
    if (placed[i].leaving && placed[i].ended) leave(id, i);
}

/// May it be done although it was told to leave? Not one that gives up some of its tasks, or that was taken back.
bool Engine::Impl::may_be_done(const JobBook& job) {
  return (job.leaves_as == JobState::kWaiting || job.leaves_as == JobState::kTimeLimit) && !job.cancelled &&
         std::ssize(job.placed) == job.request->tasks && std::ranges::all_of(job.placed, &PlacedTask::leaving);
}

void Engine::Impl::apply_report(const Report& report, bool done) {
  const PlacedTask* found = find_placed(report.key);
  if (found == nullptr || found->ended) return;
  if (live) desk.forget(report.key);
  const sched::JobId id = find(report.key.job);
  JobBook& job = book(id);
  const auto at = static_cast<size_t>(found - job.placed.data());
  PlacedTask& placed = job.placed[at];
  const Instant ended = std::clamp(report.at, placed.metered_from, now);
  post(id, placed, ended);
  const bool lost = report.kind == ReportKind::kLost;
  job.ends.push_back({.task = placed.task,
                      .attempt = placed.attempt,
                      .node = nodes[placed.place.node.index()].machine.node.name,
                      .started = placed.started,
                      .ended = ended,
                      .exit_code = report.status.code,
                      .signal = report.status.signal,
                      .detail = !report.detail.empty()              ? report.detail
                                : lost                              ? std::string("lost")
                                : report.cause != EndCause::kItself ? std::string(name_of(report.cause))
                                                                    : std::string(),
                      .gpus = placed.place.gpus,
                      .gpu_milli = gpu_milli(job, placed.place)});
  if (job.ends.size() > kEndsKept) job.ends.erase(job.ends.begin());
  const sched::TaskId task(job.first_task + static_cast<uint32_t>(placed.task));
  if (placed.leaving) {
    if (done && may_be_done(job)) return left_by_itself(id, at);
    leave(id, at);
    leave_with_the_others(id);
    if (job.placed.empty())
      left(id);
    else
      touched.push_back(id);
    return;
  }
  if (lost && !job.failing && ++job.losses <= kMostLosses) {
    event_of(sched::EventKind::kLost, id);
    events.back().task = task;
    events.back().node = placed.place.node;
    job.placed.erase(job.placed.begin() + static_cast<std::ptrdiff_t>(at));
    after_loss(id);
    return;
  }
  if (report.cause == EndCause::kTimeLimit && !job.cancelled) {
    // The backend's own limit, which is later than the scheduler's, came first: the daemon was not there to look.
    job.leaves_as = JobState::kTimeLimit;
    event_of(sched::EventKind::kCancel, id);
  }
  placed.ended = true;
  placed.failed = lost || report.status.code != 0 || report.status.signal != 0;
  touched.push_back(id);
}

/// After all records of a step: has a running job ended, or one of its tasks failed?
void Engine::Impl::settle(sched::JobId id) {
  JobBook& job = book(id);
  // With too few tasks left the scheduler takes the rest off.
  if (job.state != JobState::kRunning || static_cast<int32_t>(job.placed.size()) < min_tasks(job)) return;
  const bool all_ended = std::ranges::all_of(job.placed, &PlacedTask::ended);
  const bool any_failed = job.failing || std::ranges::any_of(job.placed, &PlacedTask::failed);
  if (!all_ended) {
    if (!any_failed || job.failing) return;
    job.failing = true;
    if (live)
      for (const PlacedTask& placed : job.placed)
        if (!placed.ended) desk.want(key_of(id, placed), LaunchWish::kStop);
    return;
  }
  if (job.leaves_as == JobState::kTimeLimit) return;  // the scheduler takes it off and says so
  job.placed.clear();
  job.failing = false;
  if (!any_failed) {
    event_of(sched::EventKind::kFinished, id);
    return end(id, JobState::kSucceeded);
  }
  event_of(sched::EventKind::kFailed, id);
  note("job.failed", id, job.ends.back().node,
       fmt::format("exit code {}, signal {}", job.ends.back().exit_code, job.ends.back().signal));
  if (job.cancelled)
    end(id, JobState::kCancelled);
  else if (job.failures++ >= job.request->retries)
    end(id, JobState::kFailed);
  else
    back_to_waiting(id);
}

void Engine::Impl::apply_cancel(sched::JobId id) {
  JobBook& job = book(id);
  if (has_ended(job.state)) return;
  event_of(sched::EventKind::kCancel, id);
  job.cancelled = true;
  job.leaves_as = JobState::kCancelled;
  if (job.placed.empty()) end(id, JobState::kCancelled);
}

void Engine::Impl::apply_hold(sched::JobId id, bool on) {
  JobBook& job = book(id);
  if (has_ended(job.state) || job.on_hold == on) return;
  job.on_hold = on;
  if (job.state == JobState::kNeedsApproval) return note(on ? "job.held" : "job.released", id, "", "");
  event_of(on ? sched::EventKind::kHold : sched::EventKind::kRelease, id);
  note(on ? "job.held" : "job.released", id, "", "");
  if (job.placed.empty()) set_state(id, on ? JobState::kOnHold : JobState::kWaiting);
}

void Engine::Impl::decided(const sched::Decision& decision) {
  const sched::JobId id = decision.job;
  JobBook& job = book(id);
  job.reason = decision.reason;
  switch (decision.kind) {
    case sched::DecisionKind::kStart:
      CHECK(job.placed.empty() && job.state == JobState::kWaiting, "job {} is started but does not wait", id_of(id));
      ++job.starts;
      if (!job.first_started) job.first_started = now;
      job.started = now;
      place(id, decision);
      set_state(id, JobState::kRunning);
      note("job.started", id, nodes[decision.places.front().node.index()].machine.node.name,
           std::string(words_of(decision.reason)));
      return;
    case sched::DecisionKind::kGrow:
      CHECK(job.state == JobState::kRunning, "job {} grows but does not run", id_of(id));
      return place(id, decision);
    case sched::DecisionKind::kEvict: return evicted(decision);
    case sched::DecisionKind::kReject:
      return end(id, decision.reason == sched::Reason::kDependencyFailed ? JobState::kDependencyFailed : JobState::kNeverFits);
    case sched::DecisionKind::kSkip: return end(id, JobState::kSkipped);
  }
}

void Engine::Impl::place(sched::JobId id, const sched::Decision& decision) {
  JobBook& job = book(id);
  const int32_t attempt = job.launches++;
  for (const sched::Place& place : decision.places) {
    const auto task = static_cast<int32_t>(place.task.index() - job.first_task);
    job.placed.push_back({.task = task, .attempt = attempt, .place = place, .started = now, .metered_from = now});
    if (live) desk.want(key_of(id, job.placed.back()), LaunchWish::kStart);
  }
  std::ranges::sort(job.placed, {}, &PlacedTask::task);
}

void Engine::Impl::evicted(const sched::Decision& decision) {
  const sched::JobId id = decision.job;
  JobBook& job = book(id);
  for (const sched::Place& place : decision.places) {
    const auto task = static_cast<int32_t>(place.task.index() - job.first_task);
    const auto at = std::ranges::find(job.placed, task, &PlacedTask::task);
    CHECK(at != job.placed.end() && !at->leaving, "task {} of job {} is told to leave but is not there", task, id_of(id));
    at->leaving = true;
    if (!at->ended) {
      if (live) desk.want(key_of(id, *at), LaunchWish::kStop);
      continue;
    }
    sched::Event gone;  // its process has ended already
    gone.kind = sched::EventKind::kEvicted;
    gone.job = id;
    gone.task = place.task;
    gone.node = place.node;
    owed.push_back(gone);
    job.placed.erase(at);
  }
  if (staying(job) >= min_tasks(job)) return;
  if (job.leaves_as == JobState::kWaiting) job.leaves_as = ends_as(decision.reason);
  set_state(id, JobState::kLeaving);
  job.failing = false;
  note("job.evicted", id, "", std::string(words_of(decision.reason)));
  if (job.placed.empty()) left(id);
}

int32_t Engine::Impl::staying(const JobBook& job) {
  return static_cast<int32_t>(std::ranges::count_if(job.placed, [](const PlacedTask& t) { return !t.leaving; }));
}

// The last task is gone: the job waits again or has ended.
void Engine::Impl::left(sched::JobId id) {
  if (const JobState then = book(id).leaves_as; then != JobState::kWaiting)
    end(id, then);
  else
    back_to_waiting(id);
}

void Engine::Impl::back_to_waiting(sched::JobId id) {
  book(id).failing = false;
  set_state(id, book(id).on_hold ? JobState::kOnHold : JobState::kWaiting);
}

void Engine::Impl::end(sched::JobId id, JobState state) {
  JobBook& job = book(id);
  CHECK(job.placed.empty(), "job {} ends with tasks on nodes", id_of(id));
  close_account(job);
  set_state(id, state);
  job.ended = now;
  ++ended_in_memory;
  // Where it waits in its cluster still, it is not to run there either.
  if (std::string name = others_job_of(*job.request); live && !name.empty() && state != JobState::kNeverFits)
    dismissed.push_back(std::move(name));
  note("job.ended", id, "", std::string(name_of(state)));
}

void Engine::Impl::set_state(sched::JobId id, JobState state) {
  JobBook& job = book(id);
  QueueBook& queue = queues[job.queue.index()];
  const auto runs = [](JobState s) { return s == JobState::kRunning || s == JobState::kLeaving; };
  queue.waiting += (state == JobState::kWaiting ? 1 : 0) - (job.state == JobState::kWaiting ? 1 : 0);
  queue.running += (runs(state) ? 1 : 0) - (runs(job.state) ? 1 : 0);
  const auto pends = [&](JobState s) { return !runs(s) && !has_ended(s); };
  govern.spend[job.account].waiting += (pends(state) ? 1 : 0) - (pends(job.state) ? 1 : 0);
  if (runs(state))
    govern.on_nodes.insert(id.index());
  else
    govern.on_nodes.erase(id.index());
  job.state = state;
}

void Engine::Impl::note_of_queue(std::string_view kind, std::string_view queue, std::string detail) {
  note({.kind = std::string(kind), .queue = std::string(queue), .detail = std::move(detail)});
}

void Engine::Impl::note(std::string_view kind, sched::JobId job, std::string_view node, std::string detail) {
  note({.kind = std::string(kind),
        .job = job.valid() ? id_of(job) : 0,
        .job_number = job.valid() ? book(job).number : 0,
        .array_index = job.valid() ? book(job).place_in_array() : std::nullopt,
        .queue = job.valid() ? queue_name(book(job).queue) : std::string(),
        .node = std::string(node),
        .detail = std::move(detail)});
}

void Engine::Impl::note(EventView event) {
  event.number = ++last_event;
  event.at = now;
  event.told = ++event_counts[std::string(audience_of(event))];
  event_views.push_back(std::move(event));
  if (event_views.size() > options.events_kept) event_views.pop_front();
}

}  // namespace stint
