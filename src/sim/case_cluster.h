// Cluster cases: nodes, queues and jobs at one instant, some rounds, and the states at their end.
#pragma once

#include "sim/case_runner.h"

namespace stint {

CaseVerdict run_cluster_case(const sched::ClusterCase& c, sched::VictimOrder victims);

}  // namespace stint
