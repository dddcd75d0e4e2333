#include "base/prng.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace stint {

uint64_t Prng::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

uint64_t Prng::below(uint64_t n) {
  CHECK(n > 0, "below(0)");
  // Rejection keeps the draw uniform; at most half of all draws are thrown away.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
  uint64_t draw = next();
  while (draw >= limit)
    draw = next();
  return draw % n;
}

double Prng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Prng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace stint
