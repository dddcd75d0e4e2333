// Which of the machines that Slurm wants are started, and which are not: the rules of sched/scaling.h for `stint slurm resume`
// and `suspend`, which Slurm calls as its ResumeProgram and SuspendProgram. Pure: no program is run here.
//
// Slurm has given its jobs to the machines it asks for. One that is not to run is told to Slurm as DOWN with a reason that begins
// with "stint:", so that Slurm runs its jobs elsewhere or lets them wait; it is freed (RESUME) as soon as others have gone.
// Nothing is kept beside Slurm: what was refused stands there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "codec/slurm_queue.h"

namespace stint {

/// Machines of one kind that are started and stopped.
struct SlurmPowerPool {
  std::vector<std::string> nodes;
  int32_t most = 0;  ///< at once
  Rate rate;         ///< of one
};

struct PowerRules {
  std::vector<std::string> provider;         ///< the program that starts and stops machines, and its first arguments
  std::vector<SlurmPowerPool> pools;         ///< a machine is in one at most; those in none are not ours
  std::optional<Rate> most_burn;             ///< of all pools together
  Duration patience = Duration::minutes(5);  ///< for the provider
};

struct PowerRefusal {
  std::string node;
  std::string why;
};

struct PowerPlan {
  std::vector<std::string> give_back;  ///< resume: lost ones, that whatever is left of them makes room before others start
  std::vector<std::string> start;      ///< or, of suspend, stop; in the order of the asked
  std::vector<PowerRefusal> refuse;
  std::vector<std::string> free;  ///< were refused, and may be asked for again
};

/// @param machines  all of the cluster, those asked for already powering up. Machines of no pool are refused.
/// Cheaper pools go first.
PowerPlan plan_resume(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked);
/// What Slurm stops makes room: as many of those refused for lack of it are freed, the cheapest first. Of what is to stop, those that
/// never came are freed, too: they may be tried again.
PowerPlan plan_suspend(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked);

}  // namespace stint
