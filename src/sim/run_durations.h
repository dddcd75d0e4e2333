// What a History says of how long jobs run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/workload.h"
#include "sched/durations/duration_book.h"

namespace stint::sim {

/// Whose job a run was like: client and user as the daemon names them (queue and user of a submit), and its name. Not known of
/// what is interactive or serves: it ends when somebody ends it.
sched::Kin kin_of_run(const Run& run);

/// What there is to learn of one run.
struct RunLength {
  std::string user;  ///< with its client, as in kin_of_run()
  std::string name;
  int64_t gpu_milli = 0;
  Duration ran;
  sched::RunEnd how = sched::RunEnd::kDone;
  Instant ended;
};
/// Of all runs with GPUs that have started, first to end first. @param until  those without an end ran at least so long.
std::vector<RunLength> lengths_of(std::span<const Run> runs, Instant until);
sched::DurationBook durations_of(std::span<const RunLength> lengths);

}  // namespace stint::sim
