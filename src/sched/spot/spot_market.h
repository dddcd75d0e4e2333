// What a spot market may be like: how long its capacity stays, how long it stays away.
//
// Spells of capacity and gaps between them are heavy-tailed: the longer one has lasted, the longer it will go on. So the
// chance that a spell ends after its tick number `age` is c·age^(−γ). Few values of c stand for all markets, and each spell
// that is seen shifts the belief in them by Bayes' rule.
// The values were chosen on the preemption traces of 2023 that come with the paper (docs/benchmarks.md), not on the
// availability traces of 2022 that policies are judged by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stint::sched {

inline constexpr std::array<double, 3> kSpellEnds = {0.1, 0.2, 0.4};  ///< c, per tick
inline constexpr double kSpellEndDecay = 0.4;                         ///< γ
inline constexpr size_t kSpellKinds = kSpellEnds.size();

/// Ages in ticks, in classes within which the chance of an end is taken as constant.
inline constexpr std::array<int32_t, 9> kAgeClassStarts = {1, 2, 3, 4, 6, 9, 15, 27, 57};
inline constexpr size_t kAgeClasses = kAgeClassStarts.size();
/// @param age  1 or more.
size_t age_class(int32_t age);

/// Chance that a spell of a kind ends after its tick number `age`, in (0, 1).
double spell_end_chance(size_t kind, double age);
/// The same for an age class.
double class_end_chance(size_t kind, size_t age_class);

/// Weights of the kinds; only their proportions mean something.
using SpellWeights = std::array<float, kSpellKinds>;

/// The likelihood of spells under each kind.
class SpellLikelihood {
 public:
  SpellLikelihood();
  /// Older spells count as that old: what their end says changes no more.
  static constexpr int32_t kMostAge = 512;

  /// `weights` times the chance to last beyond tick `age`, given that it lasted beyond tick `unseen`.
  /// @param unseen  0 ≤ unseen ≤ age ≤ kMostAge.
  [[nodiscard]] SpellWeights lasted(const SpellWeights& weights, int32_t age, int32_t unseen) const {
    SpellWeights out;
    for (size_t k = 0; k < kSpellKinds; ++k)
      out[k] = weights[k] * survival_[static_cast<size_t>(age)][k] * inverse_[static_cast<size_t>(unseen)][k];
    return out;
  }
  /// `weights` times the chance to end after tick `age`, given the same; scaled so that the largest is 1.
  /// @param unseen  0 ≤ unseen < age ≤ kMostAge.
  [[nodiscard]] SpellWeights ended(const SpellWeights& weights, int32_t age, int32_t unseen) const;

 private:
  std::array<SpellWeights, kMostAge + 1> survival_;  ///< beyond tick [age], at least 1e-12
  std::array<SpellWeights, kMostAge + 1> inverse_;
  std::array<SpellWeights, kMostAge + 1> end_;  ///< chance to end after tick [age] when it lasted beyond the one before
};

}  // namespace stint::sched
