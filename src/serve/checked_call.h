// What a request for inference has in common whatever it came by: held against the model, its rows, what is to be answered.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/infer_wire.h"
#include "serve/served_model.h"

namespace stint::serve {

struct VersionName {
  std::string_view model;
  int64_t version = 0;
};

class CheckedCall : public InferCall {
 public:
  void write_input(size_t input, std::span<std::byte> to) const override { request_.inputs[order_[input]].copy_to(to); }

 protected:
  /// @param measured  of the model; outlives the call.
  CheckedCall(VersionName name, const MeasuredModel& measured)
      : model_(name.model), version_(name.version), measured_(measured) {}
  /// Takes the request over. @param terms  what it says of itself is put there.
  /// @return error when it does not fit the model, or holds NaN or infinity: one such value could spoil a whole batch where a model
  ///   scales by the batch's largest.
  Status check(InferRequest request, CallTerms& terms);

  /// An output that was asked for: its shape begins with the batch.
  struct Answered {
    const WantedOutput& wanted;
    DataType type = DataType::kFp32;
    std::vector<int64_t> shape;
    std::span<const std::byte> values;
  };
  /// @param outputs  as InferCall::answer() has them.
  [[nodiscard]] std::vector<Answered> answered(std::span<const std::span<const std::byte>> outputs) const;

  const std::string model_;
  const int64_t version_;
  InferRequest request_;

 private:
  Status check_inputs();
  Status check_outputs();

  const MeasuredModel& measured_;
  std::vector<size_t> order_;  ///< the model's inputs in the request's
  int64_t items_ = 0;
};

}  // namespace stint::serve
