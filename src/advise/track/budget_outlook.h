// Budget outlook: what a client's month has cost so far, where it will end, and when its budget runs out, from imported bills.
//
// Each day still to come is expected to cost the mean of the same weekday in the last four weeks, or of all days where fewer than two weeks
// are known. Of R days to come the sum has the variance f · s² · (R + Σ c²/n): s² is that of days around those means, c how many days of a
// weekday are to come and n how many were averaged, f = (1 + r) / (1 − r) for days that go together (r: correlation of a day with
// the next, 0 to 0.9). Lines longer than a day that run until now go on at their rate. The interval is ± 1.2816 standard deviations, 80 % of normal noise.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger.h"
#include "model/client_budget.h"

namespace stint {

enum class BudgetVerdict { kWithin, kAtRisk, kWillExceed, kExceeded, kNotKnown };
std::string_view name_of(BudgetVerdict v);  // "within", "at risk", "will exceed", "exceeded", "not known"

struct MonthEnd {
  Money expected, low, high;  ///< low ≤ expected ≤ high, none below what is spent; 80 %
};

struct BudgetRow {
  std::string client;  ///< kWholeBill = the bill with idle money
  Money budget;
  Money spent;                      ///< of the month, as `stint bill` has it
  std::optional<Money> per_day;     ///< mean of the last seven whole days; none without lines that say their day
  std::optional<MonthEnd> end;      ///< none = fewer than seven days are known
  std::optional<Instant> runs_out;  ///< the day on which it is used up; none = not in this month
  BudgetVerdict verdict = BudgetVerdict::kNotKnown;
  [[nodiscard]] double used_pct() const { return 100 * spent.to_double() / budget.to_double(); }
};

struct BudgetOutlook {
  Interval month;
  std::optional<Instant> as_of;  ///< whole days of the bill end here; none = no line says its day
  CostBasis basis = CostBasis::kEffective;
  std::vector<BudgetRow> rows;  ///< in order of the budgets
  Money without_budget;         ///< what clients without a row spent, unattributed cost included
  /// Of rows that are exceeded or will be.
  [[nodiscard]] size_t over() const;
};

inline constexpr Duration kOutlookPast = kHour * (24 * 28);

/// @param month  a calendar month. @param so_far  ledger of it. @param past  ledger from kOutlookPast before the month to the same end.
/// @param budgets  those of other months are passed over; one of the month goes before one of every month.
/// @return error when no budget is of the month, or one is in another currency than the bill.
Result<BudgetOutlook> look_ahead(Interval month, const Ledger& so_far, const Ledger& past, std::span<const ClientBudget> budgets);

}  // namespace stint
