// What runs a model: tensors of a batch in, tensors of the batch out. The batcher above does not know which one it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "codec/serving/tensor_values.h"

namespace stint::serve {

/// A tensor of a model. The first dimension is the batch; the others are fixed.
struct TensorSpec {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<int64_t> item_shape;  ///< without the batch
  [[nodiscard]] int64_t item_size() const;
  [[nodiscard]] size_t item_bytes() const { return static_cast<size_t>(item_size()) * size_of(type); }
  bool operator==(const TensorSpec&) const = default;
};

/// Values of one tensor for a whole batch, item after item, each as its type lies in memory.
using Values = std::vector<std::byte>;

/// What a model takes of its device.
struct Footprint {
  Bytes weights;
  Bytes activation;  ///< of one batch, beside the weights
};

/// A loaded model.
class Runtime {
 public:
  virtual ~Runtime() = default;
  [[nodiscard]] virtual const std::vector<TensorSpec>& inputs() const = 0;
  [[nodiscard]] virtual const std::vector<TensorSpec>& outputs() const = 0;
  /// @param items  ≥ 1. @param in  one per input, items × its item_bytes(). @return one per output, the same way.
  /// Several threads may run batches at the same time.
  virtual Result<std::vector<Values>> run(int64_t items, std::span<const Values> in) = 0;
  /// The next batch hands back what its arena holds beyond what it needs. Any thread.
  virtual void trim() {}
  /// With a batch of that many items, where the runtime knows; none: it is to be measured.
  [[nodiscard]] virtual std::optional<Footprint> footprint(int64_t items) const {
    static_cast<void>(items);
    return std::nullopt;
  }
};

/// Ok, or which input has the wrong number of values.
Status check_inputs(const Runtime& runtime, int64_t items, std::span<const Values> in);

}  // namespace stint::serve
