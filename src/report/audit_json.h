// An audit as JSON: schema in docs/schema/audit.json. Amounts are numbers in the currency named once at the
// top (exact to the nano-unit up to nine million units), percentages 0–100, memory in GB (10⁹ bytes).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "advise/audit_report.h"
#include "advise/find/cluster_audit.h"

namespace stint {

/// Indented, ends with a line feed; the same report gives the same bytes.
/// @param cluster  null = no batch system reported its queue.
std::string audit_json(const AuditReport& report, const ClusterAudit* cluster = nullptr);
/// One finding of it.
nlohmann::ordered_json finding_json(const Finding& finding);
/// null where there is none.
nlohmann::ordered_json aside_json(const std::optional<CommitmentsAside>& aside);

}  // namespace stint
