// Margin: what clients and projects pay, less what their work costs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ledger/cost_statement.h"
#include "ledger/ledger.h"
#include "model/revenue.h"

namespace stint {

struct MarginRow {
  std::string client;
  std::string project;           ///< empty = the client as a whole, or what no project is named for
  std::optional<Money> revenue;  ///< none = the list names none
  Money cost;
  std::optional<Money> cost_budget;
  [[nodiscard]] std::optional<Money> profit() const;
  /// Profit of revenue, percent; none without revenue.
  [[nodiscard]] std::optional<double> margin_pct() const;
  /// Cost of its budget, percent.
  [[nodiscard]] std::optional<double> budget_pct() const;
};

struct Margin {
  Interval period;
  CostBasis basis = CostBasis::kEffective;
  TenantDimension by = TenantDimension::kClient;
  std::vector<MarginRow> rows;  ///< descending by cost, then by name
  Money unallocated;            ///< idle money of no client; 0 when it is spread
  Money revenue, cost;          ///< in all; cost with `unallocated`, the ledger's total
};

/// Revenue of the ledger's period: a month that lies in it in part counts in proportion to time.
/// @param by  kClient or kProject. Rows of projects count for their client where `by` is the client.
/// @return error when revenue is in another currency than the bill.
Result<Margin> make_margin(const Ledger& ledger, std::span<const RevenueRow> revenue, TenantDimension by, IdleTreatment idle);

}  // namespace stint
