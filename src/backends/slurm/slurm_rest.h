// Machines that are to rest, in a Slurm: drained there, so that its users' jobs are not placed on them either, and resumed when they are to rest no
// longer. What runs there ends by itself.
//
// Slurm is the truth: whoever drained a machine wrote why, so nothing is kept beside it, and after a crash the next call goes on. One that somebody else
// has drained stays as it is.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/slurm/slurm_orders.h"
#include "codec/slurm/slurm_queue.h"
#include "host/slurm_programs.h"

namespace stint {

/// What brings Slurm in line, none where it is. Names that Slurm does not have are passed over. Pure.
std::vector<SlurmCommand> rest_commands(std::span<const SlurmMachine> machines, const std::set<std::string>& resting);

/// Looks, and does what is missing. Waits for Slurm's programs. @return error of the first that fails.
Status bring_to_rest(const SlurmPrograms& programs, const std::set<std::string>& resting);

}  // namespace stint
