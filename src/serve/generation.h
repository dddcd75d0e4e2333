// A stream of answers to one request: each step is a request of its own to the model's batcher, so that streams share batches, wait
// their turn among others and are refused as others are; what a step takes follows from the answer before it (generation_plan.h).
//
// At most one step, and one answer that is not yet taken, at a time. It ends with the answer that the plan says is the last, with its
// time, with an error, or when its client goes.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "serve/checked_call.h"
#include "serve/generation_plan.h"
#include "serve/leaver.h"

namespace stint::serve {

/// A transport derives from it: send(), refuse() and fail() write to its client.
class Generation : public CheckedCall, public std::enable_shared_from_this<Generation> {
 public:
  ~Generation() override;
  /// Runs the first step. Once, after check().
  void begin(std::shared_ptr<ServedModel> model, const CallTerms& terms);
  /// The client does not wait any more. Any thread.
  void gone() {
    const std::shared_ptr<Leaver> leaver = leaver_;  // this may end meanwhile
    leaver->gone();
  }
  void answer(std::span<const OutputRows> outputs) final;
  [[nodiscard]] std::span<const Shape> shapes() const final;
  [[nodiscard]] std::span<const std::byte> input(size_t input) const final { return state_.values[input]; }
  [[nodiscard]] bool keeps_apart() const final { return spoils_; }

 protected:
  Generation(VersionName name, const MeasuredModel& measured) : CheckedCall(name, measured), measured_(measured) {}
  /// As CheckedCall has it, for all steps.
  Status check(InferRequest request, CallTerms& terms, ByteBudget& memory);
  /// Writes an answer. When it is not the last one, and the client has room for more, go_on() is called: at once or later, once.
  /// @param outputs  hold until it returns.
  virtual void send(std::span<const OutputRows> outputs, bool last) = 0;
  void go_on();
  /// Calls `then` after a while, on another thread.
  void later(Duration wait, std::function<void()> then);

 private:
  void step();
  Status hold_state();

  const MeasuredModel& measured_;
  std::shared_ptr<ServedModel> served_;
  CallTerms terms_;
  Instant ends_;
  int64_t steps_left_ = 1;
  GenerationState state_;
  bool spoils_ = false;
  ByteBudget* memory_ = nullptr;
  std::shared_ptr<const void> state_held_;
  uint64_t state_bytes_ = 0;  ///< held
  std::shared_ptr<Leaver> leaver_ = std::make_shared<Leaver>();
};

}  // namespace stint::serve
