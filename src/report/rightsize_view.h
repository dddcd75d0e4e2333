// What `stint plan rightsize` shows: per group of machines what it is, what would do, and what that saves.
#pragma once

#include "advise/plan/plan_rightsize.h"
#include "report/table.h"

namespace stint {

struct RightsizeView {
  std::string source;
  Interval period;
  RightsizePlan plan;
  RightsizeOptions options;
};

std::string rightsize_text(const RightsizeView& view, Screen screen);
std::string rightsize_json(const RightsizeView& view);

}  // namespace stint
