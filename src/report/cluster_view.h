// The part of an audit that looks at a batch system's queue: for the terminal, as JSON and as HTML.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "advise/audit_report.h"
#include "advise/find/cluster_audit.h"
#include "report/html.h"
#include "report/table.h"

namespace stint {

/// @param report  of the same History: how its amounts are written.
std::string cluster_text(const ClusterAudit& cluster, const AuditReport& report, Screen screen);
Html cluster_section(const ClusterAudit& cluster, const AuditReport& report);
/// Drawn in docs/schema/audit.json.
nlohmann::ordered_json cluster_json(const ClusterAudit& cluster);

}  // namespace stint
