// Where the requests of services are served under a change: queues by GPU and hour.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "model/change.h"

namespace stint {

/// One service on one GPU. By hour of the period; an hour without telemetry has −1 in `busy` and counts nowhere.
struct ServiceSeat {
  std::string service;
  std::vector<float> busy;   ///< share of the hour the GPU runs it: the requests of the hour
  std::vector<uint8_t> off;  ///< hours in which no replica serves; empty = none
  std::optional<double> p99_ms;
};

/// Of the services that the change touches. @param change  neither ResizeNodes nor ShareGpus (service_pools.h). @return error saying what is not known.
Result<std::vector<ServiceSeat>> service_seats(const Change& change, const FleetFacts& facts);

}  // namespace stint
