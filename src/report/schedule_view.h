// What `stint plan schedule` shows: hours to be off, runs that could be later, shorter reservations, other regions, work off GPUs.
#pragma once

#include "advise/plan/plan_schedule.h"
#include "report/table.h"

namespace stint {

struct ScheduleView {
  std::string source;
  Interval period;
  Currency currency;
  SchedulePlan plan;
  SchedulePlanOptions options;
};

std::string schedule_text(const ScheduleView& view, Screen screen);
std::string schedule_json(const ScheduleView& view);

}  // namespace stint
