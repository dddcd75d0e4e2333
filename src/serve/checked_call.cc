#include "serve/checked_call.h"

#include <algorithm>

#include "base/text.h"

namespace stint::serve {
namespace {

/// 1 is the most urgent, as in Triton; what is not said, or beyond the levels there are, is the least.
int level_of(int64_t priority) {
  return priority < 1 || priority > batching::kPriorities ? batching::kPriorities - 1 : static_cast<int>(priority) - 1;
}

}  // namespace

Status CheckedCall::check(InferRequest request, CallTerms& terms) {
  request_ = std::move(request);
  TRY(check_inputs());
  TRY(check_outputs());
  terms.items = items_;
  terms.timeout = request_.timeout;
  terms.priority = level_of(request_.priority);
  return {};
}

Status CheckedCall::check_inputs() {
  if (request_.inputs.size() != measured_.inputs.size())
    return invalid("{} inputs; the model takes {}", request_.inputs.size(), measured_.inputs.size());
  for (const TensorSpec& spec : measured_.inputs) {
    const auto found = std::ranges::find(request_.inputs, spec.name, &InferTensor::name);
    if (found == request_.inputs.end()) return invalid("input {} is missing", spec.name);
    if (found->type != spec.type)
      return invalid("input {} is {}; the model takes {}", spec.name, name_of(found->type), name_of(spec.type));
    const std::vector<int64_t>& shape = found->shape;
    if (shape.empty() || shape[0] < 1 || !std::ranges::equal(std::span(shape).subspan(1), spec.item_shape))
      return invalid("input {} has the shape [{}]; [N,{}] is expected, N from 1", spec.name, fmt::join(shape, ","),
                     fmt::join(spec.item_shape, ","));
    if (items_ != 0 && shape[0] != items_) return invalid("input {} has {} items, another {}", spec.name, shape[0], items_);
    if (const Status fit = check_values(spec.type, found->values()); !fit.ok())
      return invalid("input {} {}", spec.name, fit.error().message);
    items_ = shape[0];
    order_.push_back(static_cast<size_t>(found - request_.inputs.begin()));
  }
  return {};
}

Status CheckedCall::check_outputs() {
  for (const WantedOutput& wanted : request_.outputs)
    if (std::ranges::find(measured_.outputs, wanted.name, &TensorSpec::name) == measured_.outputs.end())
      return invalid("the model has no output {}", excerpt(wanted.name));
  if (!request_.outputs.empty()) return {};
  for (const TensorSpec& spec : measured_.outputs)
    request_.outputs.push_back({spec.name, request_.binary_output});
  return {};
}

std::vector<CheckedCall::Answered> CheckedCall::answered(std::span<const std::span<const std::byte>> outputs) const {
  std::vector<Answered> all;
  for (const WantedOutput& wanted : request_.outputs) {
    const auto spec = std::ranges::find(measured_.outputs, wanted.name, &TensorSpec::name);
    std::vector<int64_t> shape(1, items_);
    shape.insert(shape.end(), spec->item_shape.begin(), spec->item_shape.end());
    all.push_back({wanted, spec->type, std::move(shape), outputs[static_cast<size_t>(spec - measured_.outputs.begin())]});
  }
  return all;
}

}  // namespace stint::serve
