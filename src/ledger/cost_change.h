// Cost change: why a period cost more or less than another, by reasons that sum to the difference to the nano-unit.
//
// Price–volume–mix analysis. Of a row's compute, cells i are machines of one provider, region, type and market, q their GPU-hours and
// C their cost, before (0) and after (1); Q and C without i are sums over the cells:
//
//   price = Σ (C1i − C0i · q1i / q0i)        the same hours at another rate; over cells that both periods have
//   use   = C0 · (Q1 − Q0) / Q0              more or fewer hours at the average rate of before
//   mix   = C1 − C0 − price − use            dearer or cheaper machines among the hours; a cell without a rate of before is all mix
//
// Price weighs with hours of after, use with rates of before: a Paasche price and a Laspeyres quantity, whose product is the whole change (ILO
// and others, "Consumer Price Index Manual: Theory and Practice", 2004, chapter 15); use and mix part the quantity as the sales-quantity
// and sales-mix variances do (Horngren, Datar and Rajan, "Cost Accounting", chapter 14). Storage and the like are split alike within
// one service and unit. What a row had none of before is
// new, what it has none of any more is gone, and lines without a quantity (tax, support, credits, shares of common cost) are unmeasured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace stint {

/// What rows are made by: a dimension of tenants, or the provider's service.
struct ChangeRowsBy {
  std::optional<TenantDimension> tenant;  ///< none = by service
};

struct CostReasons {
  Money price, use, mix, begun, gone, unmeasured;
  [[nodiscard]] Money sum() const { return price + use + mix + begun + gone + unmeasured; }
};

/// One cell before and after.
struct CostCell {
  SpendKind spend = SpendKind::kCompute;
  std::string provider, service, region, what;  ///< instance type, else SKU
  Market market = Market::kUnknown;
  std::string unit;  ///< "GPU-hours", "machine-hours", else the bill's pricing unit; empty = without a quantity
  Money before, after;
  int64_t micro_before = 0, micro_after = 0;  ///< quantities, millionths of the unit
  [[nodiscard]] std::optional<double> unit_price_before() const;
  [[nodiscard]] std::optional<double> unit_price_after() const;
};

struct CostChangeRow {
  std::string name;   ///< "" = not attributed
  bool idle = false;  ///< idle money, of no tenant
  Money before, after;
  CostReasons reasons;          ///< sum() = after − before
  std::vector<CostCell> cells;  ///< descending by how much they changed
};

struct CostChange {
  Interval before, after;
  CostBasis basis = CostBasis::kEffective;
  ChangeRowsBy by;
  std::vector<CostChangeRow> rows;  ///< descending by how much they changed, then by name
  CostChangeRow total;              ///< sums of the rows; no cells
};

/// A ledger and, by NodeId, how many GPUs its machines have (0 = not known).
struct ComparedBooks {
  const Ledger& ledger;
  const std::vector<int64_t>& gpus;
};
/// By NodeId: what the inventory says, else the devices seen.
std::vector<int64_t> gpus_by_node(const History& history);

/// @return error when the two are in different currencies or on different bases.
Result<CostChange> explain_change(const ComparedBooks& before, const ComparedBooks& after, ChangeRowsBy by);

}  // namespace stint
