#include "advise/track/budget_outlook.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "advise/find/daily_cost.h"

namespace stint {
namespace {

constexpr size_t kFewestDays = 7, kFewestForWeekdays = 14, kMostDays = 28;
constexpr double kEightyPercent = 1.2816, kMostCorrelation = 0.9;

size_t weekday_of(int64_t day) { return static_cast<size_t>(day - 7 * floor_div(day, 7)); }

/// Whole days of one client, oldest first.
struct ClientDays {
  int64_t first = 0;  ///< day since 1970
  std::vector<double> costs;
};

struct DayModel {
  std::array<double, 7> mean{};
  std::array<double, 7> averaged{};  ///< how many days a mean is of
  double variance = 0;
  double together = 1;  ///< f of the header
};

/// @param days  at least kFewestDays.
DayModel model_of(const ClientDays& days) {
  DayModel out;
  const size_t n = days.costs.size();
  const bool by_weekday = n >= kFewestForWeekdays;
  const auto group_of = [&](size_t i) { return by_weekday ? weekday_of(days.first + static_cast<int64_t>(i)) : 0; };
  std::array<double, 7> sum{};
  for (size_t i = 0; i < n; ++i) {
    sum[group_of(i)] += days.costs[i];
    ++out.averaged[group_of(i)];
  }
  for (size_t w = 0; w < 7; ++w) {
    const size_t from = by_weekday ? w : 0;
    out.averaged[w] = out.averaged[from];
    out.mean[w] = sum[from] / out.averaged[w];
  }
  std::vector<double> off;
  for (size_t i = 0; i < n; ++i)
    off.push_back(days.costs[i] - out.mean[weekday_of(days.first + static_cast<int64_t>(i))]);
  double squares = 0, products = 0;
  for (size_t i = 0; i < n; ++i) {
    squares += off[i] * off[i];
    if (i > 0) products += off[i] * off[i - 1];
  }
  out.variance = squares / static_cast<double>(n - (by_weekday ? 7 : 1));
  const double correlation = squares > 0 ? std::clamp(products / squares, 0.0, kMostCorrelation) : 0;
  out.together = (1 + correlation) / (1 - correlation);
  return out;
}

/// Standard deviation of the sum of days [from, until).
double deviation_of_sum(const DayModel& model, int64_t from, int64_t until, bool one_mean) {
  std::array<double, 7> coming{};
  for (int64_t day = from; day < until; ++day)
    ++coming[one_mean ? 0 : weekday_of(day)];
  double of_means = 0;
  for (size_t w = 0; w < 7; ++w)
    if (coming[w] > 0) of_means += coming[w] * coming[w] / model.averaged[w];
  return std::sqrt(model.together * model.variance * (static_cast<double>(until - from) + of_means));
}

bool counts_for(const std::string& client, bool idle, const std::string& of) {
  return client == kWholeBill || (!idle && of == client);
}

ClientDays days_of(const DailyCost& daily, const std::string& client) {
  std::vector<double> all(daily.days, 0.0);
  for (const auto& [key, series] : daily.series)
    if (counts_for(client, key.idle, key.client))
      for (size_t d = 0; d < series.size(); ++d)
        all[d] += series[d].to_double();
  const auto begins = std::ranges::find_if(all, [](double cost) { return cost != 0; });
  const size_t skip = std::max(static_cast<size_t>(begins - all.begin()), all.size() > kMostDays ? all.size() - kMostDays : 0);
  ClientDays out{.first = daily.first_day + static_cast<int64_t>(skip), .costs = {}};
  out.costs.assign(all.begin() + static_cast<std::ptrdiff_t>(skip), all.end());
  return out;
}

/// What the month cost: in all, and of days that the bill has not finished.
struct SpentSoFar {
  Money all, unfinished;
  double goes_on = 0;  ///< to the month's end, of longer lines that run until now: units of currency
};

SpentSoFar spent_by(const std::string& client, const Ledger& so_far, Interval month, std::optional<Instant> as_of) {
  const Money zero = Money::nanos(0, so_far.total().currency());
  SpentSoFar out{zero, zero, 0};
  for (const Posting& p : so_far.postings) {
    const bool idle = p.cause != IdleCause::kNone && p.cause != IdleCause::kInactive;
    if (!counts_for(client, idle, so_far.tenants[p.tenant].client)) continue;
    out.all += p.amount;
    const Interval charged = so_far.lines[p.bill_line].charge_period;
    if (!as_of) continue;
    const bool dated = charged.length() <= kHour * 25;
    if (dated && charged.begin >= *as_of) out.unfinished += p.amount;
    if (!dated && charged.end >= *as_of && charged.end < month.end)
      out.goes_on += p.amount.to_double() * ((month.end - charged.end).to_hours() / charged.length().to_hours());
  }
  return out;
}

/// The day of the month on which the client's whole days pass the budget; what says no day counts from the first on.
std::optional<Instant> passed_on(const ClientDays& days, Interval month, double undated, double budget) {
  double sum = undated;
  for (size_t i = 0; i < days.costs.size(); ++i) {
    const Instant at = Instant() + kHour * (24 * (days.first + static_cast<int64_t>(i)));
    if (at < month.begin) continue;
    sum += days.costs[i];
    if (sum > budget) return at;
  }
  return std::nullopt;
}

void judge_budget(BudgetRow& row, const ClientDays& days, const SpentSoFar& spent, Interval month, Instant as_of) {
  const Currency currency = row.budget.currency();
  const auto day_of = [](Instant t) { return floor_div(t.ns(), (kHour * 24).count_ns()); };
  if (const size_t last = std::min<size_t>(days.costs.size(), 7); last > 0) {
    double sum = 0;
    for (size_t i = days.costs.size() - last; i < days.costs.size(); ++i)
      sum += days.costs[i];
    row.per_day = Money::estimate(sum / static_cast<double>(last), currency);
  }
  const int64_t from = day_of(as_of), until = day_of(month.end);
  const double finished = (spent.all - spent.unfinished).to_double(), budget = row.budget.to_double();
  if (from >= until) {
    row.end = MonthEnd{spent.all, spent.all, spent.all};
  } else if (days.costs.size() >= kFewestDays) {
    const DayModel model = model_of(days);
    double sum = finished;
    for (int64_t day = from; day < until; ++day) {
      sum += model.mean[weekday_of(day)] + spent.goes_on / static_cast<double>(until - from);
      if (!row.runs_out && sum > budget) row.runs_out = Instant() + kHour * (24 * day);
    }
    const double reach = kEightyPercent * deviation_of_sum(model, from, until, days.costs.size() < kFewestForWeekdays);
    const auto at_least_spent = [&](double units) { return std::max(spent.all, Money::estimate(units, currency)); };
    row.end = MonthEnd{at_least_spent(sum), at_least_spent(sum - reach), at_least_spent(sum + reach)};
  }
  if (spent.all > row.budget) {
    double in_month = 0;
    for (size_t i = 0; i < days.costs.size(); ++i)
      if (days.first + static_cast<int64_t>(i) >= day_of(month.begin)) in_month += days.costs[i];
    row.runs_out = passed_on(days, month, finished - in_month, budget).value_or(as_of);
  }
}

BudgetVerdict verdict_on(const BudgetRow& row) {
  if (row.spent > row.budget) return BudgetVerdict::kExceeded;
  if (!row.end) return BudgetVerdict::kNotKnown;
  if (row.end->expected > row.budget) return BudgetVerdict::kWillExceed;
  return row.end->high > row.budget ? BudgetVerdict::kAtRisk : BudgetVerdict::kWithin;
}

/// Of the month, in order of the file.
std::vector<ClientBudget> budgets_of(Interval month, std::span<const ClientBudget> budgets) {
  std::set<std::string> own;
  for (const ClientBudget& b : budgets)
    if (b.month == month) own.insert(b.client);
  std::vector<ClientBudget> out;
  for (const ClientBudget& b : budgets)
    if (b.month == month || (!b.month && !own.contains(b.client))) out.push_back(b);
  return out;
}

}  // namespace

std::string_view name_of(BudgetVerdict v) {
  static constexpr std::array<std::string_view, 5> kNames = {"within", "at risk", "will exceed", "exceeded", "not known"};
  return kNames.at(static_cast<size_t>(v));
}

size_t BudgetOutlook::over() const {
  return static_cast<size_t>(std::ranges::count_if(rows, [](const BudgetRow& row) {
    return row.verdict == BudgetVerdict::kExceeded || row.verdict == BudgetVerdict::kWillExceed;
  }));
}

Result<BudgetOutlook> look_ahead(Interval month, const Ledger& so_far, const Ledger& past,
                                 std::span<const ClientBudget> budgets) {
  const Currency currency = so_far.total().currency();
  const std::vector<ClientBudget> wanted = budgets_of(month, budgets);
  if (wanted.empty()) return invalid("no budget is of {}", format_date(month.begin).substr(0, 7));
  BudgetOutlook out;
  out.month = month;
  out.basis = so_far.basis;
  const DailyCost daily = daily_cost(past);
  if (daily.days > 0) out.as_of = std::clamp(daily.end(), month.begin, month.end);
  std::set<std::string> named;
  for (const ClientBudget& budget : wanted) {
    if (budget.budget.currency() != currency)
      return invalid("line {}: a budget in {}, the bill is in {}", budget.line, budget.budget.currency().code(), currency.code());
    named.insert(budget.client);
    const SpentSoFar spent = spent_by(budget.client, so_far, month, out.as_of);
    BudgetRow row{.client = budget.client, .budget = budget.budget, .spent = spent.all, .per_day = {}, .end = {}, .runs_out = {}};
    if (out.as_of) judge_budget(row, days_of(daily, budget.client), spent, month, *out.as_of);
    row.verdict = verdict_on(row);
    out.rows.push_back(std::move(row));
  }
  out.without_budget = Money::nanos(0, currency);
  for (const Posting& p : so_far.postings)
    if ((p.cause == IdleCause::kNone || p.cause == IdleCause::kInactive) && !named.contains(so_far.tenants[p.tenant].client))
      out.without_budget += p.amount;
  return out;
}

}  // namespace stint
