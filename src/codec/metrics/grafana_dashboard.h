// The fleet as a Grafana dashboard over Prometheus: GPU metrics of whoever exports them (prometheus_metric.h), Stint's own of money,
// queue and use.
// Source: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
#pragma once

#include <string>

namespace stint {

/// @return JSON to import; asks for the Prometheus data source through a variable.
std::string grafana_dashboard();

}  // namespace stint
