#include "serve/synthetic_runtime.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "codec/serving/tensor_texts.h"

namespace stint::serve {
namespace {

using Clock = std::chrono::steady_clock;

/// The system wakes sleepers late by some tens of microseconds: the rest is spent looking at the clock.
void wait_until(Clock::time_point end) {
  constexpr auto kLate = std::chrono::microseconds(80);
  if (end - Clock::now() > 2 * kLate) std::this_thread::sleep_until(end - kLate);
  while (Clock::now() < end) {
  }
}

class SyntheticRuntime : public Runtime {
 public:
  explicit SyntheticRuntime(SyntheticModel model) : model_(std::move(model)) {
    for (const SyntheticModel::Tensor& tensor : model_.inputs)
      inputs_.push_back({tensor.name, tensor.type, tensor.item_shape});
    for (const SyntheticModel::Tensor& tensor : model_.outputs)
      outputs_.push_back({tensor.name, tensor.type, tensor.item_shape});
  }
  [[nodiscard]] const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  [[nodiscard]] std::optional<Footprint> footprint(int64_t items) const override {
    return Footprint{model_.weights, model_.activation * items};
  }

  Result<std::vector<Values>> run(int64_t items, std::span<const Values> in) override {
    const Duration takes = model_.base + model_.item * items;
    const auto end = Clock::now() + std::chrono::nanoseconds(takes.count_ns());
    TRY(check_inputs(*this, items, in, fixed_shapes(inputs_)));
    std::vector<Values> out;
    for (const TensorSpec& spec : outputs_)
      out.push_back(spec.type == DataType::kBytes ? repeated_texts(items, in.front(), spec.item_size())
                                                  : repeated(static_cast<size_t>(items), in.front(), spec.item_bytes()));
    if (takes > Duration()) wait_until(end);
    return out;
  }

 private:
  /// Items of `size` bytes, each the first input's item over and over.
  [[nodiscard]] Values repeated(size_t items, const Values& in, size_t size) const {
    const size_t from = inputs_.front().item_bytes();
    Values values(items * size);
    for (size_t item = 0; item < items; ++item)
      for (size_t at = 0; at < size; at += from)
        std::memcpy(values.data() + item * size + at, in.data() + item * from, std::min(from, size - at));
    return values;
  }

  [[nodiscard]] Values repeated_texts(int64_t items, std::span<const std::byte> in, int64_t count) const {
    Values values;
    for (int64_t item = 0; item < items; ++item) {
      std::vector<std::string_view> texts;
      while (std::ssize(texts) < inputs_.front().item_size())
        texts.push_back(*take_text(in));
      for (int64_t n = 0; n < count; ++n)
        append_text(values, texts[static_cast<size_t>(n) % texts.size()]);
    }
    return values;
  }

  SyntheticModel model_;
  std::vector<TensorSpec> inputs_, outputs_;
};

}  // namespace

std::unique_ptr<Runtime> make_synthetic(SyntheticModel model) { return std::make_unique<SyntheticRuntime>(std::move(model)); }

}  // namespace stint::serve
