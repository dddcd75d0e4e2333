// Telemetry of one node's GPUs, condensed: means, quantiles and the hours of each.
#pragma once

#include "advise/node_facts.h"

namespace stint {

/// More memory in use than the driver's own: somebody holds the GPU, also while it is idle.
inline constexpr int64_t kHeldMemoryBytes = int64_t{1} << 30;

/// Fills `gpus`, the telemetry fields and the telemetry part of the timeline of `node`.
/// @param physical  the node's GPUs. @param node.timeline  one entry per hour of the period.
void add_gpu_loads(NodeFacts& node, std::span<const PhysicalGpu> physical, const History& history, const Usage& usage);

/// What a replay of services asks for: GPU by GPU and hour by hour.
void add_service_hours(NodeFacts& node, const History& history, const Usage& usage);

/// p99 of requests in ms, as high as in the worst 5 % of the samples of its worst device; none where it was not measured.
std::optional<double> request_p99_ms(const GpuLoad& gpu, const Usage& usage);

/// Coverage and quality, from what was watched and the hours the node was there.
void judge_coverage(NodeFacts& node);

}  // namespace stint
