// What `stint plan capacity` shows: months to come, their demand, the chance of a shortage, and what to do.
#pragma once

#include "advise/plan/plan_capacity.h"
#include "report/table.h"

namespace stint {

struct CapacityView {
  std::string source;
  DemandSeries series;
  Forecast forecast;
  CapacityPlanOptions options;
  std::vector<KnownChange> changes;
  std::vector<CapacityMonth> months;
};

std::string capacity_text(const CapacityView& view, Screen screen);
std::string capacity_json(const CapacityView& view);

}  // namespace stint
