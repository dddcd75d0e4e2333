// Triton's generate extension over HTTP: a request whose members are inputs, answered by members that are outputs; by one answer, or by
// a stream of server-sent events.
//
// Source: Triton Inference Server, docs/protocol/extension_generate.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "serve/generation.h"
#include "serve/infer_call.h"

namespace stint::serve {

enum class Answers { kOne, kStream };

/// The request as one for inference: members that are inputs of the model, of one item, are tensors; the others are left out, but for
/// `id` and `parameters`.
/// @return error when it is no such object, or a list is not as long as the model takes
Result<std::string> as_infer_request(std::string_view generate, const MeasuredModel& measured);

class HttpGeneration final : public Generation {
 public:
  static Result<std::shared_ptr<HttpGeneration>> read(HttpRequest& request, VersionName name, const MeasuredModel& measured,
                                                      CallReader reader, const Responder& responder, Answers answers,
                                                      CallTerms& terms);
  void refuse(batching::RefusalReason reason) override;
  void fail(const Error& error) override;

 protected:
  void send(std::span<const OutputRows> outputs, bool last) override;

 private:
  HttpGeneration(VersionName name, const MeasuredModel& measured, Responder responder, Answers answers)
      : Generation(name, measured), responder_(std::move(responder)), answers_(answers) {}
  void end(HttpReply reply);
  void wait_for_reader();

  Responder responder_;
  const Answers answers_;
  std::optional<EventStream> stream_;  ///< from the first answer on
};

}  // namespace stint::serve
