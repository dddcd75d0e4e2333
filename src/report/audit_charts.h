// The drawings of the audit report. Each is a pure function of the report.
#pragma once

#include <string_view>
#include <vector>

#include "advise/audit_report.h"
#include "report/html.h"

namespace stint {

/// From the bill to the plan, one step a finding; the smaller ones together when there are many. What was not replayed has narrow stripes,
/// what rests on an estimated or old price wide ones.
Html plan_waterfall(const AuditReport& report);
/// From the plan to a goal of cost that it misses, one step an obstacle with what would remove it. Empty when none is missing.
Html gap_waterfall(const AuditReport& report, const GoalVerdict& verdict);
/// One bar a client, by what the money was for; the smaller ones together when there are many.
Html client_bars(const AuditReport& report);
/// One bar an amount, with its share of the bill.
Html amount_bars(const AuditReport& report, const std::vector<NamedAmount>& amounts, std::string_view title);
/// Mean utilisation by hour of the week, one row a node; more than 60 nodes are shown by category and type.
Html heat_map(const AuditReport& report);
/// Utilisation against the price of a useful GPU-hour, with the 70 % goal and the fleet's own mean price.
/// Empty when no node has both.
Html utilization_curve(const AuditReport& report);

}  // namespace stint
