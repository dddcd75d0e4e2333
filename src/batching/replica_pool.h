// A service as a pool of replicas behind a balancer: how long its requests take, in closed form.
//
// Two kinds of replicas:
//   * one request at a time, and the balancer gives it to a free one: the queue is common to all (M/M/c where requests take exponential times,
//     M/D/c where all take the same). The first is exact. In the second a request waits with Erlang's chance, and then as in an M/D/1 queue that is
//     served c times as fast.
//   * batches, which each replica gathers by itself from the requests that the balancer draws lots for. Exact for batches of equal times: the
//     chain of those who wait when a batch ends.
// Requests come by themselves (Poisson). Where their rate changes slowly against the time that one takes, a period is a mix of levels; faster
// bursts are not in it. `replica_pool_test` holds all of it against simulated requests, one by one.
// Sources: Kleinrock 1975, "Queueing Systems" I, section 3.5 (M/M/c); Erlang 1909 and Prabhu 1965 (wait in M/D/1); Tijms 1994, "Stochastic Models",
// section 4.4 (M/D/c by M/D/1); Bailey 1954 (bulk service).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stint::batching {

/// How much requests differ in the time they take by themselves.
enum class WorkTimes : uint8_t { kEqual, kExponential };

/// Replicas of a service, each working on one request at a time.
struct ReplicaPool {
  int64_t replicas = 1;  ///< ≥ 1
  WorkTimes times = WorkTimes::kEqual;
};

/// A part of a period.
struct PoolLevel {
  double busy = 0;      ///< replicas that are busy on average: requests a second × seconds that one takes by itself; ≥ 0
  double requests = 0;  ///< of the period, any unit
};

/// That a request finds all replicas busy (Erlang's C); 1 where they cannot keep up.
double chance_of_waiting(int64_t replicas, double busy);

/// That a request takes longer than `times` × the mean time it takes by itself, waiting included. @param busy  < replicas.
double chance_beyond(const ReplicaPool& pool, double busy, double times);

/// Mean time of a request, × the mean time it takes by itself. @param busy  < replicas.
double mean_response(const ReplicaPool& pool, double busy);

/// The time that one request in `one_in` exceeds, × the mean time that one takes by itself; infinite where more of them than that meet a level
/// that the pool cannot keep up with. @param one_in  > 1: 100 asks for p99.
double slowest_response(const ReplicaPool& pool, std::span<const PoolLevel> levels, double one_in);

/// One of the replicas that gather batches, and what it does with requests that come at random.
struct BatchingReplica {
  std::vector<double> batch_ms;  ///< of a batch of 1, 2, …; at least one, > 0, never falling
};

/// Requests a second above which a batching replica cannot keep up.
double most_per_second(const BatchingReplica& replica);

/// What a batching replica does at one rate.
struct BatchTimes {
  double busy = 0;                               ///< part of the time in which a batch runs
  std::vector<std::pair<double, double>> times;  ///< milliseconds of requests, descending, each with its part of them
};
/// @param per_second  > 0 and below most_per_second().
BatchTimes batch_times(const BatchingReplica& replica, double per_second);

/// p99 likewise of a replica that starts the waiting requests, as many as fit, when it is free. @param per_second  that it gets; > 0 and below
/// most_per_second(). @return milliseconds.
double slowest_response_ms(const BatchingReplica& replica, double per_second, double one_in);
double mean_response_ms(const BatchingReplica& replica, double per_second);

}  // namespace stint::batching
