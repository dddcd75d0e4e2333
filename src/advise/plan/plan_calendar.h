// The joint plan as a calendar: who does which step when, what that costs once, and when it is paid back.
//
// Steps follow each other in the order of the plan, for each is priced on what those before it left; one begins on the working day after the one
// before it ended. Days of work are by the finding's effort: half a day, two and eight. That is an assumption, and is printed with the calendar.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/audit_report.h"

namespace stint {

struct CalendarStep {
  int step = 0;
  std::string finding, title;
  std::vector<std::string> owners;  ///< clients of its machines, ascending; "not attributed" where none is known
  Instant begin, end;               ///< days in UTC, the end's the last one
  double effort_days = 0;
  Money saving_per_month;
  std::optional<Money> one_off;        ///< of the days of work; none: it is not known what one costs
  std::optional<double> payback_days;  ///< from its end until it has saved its one-off cost
};

double effort_days(Level effort);
/// @param begin  the first day; the working day after it where it is none. @param day_cost  of a day of work.
std::vector<CalendarStep> plan_calendar(const AuditReport& plan, Instant begin, std::optional<Money> day_cost);

}  // namespace stint
