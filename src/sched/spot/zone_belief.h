// What is believed of the spot capacity of a zone that is looked at now and then.
//
// Spells of capacity and gaps between them are heavy-tailed: the chance that a spell ends after its tick number `age` is taken as
// c·age^(−γ), as in spot_market.h, here for zones that are not seen in every tick. The belief is a distribution over kinds of
// zones (few values of c for spells, few for gaps), whether there is capacity now, and since how long. It moves on by itself
// between looks, and every look corrects it by Bayes' rule.
// The values of c and γ were fitted by likelihood on the 15 traces of Can't Be Late (AWS, 2022 and 2023, docs/benchmarks.md), not on
// those that SkyNomad's policies are judged by; the least c of each stands for zones that hardly ever change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"

namespace stint::sched {

/// The process that all zones are taken to follow, each with its kind. Made once, shared.
class ZoneProcess {
 public:
  static constexpr std::array<double, 4> kUpEnds = {0.02, 0.1, 0.25, 0.5};    ///< c of spells of capacity, per tick
  static constexpr std::array<double, 4> kDownEnds = {0.05, 0.15, 0.3, 0.6};  ///< c of gaps
  static constexpr double kDecay = 0.6;                                       ///< γ
  static constexpr size_t kKinds = kUpEnds.size() * kDownEnds.size();
  /// Ages in ticks, in classes that a spell leaves with the chance of one over their length.
  static constexpr std::array<int32_t, 10> kAges = {1, 2, 3, 5, 9, 17, 33, 65, 129, 257};
  static constexpr size_t kAgeClasses = kAges.size();
  static constexpr size_t kStates = kKinds * 2 * kAgeClasses;

  ZoneProcess();

  static constexpr size_t state(size_t kind, bool up, size_t age) { return (kind * 2 + (up ? 1 : 0)) * kAgeClasses + age; }
  static constexpr bool is_up(size_t state) { return state / kAgeClasses % 2 == 1; }

  [[nodiscard]] double end_chance(size_t state) const { return end_[state]; }
  [[nodiscard]] double age_chance(size_t state) const { return age_[state]; }
  /// Of a zone met by chance.
  [[nodiscard]] std::span<const float> stationary() const { return stationary_; }
  /// One tick passes.
  void advance(std::span<float> weights) const;

  /// Draws whether there is capacity in each tick from now on. @param state  in the first. @param out  1 or 0 per tick.
  void draw(size_t state, Prng& random, std::span<uint8_t> out) const;

 private:
  std::array<double, kStates> end_;       ///< chance that the spell is over in the next tick
  std::array<double, kStates> age_;       ///< chance that it has come into the next class, if not over
  std::array<double, kStates> log_stay_;  ///< log of the chance of neither
  std::array<float, kStates> stationary_;
};

class ZoneBelief {
 public:
  /// @param process  outlives the belief.
  explicit ZoneBelief(const ZoneProcess& process);

  void advance() { process_->advance(weights_); }
  /// There is capacity in this tick, or not.
  void observe(bool up);
  [[nodiscard]] double chance_up() const;
  /// Draws states of the present tick, spread evenly over the belief. @param only_up  as if there were capacity now.
  /// @param out  as many as wanted, in random order.
  void draw_states(Prng& random, bool only_up, std::span<uint16_t> out) const;

 private:
  const ZoneProcess* process_;
  std::array<float, ZoneProcess::kStates> weights_;  ///< sum 1
};

}  // namespace stint::sched
