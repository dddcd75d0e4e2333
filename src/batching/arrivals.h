// When requests come: evenly at random, in bursts, or as a trace has them.
//
// A replica behind a balancer that draws lots sees each request with the chance 1 ÷ replicas.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"

namespace stint::batching {

struct ArrivalPlan {
  enum class Kind : uint8_t {
    kPoisson,
    kBursty,  ///< Poisson at two rates in turn, each for a time drawn at random (a Markov-modulated Poisson process)
    kTrace,  ///< the trace's gaps, stretched so that the mean rate is the one asked for; from a point drawn at random, round and round
  };
  Kind kind = Kind::kPoisson;
  double burst_factor = 3;                       ///< kBursty: rate in a burst ÷ mean rate, > 1
  double burst_share = 0.1;                      ///< of the time that is burst; share × factor < 1
  Duration burst_length = Duration::seconds(1);  ///< mean of a burst's length
  std::vector<Duration> trace;                   ///< kTrace: gaps between arrivals, at least two, not all 0
};

Status check_arrivals(const ArrivalPlan& plan);

class ArrivalStream {
 public:
  /// @param plan  checked; outlives the stream. @param per_second  of all replicas, > 0.
  ArrivalStream(const ArrivalPlan& plan, double per_second, int64_t replicas, uint64_t seed);
  /// The next arrival at this replica, ascending from 1970.
  Instant next();

 private:
  double exponential(double mean);

  const ArrivalPlan& plan_;
  double per_second_;
  int64_t replicas_;
  Prng prng_;
  double now_ns_ = 0;
  bool burst_ = false;
  double phase_end_ns_ = 0;  // kBursty
  size_t at_ = 0;            // kTrace
  double stretch_ = 1;
};

}  // namespace stint::batching
