// The sections of the audit page. Each is empty when the report has nothing for it.
#pragma once

#include "advise/audit_report.h"
#include "report/html.h"

namespace stint {

Html plan_section(const AuditReport& report);
Html findings_section(const AuditReport& report);
/// Empty where no replay was asked for.
Html proof_section(const AuditReport& report);
Html limits_section(const AuditReport& report);

Html clients_section(const AuditReport& report);
Html idle_section(const AuditReport& report);

Html fleet_section(const AuditReport& report);
Html curve_section(const AuditReport& report);
Html instances_section(const AuditReport& report);
Html holders_section(const AuditReport& report);
Html sources_section(const AuditReport& report);

}  // namespace stint
