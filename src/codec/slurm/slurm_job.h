// A job as Slurm tells of it, in whichever words: sacct, squeue --json, scontrol show job. All become the same Run.
// Source: Slurm manual, sacct(1), squeue(1), scontrol(1), gres.conf(5), "JOB STATE CODES".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/queue_record.h"
#include "model/workload.h"

namespace stint {

/// Texts as Slurm wrote them; empty = not said.
struct SlurmJob {
  std::string id;      ///< as sacct names it: `17`, `17_3` of an array, `17+1` of a heterogeneous job
  std::string raw_id;  ///< the number alone; empty = the same
  std::string name, user, account, partition, qos, comment;
  std::string state;   ///< "RUNNING", "CANCELLED by 1001", …
  std::string reason;  ///< why it waits, or waited last
  std::optional<Instant> submitted, eligible, started, ended;
  std::optional<Duration> time_limit;
  int restarts = 0;                  ///< how often it was requeued before
  std::string requested, allocated;  ///< TRES
  std::string nodes;                 ///< hostlist
  /// Which GPUs, where that is told: a hostlist and the gres on each of its nodes, `gpu:h200:2(IDX:0-1)`.
  std::vector<std::pair<std::string, std::string>> gres;
};

/// @param asked_at  when Slurm was asked: what runs is known to have run until then. none = not known.
/// @return error naming the field that cannot be understood.
Result<Run> run_of(const SlurmJob& job, std::optional<Instant> asked_at = {});
/// Of the run that run_of() makes of it. Slurm's ordinary course, `None`, `Priority` and `Resources`, is no reason.
QueueRecord queue_record_of(const SlurmJob& job, const Run& run);

/// `CANCELLED by 1001` and sacct's shortened `CANCELLED+` are CANCELLED.
Result<RunState> parse_slurm_state(std::string_view text);
/// Ended for good or until it is requeued.
bool has_ended(RunState state);
/// Slurm's words for nothing: "", Unknown, None, N/A, (null), None assigned.
bool is_absent_in_slurm(std::string_view text);

/// What sacct is asked with, so that importer "sacct" can read its answer: all that ran at any time in the window, requeues and
/// all. Times are UTC, as it has to be asked.
std::vector<std::string> sacct_arguments(Interval window);

/// One entry of a gres list.
struct SlurmGres {
  std::string name;  ///< "gpu", "shard", "mps"
  std::string type;  ///< "h200", "1g.10gb"; "" = none
  int64_t count = 0;
  std::vector<int> indexes;  ///< of IDX:…, ascending as written; empty = not told
  bool operator==(const SlurmGres&) const = default;
};
/// `gpu:h200:8(S:0-1),shard:64`, `gpu:2(IDX:0,3)`, `gres:gpu:4`; empty and (null) are no entries.
/// @return error for a GPU count or index that is no number, or more than 4096 of one.
Result<std::vector<SlurmGres>> parse_slurm_gres(std::string_view text);

}  // namespace stint
