#include "serve/synthetic_runtime.h"

#include <chrono>
#include <thread>

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
      inputs_.push_back({tensor.name, tensor.item_shape});
    for (const SyntheticModel::Tensor& tensor : model_.outputs)
      outputs_.push_back({tensor.name, tensor.item_shape});
  }
  [[nodiscard]] const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  [[nodiscard]] std::optional<Footprint> footprint(int64_t items) const override {
    return Footprint{model_.weights, model_.activation * items};
  }

  Result<std::vector<Values>> run(int64_t items, std::span<const Values> in) override {
    const Duration takes = model_.base + model_.item * items;
    const auto end = Clock::now() + std::chrono::nanoseconds(takes.count_ns());
    TRY(check_inputs(*this, items, in));
    std::vector<Values> out;
    const auto from = static_cast<size_t>(inputs_.front().item_size());
    for (const TensorSpec& spec : outputs_) {
      const auto size = static_cast<size_t>(spec.item_size());
      Values values(static_cast<size_t>(items) * size);
      for (size_t item = 0; item < static_cast<size_t>(items); ++item)
        for (size_t j = 0; j < size; ++j)
          values[item * size + j] = in.front()[item * from + j % from];
      out.push_back(std::move(values));
    }
    if (takes > Duration()) wait_until(end);
    return out;
  }

 private:
  SyntheticModel model_;
  std::vector<TensorSpec> inputs_, outputs_;
};

}  // namespace

std::unique_ptr<Runtime> make_synthetic(SyntheticModel model) { return std::make_unique<SyntheticRuntime>(std::move(model)); }

}  // namespace stint::serve
