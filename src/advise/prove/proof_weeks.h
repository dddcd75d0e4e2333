// Two replays of the same jobs, compared week by week: means, and how they vary when weeks and seeds are drawn again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "advise/prove/proof.h"
#include "base/time.h"
#include "sim/replay_result.h"
#include "sim/workload.h"

namespace stint {

/// The period in weeks from its beginning; what is left over is a separate block from half a week on, else part of the last.
std::vector<Instant> week_marks(Interval period);

/// The block between two marks in which that instant lies, or the nearest. @param marks  two at least.
size_t proof_block(std::span<const Instant> marks, Instant at);

/// The middle 80 % of what was drawn. @param drawn  not empty.
ProofFigure figure_of(double mean, std::vector<double> drawn);

/// What came of one replay, by job and by week.
struct ReplayTally {
  struct Job {
    float waiting_s = 0;     ///< until the end of the replay when it never started
    float completion_s = 0;  ///< until the end of the replay when it did not finish
    float lost_gpu_hours = 0;
    bool finished = false;
  };
  std::vector<Job> jobs;
  std::vector<double> paid;  ///< by block
};
ReplayTally tally_of(const sim::Workload& workload, const sim::ReplayResult& result, std::span<const Instant> marks);

/// What all replays of one comparison share.
struct ProofGround {
  std::vector<Instant> marks;      ///< block i lies between marks i and i + 1
  std::vector<uint32_t> block_of;  ///< of each job, by its submission
  std::vector<double> work;        ///< of each job: GPU-hours as recorded
  double hours = 0;                ///< of the period
};
ProofGround ground_of(const sim::Workload& workload, Interval period);

struct ProofDraws {
  int draws = 400;
  uint64_t seed = 42;
};

struct ProofComparison {
  ProofFigure saving;  ///< over the period, in units of the currency
  ProofFigure waiting_s, completion_pct, throughput_pct, lost_gpu_hours;
  ProofJobs before, after;
};
/// @param before, after  a tally per seed each, or one where nothing is left to chance; not empty.
/// @param only  where not empty, jobs that count are those with a 1 in it (cost counts whole).
ProofComparison compare(const ProofGround& ground, std::span<const ReplayTally> before, std::span<const ReplayTally> after,
                        std::span<const uint8_t> only, const ProofDraws& draws);

}  // namespace stint
