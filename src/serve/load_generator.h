// Load on an inference server as the world makes it: requests are due at instants fixed beforehand, and an answer's time counts from
// then, whether or not the server, or a connection, was free to take it.
//
// Source: Tene 2013, "How NOT to Measure Latency" (coordinated omission); MLPerf LoadGen's server scenario (Poisson arrivals).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batching/arrivals.h"
#include "batching/latency_histogram.h"
#include "codec/serving/infer_wire.h"

namespace stint::serve {

struct LoadShape {
  batching::ArrivalPlan arrivals;
  double per_second = 100;
  double per_second_at_end = 0;  ///< > 0: the rate goes there in a straight line; Poisson only
  Duration length = Duration::seconds(10);
  uint64_t seed = 1;
};
/// When requests are due, from the beginning, ascending.
std::vector<Duration> due_times(const LoadShape& shape);

struct LoadTarget {
  std::string address;  ///< IPv4 or IPv6, no name
  uint16_t port = 0;
  /// Whole HTTP requests, sent in turn.
  std::vector<std::string> requests;
  int connections = 64;
};

struct LoadOutcome {
  int64_t sent = 0, answered = 0;        ///< answered: with status 200
  std::map<int, int64_t> refused;        ///< by status; 0: the connection broke
  batching::LatencyHistogram latency;    ///< of those answered, from when they were due
  batching::LatencyHistogram lag;        ///< from due to sent: the generator's own part, and waiting for a free connection
  batching::LatencyHistogram at_server;  ///< of those answered, from sent to answered
  Duration took;                         ///< from the first due to the last answer
};

/// A whole request of inference, as LoadTarget has them. @param host  and port, for the header
std::string infer_post(std::string_view model, std::string_view host, const InferMessage& message);

/// Sends each request when it is due. @param patience  after the last one is due. @return kUnavailable when no server listens
Result<LoadOutcome> run_open_load(const LoadTarget& target, const std::vector<Duration>& due, Duration patience);
/// Every connection sends its next request when it has its answer: how much a server can do, not how long clients wait.
Result<LoadOutcome> run_closed_load(const LoadTarget& target, Duration length);

/// Sends the target's first request and waits for its answer, each time it is called, on one connection. @return error when no server
///   listens; the call's when the answer is no success
Result<std::function<Status()>> one_by_one(LoadTarget target);

}  // namespace stint::serve
