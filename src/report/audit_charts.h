// The drawings of the audit report. Each is a pure function of the report.
#pragma once

#include "advise/audit.h"
#include "report/html.h"

namespace stint {

/// From the bill to the plan, one step a finding.
Html plan_waterfall(const AuditReport& report);
/// One bar a client, by what the money was for; nobody's idle money last.
Html client_bars(const AuditReport& report);
/// One bar an amount, with its share of `whole`.
Html amount_bars(const std::vector<NamedAmount>& amounts, Money whole, std::string_view title);
/// Mean utilisation by hour of the week, one row a node; more than 60 nodes are shown by category and type.
Html heat_map(const AuditReport& report);
/// Utilisation against the price of a useful GPU-hour, with the 70 % goal.
Html utilization_curve(const AuditReport& report);

/// "16,336" – whole units.
std::string whole_units(Money m);

}  // namespace stint
