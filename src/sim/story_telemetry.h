// A story's telemetry as three tools write it: nvidia-smi, a saved series of DCGM exporter scrapes, Prometheus.
#pragma once

#include <array>
#include <string_view>

#include "sim/story_trace.h"

namespace stint {

/// What one machine logs with `nvidia-smi --query-gpu=… --format=csv -l 300`. Times are UTC and, as there, say no zone.
void write_nvidia_smi(const Story& story, const StoryTrace& trace, size_t node, const TextOut& out);
/// Scrapes of one machine's exporter, one after another, with timestamps.
void write_dcgm_text(const Story& story, const StoryTrace& trace, size_t node, const TextOut& out);
/// The answer to a query_range over the month for one metric of all machines that Prometheus watches.
void write_prometheus(const Story& story, const StoryTrace& trace, std::string_view metric, const TextOut& out);

inline constexpr std::array<std::string_view, 8> kStoryDcgmMetrics = {
    "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED",    "DCGM_FI_DEV_FB_FREE",      "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"};

}  // namespace stint
