// What runs a model: tensors of a batch in, tensors of the batch out. The batcher above does not know which one it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "codec/serving/tensor_values.h"

namespace stint::serve {

using Shape = std::vector<int64_t>;
/// Of free dimensions, by name.
using Sizes = std::map<std::string, int64_t, std::less<>>;

/// A tensor of a model. The first dimension is the batch; others may be free too: each request sets them, for all of its items.
struct TensorSpec {
  std::string name;
  DataType type = DataType::kFp32;
  Shape item_shape;                    ///< without the batch; −1: free
  std::vector<std::string> free = {};  ///< names of the free ones, in order: those of one name have one size in a request
  /// Values of an item. No dimension is free.
  [[nodiscard]] int64_t item_size() const;
  /// Of one of BYTES: as many as there are at least.
  [[nodiscard]] size_t item_bytes() const { return static_cast<size_t>(item_size()) * size_of(type); }
  /// With these sizes for the free ones; −1 where there is none.
  [[nodiscard]] Shape shape_with(const Sizes& sizes) const;
  bool operator==(const TensorSpec&) const = default;
};

/// Values of an item of this shape.
int64_t count_of(std::span<const int64_t> item_shape);

/// Bytes of the first `items` items of a tensor with items of `item_values` values each. @param values  hold them in whole
size_t bytes_of_items(DataType type, std::span<const std::byte> values, int64_t items, int64_t item_values);

/// Values of one tensor for a whole batch, item after item, each as its type lies in memory; of BYTES as in tensor_texts.h.
using Values = std::vector<std::byte>;

/// An output of a batch.
struct ShapedValues {
  Values values;
  Shape item_shape;
};

/// What is answered of one output.
struct OutputRows {
  std::span<const std::byte> values;
  std::span<const int64_t> item_shape;
};

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
  /// The same for batches whose free dimensions have sizes.
  /// @param shapes  of an item, one per input. This here is for models without free dimensions.
  virtual Result<std::vector<ShapedValues>> run_shaped(int64_t items, std::span<const Values> in, std::span<const Shape> shapes);
  /// Of a batch, where the model says so: it may be made for one item at a time.
  [[nodiscard]] virtual std::optional<int64_t> most_items() const { return std::nullopt; }
  /// The next batch hands back what its arena holds beyond what it needs. Any thread.
  virtual void trim() {}
  /// With a batch of that many items, where the runtime knows; none: it is to be measured.
  [[nodiscard]] virtual std::optional<Footprint> footprint(int64_t items) const {
    static_cast<void>(items);
    return std::nullopt;
  }
};

/// Ok, or which input has the wrong number of values.
Status check_inputs(const Runtime& runtime, int64_t items, std::span<const Values> in, std::span<const Shape> shapes);
/// Of the inputs, of a model without free dimensions.
std::vector<Shape> fixed_shapes(const std::vector<TensorSpec>& specs);
/// @return error naming the first free dimension, when there is one
Status check_fixed(const Runtime& runtime);
/// @return error naming the first tensor of BYTES, when there is one
Status check_numbers(const Runtime& runtime);

}  // namespace stint::serve
