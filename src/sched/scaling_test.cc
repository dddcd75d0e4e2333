#include "sched/scaling.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stint::sched {
namespace {

Instant at(int64_t minutes) { return Instant::from_seconds(1'800'000'000) + Duration::minutes(minutes); }

ScalingRules rules(int32_t min_nodes, int32_t max_nodes) {
  ScalingRules r;
  r.min_nodes = min_nodes;
  r.max_nodes = max_nodes;
  return r;
}
ScalingSignals used(double utilization, int32_t busy) {
  ScalingSignals s;
  s.utilization = utilization;
  s.busy_nodes = busy;
  return s;
}

TEST(Scaler, GrowsAboveTheBandToItsTarget) {
  Scaler scaler(rules(1, 100), 10);
  // 70 % × 1.2 = 84 %: at 83 nothing happens, at 91 there should be 10 × 0.91 / 0.7 = 13.
  EXPECT_EQ(scaler.step(at(0), 10, used(0.83, 10)).nodes, 10);
  const ScalingDecision d = scaler.step(at(1), 10, used(0.91, 10));
  EXPECT_EQ(d.nodes, 13);
  EXPECT_EQ(d.reason, ScalingReason::kUtilization);
}

TEST(Scaler, ShrinksBelowTheBandAfterTheCooldownAndNeverBelowBusyNodes) {
  Scaler scaler(rules(1, 100), 10);
  // Below 35 %: 10 × 0.21 / 0.7 = 3, but four have work on them.
  EXPECT_EQ(scaler.step(at(0), 10, used(0.21, 4)).reason, ScalingReason::kCooldown);
  EXPECT_EQ(scaler.step(at(5), 10, used(0.21, 4)).nodes, 10);
  EXPECT_EQ(scaler.step(at(10), 10, used(0.21, 4)).nodes, 4);
}

TEST(Scaler, TheLargestDemandWins) {
  Scaler scaler(rules(0, 100), 4);
  ScalingSignals s = used(0.9, 4);  // asks for 6
  s.waiting_gpus = 33;              // asks for 4 + 5
  s.predicted_nodes = 7.2;          // asks for 8
  const ScalingDecision d = scaler.step(at(0), 4, s);
  EXPECT_EQ(d.nodes, 9);
  EXPECT_EQ(d.reason, ScalingReason::kQueue);
}

TEST(Scaler, LatencyAboveItsPromiseGrowsInProportion) {
  ScalingRules r = rules(1, 100);
  r.latency_target = Duration::milliseconds(50);
  Scaler scaler(r, 4);
  ScalingSignals s = used(0.5, 4);
  s.latency_p99 = Duration::milliseconds(100);
  EXPECT_EQ(scaler.step(at(0), 4, s).nodes, 8);
}

TEST(Scaler, GoesToZeroWhenIdleForItsGraceAndComesBackAtOnce) {
  Scaler scaler(rules(0, 10), 3);
  int32_t nodes = 3;
  for (int64_t minute = 0; minute < 15; ++minute) {
    nodes = scaler.step(at(minute), nodes, used(0, 0)).nodes;
    EXPECT_GE(nodes, 1) << minute;
  }
  EXPECT_EQ(scaler.step(at(15), nodes, used(0, 0)).nodes, 0);
  ScalingSignals s;
  s.waiting_gpus = 4;
  EXPECT_EQ(scaler.step(at(16), 0, s).nodes, 1);
}

TEST(Scaler, NodesThatStartAreNotAskedForAgain) {
  Scaler scaler(rules(0, 100), 1);
  int32_t nodes = 1;
  for (int64_t minute = 0; minute < 8; ++minute) {
    ScalingSignals s;
    s.utilization = 1;
    s.busy_nodes = 1;
    s.starting_nodes = nodes - 1;
    s.waiting_gpus = 8;
    nodes = scaler.step(at(minute), nodes, s).nodes;
    EXPECT_EQ(nodes, 2);
  }
}

TEST(Scaler, UnderConstantLoadItComesToRestWithinItsLimits) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    const auto lowest = static_cast<int32_t>(random.below(3));
    const auto highest = lowest + 1 + static_cast<int32_t>(random.below(40));
    const double load = 0.2 + static_cast<double>(random.below(300)) / 10;  // in nodes fully used
    int32_t nodes = static_cast<int32_t>(random.below(static_cast<uint64_t>(highest) + 1));
    Scaler scaler(rules(lowest, highest), nodes);
    int changes_late = 0;
    for (int64_t minute = 0; minute < 600; ++minute) {
      ScalingSignals s;
      if (nodes > 0) s.utilization = std::min(1.0, load / nodes);
      s.busy_nodes = std::min(nodes, static_cast<int32_t>(load));
      s.waiting_gpus = nodes < load ? 8 : 0;
      const int32_t to = scaler.step(at(minute), nodes, s).nodes;
      EXPECT_LE(to, std::max(highest, nodes));
      EXPECT_GE(to, std::min(nodes, lowest));
      if (minute >= 300 && to != nodes) ++changes_late;
      nodes = to;
    }
    EXPECT_EQ(changes_late, 0);
  }
}

}  // namespace
}  // namespace stint::sched
