#include "ledger/margin.h"

#include <algorithm>
#include <map>

#include "ledger/client_statement.h"

namespace stint {
namespace {

using ClientProject = std::pair<std::string, std::string>;

/// The part of a month's amount that falls into the period.
Money part_within(Money of_month, Interval month, Interval period) {
  const Instant begin = std::max(month.begin, period.begin), end = std::min(month.end, period.end);
  if (begin >= end) return Money::nanos(0, of_month.currency());
  return scale(of_month, (end - begin).whole_seconds(), month.length().whole_seconds());
}

Money& add_up(std::optional<Money>& sum, Money more) { return sum ? *sum += more : sum.emplace(more); }

}  // namespace

std::optional<Money> MarginRow::profit() const { return revenue ? std::optional(*revenue - cost) : std::nullopt; }

std::optional<double> MarginRow::margin_pct() const {
  if (!revenue || revenue->count_nanos() <= 0) return std::nullopt;
  return 100 * profit()->to_double() / revenue->to_double();
}

std::optional<double> MarginRow::budget_pct() const {
  if (!cost_budget || cost_budget->count_nanos() <= 0) return std::nullopt;
  return 100 * cost.to_double() / cost_budget->to_double();
}

Result<Margin> make_margin(const Ledger& ledger, std::span<const RevenueRow> revenue, TenantDimension by, IdleTreatment idle) {
  const bool projects = by == TenantDimension::kProject;
  const Money zero = Money::nanos(0, ledger.total().currency());
  std::map<ClientProject, MarginRow> rows;
  const auto row_of = [&](const std::string& client, const std::string& project) -> MarginRow& {
    const auto [at, fresh] = rows.try_emplace({client, projects ? project : ""});
    if (fresh)
      at->second = {.client = client, .project = projects ? project : "", .revenue = {}, .cost = zero, .cost_budget = {}};
    return at->second;
  };
  Margin out;
  out.period = ledger.period;
  out.basis = ledger.basis;
  out.by = by;
  out.revenue = zero;
  out.cost = ledger.total();
  Money allocated = zero;
  for (const ClientStatement& s : make_client_statements(ledger, idle)) {
    allocated += s.total;
    if (!projects) {
      row_of(s.client, "").cost += s.total;
      continue;
    }
    std::vector<int64_t> compute;
    for (const StatementRow& row : s.projects.rows)
      compute.push_back(std::max<int64_t>(0, row.compute().count_nanos()));
    const bool any = std::ranges::any_of(compute, [](int64_t weight) { return weight > 0; });
    const std::vector<Money> idle_parts =
        any ? split_by_largest_remainder(s.idle.own, compute) : std::vector<Money>(compute.size(), zero);
    for (size_t r = 0; r < s.projects.rows.size(); ++r)
      row_of(s.client, s.projects.rows[r].name).cost += s.projects.rows[r].total + idle_parts[r];
  }
  out.unallocated = out.cost - allocated;
  for (const RevenueRow& r : revenue) {
    if (intersect(r.month, ledger.period).empty()) continue;
    if (r.revenue.currency() != zero.currency())
      return invalid("line {}: revenue in {}, the bill is in {}", r.line, r.revenue.currency().code(), zero.currency().code());
    const Money own = part_within(r.revenue, r.month, ledger.period);
    MarginRow& row = row_of(r.client, r.project);
    add_up(row.revenue, own);
    if (r.cost_budget) add_up(row.cost_budget, part_within(*r.cost_budget, r.month, ledger.period));
    out.revenue += own;
  }
  for (auto& [name, row] : rows)
    out.rows.push_back(std::move(row));
  std::ranges::stable_sort(out.rows, std::ranges::greater(), &MarginRow::cost);
  return out;
}

}  // namespace stint
