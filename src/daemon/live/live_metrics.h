// What the daemon knows of GPUs, money and waiting as Prometheus' text: `/metrics`. docs/formats.md names them.
#pragma once

#include <string>
#include <vector>

#include "daemon/identity/access.h"
#include "daemon/live/live_telemetry.h"

namespace stint {

/// What of a GPU somebody may see.
enum class GpuSight : uint8_t {
  kPlace,  ///< that it is there
  kOwn,    ///< what it does now too: all who hold it are of clients whose jobs they see
  kAll,    ///< everything
};
GpuSight sight_of(const Principal& who, const LiveGpu& gpu);
/// Since when what it does is theirs to see: the newest of its holders' starts. For kOwn.
Instant seen_since(const LiveGpu& gpu);
/// The GPU as they see it: of others' work and of what is too old to be of now nothing is left.
LiveGpu shown_to(const Principal& who, LiveGpu gpu, Instant now);

struct LiveMetricsInput {
  const LiveSnapshot& live;
  const std::vector<NodeView>& nodes;
  const std::vector<QueueView>& queues;  ///< those `who` may see
  const std::vector<JobView>& running;   ///< those `who` may see
  Instant now;
};

/// Of GPUs those whose readings `who` may see; of machines and sources all or nothing.
std::string live_metrics(const LiveMetricsInput& input, const Principal& who);

}  // namespace stint
