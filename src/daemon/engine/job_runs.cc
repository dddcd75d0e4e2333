#include "daemon/engine/job_runs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
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

void JobRuns::apply_trial(sched::JobId id, const Record& record) {
  JobBook& job = s_.jobs[id.index()];
  const bool runs = job.state == JobState::kRunning || job.state == JobState::kLeaving;
  if (!runs || (!job.reports.empty() && record.rung <= job.reports.back().rung)) return;
  add_event(s_.events, sched::EventKind::kMetric, id);
  s_.events.back().rung = record.rung;
  s_.events.back().loss_micro = record.loss_micro;
  job.reports.push_back({.rung = record.rung, .loss_micro = record.loss_micro, .at = s_.now});
  s_.trail.note("job.trial", id, "",
                fmt::format("rung {}: loss {:g}", record.rung, static_cast<double>(record.loss_micro) / 1e6));
}

/// Its task is no longer there.
void JobRuns::lose(sched::JobId id, size_t at, std::string_view detail) {
  JobBook& job = s_.jobs[id.index()];
  PlacedTask& placed = job.placed[at];
  if (!placed.ended) {
    s_.costs.post(id, placed, s_.now);
    job.ends.push_back({.task = placed.task,
                        .attempt = placed.attempt,
                        .node = s_.nodes[placed.place.node.index()].machine.node.name,
                        .started = placed.started,
                        .ended = s_.now,
                        .exit_code = 0,
                        .signal = 0,
                        .detail = std::string(detail),
                        .gpus = placed.place.gpus,
                        .gpu_milli = s_.costs.gpu_milli(job, placed)});
  }
  job.placed.erase(job.placed.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Some of its tasks are gone. As the scheduler does: enough of them go on, the rest of too few is stopped.
void JobRuns::after_loss(sched::JobId id) {
  JobBook& job = s_.jobs[id.index()];
  s_.touched.push_back(id);
  leave_with_the_others(id);
  if (job.placed.empty()) left(id, s_.events);
}

/// It was told to leave and had done its work before it heard of that. Where all tasks of the job have, the job is done; else they leave
/// like the others.
void JobRuns::left_by_itself(sched::JobId id, size_t at) {
  JobBook& job = s_.jobs[id.index()];
  job.placed[at].ended = true;
  s_.touched.push_back(id);
  if (!std::ranges::all_of(job.placed, &PlacedTask::ended)) return;
  job.placed.clear();
  add_event(s_.events, sched::EventKind::kFinished, id);
  end(id, JobState::kSucceeded);
}

/// A task that was told to leave has.
void JobRuns::leave(sched::JobId id, size_t at) {
  JobBook& job = s_.jobs[id.index()];
  const PlacedTask& placed = job.placed[at];
  add_event(s_.events, sched::EventKind::kEvicted, id);
  s_.events.back().task = sched::TaskId(job.first_task + static_cast<uint32_t>(placed.task));
  s_.events.back().node = placed.place.node;
  job.placed.erase(job.placed.begin() + static_cast<std::ptrdiff_t>(at));
}

/// A job whose tasks have not all done their work runs again with all of them.
void JobRuns::leave_with_the_others(sched::JobId id) {
  const std::vector<PlacedTask>& placed = s_.jobs[id.index()].placed;
  for (size_t i = placed.size(); i-- > 0;)
    if (placed[i].leaving && placed[i].ended) leave(id, i);
}

/// May it be done although it was told to leave? Not one that gives up some of its tasks, or that was taken back.
bool JobRuns::may_be_done(const JobBook& job) {
  return (job.leaves_as == JobState::kWaiting || job.leaves_as == JobState::kTimeLimit) && !job.cancelled &&
         std::ssize(job.placed) == job.request->tasks && std::ranges::all_of(job.placed, &PlacedTask::leaving);
}

void JobRuns::apply_report(const Report& report, bool done) {
  const PlacedTask* found = find_placed(s_.jobs, report.key);
  if (found == nullptr || found->ended) return;
  if (s_.live) s_.desk.forget(report.key);
  const sched::JobId id = find_job(s_.jobs, report.key.job);
  JobBook& job = s_.jobs[id.index()];
  const auto at = static_cast<size_t>(found - job.placed.data());
  PlacedTask& placed = job.placed[at];
  const Instant ended = std::clamp(report.at, placed.metered_from, s_.now);
  s_.costs.post(id, placed, ended);
  const bool lost = report.kind == ReportKind::kLost;
  job.ends.push_back({.task = placed.task,
                      .attempt = placed.attempt,
                      .node = s_.nodes[placed.place.node.index()].machine.node.name,
                      .started = placed.started,
                      .ended = ended,
                      .exit_code = report.status.code,
                      .signal = report.status.signal,
                      .detail = !report.detail.empty()              ? report.detail
                                : lost                              ? std::string("lost")
                                : report.cause != EndCause::kItself ? std::string(name_of(report.cause))
                                                                    : std::string(),
                      .gpus = placed.place.gpus,
                      .gpu_milli = s_.costs.gpu_milli(job, placed)});
  if (job.ends.size() > kEndsKept) job.ends.erase(job.ends.begin());
  const sched::TaskId task(job.first_task + static_cast<uint32_t>(placed.task));
  if (placed.leaving) {
    if (done && may_be_done(job)) return left_by_itself(id, at);
    leave(id, at);
    leave_with_the_others(id);
    if (job.placed.empty())
      left(id, s_.events);
    else
      s_.touched.push_back(id);
    return;
  }
  if (lost && !job.failing && ++job.losses <= kMostLosses) {
    add_event(s_.events, sched::EventKind::kLost, id);
    s_.events.back().task = task;
    s_.events.back().node = placed.place.node;
    job.placed.erase(job.placed.begin() + static_cast<std::ptrdiff_t>(at));
    after_loss(id);
    return;
  }
  if (report.cause == EndCause::kTimeLimit && !job.cancelled) {
    // The backend's own limit, which is later than the scheduler's, came first: the daemon was not there to look.
    job.leaves_as = JobState::kTimeLimit;
    add_event(s_.events, sched::EventKind::kCancel, id);
  }
  placed.ended = true;
  placed.failed = lost || report.status.code != 0 || report.status.signal != 0;
  s_.touched.push_back(id);
}

void JobRuns::settle(sched::JobId id) {
  JobBook& job = s_.jobs[id.index()];
  // With too few tasks left the scheduler takes the rest off.
  if (job.state != JobState::kRunning || static_cast<int32_t>(job.placed.size()) < min_tasks(job)) return;
  const bool all_ended = std::ranges::all_of(job.placed, &PlacedTask::ended);
  const bool any_failed = job.failing || std::ranges::any_of(job.placed, &PlacedTask::failed);
  if (!all_ended) {
    if (!any_failed || job.failing) return;
    job.failing = true;
    if (s_.live)
      for (const PlacedTask& placed : job.placed)
        if (!placed.ended) s_.desk.want(key_of(s_.jobs[id.index()], placed), LaunchWish::kStop);
    return;
  }
  if (job.leaves_as == JobState::kTimeLimit) return;  // the scheduler takes it off and says so
  job.placed.clear();
  job.failing = false;
  if (!any_failed) {
    add_event(s_.events, sched::EventKind::kFinished, id);
    return end(id, JobState::kSucceeded);
  }
  add_event(s_.events, sched::EventKind::kFailed, id);
  s_.trail.note("job.failed", id, job.ends.back().node,
                fmt::format("exit code {}, signal {}", job.ends.back().exit_code, job.ends.back().signal));
  if (job.cancelled)
    end(id, JobState::kCancelled);
  else if (job.failures++ >= job.request->retries)
    end(id, JobState::kFailed);
  else if (const std::string budget = s_.governance.overrun_by_another(job, AttemptsPaid::kFailed, s_.now); !budget.empty())
    stay_failed(id, budget);
  else
    back_to_waiting(id);
}

/// The scheduler would start it again.
void JobRuns::stay_failed(sched::JobId id, const std::string& budget) {
  add_event(s_.events, sched::EventKind::kCancel, id);
  s_.trail.note("job.not-retried", id, "", fmt::format("budget {} has no room for what another attempt may cost", budget));
  end(id, JobState::kFailed);
}

void JobRuns::apply_cancel(sched::JobId id) {
  JobBook& job = s_.jobs[id.index()];
  if (has_ended(job.state)) return;
  add_event(s_.events, sched::EventKind::kCancel, id);
  job.cancelled = true;
  job.leaves_as = JobState::kCancelled;
  if (job.placed.empty()) end(id, JobState::kCancelled);
}

void JobRuns::apply_hold(sched::JobId id, bool on) {
  JobBook& job = s_.jobs[id.index()];
  if (has_ended(job.state) || job.on_hold == on) return;
  job.on_hold = on;
  if (job.state == JobState::kNeedsApproval) return s_.trail.note(on ? "job.held" : "job.released", id, "", "");
  add_event(s_.events, on ? sched::EventKind::kHold : sched::EventKind::kRelease, id);
  s_.trail.note(on ? "job.held" : "job.released", id, "", "");
  if (job.placed.empty()) set_state(id, on ? JobState::kOnHold : JobState::kWaiting);
}

void JobRuns::decided(const sched::Decision& decision) {
  const sched::JobId id = decision.job;
  JobBook& job = s_.jobs[id.index()];
  job.reason = decision.reason;
  switch (decision.kind) {
    case sched::DecisionKind::kStart:
      CHECK(job.placed.empty() && job.state == JobState::kWaiting, "job {} is started but does not wait", s_.jobs[id.index()].id);
      ++job.starts;
      if (!job.first_started) job.first_started = s_.now;
      job.started = s_.now;
      place(id, decision);
      set_state(id, JobState::kRunning);
      s_.trail.note("job.started", id, s_.nodes[decision.places.front().node.index()].machine.node.name,
                    std::string(words_of(decision.reason)));
      return;
    case sched::DecisionKind::kGrow:
      CHECK(job.state == JobState::kRunning, "job {} grows but does not run", s_.jobs[id.index()].id);
      return place(id, decision);
    case sched::DecisionKind::kEvict: return evicted(decision);
    case sched::DecisionKind::kReject:
      return end(id, decision.reason == sched::Reason::kDependencyFailed ? JobState::kDependencyFailed : JobState::kNeverFits);
    case sched::DecisionKind::kSkip: return end(id, JobState::kSkipped);
  }
}

void JobRuns::place(sched::JobId id, const sched::Decision& decision) {
  JobBook& job = s_.jobs[id.index()];
  const int32_t attempt = job.launches++;
  for (const sched::Place& place : decision.places) {
    const auto task = static_cast<int32_t>(place.task.index() - job.first_task);
    job.placed.push_back({.task = task, .attempt = attempt, .place = place, .started = s_.now, .metered_from = s_.now});
    if (s_.live) s_.desk.want(key_of(s_.jobs[id.index()], job.placed.back()), LaunchWish::kStart);
  }
  std::ranges::sort(job.placed, {}, &PlacedTask::task);
}

void JobRuns::evicted(const sched::Decision& decision) {
  const sched::JobId id = decision.job;
  JobBook& job = s_.jobs[id.index()];
  for (const sched::Place& place : decision.places) {
    const auto task = static_cast<int32_t>(place.task.index() - job.first_task);
    const auto at = std::ranges::find(job.placed, task, &PlacedTask::task);
    CHECK(at != job.placed.end() && !at->leaving, "task {} of job {} is told to leave but is not there", task,
          s_.jobs[id.index()].id);
    at->leaving = true;
    if (!at->ended) {
      if (s_.live) s_.desk.want(key_of(s_.jobs[id.index()], *at), LaunchWish::kStop);
      continue;
    }
    sched::Event gone;  // its process has ended already
    gone.kind = sched::EventKind::kEvicted;
    gone.job = id;
    gone.task = place.task;
    gone.node = place.node;
    s_.owed.push_back(gone);
    job.placed.erase(at);
  }
  if (staying(job) >= min_tasks(job)) return;
  if (job.leaves_as == JobState::kWaiting) job.leaves_as = ends_as(decision.reason);
  set_state(id, JobState::kLeaving);
  job.failing = false;
  s_.trail.note("job.evicted", id, "", std::string(words_of(decision.reason)));
  if (job.placed.empty()) left(id, s_.owed);
}

int32_t JobRuns::staying(const JobBook& job) {
  return static_cast<int32_t>(std::ranges::count_if(job.placed, [](const PlacedTask& t) { return !t.leaving; }));
}

/// The last task is gone: the job waits again or has ended. @param next  what the scheduler hears of first
void JobRuns::left(sched::JobId id, std::vector<sched::Event>& next) {
  JobBook& job = s_.jobs[id.index()];
  if (job.leaves_as != JobState::kWaiting) return end(id, job.leaves_as);
  const std::string budget = s_.governance.overrun_by_another(job, AttemptsPaid::kAll, s_.now);
  if (budget.empty()) return back_to_waiting(id);
  job.failing = false;
  s_.trail.note("job.needs-approval", id, "", s_.governance.ask_for_another(job, budget));
  set_state(id, JobState::kNeedsApproval);
  add_event(next, sched::EventKind::kHold, id);
}

void JobRuns::back_to_waiting(sched::JobId id) {
  s_.jobs[id.index()].failing = false;
  s_.governance.promise_again(s_.jobs[id.index()]);
  set_state(id, s_.jobs[id.index()].on_hold ? JobState::kOnHold : JobState::kWaiting);
}

void JobRuns::end(sched::JobId id, JobState state) {
  JobBook& job = s_.jobs[id.index()];
  CHECK(job.placed.empty(), "job {} ends with tasks on nodes", s_.jobs[id.index()].id);
  s_.accounts.close(job);
  set_state(id, state);
  job.ended = s_.now;
  ++s_.ended_in_memory;
  // Where it waits in its cluster still, it is not to run there either.
  if (std::string name = others_job_of(*job.request); s_.live && !name.empty() && state != JobState::kNeverFits)
    s_.dismissed.push_back(std::move(name));
  s_.trail.note("job.ended", id, "", std::string(name_of(state)));
}

void JobRuns::set_state(sched::JobId id, JobState state) {
  JobBook& job = s_.jobs[id.index()];
  QueueBook& queue = s_.queues[job.queue.index()];
  const auto runs = [](JobState s) { return s == JobState::kRunning || s == JobState::kLeaving; };
  queue.waiting += (state == JobState::kWaiting ? 1 : 0) - (job.state == JobState::kWaiting ? 1 : 0);
  queue.running += (runs(state) ? 1 : 0) - (runs(job.state) ? 1 : 0);
  s_.accounts.change_state(id.index(), job, state);
  job.state = state;
}

void JobRuns::lose_tasks_on(NodeId node, std::string_view detail) {
  for (uint32_t j = 0; j < s_.jobs.size(); ++j) {
    bool hit = false;
    for (size_t i = s_.jobs[j].placed.size(); i-- > 0;)
      if (s_.jobs[j].placed[i].place.node == node) {
        hit = true;
        if (!s_.jobs[j].placed[i].ended && s_.live) s_.desk.want(key_of(s_.jobs[j], s_.jobs[j].placed[i]), LaunchWish::kKill);
        lose(sched::JobId(j), i, detail);
      }
    if (hit) after_loss(sched::JobId(j));
  }
}

}  // namespace stint
