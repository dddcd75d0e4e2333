#include "backends/simulated_backend.h"

#include <algorithm>
#include <csignal>
#include <tuple>

namespace stint {
std::vector<std::string> SimulatedBackend::notes() const {
  return {"Simulated: no process runs, no GPU is used; tasks end after the times given for them."};
}

Status SimulatedBackend::start(const Launch& launch, Instant now) {
  const std::string name = format_key(launch.key);
  if (launch.command.empty()) return invalid("launch {}: no command: give a program to run", name);
  if (!launch.simulated) return invalid("launch {}: the simulated backend needs to be told how long it takes", name);
  const SimulatedRun& plan = *launch.simulated;
  if (plan.duration < Duration() || plan.leaving_time < Duration() || launch.time_limit < Duration() || launch.grace < Duration())
    return invalid("launch {}: a time below zero", name);
  if (tasks_.contains(launch.key)) return {};
  Task task{.started = now, .ends = now + plan.duration, .plan = plan, .status = {.code = plan.exit_code, .signal = 0}};
  if (launch.time_limit > Duration() && plan.duration > launch.time_limit) {
    task.ends = std::min(task.ends, now + launch.time_limit + std::min(plan.leaving_time, launch.grace));
    task.status = {.code = 0, .signal = SIGTERM};
    task.cause = EndCause::kTimeLimit;
  }
  tasks_.emplace(launch.key, task);
  due_.emplace(now, launch.key);
  return {};
}

void SimulatedBackend::end_earlier(Tasks::iterator task, Instant at, ExitStatus status, EndCause cause) {
  Task& t = task->second;
  at = std::max(at, t.started);
  if (t.told == Told::kEnd || at >= t.ends) return;
  due_.erase({next_of(t), task->first});
  t.ends = at;
  t.status = status;
  t.cause = cause;
  due_.emplace(next_of(t), task->first);
}

Status SimulatedBackend::signal(const LaunchKey& key, int signal) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return never_started(key);
  if (signal == SIGKILL) end_earlier(found, looked_at_, {.code = 0, .signal = SIGKILL}, EndCause::kItself);
  return {};
}

Status SimulatedBackend::stop(const LaunchKey& key, Duration grace, Instant now) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return never_started(key);
  const Duration wanted = found->second.plan.leaving_time;
  const Duration leaving = std::min(wanted, std::max(grace, Duration()));
  end_earlier(found, now + leaving, {.code = 0, .signal = leaving < wanted ? SIGKILL : SIGTERM}, EndCause::kStopped);
  return {};
}

std::vector<Report> SimulatedBackend::poll(Instant now) {
  std::vector<Report> reports;
  looked_at_ = std::max(looked_at_, now);
  while (!due_.empty() && due_.begin()->first <= now) {
    const LaunchKey key = due_.begin()->second;
    due_.erase(due_.begin());
    Task& task = tasks_.at(key);
    if (task.told == Told::kNothing) {
      task.told = Told::kStart;
      reports.push_back({.kind = ReportKind::kStarted, .key = key, .at = task.started});
      due_.emplace(task.ends, key);
    } else {
      task.told = Told::kEnd;
      reports.push_back({.kind = ReportKind::kEnded, .key = key, .at = task.ends, .status = task.status, .cause = task.cause});
    }
  }
  std::sort(reports.begin(), reports.end(),
            [](const Report& a, const Report& b) { return std::tie(a.at, a.key, a.kind) < std::tie(b.at, b.key, b.kind); });
  return reports;
}

std::optional<Instant> SimulatedBackend::next_report_at() const {
  std::optional<Instant> next;
  if (!due_.empty()) next = due_.begin()->first;
  if (!planned_.empty() && (!next || planned_.begin()->first < *next)) next = planned_.begin()->first;
  if (planner_ && (!next || planned_until_ < *next)) next = planned_until_;
  return next;
}

void SimulatedBackend::plan(std::vector<PlannedNews> news) {
  for (PlannedNews& each : news)
    planned_.emplace(each.at, std::move(each.report));
}

void SimulatedBackend::plan_by(Planner planner, Instant from, Duration ahead) {
  planner_ = std::move(planner);
  planned_until_ = from;
  plan_ahead_ = ahead;
}

std::vector<MachineReport> SimulatedBackend::machines() const {
  std::vector<MachineReport> all;
  for (const auto& [name, report] : told_of_)
    all.push_back(report);
  return all;
}

std::vector<MachineReport> SimulatedBackend::poll_machines(Instant now) {
  std::vector<MachineReport> reports;
  while (planner_ && planned_until_ <= now) {
    const Interval next{planned_until_, planned_until_ + plan_ahead_};
    plan(planner_(next));
    planned_until_ = next.end;
  }
  while (!planned_.empty() && planned_.begin()->first <= now) {
    MachineReport report = std::move(planned_.extract(planned_.begin()).mapped());
    if (report.news == MachineNews::kGone)
      told_of_.erase(report.machine.node.name);
    else
      told_of_.insert_or_assign(report.machine.node.name, report);
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<LaunchKey> SimulatedBackend::running() const {
  std::vector<LaunchKey> keys;
  for (const auto& [key, task] : tasks_)
    if (task.told == Told::kStart) keys.push_back(key);
  return keys;
}

Status SimulatedBackend::forget(const LaunchKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return never_started(key);
  if (found->second.told != Told::kEnd)
    return make_error(ErrorCode::kConflict, "launch {}: has not ended yet: stop it first", format_key(key));
  tasks_.erase(found);
  return {};
}

Result<LogPiece> SimulatedBackend::read_log(const LogQuery& query) const {
  return make_error(ErrorCode::kNotFound, "launch {}: simulated tasks print nothing", format_key(query.key));
}

}  // namespace stint
