// Goals and whether a plan reaches them, as people read it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "advise/audit_report.h"
#include "report/html.h"
#include "report/table.h"

namespace stint {

Tone tone_of(GoalOutcome outcome);
/// "cost<=18000: 200.00 USD a month too much": a line a reason.
std::vector<std::string> goal_lines(const std::vector<GoalVerdict>& goals);
/// Empty without goals.
std::string goals_table(const std::vector<GoalVerdict>& goals, Screen screen);
/// For each goal that is missed: what stands between, and what would remove it. Empty where there is none.
std::string gap_tables(const std::vector<GoalVerdict>& goals, Screen screen);
Html goals_section(const AuditReport& report);
nlohmann::ordered_json to_json(const std::vector<GoalVerdict>& goals);

}  // namespace stint
