// Budgets and approvals: commands that change them, and what is shown of them (governance.h).
#include <simdjson.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text.h"
#include "daemon/engine/engine_impl.h"

namespace stint {
// Approvals.

Status Engine::Impl::stage_decision(RecordKind kind, int64_t id, std::string reason, const CommandInfo& by) {
  TRY(commands.check_writable());
  TRY_ASSIGN(const JobBook* job, commands.find_job(id));
  id = governance.first_decided_with(*job);
  if (governance.first_unapproved(id) == 0)
    return make_error(ErrorCode::kConflict, "job {} does not wait for approval: it is {}", names_of.public_id_of(id),
                      name_of(job->state));
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.job = id;
  record.reason = std::move(reason);
  staged.put(std::move(record));
  return {};
}

Status Engine::stage_approve(int64_t job, const CommandInfo& by) {
  return impl_->stage_decision(RecordKind::kApprove, job, "", by);
}

Status Engine::stage_refuse(int64_t job, std::string reason, const CommandInfo& by) {
  return impl_->stage_decision(RecordKind::kRefuse, job, std::move(reason), by);
}

void Engine::Impl::decide_approval(const Record& record) {
  const auto approval = govern.approvals.find(record.job);
  if (approval == govern.approvals.end() || approval->second.decided) return;
  const bool approved = record.kind == RecordKind::kApprove;
  approval->second.by = record.actor;
  approval->second.decided = now;
  approval->second.approved = approved;
  approval->second.reason = record.reason;
  const std::span<const JobBook> together = governance.decided_with(record.job);
  for (size_t i = 0; i < together.size(); ++i) {
    const sched::JobId id(static_cast<uint32_t>(&together[i] - jobs.data()));
    JobBook& job = book(id);
    if (job.state != JobState::kNeedsApproval) continue;  // cancelled meanwhile
    if (!approved) {
      add_event(events, sched::EventKind::kCancel, id);
      trail.note("job.refused", id, "", fmt::format("by {}{}{}", record.actor, record.reason.empty() ? "" : ": ", record.reason));
      job_runs.end(id, JobState::kRefused);
      continue;
    }
    spend_accounts.promise(job);
    trail.note("job.approved", id, "",
               fmt::format("by {}{}", record.actor, record.actor == kApprovedByItself ? ": it needs none any more" : ""));
    job_runs.set_state(id, job.on_hold ? JobState::kOnHold : JobState::kWaiting);
    if (!job.on_hold) add_event(events, sched::EventKind::kRelease, id);
  }
}

// Budgets.

Status Engine::stage_budget(const BudgetRule& rule, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.commands.check_writable());
  Record record;
  record.kind = RecordKind::kBudget;
  record.actor = by.actor;
  record.budget = to_json(rule).dump();
  TRY_ASSIGN(const BudgetRule read, parse_budget_rule(s.parser, record.budget, s.currency()));
  if (std::ranges::find(s.fleet.govern.budgets, read.name, &BudgetRule::name) != s.fleet.govern.budgets.end())
    return make_error(ErrorCode::kConflict, "budget {} is in the configuration file: change it there and reload", read.name);
  if (!read.queue.empty() && !s.queue_ids.contains(read.queue))
    return make_error(ErrorCode::kNotFound, "field 'queue': there is no queue '{}'", excerpt(read.queue));
  s.staged.put(std::move(record));
  return {};
}

Status Engine::stage_remove_budget(std::string_view name, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.commands.check_writable());
  if (std::ranges::find(s.fleet.govern.budgets, name, &BudgetRule::name) != s.fleet.govern.budgets.end())
    return make_error(ErrorCode::kConflict, "budget {} is in the configuration file: remove it there and reload", name);
  if (std::ranges::find(s.govern.budgets, name, &BudgetRule::name) == s.govern.budgets.end())
    return make_error(ErrorCode::kNotFound, "there is no budget {}", excerpt(name));
  Record record;
  record.kind = RecordKind::kBudgetGone;
  record.actor = by.actor;
  record.budget = name;
  s.staged.put(std::move(record));
  return {};
}

// Views.

std::vector<BudgetView> Engine::budgets() const {
  const Impl& s = *impl_;
  const Governance::Standing at = s.governance.standing(s.shown_at());
  std::vector<BudgetView> views;
  const std::vector<const BudgetRule*> rules = s.governance.all_budgets();
  for (size_t i = 0; i < rules.size(); ++i) {
    const BudgetRule& rule = *rules[i];
    const BudgetStanding budget = s.governance.standing_of(rule, at.spent, at.promised);
    BudgetView& view = views.emplace_back();
    view.name = rule.name;
    view.queue = rule.queue;
    view.project = rule.project;
    view.per_month = rule.per_month;
    view.thresholds_percent = rule.thresholds_percent;
    view.at_limit = name_of(rule.at_limit);
    view.configured = i < s.fleet.govern.budgets.size();
    view.month = at.month;
    view.spent = money_of(budget.spent, s.currency());
    view.promised = money_of(budget.promised, s.currency());
    for (const int percent : rule.thresholds_percent)
      if (budget.spent * 100 >= Int128{rule.per_month.count_nanos()} * percent) view.reached_percent = percent;
    const Governance::Outlook outlook = s.governance.outlook_of(rule, at, s.shown_at());
    view.forecast_over = outlook.over;
    view.burn_per_hour = money_of(outlook.burning, s.currency());
    view.month_end = money_of(outlook.month_end, s.currency());
    view.runs_out = outlook.runs_out;
  }
  return views;
}

std::vector<JobView> Engine::approvals() const {
  std::vector<JobView> waiting;
  for (const auto& [id, approval] : impl_->govern.approvals)
    if (const int64_t first = approval.decided ? 0 : impl_->governance.first_unapproved(id); first > 0)
      waiting.push_back(*job(first));
  return waiting;
}

}  // namespace stint
