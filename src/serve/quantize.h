// Post-training quantisation of ONNX models to INT8, as ordinary ONNX nodes that any runtime may fuse: weights per output channel.
//
//   dynamic  MatMul and Gemm: activations are scaled by each batch's own range while it runs (DynamicQuantizeLinear, MatMulInteger)
//   both     Gather of the rows of a table (embeddings): a table of integers, a scale for each column
//   static   Conv too: QuantizeLinear and DequantizeLinear around each layer, with ranges that calibration data showed (QDQ)
//
// Source: ONNX operator specifications, opset 13; Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference" (affine activations, symmetric weights, int32 biases).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "serve/onnx_graph.h"

namespace stint::serve {

struct ValueRange {
  float least = 0, most = 0;
};

/// The tensors whose ranges quantize_static() needs, ascending by name.
std::vector<std::string> tensors_to_calibrate(const OnnxGraph& graph);

/// @return the changed graph; error when it has no layer that can be quantised, or is older than opset 13.
Result<OnnxGraph> quantize_dynamic(const OnnxGraph& graph);
/// @param ranges  of each of tensors_to_calibrate().
Result<OnnxGraph> quantize_static(const OnnxGraph& graph, const std::map<std::string, ValueRange>& ranges);

}  // namespace stint::serve
