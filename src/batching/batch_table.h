// A batching replica at all rates, worked out once: what a planner asks again and again.
//
// Of the model of replica_pool.h: the replica starts the waiting requests, as many as fit, when it is free, and the balancer draws lots. So the
// part of the time in which it is busy is no measure of how much more it can take: batches grow before it is full.
#pragma once

#include <vector>

#include "batching/replica_pool.h"

namespace stint::batching {

class BatchTable {
 public:
  /// Rates are parts of most_per_second(); above this one requests wait without end.
  static constexpr double kMostShare = 0.95;

  /// @param replica  batches above kLargest are left out.
  static constexpr size_t kLargest = 64;
  explicit BatchTable(BatchingReplica replica);

  /// The rate at which it is busy for that part of the time. Both 0 … 1, ascending together.
  [[nodiscard]] double share_at(double busy) const;
  [[nodiscard]] double busy_at(double share) const;
  /// That a request takes more than `times` × as long as one that is alone. @param share  0 … kMostShare.
  [[nodiscard]] double chance_beyond(double share, double times) const;

 private:
  struct Tail {
    double times = 0;   ///< × as long as one that is alone
    double beyond = 0;  ///< part of the requests that take longer
  };
  struct Point {
    double share = 0;
    double busy = 0;
    std::vector<Tail> tail;  ///< ascending by times
  };
  static double beyond(const Point& point, double times);

  std::vector<Point> points_;  ///< ascending; the first at rate 0
};

}  // namespace stint::batching
