// What runs a model: tensors of a batch in, tensors of the batch out. The batcher above does not know which one it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace stint::serve {

/// A float32 tensor of a model. The first dimension is the batch; the others are fixed.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> item_shape;  ///< without the batch
  [[nodiscard]] int64_t item_size() const;
};

/// Values of one tensor for a whole batch, item after item.
using Values = std::vector<float>;

/// A loaded model. One batch at a time: several instances are several runtimes.
class Runtime {
 public:
  virtual ~Runtime() = default;
  [[nodiscard]] virtual const std::vector<TensorSpec>& inputs() const = 0;
  [[nodiscard]] virtual const std::vector<TensorSpec>& outputs() const = 0;
  /// @param items  ≥ 1. @param in  one per input, items × its item_size() values. @return one per output, the same way.
  virtual Result<std::vector<Values>> run(int64_t items, std::span<const Values> in) = 0;
};

/// Ok, or which input has the wrong number of values.
Status check_inputs(const Runtime& runtime, int64_t items, std::span<const Values> in);

}  // namespace stint::serve
