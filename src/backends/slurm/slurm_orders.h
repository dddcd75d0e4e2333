// Orders for Slurm as what its programs are told. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/slurm/slurm_mirror.h"

namespace stint {

/// One call of a program, argument by argument.
using SlurmCommand = std::vector<std::string>;

/// In the order to run them: `scancel …` or `scontrol …`. @return error when a name is none Slurm could have.
Result<std::vector<SlurmCommand>> commands_of(const SlurmOrder& order);
/// Many calls of scontrol as the lines that one scontrol reads: a process for each would take most of the time.
std::string scontrol_lines(std::span<const SlurmCommand> commands);
/// For a person to paste.
std::string shell_line(const SlurmCommand& command);

}  // namespace stint
