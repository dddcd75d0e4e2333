// Import from a live Slurm through its own programs: scontrol (nodes), sacct (what was), squeue (what is, and on which GPUs).
//
// One import, one transaction. Jobs come as JSON and as sacct's columns, never as scontrol's text: a job could give itself
// another account there by its name. Programs are asked in UTC. Source: Slurm manual, scontrol(1), sacct(1), squeue(1).
#pragma once

#include <string>
#include <vector>

#include "collect/file_import.h"

namespace stint {

struct SlurmImport {
  Interval window;                             ///< of accounting: jobs that were there at any time in it
  std::string programs;                        ///< folder of Slurm's programs; empty = searched in PATH
  Duration patience = Duration::seconds(120);  ///< for each program
};

struct SlurmOutcome {
  ImportOutcome import;
  std::vector<std::string> notes;  ///< what this cluster does not tell, a sentence each
};

/// @return error with the program and what to do when it cannot be asked; nothing is then stored. A cluster without accounting
/// is no error: its queue is read, and a note says so.
Result<SlurmOutcome> import_slurm(HistoryFile& history, const SlurmImport& import, Instant now);

}  // namespace stint
