// How well a model answers: rows of data run through it, the largest output of each held against a label.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "serve/npy.h"
#include "serve/onnx_runtime.h"
#include "serve/quantize.h"

namespace stint::serve {

/// Rows of a model's inputs, and what they are.
struct LabelledData {
  std::vector<NpyArray> rows;   ///< of each input, in the model's order; as many of each
  std::vector<int64_t> labels;  ///< as many; none: not known
  [[nodiscard]] int64_t count() const { return rows.empty() || rows[0].shape.empty() ? 0 : rows[0].shape[0]; }
  [[nodiscard]] LabelledData part(int64_t first, int64_t end) const;
};

/// Sizes that the rows have for the model's free dimensions. @return error when the rows do not fit its inputs, or each other
Result<Sizes> sizes_of_rows(const Runtime& model, const std::vector<NpyArray>& rows);
/// Which value of the first output is the largest, for each row.
Result<std::vector<int64_t>> classes_of(Runtime& model, const std::vector<NpyArray>& rows);
/// Part of the rows whose class is their label, 0 … 1.
double agreement(const std::vector<int64_t>& classes, const std::vector<int64_t>& labels);

/// What values the graph's tensors take on these rows.
Result<std::map<std::string, ValueRange>> ranges_of(const OnnxRuntime& onnx, OnnxGraph graph,
                                                    const std::vector<std::string>& tensors, const std::vector<NpyArray>& rows);

/// The outputs of a batch, whatever their types, as numbers.
using TakeOutputs = std::function<void(int64_t items, const std::vector<std::vector<float>>& outputs)>;
/// The rows, as the inputs' types have them, in batches: the outputs of each are given to `take`.
Status run_rows(Runtime& model, const std::vector<NpyArray>& rows, const TakeOutputs& take);

}  // namespace stint::serve
