// Which replicas of a service are begun and which go, so that there are as many as wanted of what is configured now, and never fewer
// ready ones on the way than there can be.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stint {

enum class ReplicaPhase : uint8_t {
  kWaiting,   ///< its job does not run
  kStarting,  ///< runs, not ready
  kReady,
  kDraining,  ///< still answers, not named any more
  kLeaving,   ///< told to stop
};
inline constexpr std::array kReplicaPhases = {ReplicaPhase::kWaiting, ReplicaPhase::kStarting, ReplicaPhase::kReady,
                                              ReplicaPhase::kDraining, ReplicaPhase::kLeaving};
std::string_view name_of(ReplicaPhase phase);  // "waiting", "starting", "ready", "draining", "leaving"

struct Replica {
  std::string place;  ///< ADDRESS:PORT
  int64_t job = 0;
  std::string job_name;  ///< its public id
  ReplicaPhase phase = ReplicaPhase::kWaiting;
  bool current = true;  ///< as configured now; false: by a configuration before
};

struct ReplicaPlan {
  std::vector<std::string> begin;  ///< places for new ones
  std::vector<int64_t> drain;      ///< jobs of ready ones that go
  std::vector<int64_t> stop;       ///< jobs that get no requests
  bool operator==(const ReplicaPlan&) const = default;
};

/// Old ones go as new ones become ready: a new configuration whose replicas never are leaves the old ones alone.
/// @param there  all that have not ended. @param places  in the order in which they are used.
ReplicaPlan plan_replicas(size_t wanted, std::span<const Replica> there, std::span<const std::string> places);

}  // namespace stint
