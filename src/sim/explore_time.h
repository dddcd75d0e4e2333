// What make_scenario() adds about time, price and demand.
#pragma once

#include "sim/explore.h"

namespace stint::sim {

/// Some scenarios get deferrable jobs, some queues that are closed at times, trials, pools of nodes; most get none of it.
void draw_time_and_demand(Scenario& scenario);

}  // namespace stint::sim
