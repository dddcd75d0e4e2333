// Data for the example models.
#include <cmath>
#include <numbers>

#include "base/prng.h"
#include "serve/example_models.h"

namespace stint::serve {

LabelledData example_points(int64_t rows, int64_t features, int64_t classes, uint64_t seed) {
  constexpr double kNoise = 2.7;  // of a centre's own scale: the classes overlap a little
  Prng prng(seed);
  std::vector<float> centres(static_cast<size_t>(classes * features));
  for (float& value : centres)
    value = static_cast<float>(prng.normal());
  LabelledData data{{{{rows, features}, {}}}, {}};
  std::vector<float>& values = data.rows.front().values;
  values.reserve(static_cast<size_t>(rows * features));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t label = row % classes;
    data.labels.push_back(label);
    for (int64_t f = 0; f < features; ++f)
      values.push_back(centres[static_cast<size_t>(label * features + f)] + static_cast<float>(kNoise * prng.normal()));
  }
  return data;
}

LabelledData example_stripes(int64_t rows, uint64_t seed) {
  constexpr int64_t kSide = 64, kColours = 3, kDirections = 10;
  constexpr double kWavelength = 8, kNoise = 1;  // pixels; of the stripes' height
  Prng prng(seed);
  LabelledData data{{{{rows, kColours, kSide, kSide}, {}}}, {}};
  std::vector<float>& values = data.rows.front().values;
  values.reserve(static_cast<size_t>(rows * kColours * kSide * kSide));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t label = row % kDirections;
    data.labels.push_back(label);
    const double angle = std::numbers::pi * static_cast<double>(label) / kDirections;
    const double along = std::cos(angle) * 2 * std::numbers::pi / kWavelength;
    const double across = std::sin(angle) * 2 * std::numbers::pi / kWavelength;
    const double phase = prng.uniform() * 2 * std::numbers::pi;
    for (int64_t pixel = 0; pixel < kColours * kSide * kSide; ++pixel) {
      const auto x = static_cast<double>(pixel % kSide), y = static_cast<double>(pixel / kSide % kSide);
      values.push_back(static_cast<float>(std::sin(x * along + y * across + phase) + kNoise * prng.normal()));
    }
  }
  return data;
}

}  // namespace stint::serve
