// What is counted while a replay runs: GPU-hours, fragmentation, the time line and the occupancy picture.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/replay_result.h"
#include "sim/workload.h"

namespace stint::sim {

/// Free GPUs of all nodes, and how much of that the workload's kinds of request could not use.
///
/// The measure is that of Weng et al. (ATC'23), by GPU alone: for each kind of request, weighted by how many tasks ask for
/// it, what is free on a node counts as unusable when the request does not fit there; a share that fits on one GPU makes
/// only the smaller remainders of the node unusable.
class FreeGauge {
 public:
  explicit FreeGauge(const Workload& workload);
  void set_up(NodeId node, bool up);
  /// A task takes (sign −1) or gives back (+1) GPUs: whole ones, or `milli` of one.
  void change(NodeId node, uint64_t gpus, int32_t milli, int32_t sign);
  [[nodiscard]] int64_t available_milli() const { return available_milli_; }
  [[nodiscard]] int64_t free_milli() const { return free_milli_; }
  /// Expected unusable part of free_milli().
  [[nodiscard]] double unusable_milli() const { return unusable_milli_; }

 private:
  struct NodeState {
    std::array<int16_t, sched::kMaxGpusPerNode> free{};
    int32_t gpus = 0;
    int32_t free_milli = 0;
    bool up = false;
    double unusable_milli = 0;
  };
  [[nodiscard]] double unusable(const NodeState& node) const;
  void add(const NodeState& node, int32_t sign);

  struct ShareDemand {
    int32_t milli = 0;
    double weight = 0;
  };
  std::array<double, sched::kMaxGpusPerNode + 1> whole_demand_{};  // weight by number of GPUs of one task
  std::vector<ShareDemand> share_demand_;
  std::vector<NodeState> nodes_;
  int64_t available_milli_ = 0;
  int64_t free_milli_ = 0;
  double unusable_milli_ = 0;
};

/// Keeps at most `limit` points, evenly over however long the replay turns out to be: when it is full every second point
/// goes and points come half as often.
class Timeline {
 public:
  explicit Timeline(size_t limit) : limit_(limit) {}
  /// Whether a point at `now` would be kept.
  [[nodiscard]] bool wants(Instant now) const { return points_.empty() || now - points_.back().at >= spacing_; }
  void add(const TimelinePoint& point);
  /// The last point is kept whatever its distance.
  [[nodiscard]] std::vector<TimelinePoint> take(const TimelinePoint& last);

 private:
  size_t limit_;
  Duration spacing_ = Duration::seconds(1);
  std::vector<TimelinePoint> points_;
};

}  // namespace stint::sim
