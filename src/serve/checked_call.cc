#include "serve/checked_call.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/text.h"
#include "codec/serving/tensor_texts.h"

namespace stint::serve {
namespace {

/// Bytes of a text in an answer, as is reckoned before it is there.
constexpr uint64_t kLikelyText = 64;

/// 1 is the most urgent, as in Triton; what is not said, or beyond the levels there are, is the least.
int level_of(int64_t priority) {
  return priority < 1 || priority > batching::kPriorities ? batching::kPriorities - 1 : static_cast<int>(priority) - 1;
}

}  // namespace

Result<std::shared_ptr<const void>> book(ByteBudget& memory, uint64_t bytes) {
  if (bytes > memory.room())
    return invalid(
        "the request takes up to {} bytes of memory, {} are for all requests: send fewer items, or start the server with more "
        "--request-memory",
        bytes, memory.room());
  if (auto held = memory.take(bytes)) return held;
  return make_error(ErrorCode::kUnavailable, "no memory for another request now ({} of {} bytes are taken): try again later",
                    memory.used(), memory.room());
}

bool harmless(DataType type, std::span<const std::byte> values) {
  return type == DataType::kBytes ? all_utf8(values) : all_finite(type, values);
}

Status CheckedCall::check(InferRequest request, CallTerms& terms, ByteBudget& memory, Booked booked) {
  request_ = std::move(request);
  TRY(check_inputs());
  TRY(check_outputs());
  TRY_ASSIGN(held_, book(memory, bytes_taken(booked)));
  memory_ = &memory;
  terms.items = items_;
  terms.timeout = request_.timeout;
  terms.priority = level_of(request_.priority);
  return {};
}

Result<std::shared_ptr<const void>> CheckedCall::hold_of(const std::vector<Answered>& all) const {
  uint64_t more = 0;
  for (const Answered& one : all) {
    if (one.type != DataType::kBytes) continue;
    const uint64_t booked =
        2 * kLikelyText *
        static_cast<uint64_t>(std::accumulate(one.shape.begin(), one.shape.end(), int64_t{1}, std::multiplies()));
    const uint64_t takes = one.wanted.binary ? 2 * one.values.size() : json_room(one.type, one.values);
    more += takes - std::min(takes, booked);
  }
  if (more == 0) return held_;
  TRY_ASSIGN(std::shared_ptr<const void> texts, book(*memory_, more));
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  return std::shared_ptr<const void>(std::make_shared<const Both>(held_, std::move(texts)));
}

/// A batch has rows of each input and output, and once more where it runs in pieces, appended to each other, which may double them. An
/// output that is asked for twice is answered twice.
uint64_t CheckedCall::bytes_taken(Booked booked) const {
  constexpr uint64_t kCopiesIn = 2, kCopiesOut = 3, kCopiesOfTexts = kCopiesIn + 1, kTextObject = 48, kHead = 1024;
  const auto items = static_cast<uint64_t>(items_);
  uint64_t bytes = kHead;
  const Sizes sizes =
      booked == Booked::kLargest ? measured_.largest : measured_.padding.filled_up(sizes_in(measured_.inputs, shapes_));
  for (size_t i = 0; i < order_.size(); ++i) {
    const InferTensor& input = request_.inputs[order_[i]];
    bytes += input.own.size();
    if (input.type != DataType::kBytes) continue;
    const auto own = static_cast<uint64_t>(input.count());
    const uint64_t filled = items * static_cast<uint64_t>(count_of(measured_.inputs[i].shape_with(sizes)));
    bytes += kCopiesOfTexts * input.values().size() + kTextObject * filled;
    const size_t text = measured_.padding.none() ? kLikelyText : measured_.padding.value(i).size();
    if (filled > own) bytes += kCopiesOfTexts * (filled - own) * (kTextHead + text);
  }
  const auto item_bytes = [&](const TensorSpec& spec, const Shape* most) {
    Shape shape = spec.shape_with(sizes);
    for (size_t d = 0; most != nullptr && d < shape.size(); ++d)
      if (shape[d] < 0) shape[d] = (*most)[d];
    return static_cast<uint64_t>(count_of(shape)) * (spec.type == DataType::kBytes ? kLikelyText : size_of(spec.type));
  };
  std::vector<uint64_t> answers;
  for (const TensorSpec& spec : measured_.inputs)
    bytes += spec.type == DataType::kBytes ? 0 : kCopiesIn * items * item_bytes(spec, nullptr);
  for (size_t o = 0; o < measured_.outputs.size(); ++o) {
    answers.push_back(items *
                      item_bytes(measured_.outputs[o], measured_.output_shapes.empty() ? nullptr : &measured_.output_shapes[o]));
    bytes += kCopiesOut * answers.back();
  }
  for (const WantedOutput& wanted : request_.outputs) {
    const auto spec = std::ranges::find(measured_.outputs, wanted.name, &TensorSpec::name);
    const uint64_t answer = answers[static_cast<size_t>(spec - measured_.outputs.begin())];
    const bool as_it_lies = wanted.binary || spec->type == DataType::kBytes;
    bytes += kHead + (as_it_lies ? 2 * answer : answer / size_of(spec->type) * (longest_text(spec->type) + 1));
  }
  return bytes;
}

Status CheckedCall::check_shape(const TensorSpec& spec, const Shape& shape, Sizes& sizes) const {
  const auto fits = [](int64_t has, int64_t wants) { return wants < 0 ? has > 0 : has == wants; };
  if (shape.size() != spec.item_shape.size() + 1 || shape[0] < 1 ||
      !std::equal(shape.begin() + 1, shape.end(), spec.item_shape.begin(), fits))
    return invalid("input {} has the shape [{}]; [N,{}] is expected, N{} from 1", spec.name, fmt::join(shape, ","),
                   fmt::join(spec.item_shape, ","), spec.free.empty() ? "" : " and what is -1");
  const Shape item(shape.begin() + 1, shape.end());
  for (const auto& [name, size] : sizes_in({spec}, std::span(&item, 1))) {
    if (size > measured_.largest.at(name))
      return invalid("input {}: {} is {}; the largest that is served is {} (model.json: dimensions, largest)", spec.name, name,
                     size, measured_.largest.at(name));
    if (const auto [known, fresh] = sizes.try_emplace(name, size); !fresh && known->second != size)
      return invalid("input {}: {} is {}, of another input {}", spec.name, name, size, known->second);
  }
  return {};
}

Status CheckedCall::check_inputs() {
  Sizes sizes;
  if (request_.inputs.size() != measured_.inputs.size())
    return invalid("{} inputs; the model takes {}", request_.inputs.size(), measured_.inputs.size());
  for (const TensorSpec& spec : measured_.inputs) {
    const auto found = std::ranges::find(request_.inputs, spec.name, &InferTensor::name);
    if (found == request_.inputs.end()) return invalid("input {} is missing", spec.name);
    if (found->type != spec.type)
      return invalid("input {} is {}; the model takes {}", spec.name, name_of(found->type), name_of(spec.type));
    const std::vector<int64_t>& shape = found->shape;
    TRY(check_shape(spec, shape, sizes));
    if (!measured_.largest.empty()) shapes_.emplace_back(shape.begin() + 1, shape.end());
    if (items_ != 0 && shape[0] != items_) return invalid("input {} has {} items, another {}", spec.name, shape[0], items_);
    if (const Status fit = check_values(spec.type, found->values()); !fit.ok())
      return invalid("input {} {}", spec.name, fit.error().message);
    keeps_apart_ = keeps_apart_ || !harmless(spec.type, found->values());
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

std::vector<CheckedCall::Answered> CheckedCall::answered(std::span<const OutputRows> outputs) const {
  std::vector<Answered> all;
  for (const WantedOutput& wanted : request_.outputs) {
    const auto spec = std::ranges::find(measured_.outputs, wanted.name, &TensorSpec::name);
    const OutputRows& rows = outputs[static_cast<size_t>(spec - measured_.outputs.begin())];
    std::vector<int64_t> shape(1, items_);
    shape.insert(shape.end(), rows.item_shape.begin(), rows.item_shape.end());
    all.push_back({wanted, spec->type, std::move(shape), rows.values});
  }
  return all;
}

}  // namespace stint::serve
