// Services whose replicas the daemon runs as jobs: the list `services` of its configuration. docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "daemon/api/job_request.h"
#include "sched/scaling.h"

namespace stint {

/// An inference service: as many jobs alike as its load needs.
struct ServiceConfig {
  std::string name;
  JobRequest job;                   ///< one replica
  std::vector<std::string> places;  ///< ADDRESS:PORT that replicas may listen on; at least one more than there may be replicas
  sched::ScalingRules rules;        ///< a node is a replica, utilisation the part of what the promise allows
  Duration every = Duration::seconds(5);          ///< it is looked at that often
  Duration drain = Duration::seconds(10);         ///< from being out of the endpoints to being told to stop
  Duration start_within = Duration::minutes(10);  ///< a replica that runs and is not ready for so long is replaced
  std::string endpoints;   ///< file that names those which are ready, for Prometheus' file_sd and balancers; empty = none
  std::string token_file;  ///< what replicas want to be shown, for /metrics
  bool proof = true;       ///< a replica shows that it is the one that was started, before it is named or shown the token

  bool operator==(const ServiceConfig&) const = default;
};

class JsonFields;
/// Of the list `services` among `fields`.
Result<std::vector<ServiceConfig>> read_service_configs(JsonFields& fields);

}  // namespace stint
