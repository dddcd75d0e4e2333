// The project's own random numbers: the same seed gives the same draws with every library and compiler.
#pragma once

#include <cstdint>

namespace stint {

/// SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
class Prng {
 public:
  explicit Prng(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Uniform in [0, n). @param n  > 0.
  uint64_t below(uint64_t n);
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Mean 0, standard deviation 1 (Box–Muller; two draws a call).
  double normal();
  /// A generator whose draws do not depend on how often this one is asked afterwards.
  Prng fork(uint64_t salt) const { return Prng(state_ ^ (salt * 0x9e3779b97f4a7c15ULL + 0x1234567ULL)); }

 private:
  uint64_t state_;
};

}  // namespace stint
