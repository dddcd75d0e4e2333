// Models to try serving with, made on the spot, and data to train and judge them by.
//
// A network's last layer is trained, those before it keep the random weights they began with: enough for an accuracy that means
// something, and a matter of seconds. Source: Rahimi, Recht 2008, "Random Features for Large-Scale Kernel Machines".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/model_judge.h"

namespace stint::serve {

/// Dense layers of these widths with ReLU between them, as an ONNX file: input "x", output "y".
/// @param widths  at least two, each ≥ 1. @param seed  of the weights.
std::string example_mlp(const std::vector<int64_t>& widths, uint64_t seed);
/// Three 3×3 convolutions of 32, 64 and 128 channels with stride 2 and ReLU, a mean over the image and a dense layer of 10, on
/// 3×64×64 images: input "x", output "y".
std::string example_cnn(uint64_t seed);

/// Points around `classes` centres drawn at random, each label as often as the others.
LabelledData example_points(int64_t rows, int64_t features, int64_t classes, uint64_t seed);
/// 3×64×64 images of stripes in noise; the label is their direction, one of 10.
LabelledData example_stripes(int64_t rows, uint64_t seed);

/// The model with its last layer, a Gemm, fitted to the data (softmax regression on what the layers before it make of the rows).
Result<std::string> train_last_layer(const OnnxRuntime& onnx, const std::string& model, const LabelledData& data);

}  // namespace stint::serve
