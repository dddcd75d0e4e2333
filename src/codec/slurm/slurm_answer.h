// What Slurm's programs answer, read from memory: the two halves of the importer "slurm".
#pragma once

#include <string_view>

#include "codec/importer.h"
#include "codec/slurm/slurm_job.h"

namespace stint {

/// A node as Slurm tells of it.
struct SlurmNode {
  std::string name;
  std::string gres;  ///< `gpu:h200:8(S:0-1)`
  int64_t cpus = 0;
  int64_t memory_mib = 0;
  std::string instance_type;  ///< of cloud nodes, since 24.05
  std::vector<std::string> partitions = {};
};
/// @return error naming what cannot be understood.
Result<Node> node_of(const SlurmNode& node);

/// The answer of `squeue --json`, `sinfo --json`, `scontrol show jobs|nodes --json` or `sacct --json` of Slurm 22.05 to 25.x.
/// Jobs and nodes go to `sink`, what cannot be read is refused by name.
/// @return error when it is no such answer, or says that Slurm had an error.
Status read_slurm_json(std::string_view document, const ImportOptions& options, Sink& sink);
/// The answer of `scontrol show job -d` and `scontrol show node -d`, also of `-o`. Times in it are local: `options.zoneless`.
Status read_slurm_text(std::string_view text, const ImportOptions& options, Sink& sink);

}  // namespace stint
