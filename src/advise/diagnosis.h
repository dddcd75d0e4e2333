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
};
ActiveMetrics active_metrics(const NodeFacts& node, const Usage& usage);

/// One sentence per bottleneck: the figures, what to change, what it is likely worth; empty when the node is well
/// used or has no telemetry. A last sentence names metrics that were missing for a verdict.
/// @param gpu  nullptr = the model is not in the catalogue.
std::vector<std::string> diagnose(const NodeFacts& node, const ActiveMetrics& metrics, const GpuFacts* gpu);

}  // namespace stint
