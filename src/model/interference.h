// What a neighbour on a GPU does to a task where nothing keeps them apart (MPS), as far as it has been measured.
//
// Source: Narayanan et al. 2020, "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads" (Gavel, OSDI), whose
// published measurements hold the steps a second of 26 training jobs, alone and beside each other, on a K80, a P100 and a V100.
// bench/interference.py takes the figure from them, advise/share/interference_test.cc holds it.
#pragma once

#include <cstdint>

namespace stint {

/// 99 of 100 measured jobs take at most so many percent longer beside one neighbour: on a V100, the worst of the three.
inline constexpr int32_t kMostSlowedPercent = 620;

}  // namespace stint
