// What `stint plan spot` shows: per group of runs whether spot suits it, how to run it there, and what that costs.
#pragma once

#include "advise/plan/plan_spot.h"
#include "report/table.h"

namespace stint {

struct SpotView {
  std::string source;
  Interval period;
  SpotPlan plan;
  SpotPlanOptions options;
};

std::string spot_text(const SpotView& view, Screen screen);
std::string spot_json(const SpotView& view);

}  // namespace stint
