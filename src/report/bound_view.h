// What no plan can beat, beside the plan: the certified bound, the levers it counts, and what lies between.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "advise/audit_report.h"
#include "report/html.h"
#include "report/table.h"

namespace stint {

/// What the bound counts, and what it does not: a plan may do better only by the latter.
inline constexpr std::string_view kBoundCounts =
    "Counted: machines off in every hour without work; any type of the same provider that holds the work, in its region or an "
    "allowed "
    "one, paid by the single GPU; sharing; spot where the work may be on spot; commitments and savings plans of the allowed "
    "terms";
inline constexpr std::string_view kBoundLeavesOut =
    "Not counted: other providers, work in other hours than it ran, work moved onto owned or reserved machines, smaller models "
    "(INT8) and larger batches, prices that are not in the catalogue or the bill";

/// Empty where there is none; else one line for people: the bound, and how far the plan is above it.
std::string bound_line(const AuditReport& report);
/// A section: what is counted, and the largest reasons.
std::string bound_text(const AuditReport& report, Screen screen);
/// null where there is none.
nlohmann::ordered_json bound_json(const AuditReport& report);
/// The number that stands in JSON; null where there is none.
nlohmann::ordered_json bound_per_month(const AuditReport& report);
/// From the plan to the bound, a step a reason, and what is counted. Empty where there is none.
Html bound_waterfall(const AuditReport& report);

}  // namespace stint
