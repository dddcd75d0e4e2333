// What a request for inference has in common whatever it came by: held against the model, its rows, what is to be answered.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/serving/infer_wire.h"
#include "host/byte_budget.h"
#include "serve/served_model.h"

namespace stint::serve {

struct VersionName {
  std::string_view model;
  int64_t version = 0;
};

/// So many bytes of what requests may take together. @return error, with what to do, when there is no room
Result<std::shared_ptr<const void>> book(ByteBudget& memory, uint64_t bytes);

class CheckedCall : public InferCall {
 public:
  [[nodiscard]] std::span<const Shape> shapes() const override { return shapes_; }
  void write_input(size_t input, std::span<std::byte> to) const override { request_.inputs[order_[input]].copy_to(to); }

 protected:
  /// @param measured  of the model; outlives the call.
  CheckedCall(VersionName name, const MeasuredModel& measured)
      : model_(name.model), version_(name.version), measured_(measured) {}
  /// Takes the request over. @param terms  what it says of itself is put there.
  /// @return error when it does not fit the model, or holds NaN or infinity: one such value could spoil a whole batch where a model
  ///   scales by the batch's largest.
  ///   Also when there is no room in `memory` for what it takes until it is let go of: its tensors, its rows in batches, its answer.
  Status check(InferRequest request, CallTerms& terms, ByteBudget& memory);

  /// An output that was asked for: its shape begins with the batch.
  struct Answered {
    const WantedOutput& wanted;
    DataType type = DataType::kFp32;
    std::vector<int64_t> shape;
    std::span<const std::byte> values;
  };
  /// @param outputs  as InferCall::answer() has them.
  [[nodiscard]] std::vector<Answered> answered(std::span<const OutputRows> outputs) const;

  const std::string model_;
  const int64_t version_;
  InferRequest request_;
  std::shared_ptr<const void> held_;  ///< of the budget

 private:
  [[nodiscard]] uint64_t bytes_taken() const;
  Status check_inputs();
  Status check_shape(const TensorSpec& spec, const Shape& shape, Sizes& sizes) const;
  Status check_outputs();

  const MeasuredModel& measured_;
  std::vector<size_t> order_;  ///< the model's inputs in the request's
  std::vector<Shape> shapes_;  ///< of an item of each input, where dimensions are free
  int64_t items_ = 0;
};

}  // namespace stint::serve
