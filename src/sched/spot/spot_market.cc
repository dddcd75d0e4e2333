#include "sched/spot/spot_market.h"

#include <algorithm>
#include <cmath>

namespace stint::sched {

size_t age_class(int32_t age) {
  const auto above = std::upper_bound(kAgeClassStarts.begin(), kAgeClassStarts.end(), age);
  return static_cast<size_t>(above - kAgeClassStarts.begin()) - 1;
}

double spell_end_chance(size_t kind, double age) { return kSpellEnds[kind] * std::pow(age, -kSpellEndDecay); }

double class_end_chance(size_t kind, size_t age_class) {
  constexpr double kInLastClass = 90;
  const double middle =
      age_class + 1 < kAgeClasses ? (kAgeClassStarts[age_class] + kAgeClassStarts[age_class + 1] - 1) / 2.0 : kInLastClass;
  return spell_end_chance(kind, middle);
}

SpellLikelihood::SpellLikelihood() {
  constexpr double kLeast = 1e-12;
  for (size_t kind = 0; kind < kSpellKinds; ++kind) {
    double survival = 1;
    end_[0][kind] = 0;
    for (size_t age = 0; age <= kMostAge; ++age) {
      if (age > 0) {
        const double end = spell_end_chance(kind, static_cast<double>(age));
        end_[age][kind] = static_cast<float>(end);
        survival = std::max(kLeast, survival * (1 - end));
      }
      survival_[age][kind] = static_cast<float>(survival);
      inverse_[age][kind] = static_cast<float>(1 / survival);
    }
  }
}

SpellWeights SpellLikelihood::ended(const SpellWeights& weights, int32_t age, int32_t unseen) const {
  SpellWeights out = lasted(weights, age - 1, unseen);
  for (size_t k = 0; k < kSpellKinds; ++k)
    out[k] *= end_[static_cast<size_t>(age)][k];
  // A kind that was ruled out may come back: markets change.
  constexpr float kLeastWeight = 1e-6F;
  const float largest = *std::max_element(out.begin(), out.end());
  for (float& w : out)
    w = std::max(w / largest, kLeastWeight);
  return out;
}

}  // namespace stint::sched
