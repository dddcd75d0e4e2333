#include "serve/infer_call.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/text.h"

namespace stint::serve {
namespace {

constexpr uint32_t kExponent = 0x7f800000;  // all ones: NaN or infinity

bool all_finite(const InferTensor& tensor) {
  const char* data = tensor.bytes.empty() ? reinterpret_cast<const char*>(tensor.values.data()) : tensor.bytes.data();
  const auto count = static_cast<size_t>(tensor.count());
  uint32_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, data + i * sizeof bits, sizeof bits);  // the body is not aligned
    wrong |= (bits & kExponent) == kExponent ? 1U : 0U;
  }
  return wrong == 0;
}

Result<std::optional<size_t>> head_bytes_of(const HttpRequest& request) {
  const std::string* header = request.header("inference-header-content-length");
  if (header == nullptr) return std::optional<size_t>();
  size_t bytes = 0;
  const auto [end, failure] = std::from_chars(header->data(), header->data() + header->size(), bytes);
  if (failure != std::errc() || end != header->data() + header->size())
    return invalid("Inference-Header-Content-Length: {} is no number", excerpt(*header));
  return std::optional(bytes);
}

/// 1 is the most urgent, as in Triton; what is not said, or beyond the levels there are, is the least.
int level_of(int64_t priority) {
  return priority < 1 || priority > batching::kPriorities ? batching::kPriorities - 1 : static_cast<int>(priority) - 1;
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

HttpInferCall::HttpInferCall(std::string body, VersionName name, const MeasuredModel& measured, Responder responder)
    : body_(std::move(body)), model_(name.model), version_(name.version), measured_(measured), responder_(std::move(responder)) {}

Result<std::unique_ptr<HttpInferCall>> HttpInferCall::read(HttpRequest request, VersionName name, const MeasuredModel& measured,
                                                           InferParser& parser, const Responder& responder, CallTerms& terms) {
  TRY_ASSIGN(const std::optional<size_t> head, head_bytes_of(request));
  std::unique_ptr<HttpInferCall> call(new HttpInferCall(std::move(request.body), name, measured, responder));
  TRY_ASSIGN(call->request_, parser.parse(call->body_, head));
  TRY(call->check_inputs(terms));
  TRY(call->check_outputs());
  terms.timeout = call->request_.timeout;
  terms.priority = level_of(call->request_.priority);
  return call;
}

Status HttpInferCall::check_inputs(CallTerms& terms) {
  if (request_.inputs.size() != measured_.inputs.size())
    return invalid("{} inputs; the model takes {}", request_.inputs.size(), measured_.inputs.size());
  for (const TensorSpec& spec : measured_.inputs) {
    const auto found = std::ranges::find(request_.inputs, spec.name, &InferTensor::name);
    if (found == request_.inputs.end()) return invalid("input {} is missing", spec.name);
    const std::vector<int64_t>& shape = found->shape;
    if (shape.empty() || shape[0] < 1 || !std::ranges::equal(std::span(shape).subspan(1), spec.item_shape))
      return invalid("input {} has the shape [{}]; [N,{}] is expected, N from 1", spec.name, fmt::join(shape, ","),
                     fmt::join(spec.item_shape, ","));
    if (items_ != 0 && shape[0] != items_) return invalid("input {} has {} items, another {}", spec.name, shape[0], items_);
    if (!all_finite(*found)) return invalid("input {} holds NaN or infinity", spec.name);
    items_ = shape[0];
    order_.push_back(static_cast<size_t>(found - request_.inputs.begin()));
  }
  terms.items = items_;
  return {};
}

Status HttpInferCall::check_outputs() {
  for (const WantedOutput& wanted : request_.outputs)
    if (std::ranges::find(measured_.outputs, wanted.name, &TensorSpec::name) == measured_.outputs.end())
      return invalid("the model has no output {}", excerpt(wanted.name));
  if (!request_.outputs.empty()) return {};
  for (const TensorSpec& spec : measured_.outputs)
    request_.outputs.push_back({spec.name, request_.binary_output});
  return {};
}

void HttpInferCall::answer(std::span<const std::span<const float>> outputs) {
  std::vector<InferPart> parts;
  std::vector<std::vector<int64_t>> shapes;
  shapes.reserve(request_.outputs.size());  // parts point into it
  for (const WantedOutput& wanted : request_.outputs) {
    const auto spec = std::ranges::find(measured_.outputs, wanted.name, &TensorSpec::name);
    std::vector<int64_t>& shape = shapes.emplace_back(1, items_);
    shape.insert(shape.end(), spec->item_shape.begin(), spec->item_shape.end());
    parts.push_back({spec->name, shape, outputs[static_cast<size_t>(spec - measured_.outputs.begin())], wanted.binary});
  }
  Result<InferMessage> message = write_infer_answer(model_, version_, request_.id, parts);
  if (!message.ok()) return responder_.reply(infer_error(500, message.error().message));
  HttpReply reply{200, "application/json", {}, std::move(message->body)};
  if (message->head_bytes) {
    reply.content_type = "application/octet-stream";
    reply.headers.emplace_back("Inference-Header-Content-Length", std::to_string(*message->head_bytes));
  }
  responder_.reply(std::move(reply));
}

void HttpInferCall::refuse(batching::RefusalReason reason) {
  responder_.reply(infer_error(status_of(reason), batching::name_of(reason)));
}

}  // namespace stint::serve
