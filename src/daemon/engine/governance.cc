#include "daemon/engine/governance.h"

#include <simdjson.h>
#include <algorithm>
#include <utility>

namespace stint {
namespace {

/// Budgets are looked at that often while something runs, and that soon after something changed.
constexpr Duration kWatch = Duration::minutes(1);
constexpr Duration kWatchChanged = Duration::seconds(1);

}  // namespace

Result<BudgetRule> parse_budget_rule(JsonParser& parser, std::string_view json, Currency currency) {
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(json, "budget"));
  return read_budget_rule(element, "budget", currency);
}

void Governance::set_policy(GovernPolicy policy) {
  for (const BudgetRule& rule : policy.budgets) {
    const auto before = std::ranges::find(s_.fleet.govern.budgets, rule.name, &BudgetRule::name);
    // Another amount: what was told of is told again.
    if (before == s_.fleet.govern.budgets.end() || before->per_month != rule.per_month) book_.told.erase(rule.name);
    // What the file says comes before what a command said.
    std::erase_if(book_.budgets, [&](const BudgetRule& set) { return set.name == rule.name; });
  }
  s_.fleet.govern = std::move(policy);
  set_kinds();
  book_.changed = true;
}

void Governance::set_kinds() {
  book_.kinds.clear();
  for (const NodeBook& node : s_.nodes) {
    if (!node.counts()) continue;
    NodeKind kind = kind_of(node.machine, s_.fleet.govern);
    kind.rate = s_.prices.of(node).most();
    const auto alike = std::ranges::find_if(book_.kinds, [&](const NodeKind& known) { return known.is_like(kind); });
    if (alike == book_.kinds.end())
      book_.kinds.push_back(std::move(kind));
    else
      ++alike->machines;
  }
}

std::vector<std::string> Governance::allowed_nodes(std::string_view client) const {
  std::vector<std::string> names;
  for (const NodeBook& node : s_.nodes)
    if (node.counts() && may_use(s_.fleet.govern, client, kind_of(node.machine, s_.fleet.govern)))
      names.push_back(node.machine.node.name);
  return names;
}

MostCost Governance::most_cost_of(const JobRequest& request) const {
  return most_cost(request, s_.fleet.govern, client_of(s_.fleet, s_.queue_ids.find(request.queue)->second), book_.kinds);
}

Governance::Standing Governance::standing(Instant at) const {
  Standing standing{.month = month_of(at), .spent = {}, .promised = {}, .burning = {}, .unbounded = {}, .dearer = {}};
  const bool is_new_month = standing.month != book_.spend.month();
  for (const Account& account : book_.spend.accounts()) {
    standing.spent.push_back(is_new_month ? Spend() : account.spent);
    standing.promised.push_back(account.promised);
  }
  standing.burning.resize(standing.spent.size());
  standing.unbounded.resize(standing.spent.size());
  standing.dearer.resize(standing.spent.size());
  const Int128 left_ns = (standing.month.end - at).count_ns();
  for (const uint32_t j : book_.on_nodes) {
    const JobBook& job = s_.jobs[j];
    Spend left = job.promised;
    Int128 burning = 0;
    Int128 dearer = 0;
    for (const PlacedTask& placed : job.placed) {
      if (placed.ended) continue;
      const Int128 hour = s_.costs.cost_of_hour(job, placed).count_nanos();
      burning += hour;
      if (s_.prices.of(s_.nodes[placed.place.node.index()]).vary())
        dearer += s_.costs.cost_over(job, placed, {at, standing.month.end}).count_nanos() - hour * left_ns / kHour.count_ns();
      const Interval when{placed.metered_from, at};
      if (when.empty()) continue;
      const Spend spend{
          .nanos = s_.costs.cost_over(job, placed, when).count_nanos(),
          .micro_gpu_hours = Int128{s_.costs.gpu_milli(job, placed)} * 1'000 * when.length().count_ns() / kHour.count_ns()};
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

Governance::Outlook Governance::outlook_of(const BudgetRule& rule, const Standing& standing, Instant at) const {
  const BudgetStanding budget = standing_of(rule, standing.spent, standing.promised);
  Outlook outlook;
  outlook.month_end = budget.spent + budget.promised;
  for (size_t a = 0; a < standing.burning.size(); ++a) {
    const Account& account = book_.spend.accounts()[a];
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

/// What one attempt of it can cost at most.
Spend Governance::cost_of_attempt(const JobBook& job) const {
  const Spend all = most_cost_of(*job.request).spend;
  const int64_t jobs = std::max(job.request->array, 1);
  return {.nanos = all.nanos / jobs, .micro_gpu_hours = all.micro_gpu_hours / jobs};
}

void Governance::promise_again(JobBook& job) {
  if (s_.fleet.attempts_paid == AttemptsPaid::kFirst || !governed() || job.state == JobState::kNeedsApproval) return;
  Spend more = cost_of_attempt(job);
  more -= lesser(more, job.promised);
  job.promised += more;
  book_.spend[job.account].promised += more;
  book_.changed = true;
}

std::string Governance::overrun_by_another(const JobBook& job, AttemptsPaid since, Instant at) const {
  if (s_.fleet.attempts_paid < since) return "";
  const Spend full = cost_of_attempt(job);
  return overrun_by(job, full.nanos - lesser(full, job.promised).nanos, at);
}

/// The first budget that what this job may cost beyond all that is promised could overrun.
std::string Governance::overrun_by(const JobBook& job, Int128 more_nanos, Instant at) const {
  const std::vector<const BudgetRule*> all = all_budgets();
  if (all.empty() || more_nanos <= 0) return "";
  const Standing stands = standing(at);
  for (const BudgetRule* rule : all) {
    if (rule->at_limit == AtLimit::kWarn || !pays(*rule, job.queue.index(), project_of(*job.request))) continue;
    const BudgetStanding budget = standing_of(*rule, stands.spent, stands.promised);
    if (budget.spent + budget.promised + more_nanos > rule->per_month.count_nanos()) return rule->name;
  }
  return "";
}

std::string Governance::ask_for_another(JobBook& job, const std::string& budget) {
  book_.spend[job.account].promised -= job.promised;
  job.promised = cost_of_attempt(job);
  book_.changed = true;
  ApprovalView& approval = book_.approvals[first_decided_with(job)];
  const bool is_asked_already = first_unapproved(first_decided_with(job)) != 0;
  const Money cost = money_of(job.promised.nanos, s_.fleet.currency);
  approval = {
      .why = fmt::format("it has to run again, and budget {} has no room for what that may cost: {}. It goes on by itself when "
                         "there is room",
                         budget, cost.to_text()),
      .asked_by = approval.asked_by.empty() ? job.request->user : approval.asked_by,
      .most_cost = is_asked_already ? approval.most_cost + cost : cost,
      .by = "",
      .decided = {},
      .approved = false,
      .reason = ""};
  return approval.why;
}

std::vector<const BudgetRule*> Governance::all_budgets() const {
  std::vector<const BudgetRule*> all;
  for (const auto* rules : {&s_.fleet.govern.budgets, &book_.budgets})
    for (const BudgetRule& rule : *rules)
      all.push_back(&rule);
  return all;
}

bool Governance::pays(const BudgetRule& rule, uint32_t queue, std::string_view project) const {
  if (!rule.project.empty() && rule.project != project) return false;
  if (rule.queue.empty()) return true;
  for (sched::QueueId q(queue); q.valid(); q = s_.fleet.queues[q.index()].parent)
    if (s_.fleet.queues[q.index()].name == rule.queue) return true;
  return false;
}

BudgetStanding Governance::standing_of(const BudgetRule& rule, const std::vector<Spend>& spent,
                                       const std::vector<Spend>& promised) const {
  BudgetStanding standing{.rule = &rule};
  for (size_t a = 0; a < spent.size(); ++a) {
    const Account& account = book_.spend.accounts()[a];
    if (!pays(rule, account.queue, account.project)) continue;
    standing.spent += spent[a].nanos;
    standing.promised += promised[a].nanos;
  }
  return standing;
}

bool Governance::governed() const {
  return s_.fleet.govern.approval_above || !s_.fleet.govern.clients.empty() || !s_.fleet.govern.budgets.empty() ||
         !book_.budgets.empty();
}

/// What a job is held against at the door: claims of what is staged included.
AdmissionFacts Governance::facts_of(const JobRequest& request, Instant at) {
  if (!standing_now_) standing_now_ = standing(at);
  const sched::QueueId queue = s_.queue_ids.find(request.queue)->second;
  AdmissionFacts facts;
  facts.client = client_of(s_.fleet, queue);
  facts.month = standing_now_->month;
  facts.cost = most_cost_of(request);
  for (const BudgetRule* rule : all_budgets())
    if (pays(*rule, queue.index(), project_of(request))) {
      facts.budgets.push_back(standing_of(*rule, standing_now_->spent, standing_now_->promised));
      for (const Account& claimed : claims_.accounts())
        if (pays(*rule, claimed.queue, claimed.project)) facts.budgets.back().promised += claimed.promised.nanos;
    }
  const auto count = [&](const Account& account, const Spend& spent, const Spend& promised) {
    if (client_of(s_.fleet, sched::QueueId(account.queue)) != facts.client) return;
    for (QuotaUse* use : {&facts.client_use, account.user == request.user ? &facts.user_use : nullptr}) {
      if (use == nullptr) continue;
      use->gpu_milli += account.gpu_milli;
      use->waiting += account.waiting;
      use->micro_gpu_hours += spent.micro_gpu_hours + promised.micro_gpu_hours;
    }
  };
  if (s_.fleet.govern.rules_of(facts.client) != nullptr) {
    for (size_t a = 0; a < standing_now_->spent.size(); ++a)
      count(book_.spend.accounts()[a], standing_now_->spent[a], standing_now_->promised[a]);
    for (const Account& claimed : claims_.accounts())
      count(claimed, claimed.spent, claimed.promised);
  }
  return facts;
}

/// Held to what waits of its user and client, staged jobs included.
Status Governance::check_backlog_of(const JobRequest& request, AdmissionRefusal* why) const {
  const std::string& client = client_of(s_.fleet, s_.queue_ids.find(request.queue)->second);
  int64_t of_user = 0, of_client = 0;
  for (const SpendBook* book : {&std::as_const(book_.spend), &claims_})
    for (const Account& account : book->accounts()) {
      if (account.waiting == 0 || client_of(s_.fleet, sched::QueueId(account.queue)) != client) continue;
      of_client += account.waiting;
      if (account.user == request.user) of_user += account.waiting;
    }
  return check_backlog(request, client, of_user, of_client, s_.fleet.govern.rules_of(client), why);
}

Result<std::string> Governance::admit_submit(const JobRequest& request, Instant at, AdmissionRefusal* why) {
  // Where machines may come, it waits for one that it fits.
  if (!s_.machines_come)
    TRY(check_possible(request, s_.fleet.govern, client_of(s_.fleet, s_.queue_ids.find(request.queue)->second), book_.kinds));
  const uint32_t queue = s_.queue_ids.find(request.queue)->second.index();
  TRY(check_backlog_of(request, why));
  if (!governed()) {
    claims_[claims_.account(queue, request.user, std::string(project_of(request)))].waiting += std::max(request.array, 1);
    return std::string();
  }
  const AdmissionFacts facts = facts_of(request, at);
  TRY_ASSIGN(Verdict verdict, admit(request, facts, s_.fleet.govern, why));
  Account& claim = claims_[claims_.account(queue, request.user, std::string(project_of(request)))];
  claim.gpu_milli += facts.cost.gpu_milli;
  claim.waiting += std::max(request.array, 1);
  if (verdict.needs_approval.empty()) claim.promised += facts.cost.spend;
  return std::move(verdict.needs_approval);
}

const ApprovalView* Governance::approval_of(const JobBook& job) const {
  const auto known = book_.approvals.find(first_decided_with(job));
  return known == book_.approvals.end() ? nullptr : &known->second;
}

std::span<const JobBook> Governance::decided_with(int64_t first) const {
  const auto from = std::ranges::lower_bound(s_.jobs, first, {}, &JobBook::id);
  const auto to = std::find_if(from, s_.jobs.end(), [&](const JobBook& job) { return first_decided_with(job) != first; });
  return {from, to};
}

int64_t Governance::first_unapproved(int64_t first) const {
  const std::span<const JobBook> together = decided_with(first);
  const auto waits = std::ranges::find(together, JobState::kNeedsApproval, &JobBook::state);
  return waits == together.end() ? 0 : waits->id;
}

Instant Governance::next_watch() const {
  if (s_.fleet.govern.budgets.empty() && book_.budgets.empty()) return sched::kNever;
  if (book_.changed) return book_.watched + kWatchChanged;
  return book_.on_nodes.empty() ? sched::kNever : book_.watched + kWatch;
}

std::optional<Record> Governance::approve_one_that_fits(Instant at, Instant shown_at) {
  if (at < approvals_looked_at_ + kWatchChanged || book_.approvals.empty()) return std::nullopt;
  approvals_looked_at_ = at;
  for (const auto& [first, approval] : book_.approvals) {
    if (approval.decided || first_unapproved(first) == 0) continue;
    const std::span<const JobBook> together = decided_with(first);
    if (!would_be_let_in(together, shown_at)) continue;
    Record record;
    record.kind = RecordKind::kApprove;
    record.actor = kApprovedByItself;
    record.job = first;
    return record;
  }
  return std::nullopt;
}

/// @param together  some of them wait for approval
bool Governance::would_be_let_in(std::span<const JobBook> together, Instant at) {
  Int128 again = 0;
  for (const JobBook& job : together)
    if (job.state == JobState::kNeedsApproval && job.starts > 0) again += job.promised.nanos;
  if (again > 0) return overrun_by(together.front(), again, at).empty();
  const JobRequest& request = *together.front().request;
  AdmissionFacts facts = facts_of(request, at);
  for (const JobBook& job : together)  // it asks for nothing beside what it has asked for already
    for (QuotaUse* use : {&facts.client_use, &facts.user_use})
      if (job.state == JobState::kNeedsApproval) {
        use->gpu_milli -= job.claimed_milli;
        --use->waiting;
      }
  const Result<Verdict> verdict = admit(request, facts, s_.fleet.govern, nullptr);
  return verdict.ok() && verdict->needs_approval.empty();
}

Status Governance::apply_budget(JsonParser& parser, const Record& record) {
  book_.changed = true;
  if (record.kind == RecordKind::kBudgetGone) {
    std::erase_if(book_.budgets, [&](const BudgetRule& rule) { return rule.name == record.budget; });
    return {};
  }
  TRY_ASSIGN(BudgetRule rule, parse_budget_rule(parser, record.budget, s_.fleet.currency));
  const auto place = std::ranges::lower_bound(book_.budgets, rule.name, {}, &BudgetRule::name);
  book_.told.erase(rule.name);  // another amount: what was told of is told again
  if (place != book_.budgets.end() && place->name == rule.name)
    *place = std::move(rule);
  else
    book_.budgets.insert(place, std::move(rule));
  return {};
}

std::vector<EventView> Governance::watch_budgets(Instant now) {
  std::vector<EventView> told_now;
  if (now < next_watch()) return told_now;
  book_.changed = false;
  book_.watched = now;
  const Standing at = standing(now);
  for (const BudgetRule* rule : all_budgets()) {
    const BudgetStanding budget = standing_of(*rule, at.spent, at.promised);
    const Int128 amount = rule->per_month.count_nanos();
    GovernBook::Told& told = book_.told[rule->name];
    const Interval month = book_.spend.month();
    if (told.month != month) told = {.month = month};
    const auto tell = [&](std::string_view kind, const std::string& what) {
      EventView& event = told_now.emplace_back();
      event.kind = kind;
      event.queue = rule->queue;
      event.detail = fmt::format("budget {} for {}: {} of {}: {} spent, {} promised to jobs that wait or run", rule->name,
                                 format_date(month.begin).substr(0, 7), what, rule->per_month.to_text(),
                                 money_of(budget.spent, s_.fleet.currency).to_text(),
                                 money_of(budget.promised, s_.fleet.currency).to_text());
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
  return told_now;
}

}  // namespace stint
