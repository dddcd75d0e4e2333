// An audit as one self-contained HTML file for a CFO and an engineer alike: no script, no outside resource,
// prints to A4. Sections: the plan, findings in full, bill by client and idle cause, fleet heat map,
// utilisation against the price of a useful GPU-hour, instances, holders, limits, and where the numbers come from.
#pragma once

#include <string>

#include "advise/audit_report.h"
#include "advise/find/cluster_audit.h"

namespace stint {

/// @param cluster  null = no batch system reported its queue.
std::string audit_html(const AuditReport& report, const ClusterAudit* cluster = nullptr);

}  // namespace stint
