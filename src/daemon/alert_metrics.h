// What alerts look like on /metrics: how many fire, how their receivers fare, and the gauges and counters that the exported
// rules look at and no other source has (codec/prometheus_rules.h).
#pragma once

#include <string>
#include <vector>

#include "daemon/access.h"
#include "daemon/alert_desk.h"
#include "daemon/views.h"

namespace stint {

/// Prometheus' text format. @param queues  that `who` may see. @param nodes  all.
std::string alert_metrics(const AlertDesk& desk, const std::vector<QueueView>& queues, const std::vector<NodeView>& nodes,
                          const Principal& who);

}  // namespace stint
