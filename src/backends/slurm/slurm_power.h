// Which of the machines that Slurm wants are started, and which are not: `stint slurm resume` and `suspend`, which Slurm calls as its
// ResumeProgram and SuspendProgram, as one-off steps of a CapacityBook (capacity/capacity_book.h) and the Capacity behind it.
//
// Slurm has given its jobs to the machines it asks for. One that is not to run is told to Slurm as DOWN with a reason that begins
// with "stint:", so that Slurm runs its jobs elsewhere or lets them wait; it is freed (RESUME) as soon as others have gone.
// Nothing is kept beside Slurm: it knew what it asked for before we did, and what was refused stands there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "capacity/capacity_book.h"
#include "codec/slurm/slurm_queue.h"

namespace stint {

/// Machines of one kind that are started and stopped.
struct SlurmPowerPool {
  std::vector<std::string> nodes;
  int32_t most = 0;  ///< at once
  Rate rate;         ///< of one
};

struct PowerRules {
  std::vector<std::string> provider;         ///< the program that starts and stops machines, and its first arguments
  bool provider_lists = false;               ///< it lists them, too: what runs and is off for Slurm is stopped
  std::vector<SlurmPowerPool> pools;         ///< a machine is in one at most; those in none are not ours
  std::optional<Rate> most_burn;             ///< of all pools together
  Duration patience = Duration::minutes(5);  ///< for the provider
};

struct PowerRefusal {
  std::string node;
  std::string why;  ///< begins with "stint:"
};

/// How a call waits for its provider.
struct PowerWaiting {
  std::function<Instant()> clock;
  std::function<void()> wait;  ///< until the Capacity has something to tell
};

struct PowerOutcome {
  std::vector<PowerRefusal> refuse;
  std::vector<std::string> problems;  ///< in words, for the log
};

/// Starts of the asked what the rules allow, the cheapest pools first, after it has given back what was lost.
/// @param machines  all of the cluster, those asked for already powering up. Machines of no pool are refused.
PowerOutcome resume_machines(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked,
                             Capacity& capacity, const PowerWaiting& waiting);
/// Stops the asked that are in pools.
PowerOutcome suspend_machines(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked,
                              Capacity& capacity, const PowerWaiting& waiting);
/// What Slurm stops makes room: as many of those refused for lack of it are freed, the cheapest first. Of what is to stop, those that
/// never came are freed, too: they may be tried again.
std::vector<std::string> freed_by_suspend(const PowerRules& rules, std::span<const SlurmMachine> machines,
                                          std::span<const std::string> asked);

}  // namespace stint
