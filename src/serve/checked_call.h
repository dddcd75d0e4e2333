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

/// Of such values nothing spoils the answers of others in a batch.
bool harmless(DataType type, std::span<const std::byte> values);

class CheckedCall : public InferCall {
 public:
  [[nodiscard]] std::span<const Shape> shapes() const override { return shapes_; }
  [[nodiscard]] std::span<const std::byte> input(size_t input) const override { return request_.inputs[order_[input]].values(); }
  [[nodiscard]] bool keeps_apart() const override { return keeps_apart_; }

 protected:
  /// @param measured  of the model; outlives the call.
  CheckedCall(VersionName name, const MeasuredModel& measured)
      : model_(name.model), version_(name.version), measured_(measured) {}
  /// Takes the request over. @param terms  what it says of itself is put there.
  /// @return error when it does not fit the model, and when there is no room in `memory` for what it takes until it is let go of: its tensors, its rows in batches, its answer.
  enum class Booked { kOwn, kLargest };  ///< sizes of free dimensions: the request's, or the largest that are served
  Status check(InferRequest request, CallTerms& terms, ByteBudget& memory, Booked booked = Booked::kOwn);

  /// An output that was asked for: its shape begins with the batch.
  struct Answered {
    const WantedOutput& wanted;
    DataType type = DataType::kFp32;
    std::vector<int64_t> shape;
    std::span<const std::byte> values;
  };
  /// @param outputs  as InferCall::answer() has them.
  [[nodiscard]] std::vector<Answered> answered(std::span<const OutputRows> outputs) const;
  /// What check() booked, and what texts take beyond what it reckoned with. @return error when there is no room for them
  [[nodiscard]] Result<std::shared_ptr<const void>> hold_of(const std::vector<Answered>& all) const;

  const std::string model_;
  const int64_t version_;
  InferRequest request_;
  std::shared_ptr<const void> held_;  ///< of the budget

 private:
  [[nodiscard]] uint64_t bytes_taken(Booked booked) const;
  Status check_inputs();
  Status check_shape(const TensorSpec& spec, const Shape& shape, Sizes& sizes) const;
  Status check_outputs();

  const MeasuredModel& measured_;
  ByteBudget* memory_ = nullptr;
  std::vector<size_t> order_;  ///< the model's inputs in the request's
  std::vector<Shape> shapes_;  ///< of an item of each input, where dimensions are free
  int64_t items_ = 0;
  bool keeps_apart_ = false;
};

}  // namespace stint::serve
