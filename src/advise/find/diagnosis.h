// Why a GPU is used little, from the metrics there are, and what to change (mission row B4).
#pragma once

#include <string>
#include <vector>

#include "advise/node_facts.h"

namespace stint {

/// Means over the hours in which the node's GPUs were active; absent = not measured.
struct ActiveMetrics {
  std::optional<double> utilization_pct, sm_active_pct, sm_occupancy_pct, tensor_pct, bandwidth_pct, host_cpu_pct;
  std::optional<double> pcie_gb_s;     ///< receive, 10⁹ bytes/s
  std::optional<double> request_rate;  ///< per second
  std::optional<double> utilization_max_pct;
  std::optional<double> memory_pct;  ///< p95 of the total
  std::optional<double> temperature_c, sm_clock_mhz;
  std::optional<double> sm_clock_max_mhz;  ///< the most that was seen
};
ActiveMetrics active_metrics(const NodeFacts& node, const Usage& usage);

/// One sentence per bottleneck: the figures, what to change, what it is likely worth; empty without telemetry. Of a node that is well used
/// only what makes its busy hours slow is told: memory bandwidth, idle tensor cores, PCIe, heat. Of others a last sentence names metrics
/// that were missing for a verdict.
/// @param gpu  nullptr = the model is not in the catalogue.
std::vector<std::string> diagnose(const NodeFacts& node, const ActiveMetrics& metrics, const GpuFacts* gpu);

}  // namespace stint
