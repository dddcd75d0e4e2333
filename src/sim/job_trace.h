// Makes traces of jobs that look like those of large deep-learning clusters, from a seed.
//
// What the published analyses agree on: most jobs take one GPU, few take many, sizes are powers of two; durations run from
// seconds to weeks, most are short, most of the GPU time is in few long ones; more arrives by day than by night and less at
// the weekend. Sources: Jeon et al. 2019 (Philly), Hu et al. 2021 (Helios), Weng et al. 2022 (PAI). The figures below are
// round numbers in their range, not fitted to any one of them.
//
// With kinds, three jobs in four are one of their user's kinds (Weng et al. 2022: two in three have run five times and more):
// they share a name, mostly a size, and a length of their own that the single job misses by a factor (lognormal, σ of the kind 0.15
// to 0.9). Half of the kinds change their length for good at some time. The others have a name of their own and are drawn as
// without kinds. One job in twelve fails early.
#pragma once

#include <cstdint>

#include "model/job_trace.h"

namespace stint::sim {

struct JobTraceOptions {
  uint64_t seed = 1;
  int64_t jobs = 100'000;
  int64_t clusters = 4;
  int64_t nodes = 40;  ///< of each cluster
  int32_t gpus_per_node = 8;
  double load = 0.9;  ///< GPU time asked for ÷ GPU time there is, between the first and the last submission
  int32_t max_gpus = 128;
  int64_t users = 0;  ///< per cluster; 0 = the trace names no users
  int64_t kinds = 0;  ///< of jobs that each user runs again and again, under one name; 0 = the trace names no jobs
};

/// Jobs by submission; every cluster meets `load` exactly (to the rounding of seconds), by the length of its arrival period.
JobTrace make_job_trace(const JobTraceOptions& options);

}  // namespace stint::sim
