// A request for inference as it came over HTTP: read, checked against the model, answered in the form it asked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/http_coding.h"
#include "host/http_server.h"
#include "serve/checked_call.h"

namespace stint::serve {

/// The protocol's form of an error: {"error": "…"}.
HttpReply infer_error(int status, std::string_view message);
HttpReply infer_error(const Error& error);
HttpReply refusal_reply(batching::RefusalReason reason);

/// What reading a call takes.
struct CallReader {
  InferParser& parser;
  ByteBudget& memory;                               ///< of all requests
  ContentCoding answer = ContentCoding::kIdentity;  ///< by which its answer is packed, where that makes it smaller
};

class HttpInferCall final : public CheckedCall {
 public:
  /// Reads and checks it; takes the body.
  static Result<std::unique_ptr<HttpInferCall>> read(HttpRequest& request, VersionName name, const MeasuredModel& measured,
                                                     CallReader reader, const Responder& responder, CallTerms& terms);

  void answer(std::span<const OutputRows> outputs) override;
  void refuse(batching::RefusalReason reason) override;
  void fail(const Error& error) override { responder_.reply(infer_error(error)); }

 private:
  HttpInferCall(HttpRequest& request, VersionName name, const MeasuredModel& measured, const CallReader& reader,
                Responder responder);
  void pack(HttpReply& reply) const;

  const std::string body_;  ///< tensors point into it
  const std::shared_ptr<const void> body_held_;
  ByteBudget& memory_;
  const ContentCoding coding_;  ///< of the answer
  Responder responder_;
};

}  // namespace stint::serve
