// Nodes and queue of a Slurm as a scheduler in front of it has to know them: what may be used, what each job asks for, what
// it is held by. (codec/slurm/slurm_answer.h reads the same answers for the History: what ran.)
// Source: Slurm manual, scontrol(1) "show node", squeue(1) "--json", "NODE STATE CODES", "JOB REASON CODES".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "codec/slurm/slurm_job.h"

namespace stint {

struct SlurmMachine {
  std::string name;
  std::vector<SlurmGres> gres;  ///< configured
  int64_t gpus_used = 0;        ///< by Slurm's own count; 0 where it does not tell
  int64_t cpus = 0;
  Bytes memory;
  std::vector<std::string> partitions, features;
  std::string state;       ///< "IDLE+DRAIN"
  std::string reason;      ///< why it is down or drained, as whoever did it wrote it
  bool takes_work = true;  ///< false: down, draining, reserved, … One that is powered down is woken by a job.
};

/// Answer of `scontrol show node -o -d`. @return error naming the node that cannot be understood.
Result<std::vector<SlurmMachine>> read_slurm_machines(std::string_view text);

/// One record of the queue. Texts as Slurm wrote them, empty = not said.
struct SlurmEntry {
  std::string id;           ///< `17`, `17_3` of an array; of an array's tasks that have not begun, all in one, the array's number
  std::string array_tasks;  ///< those: "0-5,7"; empty = this is one job
  std::string array;        ///< number of its array; empty = none
  int64_t array_limit = 0;  ///< so many of its array at once; 0 = all
  bool heterogeneous = false;
  RunState state = RunState::kUnknown;
  std::string reason;  ///< why it waits: "JobHeldUser"
  bool held = false;   ///< priority 0
  int64_t priority = 0, nice = 0;
  std::string name, user, account, partition, qos, comment, admin_comment, dependency, features;
  int64_t nodes = 1, tasks = 1, cpus = 1;
  Bytes memory_per_node, memory_per_cpu;    ///< 0 = not asked for
  std::string per_node, per_job, per_task;  ///< gres asked for: "gres:gpu:h200:2"
  std::string required_nodes, excluded_nodes;
  std::string on_nodes;   ///< hostlist of what it holds; empty = nothing
  std::string allocated;  ///< TRES it holds
  bool requeue = false;
  bool exclusive = false;
  int restarts = 0;
  std::optional<Instant> submitted;
  std::optional<Instant> begins;   ///< of a job that waits: not before
  std::optional<Instant> started;  ///< of a job that runs or ran
  std::optional<Instant> ended;    ///< of a job that has
  int64_t exit_status = 0;         ///< likewise: as wait(2) packs it
  std::optional<Instant> deadline;
  std::optional<Duration> time_limit;
};

struct SlurmQueue {
  std::vector<SlurmEntry> entries;
  std::vector<std::string> rejected;  ///< a sentence each
};
/// Answer of `squeue --json`. @return error when it is no such answer, or says that Slurm had an error.
Result<SlurmQueue> read_slurm_queue(std::string_view document);

/// `17_3` → 17: an older job has a smaller one.
int64_t job_number(std::string_view id);

/// `0-5%2`, `1,4-9:2` → task numbers ascending as written, at most `most` of them. @return error for anything else.
Result<std::vector<int64_t>> parse_slurm_tasks(std::string_view text, size_t most);

}  // namespace stint
