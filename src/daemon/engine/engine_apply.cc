// What a record changes, what the scheduler hears of it, and what its decisions change.
//
// Records of one step are applied in the order of their kinds, which is the order in which the scheduler applies events of one
// instant; so the books here and the scheduler's state agree without asking each other.
#include <algorithm>

#include "base/check.h"
#include "daemon/engine/engine_impl.h"
#include "daemon/engine/fleet_change.h"
#include "sched/policy_text.h"
#include "sched/reason_words.h"

namespace stint {
Status Engine::Impl::apply(const Record& record) {
  switch (record.kind) {
    case RecordKind::kFleet: return apply_fleet(record.fleet);
    case RecordKind::kBudget:
    case RecordKind::kBudgetGone: return governance.apply_budget(parser, record);
    case RecordKind::kForget:
      if (scheduler) forget(record.keep);
      return {};
    case RecordKind::kLearn: scheduler->learn(sim::durations_of(record.lengths)); return {};
    case RecordKind::kSubmit: return apply_submit(record);
    case RecordKind::kMachine: return fleet_machines.apply_machine(record.machine);
    case RecordKind::kNodeUp:
    case RecordKind::kNodeDrain:
    case RecordKind::kNodeClear:
    case RecordKind::kNodeDown:
    case RecordKind::kNodeGone: return fleet_machines.apply_node(record);
    case RecordKind::kEnded:
    case RecordKind::kLost: job_runs.apply_report(record.report, record.done); return {};
    case RecordKind::kNotice: trail.note(record.notice); return {};
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
      add_event(events, sched::EventKind::kCheckpoint, id);
      trail.note("job.checkpoint", id, "", "");
      break;
    case RecordKind::kTrial: job_runs.apply_trial(id, record); break;
    case RecordKind::kCancel: job_runs.apply_cancel(id); break;
    case RecordKind::kHold: job_runs.apply_hold(id, true); break;
    case RecordKind::kRelease: job_runs.apply_hold(id, false); break;
    case RecordKind::kAdopt: others.adopt(id, record.nodes); break;
    case RecordKind::kApprove:
    case RecordKind::kRefuse: decide_approval(record); break;
    default: break;
  }
  return {};
}

Status Engine::Impl::apply_fleet(const std::string& json) {
  TRY_ASSIGN(FleetConfig next, parse_fleet_config(json, "fleet"));
  TRY(check_fleet_change(*this, next));
  if (!scheduler) {
    TRY_ASSIGN(sched::Policy policy, sched::parse_policy(next.policy));
    policy.mig = next.mig;
    scheduler.emplace(policy);
  }
  fleet.policy = next.policy;
  fleet.mig = next.mig;
  fleet.attempts_paid = next.attempts_paid;
  fleet.machines_come = next.machines_come;
  if (next.machines_come && !machines_come) {
    scheduler->expect_machines();
    machines_come = true;
  }
  for (uint32_t q = 0; q < fleet.queues.size(); ++q) {
    if (next.queues[q] == fleet.queues[q]) continue;
    scheduler->change_queue(sched::QueueId(q), next.queues[q]);
    fleet.queues[q] = next.queues[q];
    trail.note_queue("queue.changed", next.queues[q].name, "other terms in the configuration");
  }
  for (size_t q = fleet.queues.size(); q < next.queues.size(); ++q) {
    const sched::QueueId id = scheduler->add_queue(next.queues[q]);
    queue_ids.emplace(next.queues[q].name, id);
    queues.emplace_back().posted = Money::nanos(0, next.currency);
    fleet.queues.push_back(next.queues[q]);
  }
  fleet.currency = next.currency;
  fleet.topology = std::move(next.topology);
  fleet.interference = std::move(next.interference);
  for (const NodeId node : prices.repriced_by(next))
    costs.post_all_on(node);
  prices.set_rules(std::move(next.prices));
  fleet_machines.configure(next.nodes);
  fleet.nodes = std::move(next.nodes);
  governance.set_policy(std::move(next.govern));
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
  if (record.number > 0 && record.number != names_of.next(client))
    return invalid("job {} of {} where job {} must come", record.number, client, names_of.next(client));
  const int64_t number = record.number > 0 ? record.number : record.job;
  const auto queue = queue_ids.find(record.request.queue);
  if (queue == queue_ids.end()) return invalid("no queue '{}'", record.request.queue);
  const auto request = std::make_shared<const JobRequest>(record.request);
  const JobRequest& r = *request;
  const MostCost cost = governance.most_cost_of(r);
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
  asks.put_tasks(client, r, *scheduler, spec);
  if (!r.makes.empty()) spec.makes = asks.product_of(client, r.makes);
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
    spend_accounts.open(job, cost, needs_approval);
    ++queues[job.queue.index()].waiting;
    trail.note("job.submitted", id, "", "");
    if (needs_approval) trail.note("job.needs-approval", id, "", record.reason);
    if (needs_approval || r.on_hold) {
      job_runs.set_state(id, needs_approval ? JobState::kNeedsApproval : JobState::kOnHold);
      add_event(events, sched::EventKind::kHold, id);
    }
    add_event(events, sched::EventKind::kSubmit, id);
  }
  if (std::string name = others_job_of(r); !name.empty()) others.add(std::move(name), record.job);
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

}  // namespace stint
