// An audit for a terminal of 100 to 120 columns.
#pragma once

#include <string>
#include <string_view>

#include "advise/audit_report.h"
#include "report/table.h"

namespace stint {

std::string audit_text(const AuditReport& report, Screen screen);

/// One finding in full: evidence, arithmetic, caveats and the commands that apply it.
/// @param id  of a finding or of one that was considered and dropped. @return error naming the ids there are.
Result<std::string> explain_finding(const AuditReport& report, std::string_view id, Screen screen);

}  // namespace stint
