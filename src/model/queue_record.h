// What a batch system keeps about a run beside the run: where it queued, and what kept it waiting.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "base/time.h"

namespace stint {

/// Texts are empty where the source does not say.
struct QueueRecord {
  std::string run_id;  ///< Run::id and Run::restart of the same import
  int restart = 0;
  std::string partition;
  std::string qos;
  std::string reason;  ///< the last reason it waited for, in the batch system's word: "Dependency", "QOSMaxGRESPerUser"
  std::optional<Instant> eligible;  ///< from when on it could have run, but for room and rank
};

/// One machine of a partition; a machine may be in several.
struct PartitionNode {
  std::string partition;
  std::string node;
  auto operator<=>(const PartitionNode&) const = default;
};

}  // namespace stint
