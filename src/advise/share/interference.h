// What neighbours on a GPU do to each other where nothing keeps them apart (MPS), as far as it has been measured.
//
// Source: Narayanan et al. 2020, "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads" (Gavel, OSDI), whose
// published measurements hold the steps a second of 26 training jobs, alone and beside each other, on a K80, a P100 and a V100. A quarter
// of them are slowed more than twice by one neighbour, so fair turns are no bound; nor does the sum of what both keep busy tell which
// pairs do no harm. bench/interference.py compares predictors, interference_test.cc holds the figure below.
#pragma once

#include <cstdint>

#include "model/interference.h"

namespace stint {

/// How many times as long a job takes beside one neighbour at most.
inline constexpr double kMostSlowedByNeighbour = 1 + kMostSlowedPercent / 100.0;

/// The same beside several. Pairs alone were measured: each further neighbour is taken to add as much as the first.
constexpr double most_slowed(int64_t neighbours) { return 1 + (kMostSlowedByNeighbour - 1) * static_cast<double>(neighbours); }

}  // namespace stint
