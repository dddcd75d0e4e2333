// What Slurm may be told of the jobs it places itself, so that they start in the scheduler's order: by priorities or nice, holds and
// features. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/slurm/slurm_mirror.h"

namespace stint {

enum class SlurmMeans {
  kPriorities,  ///< fixed ones: Slurm reckons them no longer
  kNice,        ///< beside what Slurm goes on to reckon
};

/// How a job stands in Slurm's line.
struct SlurmStanding {
  int64_t priority = 0;
  int64_t number = 0;  ///< of the job: of equal priorities the smaller goes first
};
/// Priorities by which jobs stand in the given order, as few new ones as can be. @param step  between a new one and others.
/// @return by job; none = it may keep its own.
std::vector<std::optional<int64_t>> priorities_for(std::span<const SlurmStanding> in_order, int64_t step);

/// In the order to carry out; nothing where all is as it should be.
std::vector<SlurmOrder> advise_on(const SlurmLine& line, std::span<const SlurmMachine> machines, const DriveRules& rules,
                                  SlurmMeans means);

}  // namespace stint
