// Services replayed: what a change does to the time their requests take, hour by hour of the History.
//
// On other machines, on fewer or on shared GPUs a service is a pool of replicas: service_pools.h. What follows is of machines that stay as they are
// and are off at times.
// Single requests are not recorded, so none is run again. Measured is how long each GPU was busy in each hour. Modelled is the rest: within an
// hour a service's GPU is a queue M/M/1, in which a request that takes s by itself takes longer than t with chance e^{−t(1−ρ)/s}. A period mixes
// its hours, weighted by their requests. What an hour cannot serve waits for the next; requests of such hours are late, and so are those of hours
// in which the machines are off.
// What is told are ratios to the fleet as it is: they need neither the rate of requests nor the time that one takes.
// Where it is not known how much of a GPU a request keeps busy there are two answers, with the least and the most that is possible.
// Source: Kleinrock 1975, "Queueing Systems" I, section 3.2 (time in an M/M/1 queue); the tests hold it against requests drawn one by one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "advise/promises.h"
#include "advise/prove/proof.h"
#include "catalog/catalog.h"
#include "model/change.h"

namespace stint {

/// Of one service.
struct ServiceP99 {
  std::string service;
  double least_pct = 100;        ///< p99, percent of as it is
  double most_pct = 100;         ///< ≥ least_pct
  std::optional<double> now_ms;  ///< as measured
  P99Bound bound;
};

struct ServiceOutlook {
  int64_t seats = 0;  ///< services × GPUs that the change touches
  bool busy = false;  ///< some request was seen there
  std::string worst;  ///< the service whose p99 suffers most, against what it may be
  /// p99 of that service, percent of as it is; above kCannotKeepUpPct: it waits for hours.
  double p99_least_pct = 100;
  ProofFigure p99_pct;                    ///< the most that is possible
  double in_time_most_pct = 100;          ///< requests of all services, of those in time as it is
  ProofFigure in_time_pct;                ///< the least that is possible
  std::optional<double> p99_now_ms = {};  ///< as measured, of that service
  P99Bound bound = {};                    ///< of that service
  std::vector<ServiceP99> each = {};      ///< by name, those of which a request was seen
  bool measured = true;                   ///< how much of the GPU requests keep busy
  bool pooled = false;                    ///< replicas behind a balancer (service_pools.h)
  bool beside_others = false;             ///< some run under MPS beside others: what they do to each other was not measured
};
inline constexpr double kCannotKeepUpPct = 1e5;

struct ServiceDraws {
  std::span<const Instant> marks;  ///< blocks that are drawn again (proof_weeks.h)
  int draws = 100;
  uint64_t seed = 42;
};

/// @param catalog  for a change of type. @return error saying what is not known of the change.
Result<ServiceOutlook> replay_services(const Change& change, const FleetFacts& facts, const Catalog& catalog,
                                       const ServiceDraws& draws);

/// Does it touch a machine of a service?
bool touches_services(const Change& change, const FleetFacts& facts);

}  // namespace stint
