#include "serve/infer_call.h"

#include <charconv>

#include "base/text.h"

namespace stint::serve {
namespace {

Result<std::optional<size_t>> head_bytes_of(const HttpRequest& request) {
  const std::string* header = request.header("inference-header-content-length");
  if (header == nullptr) return std::optional<size_t>();
  size_t bytes = 0;
  const auto [end, failure] = std::from_chars(header->data(), header->data() + header->size(), bytes);
  if (failure != std::errc() || end != header->data() + header->size())
    return invalid("Inference-Header-Content-Length: {} is no number", excerpt(*header));
  return std::optional(bytes);
}

int status_of(batching::RefusalReason reason) {
  switch (reason) {
    case batching::RefusalReason::kQueueFull:
    case batching::RefusalReason::kNoMemory: return 503;
    case batching::RefusalReason::kTenantLimit: return 429;
    case batching::RefusalReason::kDoomed: return 504;
    default: return 400;
  }
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput: return 400;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kConflict: return 409;
    case ErrorCode::kUnavailable: return 503;
    case ErrorCode::kInternal: return 500;
  }
  return 500;
}

}  // namespace

HttpReply infer_error(int status, std::string_view message) {
  HttpReply reply{status, "application/json", {}, fmt::format(R"({{"error":{}}})", json_text(message))};
  if (status == 503 || status == 429) reply.headers.emplace_back("Retry-After", "1");
  if (status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

HttpReply infer_error(const Error& error) { return infer_error(status_of(error.code), error.message); }

HttpReply refusal_reply(batching::RefusalReason reason) { return infer_error(status_of(reason), batching::name_of(reason)); }

HttpInferCall::HttpInferCall(HttpRequest& request, VersionName name, const MeasuredModel& measured, const CallReader& reader,
                             Responder responder)
    : CheckedCall(name, measured),
      body_(std::move(request.body)),
      body_held_(std::move(request.held)),
      memory_(reader.memory),
      coding_(reader.answer),
      responder_(std::move(responder)) {}

Result<std::unique_ptr<HttpInferCall>> HttpInferCall::read(HttpRequest& request, VersionName name, const MeasuredModel& measured,
                                                           CallReader reader, const Responder& responder, CallTerms& terms) {
  TRY_ASSIGN(const std::optional<size_t> head, head_bytes_of(request));
  std::unique_ptr<HttpInferCall> call(new HttpInferCall(request, name, measured, reader, responder));
  TRY_ASSIGN(const auto reading, book(reader.memory, InferParser::most_bytes(head.value_or(call->body_.size()))));
  TRY_ASSIGN(InferRequest parsed, reader.parser.parse(call->body_, head));
  TRY(call->check(std::move(parsed), terms, reader.memory));
  return call;
}

void HttpInferCall::answer(std::span<const OutputRows> outputs) {
  const std::vector<Answered> all = answered(outputs);
  Result<std::shared_ptr<const void>> held = hold_of(all);
  if (!held.ok()) return responder_.reply(infer_error(held.error()));
  std::vector<InferPart> parts;
  for (const Answered& one : all)
    parts.push_back({one.wanted.name, one.type, one.shape, one.values, one.wanted.binary});
  Result<InferMessage> message = write_infer_answer(model_, version_, request_.id, parts);
  if (!message.ok()) return responder_.reply(infer_error(message.error()));
  HttpReply reply{200, "application/json", {}, std::move(message->body), std::move(*held)};
  if (message->head_bytes) {
    reply.content_type = "application/octet-stream";
    reply.headers.emplace_back("Inference-Header-Content-Length", std::to_string(*message->head_bytes));
  }
  pack(reply);
  responder_.reply(std::move(reply));
}

/// Not where it is short, would become longer, or no memory is left for both.
void HttpInferCall::pack(HttpReply& reply) const {
  constexpr size_t kShort = 1024;
  if (coding_ == ContentCoding::kIdentity || reply.body.size() < kShort) return;
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  const auto room = book(memory_, reply.body.size());
  if (!room.ok()) return;
  std::string packed = encoded(coding_, reply.body);
  if (packed.size() >= reply.body.size()) return;
  reply.body = std::move(packed);
  reply.headers.emplace_back("Content-Encoding", name_of(coding_));
}

void HttpInferCall::refuse(batching::RefusalReason reason) { responder_.reply(refusal_reply(reason)); }

}  // namespace stint::serve
