#include "daemon/api/api.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/page_sessions.h"
#include "daemon/api/problem.h"
#include "daemon/identity/job_token.h"
#include "daemon/json_fields.h"
#include "host/jwt.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestTarget = 300;
/// Who has shown a code for an operation is not asked for another for the same so soon.
constexpr Duration kCodeCounts = Duration::minutes(5);

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

/// One operation of one client of somebody's: a token that was stolen meanwhile comes from another address, or wants something else.
std::string session_of(const ApiRoute& route, const Call& call) {
  const std::string by = call->who.token.empty() ? "user " + call->who.user : call->who.token;
  const std::string& peer = call->request.peer;
  return fmt::format("{} {} {} {}", by, peer.substr(0, peer.rfind(':')), route.method, route.path);
}

}  // namespace

void ApiContext::answer(const Call& call, HttpReply reply) const {
  if (!call->audited) return call->responder.reply(std::move(reply));
  // A command that is refused changes as little as a read.
  const bool changes = call->request.method != "GET" && !(reply.status >= 400 && reply.status < 500);
  AuditEntry entry = entry_of(*call, reply.status);
  if (!changes) {
    call->responder.reply(std::move(reply));
    return governor.record_read(std::move(entry));
  }
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

void ApiContext::show_code(const Call& call, std::string_view code, std::function<void(const Status&)> then) const {
  governor.show_code(code, entry_of(*call, 0), std::move(then));
}

void ApiContext::record_then(const Call& call, std::function<Status()> act, int status, const Json& body) const {
  HttpReply reply{status, "application/json", {}, body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  governor.record(entry_of(*call, status), [call, act = std::move(act), reply = std::move(reply)](const Status& durable) mutable {
    const Status done = durable.ok() ? act() : durable;
    call->responder.reply(done.ok() ? std::move(reply) : problem(done.error()));
  });
}

CommandInfo by_caller(const Call& call) { return {.actor = call->who.user, .idempotency_key = ""}; }

Result<int64_t> integer_parameter(const Call& call, std::string_view name, int64_t fallback, int64_t least, int64_t most) {
  const std::string* text = call->request.parts.parameter(name);
  if (text == nullptr) return fallback;
  const auto value = parse_int(*text);
  if (!value || *value < least || *value > most)
    return invalid("parameter '{}': {}: give an integer from {} to {}", name, excerpt(*text), least, most);
  return *value;
}

Result<nlohmann::json> body_object(const Call& call, std::span<const std::string_view> fields) {
  if (nested_deeper_than(call->request.body, kDeepestJson))
    return invalid("the body is nested deeper than {} levels", kDeepestJson);
  nlohmann::json body = nlohmann::json::parse(call->request.body, nullptr, false);
  if (!body.is_object()) return invalid("the body is no JSON object");
  for (const auto& [name, value] : body.items())
    if (std::find(fields.begin(), fields.end(), name) == fields.end())
      return invalid("field '{}' is not known here: give {}", excerpt(name), fmt::join(fields, ", "));
  return body;
}

struct Api::Impl {
  ApiContext context;

  // Refusals of unknown callers: one record a second at most, so that they cannot fill the disk.
  std::mutex lock;
  Instant last_refused;

  /// Who has shown a good code for what, and until when it counts: by session_of(). The governor's thread writes it.
  struct Shown {
    std::mutex lock;
    std::map<std::string, Instant> until;
  };
  std::shared_ptr<Shown> shown = std::make_shared<Shown>();
  int64_t refused_since = 0;

  /// Who asks: by a token of ours or of the identity provider, by a session of the page, or by certificate. @return error: no known caller.
  Result<Principal> who_asks(const HttpRequest& request, Instant at) const;
  /// Asks for a one-time code where the route and the caller want one, then hands on. @return false: nothing is wanted.
  bool ask_for_code(const ApiRoute& route, const Call& call);
  /// @return what a stranger is told; it is on record
  HttpReply refuse_stranger(const HttpRequest& request, Instant at, const Error& why);
};

Result<Principal> Api::Impl::who_asks(const HttpRequest& request, Instant at) const {
  const Error unknown = invalid("show a token that is good: Authorization: Bearer TOKEN; `stint token` makes one");
  const auto token = bearer(request);
  if (!token) {
    if (const auto who = context.options.sessions == nullptr ? std::nullopt : context.options.sessions->by_cookie(request, at)) {
      const auto still = context.governor.still(*who, at);
      return still ? Result<Principal>(*still) : unknown;
    }
    if (request.tls_client.empty()) return unknown;
    const auto who = context.governor.by_certificate(request.tls_client);
    return who ? Result<Principal>(*who) : unknown;
  }
  if (const auto launch = launch_of_token(context.options.job_key, *token)) {
    Principal task{.user = "job", .token = "", .grants = {}, .scopes = {}};
    task.launch = format_key(*launch);
    return task;
  }
  if (const auto who = context.governor.by_token(*token, at)) return *who;
  if (!context.options.by_provider || !looks_like_jwt(*token)) return unknown;
  TRY_ASSIGN(const Principal who, context.options.by_provider(*token, at));
  // Disabled here is disabled, whatever the provider says.
  const auto still = context.governor.still(who, at);
  return still ? Result<Principal>(*still) : unknown;
}

bool Api::Impl::ask_for_code(const ApiRoute& route, const Call& call) {
  if (route.code == CodeWanted::kNo) return false;
  // Of the identity provider's users it asks itself, and its tokens tell.
  if (call->who.expires) {
    const auto& until = call->who.second_factor_until;
    if (!context.options.provider_shows_factor || (until && call->at < *until)) return false;
    context.answer(call,
                   problem(403,
                           "this takes a second factor at the identity provider, shown not long ago: log in there again with one "
                           "(what counts is the configuration's oidc.second_factor)",
                           "urn:stint:second-factor-wanted", {}));
    return true;
  }
  const auto factor = context.governor.second_factor(call->who.user);
  if (!factor || !factor->confirmed) return false;
  const std::string by = session_of(route, call);
  if (route.code == CodeWanted::kYes) {
    const std::lock_guard guard(shown->lock);
    std::erase_if(shown->until, [&](const auto& entry) { return entry.second <= call->at; });
    if (shown->until.contains(by)) return false;
  }
  const std::string* code = call->request.header("stint-code");
  if (code == nullptr) {
    context.answer(call, problem(403, "this takes a one-time code, too: --code 123456 of the command, or the header Stint-Code",
                                 "urn:stint:code-wanted", {}));
    return true;
  }
  context.show_code(call, *code, [api = context, shown = shown, by, call, &route](const Status& good) {
    if (!good.ok()) return api.answer(call, problem(403, good.error().message, "urn:stint:code-wanted", {}));
    if (route.code == CodeWanted::kYes) {
      const std::lock_guard guard(shown->lock);
      shown->until[by] = call->at + kCodeCounts;
    }
    route.handler(api, call);
  });
  return true;
}

HttpReply Api::Impl::refuse_stranger(const HttpRequest& request, Instant at, const Error& why) {
  HttpReply reply = problem(why.code == ErrorCode::kUnavailable ? 503 : 401, why.message);
  const std::lock_guard guard(lock);
  ++refused_since;
  if (at - last_refused < kRefusedRecordEvery) return reply;
  AuditEntry entry{
      .at = at, .peer = request.peer, .method = request.method, .target = excerpt(request.target, kLongestTarget), .status = 401};
  if (refused_since > 1) entry.detail = fmt::format("{} requests without a good token since the last such record", refused_since);
  last_refused = at;
  refused_since = 0;
  context.governor.record(std::move(entry), nullptr);
  return reply;
}

Api::Api(Service& service, Governor& governor, ApiOptions options) {
  auto hub = std::make_shared<EventHub>(service, governor, options.clock);
  impl_ = std::make_unique<Impl>(ApiContext{service, governor, options, hub, options.findings});
  service.on_events([hub, alerts = options.alerts](int64_t number) {
    hub->announce(number);
    if (alerts != nullptr) alerts->wake();
  });
}

Api::~Api() { impl_->context.hub->stop(); }

HttpAdmission Api::admit(const HttpRequest& head) {
  const RouteMatch match = match_route(head.method, head.parts.segments);
  if (match.route == nullptr || !match.route->needs) return {};
  const Instant at = impl_->context.options.clock();
  const Result<Principal> who = impl_->who_asks(head, at);
  if (!who.ok()) return {.refusal = impl_->refuse_stranger(head, at, who.error()), .user = ""};
  return {.refusal = std::nullopt, .user = who->launch.empty() ? "user " + who->user : "job " + who->launch};
}

void Api::handle(HttpRequest request, Responder responder) {
  const Instant at = impl_->context.options.clock();
  RouteMatch match = match_route(request.method, request.parts.segments);
  if (match.route != nullptr && !match.route->needs) {
    const auto call =
        std::make_shared<ApiCall>(ApiCall{std::move(request), std::move(responder), {}, std::move(match.names), at, "", ""});
    return match.route->handler(impl_->context, call);
  }
  const Result<Principal> who = impl_->who_asks(request, at);
  if (!who.ok()) return responder.reply(impl_->refuse_stranger(request, at, who.error()));
  const auto call =
      std::make_shared<ApiCall>(ApiCall{std::move(request), std::move(responder), *who, std::move(match.names), at, "", ""});
  call->audited = match.route == nullptr || match.route->audited == Audited::kYes;
  const ApiContext& api = impl_->context;
  if (match.route == nullptr) {
    if (match.path_exists) return api.answer(call, problem(405, "this path has other methods: see /openapi.json"));
    return api.answer(call, problem(404, "there is no such path: see /openapi.json"));
  }
  if (!who->launch.empty()) {
    if (match.route->of_jobs) return match.route->handler(api, call);
    return api.answer(call,
                      problem(403, "the token of a task is for what its job tells alone: stint checkpoint, stint trial report"));
  }
  if (!who->may_somewhere(*match.route->needs))
    return api.answer(call, problem(403, fmt::format("your roles or your token's scopes do not allow this: it takes the scope {}",
                                                     name_of(scope_of(*match.route->needs)))));
  if (call->request.method == "POST" && *match.route->needs == Permission::kSubmit && api.options.room_for_work)
    if (const Status room = api.options.room_for_work(); !room.ok())
      return api.answer(call, problem(507, room.error().message, "urn:stint:disk-full", {}));
  // A token of ours would outlive the provider's word, and be that of a user of ours with the same name.
  if (who->expires && *match.route->needs == Permission::kOwnTokens)
    return api.answer(call, problem(403, "who is known by the identity provider's token makes none here: ask the provider"));
  if (!impl_->ask_for_code(*match.route, call)) match.route->handler(api, call);
}

}  // namespace stint
