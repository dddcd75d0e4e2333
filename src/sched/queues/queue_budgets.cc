#include "sched/queues/queue_budgets.h"

#include <algorithm>

#include "base/check.h"
#include "base/integer.h"
#include "sched/job.h"

namespace stint::sched {
namespace {

// One nano-unit: thousandths of a GPU-hour, in nanoseconds.
constexpr QueueBudgets::Wide kAreaPerNano = QueueBudgets::Wide{1000} * kHour.count_ns();

/// End of the period `t` lies in.
Instant period_end(const Budget& budget, Instant t) {
  if (budget.period <= Duration()) return kNever;
  return budget.from + budget.period * (floor_div((t - budget.from).count_ns(), budget.period.count_ns()) + 1);
}

}  // namespace

void QueueBudgets::add(const QueueSpec& spec) {
  const uint32_t above = spec.parent.valid() ? account_of_[spec.parent.index()] : kNone;
  const QueueId id(static_cast<uint32_t>(account_of_.size()));
  account_of_.push_back(above);
  if (!spec.budget) return;
  CHECK(!any() || accounts_.front().budget.amount.currency() == spec.budget->amount.currency(), "budgets of two currencies");
  account_of_.back() = static_cast<uint32_t>(accounts_.size());
  const Instant ends = period_end(*spec.budget, now_);
  accounts_.push_back({.queue = id,
                       .above = above,
                       .budget = *spec.budget,
                       .bound = spec.budget->amount.count_nanos() * kAreaPerNano,
                       .since = now_,
                       .ends = ends});
  next_renewal_ = std::min(next_renewal_, ends);
}

/// Into the period of `now`: only what was burnt in it counts.
void QueueBudgets::renew(Account& account, Instant now) {
  account.ends = period_end(account.budget, now);
  account.since = std::max(account.since, account.ends - account.budget.period);
  account.area = account.burn * (now - account.since).count_ns();
  account.since = now;
}

void QueueBudgets::change_burn(QueueId q, Wide by) {
  for (uint32_t a = account_of_[q.index()]; a != kNone; a = accounts_[a].above) {
    Account& account = accounts_[a];
    account.area = area_at(account, now_);
    account.since = now_;
    account.burn += by;
    CHECK(account.burn >= 0, "queue {} burns less than nothing", account.queue.index());
  }
}

QueueId QueueBudgets::spent_above(QueueId q) const {
  for (uint32_t a = account_of_[q.index()]; a != kNone; a = accounts_[a].above)
    if (area_at(accounts_[a], now_) >= accounts_[a].bound) return accounts_[a].queue;
  return {};
}

std::optional<BudgetStanding> QueueBudgets::standing(QueueId q, Instant at) const {
  const uint32_t a = account_of_[q.index()];
  if (a == kNone || accounts_[a].queue != q) return std::nullopt;
  Account account = accounts_[a];
  if (account.ends <= at) renew(account, at);
  const Currency currency = account.budget.amount.currency();
  const Wide area = area_at(account, at);
  BudgetStanding standing;
  standing.queue = q;
  standing.budget = account.budget.amount;
  standing.spent = Money::nanos(static_cast<int64_t>(area / kAreaPerNano), currency);
  standing.burn = Rate::per_hour(Money::nanos(static_cast<int64_t>(account.burn / 1000), currency));
  if (account.ends != kNever) standing.renewed_at = account.ends;
  if (area >= account.bound) {
    standing.runs_out_at = at;
  } else if (account.burn > 0) {
    const Wide lasts_ns = (account.bound - area + account.burn - 1) / account.burn;
    if (lasts_ns < Wide{(account.ends - at).count_ns()})
      standing.runs_out_at = at + Duration::nanoseconds(static_cast<int64_t>(lasts_ns));
  }
  return standing;
}

}  // namespace stint::sched
