#include "serve/runtime.h"

namespace stint::serve {

int64_t TensorSpec::item_size() const {
  int64_t size = 1;
  for (const int64_t dimension : item_shape)
    size *= dimension;
  return size;
}

Status check_inputs(const Runtime& runtime, int64_t items, std::span<const Values> in) {
  if (items < 1) return invalid("a batch of {} items", items);
  if (in.size() != runtime.inputs().size())
    return invalid("{} inputs are given; the model takes {}", in.size(), runtime.inputs().size());
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorSpec& spec = runtime.inputs()[i];
    if (in[i].size() != static_cast<size_t>(items) * spec.item_bytes())
      return invalid("input {} has {} values; {} items of {} are expected", spec.name, in[i].size() / size_of(spec.type), items,
                     spec.item_size());
  }
  return {};
}

}  // namespace stint::serve
