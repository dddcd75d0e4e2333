#include "serve/generation.h"

#include <algorithm>

#include "codec/serving/tensor_texts.h"

namespace stint::serve {
namespace {

/// A generation's request of the moment.
class StepCall final : public InferCall {
 public:
  explicit StepCall(std::shared_ptr<Generation> generation) : generation_(std::move(generation)) {}
  [[nodiscard]] std::span<const Shape> shapes() const override { return generation_->shapes(); }
  [[nodiscard]] std::span<const std::byte> input(size_t input) const override { return generation_->input(input); }
  [[nodiscard]] bool keeps_apart() const override { return generation_->keeps_apart(); }
  void answer(std::span<const OutputRows> outputs) override { generation_->answer(outputs); }
  void refuse(batching::RefusalReason reason) override { generation_->refuse(reason); }
  void fail(const Error& error) override { generation_->fail(error); }

 private:
  std::shared_ptr<Generation> generation_;
};

}  // namespace

Generation::~Generation() {
  if (served_) served_->stream_ended();
}

Status Generation::check(InferRequest request, CallTerms& terms, ByteBudget& memory) {
  const auto& plan = measured_.generation;
  if (plan && request.outputs.empty())
    for (const std::string& name : plan->answers())
      request.outputs.push_back({name, request.binary_output});
  if (plan) steps_left_ = std::clamp<int64_t>(request.most_answers.value_or(plan->steps()), 1, plan->steps());
  TRY(CheckedCall::check(std::move(request), terms, memory, plan && plan->grows() ? Booked::kLargest : Booked::kOwn));
  if (plan && terms.items != 1) return invalid("a stream of answers is for one item, not {}", terms.items);
  memory_ = &memory;
  for (size_t i = 0; i < measured_.inputs.size(); ++i) {
    const std::span<const std::byte> values = CheckedCall::input(i);
    state_.values.emplace_back(values.begin(), values.end());
  }
  const std::span<const Shape> shapes = CheckedCall::shapes();
  state_.shapes = shapes.empty() ? fixed_shapes(measured_.inputs) : std::vector<Shape>(shapes.begin(), shapes.end());
  spoils_ = CheckedCall::keeps_apart();
  return {};
}

std::span<const Shape> Generation::shapes() const {
  return measured_.largest.empty() ? std::span<const Shape>() : std::span<const Shape>(state_.shapes);
}

void Generation::begin(std::shared_ptr<ServedModel> model, const CallTerms& terms) {
  model->stream_began();
  served_ = std::move(model);
  terms_ = terms;
  const auto& plan = measured_.generation;
  const Duration longest = plan ? plan->longest() : Duration::hours(1);
  ends_ = steady_now() + std::min(longest, terms.timeout.value_or(longest));
  step();
}

void Generation::step() {
  if (leaver_->has_gone()) return;
  const Duration left = std::max(ends_ - steady_now(), Duration::nanoseconds(1));
  CallTerms terms = terms_;
  terms.timeout = std::min(left, served_->config().timeout.value_or(left));
  leaver_->submitted(served_, served_->submit(std::make_unique<StepCall>(shared_from_this()), terms));
}

void Generation::answer(std::span<const OutputRows> outputs) {
  const auto& plan = measured_.generation;
  bool last = --steps_left_ <= 0 || !plan || plan->stops(outputs);
  if (!last) {
    const Result<bool> more = plan->advance(state_, outputs);
    if (!more.ok()) return fail(more.error());
    last = !*more;
    if (const Status held = hold_state(); !held.ok()) return fail(held.error());
  }
  send(outputs, last);
}

/// Texts of unknown length may have come in.
Status Generation::hold_state() {
  uint64_t bytes = 0;
  spoils_ = false;
  for (size_t i = 0; i < state_.values.size(); ++i) {
    const DataType type = measured_.inputs[i].type;
    bytes += state_.values[i].size();
    spoils_ = spoils_ || !harmless(type, state_.values[i]);
  }
  if (bytes <= state_bytes_) return {};
  constexpr uint64_t kCopies = 4, kAhead = 2;
  state_held_ = nullptr;
  TRY_ASSIGN(state_held_, book(*memory_, kCopies * kAhead * bytes));
  state_bytes_ = kAhead * bytes;
  return {};
}

void Generation::go_on() {
  later(Duration(), [self = shared_from_this()] { self->step(); });
}

void Generation::later(Duration wait, std::function<void()> then) { served_->call_later(wait, std::move(then)); }

}  // namespace stint::serve
