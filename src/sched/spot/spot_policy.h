// A task with a deadline on spot capacity: for the next tick, spot, on-demand, or wait?
//
// Time goes in ticks. Work is done while an instance runs and has spent its changeover (start, load, restore), which is
// paid like work; a changeover cut short by an interruption begins anew. On-demand is there whenever it is asked for.
// A policy sees a SpotMoment and nothing of what comes, so the same object decides live and in a replay. Every policy
// ends in the same safety net: none misses a deadline that on-demand alone would have met.
// Source: Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024, sections 4 and 5.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace stint::sched {

/// What holds the task during a tick.
enum class SpotTake : uint8_t { kIdle, kSpot, kOnDemand };

/// Seconds throughout.
struct SpotTask {
  int64_t tick_s = 0;
  int64_t work_s = 0;
  int64_t deadline_s = 0;  ///< from the beginning; inside a tick it counts as the end of the tick before
  int64_t changeover_s = 0;

  /// Error unless all is positive (a changeover may be 0), no more than ten years, and on-demand from the beginning
  /// meets the deadline.
  [[nodiscard]] Status check() const;
};

/// What is known at the beginning of a tick.
struct SpotMoment {
  int64_t elapsed_s = 0;            ///< a multiple of the tick
  int64_t work_left_s = 0;          ///< > 0
  int64_t changeover_left_s = 0;    ///< of what holds the task
  SpotTake held = SpotTake::kIdle;  ///< since the tick before; kIdle where that was spot and is gone
  bool spot_available = false;      ///< in the tick that begins
};

class SpotSafetyNet {
 public:
  /// @param task  passes check().
  explicit SpotSafetyNet(const SpotTask& task)
      : last_tick_s_((task.deadline_s / task.tick_s - 1) * task.tick_s), changeover_s_(task.changeover_s) {}

  /// How long the task could stand idle and still do its work in time, not counting changeovers nor the tick that begins.
  [[nodiscard]] int64_t spare_s(const SpotMoment& now) const { return last_tick_s_ - now.elapsed_s - now.work_left_s; }

  /// `wish` while two changeovers can be spared: spot may be tried, lost, and replaced. With less, on-demand to the end;
  /// only a spot instance that runs already stays while it lasts.
  [[nodiscard]] SpotTake keep(SpotTake wish, const SpotMoment& now) const {
    const int64_t spare = spare_s(now);
    if (spare >= 2 * changeover_s_) return wish;
    if (now.held == SpotTake::kSpot && (spare >= changeover_s_ || now.changeover_left_s == 0)) return SpotTake::kSpot;
    if (changeover_s_ == 0 && now.spot_available) return SpotTake::kSpot;
    return SpotTake::kOnDemand;
  }

 private:
  int64_t last_tick_s_;
  int64_t changeover_s_;
};

/// Spot while it is there, else wait, until the safety net takes over.
class GreedySpot {
 public:
  explicit GreedySpot(const SpotTask& task) : net_(task) {}
  void begin() {}
  [[nodiscard]] SpotTake choose(const SpotMoment& now) const {
    return net_.keep(now.spot_available ? SpotTake::kSpot : SpotTake::kIdle, now);
  }

 private:
  SpotSafetyNet net_;
};

/// As greedy, but on-demand instead of waiting while less work is done than an even pace to the deadline asks for, and from
/// on-demand back to waiting or spot only when ahead of the pace of two changeovers from now.
class UniformProgressSpot {
 public:
  explicit UniformProgressSpot(const SpotTask& task) : task_(task), net_(task) {}
  void begin() {}
  [[nodiscard]] SpotTake choose(const SpotMoment& now) const {
    const int64_t done = (task_.work_s - now.work_left_s) * task_.deadline_s;
    SpotTake wish = SpotTake::kSpot;
    if (!now.spot_available)
      wish = now.held == SpotTake::kOnDemand || done < now.elapsed_s * task_.work_s ? SpotTake::kOnDemand : SpotTake::kIdle;
    else if (now.held == SpotTake::kOnDemand && done <= (now.elapsed_s + 2 * task_.changeover_s) * task_.work_s)
      wish = SpotTake::kOnDemand;
    return net_.keep(wish, now);
  }

 private:
  SpotTask task_;
  SpotSafetyNet net_;
};

}  // namespace stint::sched
