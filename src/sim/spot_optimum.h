// The least a task with a deadline could have cost, had the spot capacity been known ahead.
//
// Dynamic programme over ticks. What was lost of the time since the beginning (ticks waited, changeovers begun) says how
// much work is done, and no more may be lost than the deadline leaves; so a state is (what holds the task, time lost), in
// steps of the greatest common divisor of tick, changeover and work. A changeover is taken whole when it begins: one that
// an interruption cuts short does no work and is never cheaper than waiting. Costs are integers: the optimum is exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "sim/spot_replay.h"

namespace stint::sim {

class SpotOptimum {
 public:
  /// @param prices  above 0.
  /// @return error when the task does not pass its check, or needs too many states: tick, changeover and work have too small a
  /// common divisor.
  static Result<SpotOptimum> create(const sched::SpotTask& task, const SpotPrices& prices);

  /// Among the cheapest runs one with the fewest on-demand ticks, among those the first done. Keeps its tables between
  /// calls: an object per thread.
  /// @param available  as for replay_spot().
  SpotRun solve(std::span<const uint8_t> available);

 private:
  /// Least cost so far by time lost, behind `pad_` entries that are out of reach.
  struct Layer {
    std::vector<int64_t> idle, spot, on_demand;
  };
  SpotOptimum() = default;
  void reset(Layer& layer) const;
  void pass_tick(bool available);
  /// The least cost of being done after exactly `ticks`.
  [[nodiscard]] int64_t least_done(size_t ticks) const;

  int64_t on_demand_cost_ = 0;  ///< of a tick: nano-units of the hourly price, times `scale_`, plus 1 for counting
  int64_t spot_cost_ = 0;
  int64_t scale_ = 1;  ///< more than there are ticks, so that counting on-demand ticks never outweighs a cost
  size_t ticks_ = 0;   ///< before the deadline
  size_t tick_ = 0;    ///< in steps, as are the next three
  size_t changeover_ = 0;
  size_t work_ = 0;
  size_t most_lost_ = 0;
  size_t pad_ = 0;
  Layer now_, next_;
};

}  // namespace stint::sim
