// What waiting and what changing to spot is worth, for each kind of market that may be.
//
// A dynamic programme backwards from the deadline. A state is: how much time could still be lost (slack), whether spot is
// there and since how long, and what holds the task. Slack is on a grid and interpolated, ages are in classes that a spell
// leaves with the chance of one over their length. Only two decisions are open where it matters, so only two margins
// are kept, at every eighth tick: in a gap, what on-demand costs more than waiting; and when spot appears beside on-demand, what
// staying costs more than changing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sched/spot/spot_market.h"
#include "sched/spot/spot_policy.h"

namespace stint::sched {

inline constexpr size_t kMarkets = kSpellKinds * kSpellKinds;  ///< kind of spells of capacity major, of gaps minor

class SpotValue {
 public:
  enum class Margin : uint8_t { kWait, kChange };

  /// @param task        passes check().
  /// @param spot_price  over the on-demand price, above 0.
  SpotValue(const SpotTask& task, double spot_price);

  /// Mean margin, in on-demand ticks times the sum of weights: above 0 = wait, or change.
  /// @param slack_s  0 or more. @param up, down  weights of the kinds of spells and of gaps.
  [[nodiscard]] float margin(Margin margin, int64_t elapsed_s, int64_t slack_s, size_t age_class, const SpellWeights& up,
                             const SpellWeights& down) const {
    const size_t stride = std::min(static_cast<size_t>(static_cast<float>(elapsed_s) * strides_per_s_), strides_ - 1);
    const float place = std::min(static_cast<float>(slack_s) * slots_per_s_, static_cast<float>(slots_ - 1));
    const auto slot = static_cast<size_t>(place);
    const float part = place - static_cast<float>(slot);
    const float* low =
        &margins_[(((stride * 2 + static_cast<size_t>(margin)) * kAgeClasses + age_class) * (slots_ + 1) + slot) * kMarkets];
    const float* high = low + kMarkets;
    float sum = 0;
    for (size_t u = 0; u < kSpellKinds; ++u) {
      float inner = 0;
      for (size_t d = 0; d < kSpellKinds; ++d) {
        const size_t m = u * kSpellKinds + d;
        inner += down[d] * (low[m] + part * (high[m] - low[m]));
      }
      sum += up[u] * inner;
    }
    return sum;
  }

 private:
  float strides_per_s_ = 0;
  float slots_per_s_ = 0;
  size_t strides_ = 0;
  size_t slots_ = 0;            ///< of slack
  std::vector<float> margins_;  ///< by stride, margin, age class, slot (one more than slots_), market
};

}  // namespace stint::sched
