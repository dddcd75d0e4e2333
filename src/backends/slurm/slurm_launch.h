// What a Slurm is told to run a launch, and what its queue says of one. Pure.
//
// A launch of the caller's own is a Slurm job of its own, named by its key and marked with the daemon's mark. A job that somebody gave to
// Slurm by sbatch is placed instead: all of its launches, one a machine, are that job, and its AdminComment says which attempt it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/slurm/slurm_wish.h"
#include "codec/slurm/slurm_queue.h"

namespace stint {

/// Of a job that was cancelled and never ran.
inline constexpr std::string_view kGoneInSlurm = "cancelled in Slurm before it began";

/// A program, its arguments, and what it reads.
struct SlurmBatch {
  std::vector<std::string> arguments;  ///< of sbatch
  std::string script;                  ///< its standard input
};

struct SlurmBatchRules {
  std::string mark;           ///< of this daemon: a job without it is none of ours, whatever it is called
  std::string log_folder;     ///< for the output of launches that name no file
  std::optional<RunAs> user;  ///< to run as; none = whoever asks
  std::string account;        ///< of Slurm; empty = the user's usual one
  std::string partition;      ///< empty = Slurm's default
  std::string whole_gpus;  ///< gres of whole GPUs there: "gpu", or with their type "gpu:h200" where MIG devices are beside them
  SlurmParts parts;        ///< in which GPUs are divided there
};

/// @return error for what a Slurm cannot do: parts of a GPU that is not divided, a command that is empty.
Result<SlurmBatch> batch_of(const Launch& launch, const SlurmBatchRules& rules);

/// What a job of ours is called.
std::string own_name(const LaunchKey& key);
/// The key of a job of ours, by its name and mark; none = it is none.
std::optional<LaunchKey> own_launch(const SlurmEntry& entry, std::string_view mark);

/// How far a launch of ours, or an attempt of a job of others, has come.
enum class SlurmProgress : uint8_t {
  kWaits,     ///< told to start, has not begun
  kRuns,      ///< has begun, and is not over
  kEnded,     ///< by itself or by somebody: `end_of`
  kBack,      ///< held, and off its machines: it was told to leave
  kTakenOff,  ///< Slurm took it off its machines and would start it again by itself
};
/// @param note  of a job of others; of our own: empty, they never start twice.
SlurmProgress progress_of(const SlurmEntry& entry, const SlurmNote& note);

/// Of one that has ended.
Report end_of(const SlurmEntry& entry, const LaunchKey& key, Instant now);

}  // namespace stint
