// Slurm's trackable resources: `billing=8,cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=512G,node=1`.
// Source: Slurm documentation, "Trackable RESources (TRES)" and "Generic Resource (GRES) Scheduling".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace stint {

struct Tres {
  int64_t gpus = 0;             ///< whole GPUs, or MIG instances when `mig` is there
  std::optional<GpuShare> mig;  ///< all GPUs are instances of one profile: the share of its device one of them is
  int64_t cpus = 0;
  Bytes memory;
};

/// The type of a gres as a MIG profile, `1g.10gb` or `mig-1g.10gb`: the share of its device one instance is. None: it is none.
std::optional<GpuShare> mig_share(std::string_view type);

/// An empty text is no resources. @return error for an entry that is no KEY=VALUE or a value that is no number.
Result<Tres> parse_tres(std::string_view text);

/// `512G`, `4000M`, `1.5T`, `1024K`; a bare number is MiB, as Slurm has it.
std::optional<Bytes> parse_slurm_memory(std::string_view text);
/// `[DD-]HH:MM:SS[.fff]` or `MM:SS`. None for UNLIMITED, Partition_Limit, INVALID and anything else.
std::optional<Duration> parse_slurm_duration(std::string_view text);

}  // namespace stint
