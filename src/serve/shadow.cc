#include "serve/shadow.h"

#include <algorithm>
#include <cmath>

#include "codec/serving/tensor_values.h"

namespace stint::serve {
namespace {

constexpr double kOpposite = 2;

bool is_floating(DataType type) {
  return type == DataType::kFp16 || type == DataType::kBf16 || type == DataType::kFp32 || type == DataType::kFp64;
}

class RowsOf {
 public:
  RowsOf(DataType type, const OutputRows& rows, int64_t items)
      : values_(floats_of(type, rows.values)), each_(items == 0 ? 0 : values_.size() / static_cast<size_t>(items)) {}
  [[nodiscard]] std::span<const float> item(int64_t i) const {
    return std::span(values_).subspan(static_cast<size_t>(i) * each_, each_);
  }
  [[nodiscard]] size_t each() const { return each_; }

 private:
  std::vector<float> values_;
  size_t each_;
};

double largest_in(std::span<const float> values) {
  double largest = 0;
  for (const float value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

/// By the largest value, so that what is next to nothing in an answer weighs nothing. Equal values, also those that are no numbers, are alike.
double difference_of(std::span<const float> a, std::span<const float> b) {
  const double largest = std::max(largest_in(a), largest_in(b));
  double difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return kOpposite;
    difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}) / largest);
  }
  return difference;
}

}  // namespace

AnswerDifference difference_of(const std::vector<TensorSpec>& outputs, int64_t items, std::span<const OutputRows> first,
                               std::span<const OutputRows> second, double tolerance) {
  AnswerDifference all{.items = items};
  std::vector<double> of_item(static_cast<size_t>(items), 0);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const DataType type = outputs[o].type;
    if (type == DataType::kBytes || first[o].values.size() != second[o].values.size()) {
      // Texts lie behind each other with their lengths: they are compared as they lie, all items at once.
      if (!std::ranges::equal(first[o].values, second[o].values)) std::ranges::fill(of_item, kOpposite);
      continue;
    }
    const size_t bytes = first[o].values.size() / static_cast<size_t>(items);
    const RowsOf a(type, first[o], items), b(type, second[o], items);
    for (int64_t i = 0; i < items; ++i) {
      double& seen = of_item[static_cast<size_t>(i)];
      const auto lies = [&](const OutputRows& rows) { return rows.values.subspan(static_cast<size_t>(i) * bytes, bytes); };
      if (is_floating(type))
        seen = std::max(seen, difference_of(a.item(i), b.item(i)));
      else if (!std::ranges::equal(lies(first[o]), lies(second[o])))
        seen = kOpposite;
      const auto choice = [i](const RowsOf& rows) { return std::ranges::max_element(rows.item(i)) - rows.item(i).begin(); };
      if (o == 0 && a.each() > 1 && choice(a) != choice(b)) ++all.other_choice;
    }
  }
  for (const double difference : of_item) {
    all.largest = std::max(all.largest, difference);
    if (difference > tolerance) ++all.apart;
  }
  return all;
}

/// Has the call answered, then asks again. What was asked may be gone with its answer, so it is copied before.
class Shadow::Followed final : public InferCall {
 public:
  Followed(std::unique_ptr<InferCall> call, const CallTerms& terms, std::shared_ptr<Shadow> shadow)
      : call_(std::move(call)), terms_(terms), shadow_(std::move(shadow)) {}
  [[nodiscard]] std::span<const Shape> shapes() const override { return call_->shapes(); }
  [[nodiscard]] std::span<const std::byte> input(size_t input) const override { return call_->input(input); }
  [[nodiscard]] bool keeps_apart() const override { return call_->keeps_apart(); }
  void answer(std::span<const OutputRows> outputs) override {
    std::unique_ptr<InferCall> again = shadow_->kept(*call_, terms_, outputs);
    call_->answer(outputs);
    if (again) shadow_->send(std::move(again), terms_);
  }
  void refuse(batching::RefusalReason reason) override { call_->refuse(reason); }
  void fail(const Error& error) override { call_->fail(error); }

 private:
  const std::unique_ptr<InferCall> call_;
  const CallTerms terms_;
  const std::shared_ptr<Shadow> shadow_;
};

/// What was asked and answered, kept until the second answer is there.
class Shadow::Again final : public InferCall {
 public:
  Again(const InferCall& call, int64_t items, std::span<const OutputRows> outputs, size_t inputs, std::shared_ptr<Shadow> shadow,
        std::shared_ptr<const void> held)
      : items_(items),
        shapes_(call.shapes().begin(), call.shapes().end()),
        keeps_apart_(call.keeps_apart()),
        shadow_(std::move(shadow)),
        held_(std::move(held)) {
    for (size_t i = 0; i < inputs; ++i)
      inputs_.emplace_back(call.input(i).begin(), call.input(i).end());
    for (const OutputRows& output : outputs) {
      answered_.emplace_back(output.values.begin(), output.values.end());
      answered_shapes_.emplace_back(output.item_shape.begin(), output.item_shape.end());
    }
  }
  [[nodiscard]] std::span<const Shape> shapes() const override { return shapes_; }
  [[nodiscard]] std::span<const std::byte> input(size_t input) const override { return inputs_[input]; }
  [[nodiscard]] bool keeps_apart() const override { return keeps_apart_; }
  void answer(std::span<const OutputRows> outputs) override {
    std::vector<OutputRows> first;
    for (size_t o = 0; o < answered_.size(); ++o)
      first.push_back({answered_[o], answered_shapes_[o]});
    const AnswerDifference seen =
        difference_of(shadow_->model_->measured().outputs, items_, first, outputs, shadow_->rules_.tolerance);
    const std::lock_guard lock(shadow_->mutex_);
    AnswerDifference& all = shadow_->figures_.seen;
    all.items += seen.items;
    all.apart += seen.apart;
    all.other_choice += seen.other_choice;
    all.largest = std::max(all.largest, seen.largest);
  }
  void refuse(batching::RefusalReason /*reason*/) override { count(&ShadowFigures::refused); }
  void fail(const Error& /*error*/) override { count(&ShadowFigures::failed); }

 private:
  void count(int64_t ShadowFigures::* which) {
    const std::lock_guard lock(shadow_->mutex_);
    ++(shadow_->figures_.*which);
  }

  const int64_t items_;
  const std::vector<Shape> shapes_;
  const bool keeps_apart_;
  const std::shared_ptr<Shadow> shadow_;
  const std::shared_ptr<const void> held_;
  std::vector<std::vector<std::byte>> inputs_, answered_;
  std::vector<Shape> answered_shapes_;
};

Shadow::Shadow(ServedShadow rules, std::shared_ptr<ServedModel> model, WorkerPool& pool, std::shared_ptr<ByteBudget> room)
    : rules_(rules), model_(std::move(model)), pool_(pool), room_(std::move(room)) {}

std::unique_ptr<InferCall> Shadow::follow(std::unique_ptr<InferCall> call, const CallTerms& terms) {
  const int64_t n = asked_++;
  if ((n + 1) * rules_.percent / 100 == n * rules_.percent / 100) return call;
  return std::make_unique<Followed>(std::move(call), terms, shared_from_this());
}

std::unique_ptr<InferCall> Shadow::kept(const InferCall& call, const CallTerms& terms, std::span<const OutputRows> outputs) {
  const size_t inputs = model_->measured().inputs.size();
  uint64_t bytes = 0;
  for (size_t i = 0; i < inputs; ++i)
    bytes += call.input(i).size();
  for (const OutputRows& output : outputs)
    bytes += output.values.size();
  if (std::shared_ptr<const void> held = room_->take(bytes))
    return std::make_unique<Again>(call, terms.items, outputs, inputs, shared_from_this(), std::move(held));
  const std::lock_guard lock(mutex_);
  ++figures_.left_out;
  return nullptr;
}

/// Behind all that clients wait for, and not on the thread that answers them.
void Shadow::send(std::unique_ptr<InferCall> again, const CallTerms& terms) {
  const CallTerms own = {.items = terms.items, .tenant = terms.tenant, .timeout = {}};
  pool_.submit([model = model_, held = std::make_shared<std::unique_ptr<InferCall>>(std::move(again)), own] {
    model->submit(std::move(*held), own);
  });
}

ShadowFigures Shadow::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace stint::serve
