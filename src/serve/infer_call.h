// A request for inference as it came over HTTP: read, checked against the model, answered in the form it asked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codec/infer_wire.h"
#include "host/http_server.h"
#include "serve/served_model.h"

namespace stint::serve {

/// The protocol's form of an error: {"error": "…"}.
HttpReply infer_error(int status, std::string_view message);
HttpReply infer_error(const Error& error);

struct VersionName {
  std::string_view model;
  int64_t version = 0;
};

class HttpInferCall final : public InferCall {
 public:
  /// @param measured  of the model; outlives the call. @param terms  what the request says of itself is put there.
  /// @return error when it does not fit the model, or holds NaN or infinity: one such value could spoil a whole batch where a model
  ///   scales by the batch's largest.
  static Result<std::unique_ptr<HttpInferCall>> read(HttpRequest request, VersionName name, const MeasuredModel& measured,
                                                     InferParser& parser, const Responder& responder, CallTerms& terms);

  void write_input(size_t input, std::span<float> to) const override { request_.inputs[order_[input]].copy_to(to); }
  void answer(std::span<const std::span<const float>> outputs) override;
  void refuse(batching::RefusalReason reason) override;
  void fail(const Error& error) override { responder_.reply(infer_error(error)); }

 private:
  HttpInferCall(std::string body, VersionName name, const MeasuredModel& measured, Responder responder);
  Status check_inputs(CallTerms& terms);
  Status check_outputs();

  const std::string body_;  ///< tensors point into it
  const std::string model_;
  const int64_t version_;
  const MeasuredModel& measured_;
  Responder responder_;
  InferRequest request_;
  std::vector<size_t> order_;  ///< the model's inputs in the request's
  int64_t items_ = 0;
};

}  // namespace stint::serve
