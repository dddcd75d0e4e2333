// Pools of replicas, served again hour by hour: what service_pools.h says, of any change that leaves a service so many replicas, so fast, beside
// so much work of others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/prove/service_replay.h"
#include "batching/batch_table.h"

namespace stint {

/// One hour of a service, in replicas of now; an hour without telemetry has −1 in `busy` and counts nowhere.
struct PoolHour {
  float busy = -1;        ///< on average
  float peak = 0;         ///< in the burst; ≥ busy
  float there = 0;        ///< replicas
  float beside = 0;       ///< what others will do on its GPUs, on average
  float beside_peak = 0;  ///< in the burst; ≥ beside
};

struct ServiceReplicas {
  std::string service;
  int64_t together = 1;  ///< GPUs that a replica spans
  int64_t now = 1;
  int64_t then = 1;
  double part = 1;  ///< of its replica that it gets then; below 1 where services share
  std::vector<PoolHour> hours;
  std::optional<double> p99_ms;
  const batching::BatchTable* curve =
      nullptr;  ///< null: one request at a time. Else `hours` are in what replicas can take (by_capacity())
};

/// The hours of a service whose replicas gather batches: in place of the part of them that is busy, that of the requests they can take. Batches grow
/// with the load, so the second is less.
std::vector<PoolHour> by_capacity(std::vector<PoolHour> hours, const batching::BatchTable& curve);

/// Adds a GPU to its service's hours: seen, not seen though there, or not there.
class PoolHours {
 public:
  explicit PoolHours(size_t hours) : busy_(hours), peak_(hours), seen_(hours), there_(hours) {}

  void add(const NodeFacts& node, const GpuLoad& gpu);
  /// GPUs that were not seen did as much as the others. @param together  GPUs of a replica.
  [[nodiscard]] std::vector<PoolHour> hours(int64_t together) const;

 private:
  std::vector<double> busy_, peak_, seen_, there_;
};

/// Of the hours that were seen and in which something ran, the busiest: ascending.
std::vector<size_t> busiest_hours(const ServiceReplicas& service);

/// How a service is served then.
struct PoolSpeed {
  double stretch = 1;  ///< a request by itself takes so many times as long
  double beside = 0;   ///< of what others do there, that waits in the same line
  bool beside_only =
      false;  ///< that line is as long as the longer of the two: its own requests, stretched, or all, not stretched
};

class PoolReplay {
 public:
  /// Both outlive it.
  PoolReplay(const FleetFacts& facts, const ServiceDraws& draws);
  PoolReplay(PoolReplay&&) noexcept;
  PoolReplay& operator=(PoolReplay&&) noexcept;
  ~PoolReplay();

  /// @param service  outlives it. @param least, most  that is possible.
  void add(const ServiceReplicas& service, PoolSpeed least, PoolSpeed most);
  /// Of all; `seats`, `measured` and `beside_others` are the caller's to say.
  [[nodiscard]] ServiceOutlook outlook() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
