// A job request out of JSON that is parsed already, such as one inside a record of the log.
#pragma once

#include "daemon/api/job_request.h"
#include "daemon/api/simdjson_fwd.h"

namespace stint {

/// Types and unknown fields are checked; ranges are check_request()'s.
Result<JobRequest> read_job_request(simdjson::dom::element json);

}  // namespace stint
