#include "serve/runtime.h"

#include "codec/serving/tensor_texts.h"

namespace stint::serve {

int64_t count_of(std::span<const int64_t> item_shape) {
  int64_t size = 1;
  for (const int64_t dimension : item_shape)
    size *= dimension;
  return size;
}

int64_t TensorSpec::item_size() const {
  CHECK(free.empty(), "{} has a free dimension {}: it has no size", name, free.front());
  return count_of(item_shape);
}

Shape TensorSpec::shape_with(const Sizes& sizes) const {
  Shape shape = item_shape;
  auto named = free.begin();
  for (int64_t& dimension : shape) {
    if (dimension >= 0) continue;
    const auto found = sizes.find(*named++);
    if (found != sizes.end()) dimension = found->second;
  }
  return shape;
}

std::vector<Shape> fixed_shapes(const std::vector<TensorSpec>& specs) {
  std::vector<Shape> shapes;
  for (const TensorSpec& spec : specs)
    shapes.push_back(spec.item_shape);
  return shapes;
}

Status check_fixed(const Runtime& runtime) {
  for (const auto* specs : {&runtime.inputs(), &runtime.outputs()})
    for (const TensorSpec& spec : *specs)
      if (!spec.free.empty()) return invalid("{} has a free dimension, {}: its size must be said", spec.name, spec.free.front());
  return {};
}

Status check_numbers(const Runtime& runtime) {
  for (const auto* specs : {&runtime.inputs(), &runtime.outputs()})
    for (const TensorSpec& spec : *specs)
      if (spec.type == DataType::kBytes) return invalid("{} holds texts (BYTES): this is for models of numbers", spec.name);
  return {};
}

size_t bytes_of_items(DataType type, std::span<const std::byte> values, int64_t items, int64_t item_values) {
  const auto count = static_cast<size_t>(items * item_values);
  return type == DataType::kBytes ? bytes_of_texts(values, count) : count * size_of(type);
}

Result<std::vector<ShapedValues>> Runtime::run_shaped(int64_t items, std::span<const Values> in,
                                                      std::span<const Shape> /*shapes*/) {
  TRY_ASSIGN(std::vector<Values> out, run(items, in));
  std::vector<ShapedValues> shaped;
  for (size_t o = 0; o < out.size(); ++o)
    shaped.push_back({std::move(out[o]), outputs()[o].item_shape});
  return shaped;
}

Status check_inputs(const Runtime& runtime, int64_t items, std::span<const Values> in, std::span<const Shape> shapes) {
  if (items < 1) return invalid("a batch of {} items", items);
  if (in.size() != runtime.inputs().size() || shapes.size() != in.size())
    return invalid("{} inputs are given; the model takes {}", in.size(), runtime.inputs().size());
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorSpec& spec = runtime.inputs()[i];
    if (spec.type == DataType::kBytes) {
      const Status whole = check_texts(in[i], static_cast<size_t>(items * count_of(shapes[i])));
      if (!whole.ok()) return invalid("input {}: {}", spec.name, whole.error().message);
      continue;
    }
    if (std::cmp_not_equal(in[i].size(), static_cast<uint64_t>(items * count_of(shapes[i])) * size_of(spec.type)))
      return invalid("input {} has {} values; {} items of {} are expected", spec.name, in[i].size() / size_of(spec.type), items,
                     count_of(shapes[i]));
  }
  return {};
}

}  // namespace stint::serve
