// What alerts look like on /metrics: how many fire, how their receivers fare, and the gauges and counters that the exported
// rules look at and no other source has (codec/metrics/prometheus_rules.h).
#pragma once

#include <string>
#include <vector>

#include "daemon/alerts/alert_desk.h"
#include "daemon/engine/views.h"
#include "daemon/identity/access.h"

namespace stint {

/// Prometheus' text format. @param queues  that `who` may see. @param nodes  all.
std::string alert_metrics(const AlertDesk& desk, const std::vector<QueueView>& queues, const std::vector<NodeView>& nodes,
                          const Principal& who);

}  // namespace stint
