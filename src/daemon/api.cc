#include "daemon/api.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api_routes.h"
#include "daemon/problem.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestTarget = 300;
constexpr Duration kRefusedEvery = Duration::seconds(1);

AuditEntry entry_of(const ApiCall& call, int status) {
  return {.at = call.at,
          .actor = call.who.user,
          .token = call.who.token,
          .peer = call.request.peer,
          .method = call.request.method,
          .target = excerpt(call.request.target, kLongestTarget),
          .client = call.client,
          .status = status,
          .detail = call.detail};
}

/// What is behind `Bearer `; none for anything else.
std::optional<std::string_view> bearer(const HttpRequest& request) {
  const std::string* header = request.header("authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (header == nullptr || !equals_ignoring_case(std::string_view(*header).substr(0, kBearer.size()), kBearer))
    return std::nullopt;
  return trim(std::string_view(*header).substr(kBearer.size()));
}

}  // namespace

void ApiContext::answer(const Call& call, HttpReply reply) const {
  if (!call->audited) return call->responder.reply(std::move(reply));
  const bool reads = call->request.method == "GET";
  if (reads) call->responder.reply(reply);
  AuditEntry entry = entry_of(*call, reply.status);
  if (reads) return governor.record(std::move(entry), nullptr);
  governor.record(std::move(entry), [call, reply = std::move(reply)](const Status& durable) mutable {
    call->responder.reply(durable.ok() ? std::move(reply) : problem(durable.error()));
  });
}

void ApiContext::answer(const Call& call, int status, const Json& body) const {
  answer(call, {status, "application/json", {}, body.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

void ApiContext::answer(const Call& call, const Error& error) const { answer(call, problem(error)); }

void ApiContext::change(const Call& call, GovernChange change, int status, const Json& body) const {
  HttpReply reply{status, "application/json", {}, body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  governor.change(std::move(change), entry_of(*call, status), [call, reply = std::move(reply)](const Status& durable) mutable {
    call->responder.reply(durable.ok() ? std::move(reply) : problem(durable.error()));
  });
}

Result<int64_t> integer_parameter(const Call& call, std::string_view name, int64_t fallback, int64_t least, int64_t most) {
  const std::string* text = call->request.parts.parameter(name);
  if (text == nullptr) return fallback;
  const auto value = parse_int(*text);
  if (!value || *value < least || *value > most)
    return invalid("parameter '{}': {}: give an integer from {} to {}", name, excerpt(*text), least, most);
  return *value;
}

Result<nlohmann::json> body_object(const Call& call, std::span<const std::string_view> fields) {
  nlohmann::json body = nlohmann::json::parse(call->request.body, nullptr, false);
  if (!body.is_object()) return invalid("the body is no JSON object");
  for (const auto& [name, value] : body.items())
    if (std::find(fields.begin(), fields.end(), name) == fields.end())
      return invalid("field '{}' is not known here: give {}", excerpt(name), fmt::join(fields, ", "));
  return body;
}

struct Api::Impl {
  ApiContext context;

  // Refusals of those who are nobody: one record a second at most, so that they cannot fill the disk.
  std::mutex lock;
  Instant last_refused;
  int64_t refused_since = 0;

  void refuse_stranger(const HttpRequest& request, const Responder& responder, Instant at);
};

void Api::Impl::refuse_stranger(const HttpRequest& request, const Responder& responder, Instant at) {
  responder.reply(problem(401, "show a token that is good: Authorization: Bearer TOKEN; `stint token` makes one"));
  const std::lock_guard guard(lock);
  ++refused_since;
  if (at - last_refused < kRefusedEvery) return;
  AuditEntry entry{
      .at = at, .peer = request.peer, .method = request.method, .target = excerpt(request.target, kLongestTarget), .status = 401};
  if (refused_since > 1) entry.detail = fmt::format("{} requests without a good token since the last such record", refused_since);
  last_refused = at;
  refused_since = 0;
  context.governor.record(std::move(entry), nullptr);
}

Api::Api(Service& service, Governor& governor, ApiOptions options) {
  auto hub = std::make_shared<EventHub>(service, governor, options.clock);
  impl_ = std::make_unique<Impl>(ApiContext{service, governor, std::move(options), hub});
  service.on_events([hub](int64_t number) { hub->announce(number); });
}

Api::~Api() = default;

void Api::handle(HttpRequest request, Responder responder) {
  const Instant at = impl_->context.options.clock();
  RouteMatch match = match_route(request.method, request.parts.segments);
  if (match.route != nullptr && !match.route->needs) {
    const auto call =
        std::make_shared<ApiCall>(ApiCall{std::move(request), std::move(responder), {}, std::move(match.names), at, "", ""});
    return match.route->handler(impl_->context, call);
  }
  const auto token = bearer(request);
  const auto who = token                        ? impl_->context.governor.by_token(*token, at)
                   : request.tls_client.empty() ? std::nullopt
                                                : impl_->context.governor.by_certificate(request.tls_client);
  if (!who) return impl_->refuse_stranger(request, responder, at);
  const auto call =
      std::make_shared<ApiCall>(ApiCall{std::move(request), std::move(responder), *who, std::move(match.names), at, "", ""});
  call->audited = match.route == nullptr || match.route->audited == Audited::kYes;
  const ApiContext& api = impl_->context;
  if (match.route == nullptr) {
    if (match.path_exists) return api.answer(call, problem(405, "this path has other methods: see /openapi.json"));
    return api.answer(call, problem(404, "there is no such path: see /openapi.json"));
  }
  if (!who->may_somewhere(*match.route->needs))
    return api.answer(call, problem(403, fmt::format("your roles or your token's scopes do not allow this: it takes the scope {}",
                                                     name_of(scope_of(*match.route->needs)))));
  match.route->handler(api, call);
}

}  // namespace stint
