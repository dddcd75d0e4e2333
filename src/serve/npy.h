// Arrays as NumPy saves them (.npy): data for calibration and for judging a model.
//
// Source: NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays" (versions 1 to 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint::serve {

struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<float> values;  ///< row by row
};

/// float32, float64, int32 and int64, little-endian, in C order. @param source  for messages.
Result<NpyArray> read_npy(std::string_view bytes, const std::string& source);
/// As float32. @param values  as many as the shape has.
std::string write_npy(std::span<const int64_t> shape, std::span<const float> values);

}  // namespace stint::serve
