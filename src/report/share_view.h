// What `stint plan share --history` shows: pool by pool who sits where afterwards, and the way there.
#pragma once

#include "advise/share/share_plan.h"
#include "report/table.h"

namespace stint {

struct ShareView {
  std::string source;
  Interval period;
  Currency currency;
  FleetSharePlan plan;
};

std::string share_text(const ShareView& view, Screen screen);
std::string share_json(const ShareView& view);

}  // namespace stint
