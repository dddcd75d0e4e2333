// Days on which a client's service cost far from what that weekday costs: a table for the terminal, a section of the audit page.
#pragma once

#include <string>

#include "advise/audit_report.h"
#include "report/html.h"

namespace stint {

/// How days were judged, and the largest anomalies. Without a heading.
std::string anomalies_text(const CostAnomalies& anomalies, Currency currency, Screen screen);
/// Empty where there is none.
Html anomalies_section(const AuditReport& report);

}  // namespace stint
