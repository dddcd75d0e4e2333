// Models to try serving with, made on the spot: right shapes, random weights, nothing learnt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stint::serve {

/// Dense layers of these widths with ReLU between them, as an ONNX file: input "x", output "y".
/// @param widths  at least two, each ≥ 1. @param seed  of the weights.
std::string example_mlp(const std::vector<int64_t>& widths, uint64_t seed);
/// Three 3×3 convolutions of 16, 32 and 64 channels with stride 2 and ReLU, a mean over the image and a dense layer of 10, on
/// 3×64×64 images: input "x", output "y".
std::string example_cnn(uint64_t seed);

}  // namespace stint::serve
