// Scaling: how many nodes a pool should have now. A pure step: measurements in, a number and the reason out.
//
// Each signal asks for a number of nodes; the largest wins, because too few hurts users and too many only costs money.
// Utilisation has a dead band around its target (up above 1.2 ×, down below 0.5 ×), so that a pool at its target stays as it
// is. Growing and shrinking have their own cooldowns; shrinking waits until demand has been lower for a while, and
// never goes below what the last measurements of that time asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace stint::sched {

struct ScalingRules {
  int32_t min_nodes = 0;
  int32_t max_nodes = 1;
  double target_utilization = 0.7;         ///< of the pool's GPUs, in (0, 1]
  double up_band = 1.2;                    ///< grow above target × this
  double down_band = 0.5;                  ///< shrink below target × this
  double waiting_gpus_per_node = 8;        ///< one more node for so many GPUs waited for; > 0
  std::optional<Duration> latency_target;  ///< p99; above it by 10 % a node more, in proportion
  Duration up_cooldown = Duration::minutes(1);
  Duration down_cooldown = Duration::minutes(10);
  Duration idle_grace = Duration::minutes(15);  ///< without any work for so long, down to min_nodes, even to 0

  bool operator==(const ScalingRules&) const = default;
};

/// What was measured since the last step. None = not known, asks for nothing.
struct ScalingSignals {
  std::optional<double> utilization;  ///< 0 … 1, mean of the pool
  int64_t waiting_gpus = 0;           ///< asked for by jobs that wait
  int32_t busy_nodes = 0;             ///< with work on them: never taken away
  int32_t starting_nodes = 0;         ///< asked for and not ready yet: what waits now is meant for them, too
  std::optional<Duration> latency_p99;
  std::optional<double> predicted_nodes;  ///< demand expected for when a node asked for now would be ready
  std::optional<double> custom_nodes;     ///< asked for by a metric of the user's own
};

enum class ScalingReason : uint8_t {
  kSteady,
  kUtilization,
  kQueue,
  kLatency,
  kPrediction,
  kCustom,
  kIdle,
  kMinimum,
  kMaximum,
  kCooldown,
};
std::string_view name_of(ScalingReason r);

struct ScalingDecision {
  int32_t nodes = 0;                              ///< how many there should be
  ScalingReason reason = ScalingReason::kSteady;  ///< of the change, or why there is none although one was asked for
  int32_t asked = 0;                              ///< by the strongest signal, before limits and cooldowns
};

class Scaler {
 public:
  /// CHECKs ranges. @param nodes  there now.
  Scaler(const ScalingRules& rules, int32_t nodes);
  /// @param now  never before the last step's. @param nodes  there now, those still starting included.
  ScalingDecision step(Instant now, int32_t nodes, const ScalingSignals& signals);

 private:
  struct Wish {
    int32_t nodes = 0;
    ScalingReason reason = ScalingReason::kSteady;
  };
  [[nodiscard]] Wish strongest(int32_t nodes, const ScalingSignals& signals) const;

  ScalingRules rules_;
  std::optional<Instant> grown_;
  std::optional<Instant> shrunk_;
  std::optional<Instant> idle_since_;
  std::optional<Instant> low_since_;
  int32_t low_wish_ = 0;  // the largest since low_since_
};

}  // namespace stint::sched
