// Why jobs of a batch system waited: by its own word where it has one, and else by what was free meanwhile.
//
// The runs themselves say who held what when, so free GPUs of each partition are known at every moment. Between two changes the
// time of a waiting job is one of: its GPUs were not free in the partition; they were, but not together on machines; they were,
// together, and the job did not get them (rank, a reservation, or the scheduler had not looked yet).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/history.h"
#include "model/queue_history.h"

namespace stint {

enum class WaitKind : uint8_t {
  kNotEligible,  ///< held, a dependency, its own begin time
  kLimit,        ///< the batch system names a rule: an account's or QOS's limit, a partition's, a licence
  kNoGpus,
  kFragmented,
  kRank,
};
inline constexpr size_t kWaitKinds = 5;

struct RunWait {
  uint32_t run = 0;                          ///< index into History::runs
  std::string reason;                        ///< the batch system's word; empty = none but its ordinary course
  std::array<Duration, kWaitKinds> by = {};  ///< by WaitKind
  std::string elsewhere;                     ///< a partition of the same GPUs where it would have fitted at once; empty = none
  [[nodiscard]] Duration total() const;
};

/// Runs that have a queue record and waited at all, in order of History::runs. One that still waits has waited until `until`.
std::vector<RunWait> waits_of_runs(const History& history, const QueueHistory& queue, Instant until);

/// Partition → its machines, ascending: as the batch system says, and where runs of it were.
std::vector<PartitionNode> partitions_of(const History& history, const QueueHistory& queue);

}  // namespace stint
