// Past usage that fades: what was used a half-life ago counts half.
//
// Kept as the decayed average of a level, in the level's own unit: ∫ level(s) · 2^(−(t−s)/h) ds · ln 2 / h. A level held for ever
// averages to itself; one held for one half-life and then dropped stands at half, after another at a quarter.
// Time goes in ticks of a 128th of the half-life, as Slurm recalculates usage every PriorityCalcPeriod: within a tick usage
// counts as spread evenly (an error below 0.3 %). So the averages of thousands of queues change together at instants known
// beforehand, an order over them holds for a whole tick, and nothing costs anything while nothing changes. Whole numbers
// throughout, and the same average however often it is asked for.
// Source: the decay factor of Slurm's multifactor priority plugin (PriorityDecayHalfLife).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace stint::sched {

/// Half-lives cut into ticks.
class DecayClock {
 public:
  static constexpr int kTicksPerHalfLife = 128;
  /// @param half_life  0 = the past does not count.
  explicit DecayClock(Duration half_life);

  [[nodiscard]] bool runs() const { return tick_ > Duration(); }
  /// Tick 0 begins here; before that there is no usage.
  void begin(Instant origin) { origin_ = origin; }
  [[nodiscard]] int64_t tick_at(Instant t) const { return (t - origin_).count_ns() / tick_.count_ns(); }
  [[nodiscard]] Instant begin_of(int64_t tick) const { return origin_ + tick_ * tick; }
  [[nodiscard]] Duration tick() const { return tick_; }

 private:
  Duration tick_;
  Instant origin_;
};

class DecayedLevel {
 public:
  /// The level is another from `now` on, never before the last call's. @param level  0 … 2^60.
  void change(const DecayClock& clock, int64_t level, Instant now);
  /// Average over the past, as of the beginning of a tick: not before that of the last change. Rounded to the nearest whole.
  [[nodiscard]] int64_t average(const DecayClock& clock, int64_t tick) const;

  /// Calls mix(number) with everything that can influence a later average.
  template <typename Mix>
  void mix_into(Mix&& mix) const {
    for (const int64_t part :
         {level_, average_, tick_, static_cast<int64_t>(area_ >> 64), static_cast<int64_t>(area_), since_.ns()})
      mix(part);
  }

 private:
  __extension__ using Area = __int128;  // level × nanoseconds
  int64_t level_ = 0;
  int64_t average_ = 0;  // at the beginning of tick_
  int64_t tick_ = 0;     // in which the level last changed
  Area area_ = 0;        // from the beginning of that tick to since_
  Instant since_;
};

}  // namespace stint::sched
