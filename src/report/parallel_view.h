// What `stint plan parallelism` shows: the ways to spread a training run over GPUs, best first, and why others do not do.
#pragma once

#include "advise/plan/parallelism.h"
#include "report/table.h"

namespace stint {

struct ParallelView {
  ParallelJob job;
  ParallelCluster cluster;
  ParallelPlan plan;
  size_t shown = 8;  ///< options in the text; JSON has all
};

std::string parallel_text(const ParallelView& view, Screen screen);
std::string parallel_json(const ParallelView& view);

}  // namespace stint
