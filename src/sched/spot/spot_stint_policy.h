// Our own policy for a task with a deadline on spot capacity.
//
// Spot while it is there. In a gap it waits as long as waiting is worth more than on-demand, and from on-demand it changes to
// spot once that is worth more than staying: the expected costs to the end, by spot_value.h, under what the spells so far
// say of the market. Against Uniform Progress it wins by not trusting a spell or a gap before its age says something, by spending
// slack on short gaps, and by holding back no more slack than the deadline asks for.
#pragma once

#include <memory>

#include "sched/spot/spot_value.h"

namespace stint::sched {

class StintSpot {
 public:
  /// @param task        passes check(). Takes some tenths of a second; copies share the tables.
  /// @param spot_price  over the on-demand price, above 0.
  StintSpot(const SpotTask& task, double spot_price);

  void begin();
  [[nodiscard]] SpotTake choose(const SpotMoment& now);

 private:
  /// Ticks that the spell found at the beginning is taken to have lasted before: one met by chance is a long one.
  static constexpr int32_t kUnseenTicks = 6;

  struct Tables {
    SpellLikelihood likelihood;
    SpotValue value;
  };

  void see(bool available);
  [[nodiscard]] bool spot_is_safe(const SpotMoment& now, int64_t slack_s) const;
  [[nodiscard]] bool pays(SpotValue::Margin margin, int64_t elapsed_s, int64_t slack_s) const;

  SpotTask task_;
  int64_t end_s_;  ///< of the last tick before the deadline
  std::shared_ptr<const Tables> tables_;
  // What this window has shown so far.
  SpellWeights up_, down_;  ///< of the spells that have ended
  bool available_;
  int32_t age_;  ///< of the spell that lasts, in ticks, with `unseen_`; 0 = nothing seen yet
  int32_t unseen_;
};

}  // namespace stint::sched
