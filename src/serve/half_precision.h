// float32 models in float16: half the size. Weights and all that is computed are float16; the model takes and gives what it did, with
// casts behind its inputs and before its outputs.
//
// Source: ONNX operator specifications, opset 13 and later (which operators have float16).
#pragma once

#include "serve/onnx_graph.h"

namespace stint::serve {

/// Constants are rounded to the nearest; finite ones beyond float16's range (masks of −10^9, say) become its largest.
/// @return error naming what stands in the way: an operator that is not known to work in float16, or nothing to change
Result<OnnxGraph> in_half_precision(const OnnxGraph& graph);

}  // namespace stint::serve
