// Budgets, quotas and approvals: the books that admission asks, what changes them, and the events that tell of budgets.
//
// What was decided at a door is in the record (why a job needs approval), never decided again when the log is read; the books
// follow from records and the policy as it was then.
#include <simdjson.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text.h"
#include "daemon/engine/engine_impl.h"

namespace stint {
namespace {

/// Budgets are looked at that often while something runs, and that soon after something changed.
constexpr Duration kWatch = Duration::minutes(1);
constexpr Duration kWatchChanged = Duration::seconds(1);
constexpr const char* kApprovedByItself = "stint itself";  // in place of a person's name, none of which has a blank

std::string_view project_of(const JobRequest& request) {
  const auto tag = std::ranges::find(request.tags, kProjectTag, [](const auto& t) { return std::string_view(t.first); });
  return tag == request.tags.end() ? std::string_view() : std::string_view(tag->second);
}

Result<BudgetRule> parse_budget_rule(JsonParser& parser, std::string_view json, Currency currency) {
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(json, "budget"));
  return read_budget_rule(element, "budget", currency);
}

Spend spend_of(const RunPosting& posting) {
  return {.nanos = posting.amount.count_nanos(),
          .micro_gpu_hours = Int128{posting.gpu_milli} * 1'000 * posting.when.length().count_ns() / kHour.count_ns()};
}

/// A share of what all jobs of an array cost.
Spend part_of(const Spend& all, int64_t jobs) {
  return {.nanos = all.nanos / jobs, .micro_gpu_hours = all.micro_gpu_hours / jobs};
}

}  // namespace

// The books.

void Engine::Impl::set_kinds() {
  govern.kinds.clear();
  for (const NodeBook& node : nodes) {
    if (!node.counts()) continue;
    NodeKind kind = kind_of(node.machine, fleet.govern);
    kind.rate = prices_of(node).most();
    const auto alike = std::ranges::find_if(govern.kinds, [&](const NodeKind& known) { return known.is_like(kind); });
    if (alike == govern.kinds.end())
      govern.kinds.push_back(std::move(kind));
    else
      ++alike->machines;
  }
}

std::vector<std::string> Engine::Impl::allowed_nodes(std::string_view client) const {
  std::vector<std::string> names;
  for (const NodeBook& node : nodes)
    if (node.counts() && may_use(fleet.govern, client, kind_of(node.machine, fleet.govern)))
      names.push_back(node.machine.node.name);
  return names;
}

MostCost Engine::Impl::most_cost_of(const JobRequest& request) const {
  return most_cost(request, fleet.govern, client_of(queue_ids.find(request.queue)->second), govern.kinds);
}

void Engine::Impl::open_account(sched::JobId id, const MostCost& cost, bool needs_approval) {
  JobBook& job = book(id);
  const JobRequest& r = *job.request;
  const int32_t jobs_alike = std::max(r.array, 1);
  const int32_t at_once = r.at_once > 0 ? std::min(r.at_once, jobs_alike) : jobs_alike;
  job.account = govern.spend.account(job.queue.index(), r.user, std::string(project_of(r)));
  // Of an array that runs a few at a time, the last ones, which end last, stand for all.
  if (job.array_index >= jobs_alike - at_once) job.claimed_milli = cost.gpu_milli / at_once;
  Account& account = govern.spend[job.account];
  account.gpu_milli += job.claimed_milli;
  ++account.waiting;
  job.promised = part_of(cost.spend, jobs_alike);
  if (!needs_approval) promise(job);
}

void Engine::Impl::promise(JobBook& job) {
  govern.spend[job.account].promised += job.promised;
  govern.changed = true;
}

void Engine::Impl::close_account(JobBook& job) {
  Account& account = govern.spend[job.account];
  account.gpu_milli -= std::exchange(job.claimed_milli, 0);
  // What was not approved was never promised.
  if (job.state != JobState::kNeedsApproval) account.promised -= job.promised;
  job.promised = {};
  govern.changed = true;
}

void Engine::Impl::book_spend(JobBook& job, const RunPosting& posting) {
  const Spend spend = spend_of(posting);
  govern.spend.post(job.account, posting.when, spend);
  const Spend kept = lesser(spend, job.promised);
  job.promised -= kept;
  govern.spend[job.account].promised -= kept;
  govern.changed = true;
}

Engine::Impl::Standing Engine::Impl::standing(Instant at) const {
  Standing standing{.month = month_of(at), .spent = {}, .promised = {}, .burning = {}, .unbounded = {}, .dearer = {}};
  const bool is_new_month = standing.month != govern.spend.month();
  for (const Account& account : govern.spend.accounts()) {
    standing.spent.push_back(is_new_month ? Spend() : account.spent);
    standing.promised.push_back(account.promised);
  }
  standing.burning.resize(standing.spent.size());
  standing.unbounded.resize(standing.spent.size());
  standing.dearer.resize(standing.spent.size());
  const Int128 left_ns = (standing.month.end - at).count_ns();
  for (const uint32_t j : govern.on_nodes) {
    const JobBook& job = jobs[j];
    Spend left = job.promised;
    Int128 burning = 0;
    Int128 dearer = 0;
    for (const PlacedTask& placed : job.placed) {
      if (placed.ended) continue;
      const Int128 hour = cost_of_hour(job, placed).count_nanos();
      burning += hour;
      if (prices_of(nodes[placed.place.node.index()]).vary())
        dearer += cost_over(job, placed, {at, standing.month.end}).count_nanos() - hour * left_ns / kHour.count_ns();
      const Interval when{placed.metered_from, at};
      if (when.empty()) continue;
      const Spend spend{
          .nanos = cost_over(job, placed, when).count_nanos(),
          .micro_gpu_hours = Int128{gpu_milli(job, placed.place)} * 1'000 * when.length().count_ns() / kHour.count_ns()};
      standing.spent[job.account] += share_of(spend, when, standing.month);
      const Spend kept = lesser(spend, left);
      left -= kept;
      standing.promised[job.account] -= kept;
    }
    standing.burning[job.account] += burning;
    standing.dearer[job.account] += dearer;
    if (job.request->time_limit == sched::kUnlimited)
      standing.unbounded[job.account] += std::max<Int128>(0, burning * left_ns / kHour.count_ns() + dearer - left.nanos);
  }
  return standing;
}

/// Work goes on at the rate of now and the prices that are known ahead, or all that is promised is spent, whichever is more.
Engine::Impl::BudgetOutlook Engine::Impl::outlook_of(const BudgetRule& rule, const Standing& standing, Instant at) const {
  const BudgetStanding budget = standing_of(rule, standing.spent, standing.promised);
  BudgetOutlook outlook;
  outlook.month_end = budget.spent + budget.promised;
  for (size_t a = 0; a < standing.burning.size(); ++a) {
    const Account& account = govern.spend.accounts()[a];
    if (!pays(rule, account.queue, account.project)) continue;
    outlook.burning += standing.burning[a];
    outlook.dearer += standing.dearer[a];
    outlook.month_end += standing.unbounded[a];
  }
  outlook.certain_over = outlook.month_end > rule.per_month.count_nanos();
  const Int128 left_ns = (standing.month.end - at).count_ns();
  const Int128 rest = outlook.burning * left_ns / kHour.count_ns() + outlook.dearer;
  outlook.month_end = std::max(outlook.month_end, budget.spent + rest);
  const Int128 left = Int128{rule.per_month.count_nanos()} - budget.spent;
  outlook.over = outlook.month_end > rule.per_month.count_nanos();
  if (!outlook.over || outlook.burning <= 0) return outlook;
  const Int128 open = std::max<Int128>(0, left);
  // Where prices change, by what the rest of the month costs on average.
  const Int128 lasts_ns = outlook.dearer == 0 || rest <= 0 ? open * kHour.count_ns() / outlook.burning : open * left_ns / rest;
  if (lasts_ns < left_ns) outlook.runs_out = at + Duration::nanoseconds(static_cast<int64_t>(lasts_ns));
  return outlook;
}

std::vector<const BudgetRule*> Engine::Impl::all_budgets() const {
  std::vector<const BudgetRule*> all;
  for (const auto* rules : {&fleet.govern.budgets, &govern.budgets})
    for (const BudgetRule& rule : *rules)
      all.push_back(&rule);
  return all;
}

bool Engine::Impl::pays(const BudgetRule& rule, uint32_t queue, std::string_view project) const {
  if (!rule.project.empty() && rule.project != project) return false;
  if (rule.queue.empty()) return true;
  for (sched::QueueId q(queue); q.valid(); q = fleet.queues[q.index()].parent)
    if (queue_name(q) == rule.queue) return true;
  return false;
}

BudgetStanding Engine::Impl::standing_of(const BudgetRule& rule, const std::vector<Spend>& spent,
                                         const std::vector<Spend>& promised) const {
  BudgetStanding standing{.rule = &rule};
  for (size_t a = 0; a < spent.size(); ++a) {
    const Account& account = govern.spend.accounts()[a];
    if (!pays(rule, account.queue, account.project)) continue;
    standing.spent += spent[a].nanos;
    standing.promised += promised[a].nanos;
  }
  return standing;
}

// At the door.

bool Engine::Impl::governed() const {
  return fleet.govern.approval_above || !fleet.govern.clients.empty() || !fleet.govern.budgets.empty() || !govern.budgets.empty();
}

/// What a job is held against at the door: claims of what is staged included.
AdmissionFacts Engine::Impl::facts_of(const JobRequest& request) {
  if (!standing_now) standing_now = standing(shown_at());
  const sched::QueueId queue = queue_ids.find(request.queue)->second;
  AdmissionFacts facts;
  facts.client = client_of(queue);
  facts.month = standing_now->month;
  facts.cost = most_cost_of(request);
  for (const BudgetRule* rule : all_budgets())
    if (pays(*rule, queue.index(), project_of(request))) {
      facts.budgets.push_back(standing_of(*rule, standing_now->spent, standing_now->promised));
      for (const Account& claimed : staged_spend.accounts())
        if (pays(*rule, claimed.queue, claimed.project)) facts.budgets.back().promised += claimed.promised.nanos;
    }
  const auto count = [&](const Account& account, const Spend& spent, const Spend& promised) {
    if (client_of(sched::QueueId(account.queue)) != facts.client) return;
    for (QuotaUse* use : {&facts.client_use, account.user == request.user ? &facts.user_use : nullptr}) {
      if (use == nullptr) continue;
      use->gpu_milli += account.gpu_milli;
      use->waiting += account.waiting;
      use->micro_gpu_hours += spent.micro_gpu_hours + promised.micro_gpu_hours;
    }
  };
  if (fleet.govern.rules_of(facts.client) != nullptr) {
    for (size_t a = 0; a < standing_now->spent.size(); ++a)
      count(govern.spend.accounts()[a], standing_now->spent[a], standing_now->promised[a]);
    for (const Account& claimed : staged_spend.accounts())
      count(claimed, claimed.spent, claimed.promised);
  }
  return facts;
}

/// Held to what waits of its user and client, staged jobs included.
Status Engine::Impl::check_backlog_of(const JobRequest& request, AdmissionRefusal* why) const {
  const std::string& client = client_of(queue_ids.find(request.queue)->second);
  int64_t of_user = 0, of_client = 0;
  for (const SpendBook* book : {&govern.spend, &staged_spend})
    for (const Account& account : book->accounts()) {
      if (account.waiting == 0 || client_of(sched::QueueId(account.queue)) != client) continue;
      of_client += account.waiting;
      if (account.user == request.user) of_user += account.waiting;
    }
  return check_backlog(request, client, of_user, of_client, fleet.govern.rules_of(client), why);
}

/// @return why somebody must approve it first; empty = no approval is needed. Claims what it asks for until the step is written.
Result<std::string> Engine::Impl::admit_submit(const JobRequest& request, AdmissionRefusal* why) {
  // Where machines may come, it waits for one that it fits.
  if (!machines_come) TRY(check_possible(request, fleet.govern, client_of(queue_ids.find(request.queue)->second), govern.kinds));
  const uint32_t queue = queue_ids.find(request.queue)->second.index();
  TRY(check_backlog_of(request, why));
  if (!governed()) {
    staged_spend[staged_spend.account(queue, request.user, std::string(project_of(request)))].waiting +=
        std::max(request.array, 1);
    return std::string();
  }
  const AdmissionFacts facts = facts_of(request);
  TRY_ASSIGN(Verdict verdict, admit(request, facts, fleet.govern, why));
  Account& claim = staged_spend[staged_spend.account(queue, request.user, std::string(project_of(request)))];
  claim.gpu_milli += facts.cost.gpu_milli;
  claim.waiting += std::max(request.array, 1);
  if (verdict.needs_approval.empty()) claim.promised += facts.cost.spend;
  return std::move(verdict.needs_approval);
}

// Approvals.

const ApprovalView* Engine::Impl::approval_of(const JobBook& job) const {
  const auto known = govern.approvals.find(first_decided_with(job));
  return known == govern.approvals.end() ? nullptr : &known->second;
}

std::span<const JobBook> Engine::Impl::decided_with(int64_t first) const {
  const auto from = std::ranges::lower_bound(jobs, first, {}, &JobBook::id);
  const auto to = std::find_if(from, jobs.end(), [&](const JobBook& job) { return first_decided_with(job) != first; });
  return {from, to};
}

/// The first job of those decided together that waits for approval; 0 = none does.
int64_t Engine::Impl::first_unapproved(int64_t first) const {
  const std::span<const JobBook> together = decided_with(first);
  const auto waits = std::ranges::find(together, JobState::kNeedsApproval, &JobBook::state);
  return waits == together.end() ? 0 : waits->id;
}

Status Engine::Impl::stage_decision(RecordKind kind, int64_t id, std::string reason, const CommandInfo& by) {
  TRY(check_writable());
  TRY_ASSIGN(const JobBook* job, find_job(id));
  id = first_decided_with(*job);
  if (first_unapproved(id) == 0)
    return make_error(ErrorCode::kConflict, "job {} does not wait for approval: it is {}", public_id_of(id), name_of(job->state));
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.job = id;
  record.reason = std::move(reason);
  staged.push_back(std::move(record));
  return {};
}

Status Engine::stage_approve(int64_t job, const CommandInfo& by) {
  return impl_->stage_decision(RecordKind::kApprove, job, "", by);
}

Status Engine::stage_refuse(int64_t job, std::string reason, const CommandInfo& by) {
  return impl_->stage_decision(RecordKind::kRefuse, job, std::move(reason), by);
}

/// Jobs wait for approval for want of money: when a budget has room again, the oldest that would be let in now is. One at a time, as what
/// it may cost is promised with it.
void Engine::Impl::look_at_approvals(Instant at) {
  if (read_only || at < approvals_looked_at + kWatchChanged || govern.approvals.empty()) return;
  approvals_looked_at = at;
  for (const auto& [first, approval] : govern.approvals) {
    if (approval.decided || first_unapproved(first) == 0) continue;
    const std::span<const JobBook> together = decided_with(first);
    const JobRequest& request = *together.front().request;
    AdmissionFacts facts = facts_of(request);
    for (const JobBook& job : together)  // it asks for nothing beside what it has asked for already
      for (QuotaUse* use : {&facts.client_use, &facts.user_use})
        if (job.state == JobState::kNeedsApproval) {
          use->gpu_milli -= job.claimed_milli;
          --use->waiting;
        }
    const Result<Verdict> verdict = admit(request, facts, fleet.govern, nullptr);
    if (!verdict.ok() || !verdict->needs_approval.empty()) continue;
    Record record;
    record.kind = RecordKind::kApprove;
    record.actor = kApprovedByItself;
    record.job = first;
    staged.push_back(std::move(record));
    return;
  }
}

void Engine::Impl::decide_approval(const Record& record) {
  const auto approval = govern.approvals.find(record.job);
  if (approval == govern.approvals.end() || approval->second.decided) return;
  const bool approved = record.kind == RecordKind::kApprove;
  approval->second.by = record.actor;
  approval->second.decided = now;
  approval->second.approved = approved;
  approval->second.reason = record.reason;
  const std::span<const JobBook> together = decided_with(record.job);
  for (size_t i = 0; i < together.size(); ++i) {
    const sched::JobId id(static_cast<uint32_t>(&together[i] - jobs.data()));
    JobBook& job = book(id);
    if (job.state != JobState::kNeedsApproval) continue;  // cancelled meanwhile
    if (!approved) {
      event_of(sched::EventKind::kCancel, id);
      note("job.refused", id, "", fmt::format("by {}{}{}", record.actor, record.reason.empty() ? "" : ": ", record.reason));
      end(id, JobState::kRefused);
      continue;
    }
    promise(job);
    note("job.approved", id, "",
         fmt::format("by {}{}", record.actor, record.actor == kApprovedByItself ? ": it needs none any more" : ""));
    set_state(id, job.on_hold ? JobState::kOnHold : JobState::kWaiting);
    if (!job.on_hold) event_of(sched::EventKind::kRelease, id);
  }
}

// Budgets.

Status Engine::stage_budget(const BudgetRule& rule, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.check_writable());
  Record record;
  record.kind = RecordKind::kBudget;
  record.actor = by.actor;
  record.budget = to_json(rule).dump();
  TRY_ASSIGN(const BudgetRule read, parse_budget_rule(s.parser, record.budget, s.currency()));
  if (std::ranges::find(s.fleet.govern.budgets, read.name, &BudgetRule::name) != s.fleet.govern.budgets.end())
    return make_error(ErrorCode::kConflict, "budget {} is in the configuration file: change it there and reload", read.name);
  if (!read.queue.empty() && !s.queue_ids.contains(read.queue))
    return make_error(ErrorCode::kNotFound, "field 'queue': there is no queue '{}'", excerpt(read.queue));
  s.staged.push_back(std::move(record));
  return {};
}

Status Engine::stage_remove_budget(std::string_view name, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.check_writable());
  if (std::ranges::find(s.fleet.govern.budgets, name, &BudgetRule::name) != s.fleet.govern.budgets.end())
    return make_error(ErrorCode::kConflict, "budget {} is in the configuration file: remove it there and reload", name);
  if (std::ranges::find(s.govern.budgets, name, &BudgetRule::name) == s.govern.budgets.end())
    return make_error(ErrorCode::kNotFound, "there is no budget {}", excerpt(name));
  Record record;
  record.kind = RecordKind::kBudgetGone;
  record.actor = by.actor;
  record.budget = name;
  s.staged.push_back(std::move(record));
  return {};
}

Status Engine::Impl::apply_budget(const Record& record) {
  govern.changed = true;
  if (record.kind == RecordKind::kBudgetGone) {
    std::erase_if(govern.budgets, [&](const BudgetRule& rule) { return rule.name == record.budget; });
    return {};
  }
  TRY_ASSIGN(BudgetRule rule, parse_budget_rule(parser, record.budget, currency()));
  const auto place = std::ranges::lower_bound(govern.budgets, rule.name, {}, &BudgetRule::name);
  govern.told.erase(rule.name);  // another amount: what was told of is told again
  if (place != govern.budgets.end() && place->name == rule.name)
    *place = std::move(rule);
  else
    govern.budgets.insert(place, std::move(rule));
  return {};
}

Instant Engine::Impl::next_watch() const {
  if (fleet.govern.budgets.empty() && govern.budgets.empty()) return sched::kNever;
  if (govern.changed) return govern.watched + kWatchChanged;
  return govern.on_nodes.empty() ? sched::kNever : govern.watched + kWatch;
}

/// Tells of thresholds that were reached and of promises that go beyond a budget, once each a month.
void Engine::Impl::watch_budgets() {
  if (now < next_watch()) return;
  govern.changed = false;
  govern.watched = now;
  const Standing at = standing(now);
  for (const BudgetRule* rule : all_budgets()) {
    const BudgetStanding budget = standing_of(*rule, at.spent, at.promised);
    const Int128 amount = rule->per_month.count_nanos();
    GovernBook::Told& told = govern.told[rule->name];
    const Interval month = govern.spend.month();
    if (told.month != month) told = {.month = month};
    const auto tell = [&](std::string_view kind, const std::string& what) {
      note_of_queue(kind, rule->queue,
                    fmt::format("budget {} for {}: {} of {}: {} spent, {} promised to jobs that wait or run", rule->name,
                                format_date(month.begin).substr(0, 7), what, rule->per_month.to_text(),
                                money_of(budget.spent, currency()).to_text(), money_of(budget.promised, currency()).to_text()));
    };
    int reached = 0;
    for (const int percent : rule->thresholds_percent)
      if (budget.spent * 100 >= amount * percent) reached = percent;
    if (reached > told.percent) {
      told.percent = reached;
      tell("budget.threshold", fmt::format("{} %", reached));
    }
    const bool over = outlook_of(*rule, at, now).certain_over;
    if (over && !told.forecast) tell("budget.forecast", "more than all");
    told.forecast = over;
  }
}

// Views.

std::vector<BudgetView> Engine::budgets() const {
  const Impl& s = *impl_;
  const Impl::Standing at = s.standing(s.shown_at());
  std::vector<BudgetView> views;
  const std::vector<const BudgetRule*> rules = s.all_budgets();
  for (size_t i = 0; i < rules.size(); ++i) {
    const BudgetRule& rule = *rules[i];
    const BudgetStanding budget = s.standing_of(rule, at.spent, at.promised);
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
    const Impl::BudgetOutlook outlook = s.outlook_of(rule, at, s.shown_at());
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
    if (const int64_t first = approval.decided ? 0 : impl_->first_unapproved(id); first > 0) waiting.push_back(*job(first));
  return waiting;
}

}  // namespace stint
