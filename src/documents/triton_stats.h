// Batch times as a Triton server has measured them of its own requests: the answer to GET /v2/models/NAME/stats, whose `batch_stats` say of each size
// how many batches ran and how long they took. Whatever sent the requests (perf_analyzer, users) does not matter.
//
// Source: Triton Inference Server, protocol extension "Statistics" (statistics extension of the KServe protocol).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "batching/latency_profile.h"

namespace stint {

/// Mean time of a batch of each size that ran: its input, inference and output together. Ascending, a batch of 1 among them.
/// @param source  for messages. @return error for what is no such answer, one of several models or versions, or one without single requests.
Result<batching::LatencyProfile> read_triton_stats(std::string_view json, const std::string& source);

}  // namespace stint
