// How one signs in to the page, and out again: with a token here, through the identity provider at daemon/identity/login_desk.h.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/page_sessions.h"
#include "daemon/api/problem.h"
#include "daemon/identity/login_desk.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

HttpReply login_reply(const ApiContext& api, bool signed_in) {
  const LoginDesk* desk = api.options.login;
  const Json body = {{"provider", desk == nullptr ? Json() : Json(desk->provider_name())}, {"signed_in", signed_in}};
  return {.status = 200, .content_type = "application/json", .headers = {}, .body = body.dump()};
}

std::optional<Principal> session_of(const ApiContext& api, const Call& call) {
  return api.options.sessions == nullptr ? std::nullopt : api.options.sessions->by_cookie(call->request, call->at);
}

}  // namespace

void api_show_login(const ApiContext& api, const Call& call) {
  const auto who = session_of(api, call);
  call->responder.reply(login_reply(api, who && api.governor.still(*who, call->at)));
}

void api_begin_login(const ApiContext& api, const Call& call) {
  if (api.options.sessions == nullptr) return api.answer(call, problem(503, "this daemon opens no sessions"));
  // Else another site could sign a browser in as somebody it is not.
  if (call->request.header(kPageHeader) == nullptr || call->request.header("authorization") == nullptr)
    return api.answer(call, problem(400, "a session is opened by the daemon's page: with the header Stint-Page and a token"));
  Instant until = call->at + kTokenSessionLasts;
  if (call->who.expires) until = std::min(until, *call->who.expires);
  if (const auto token = api.governor.token(call->who.token)) until = std::min(until, token->expires);
  call->detail = fmt::format("signed in to the page until {}", format_utc(until));
  HttpReply reply = login_reply(api, true);
  reply.headers.push_back(api.options.sessions->open(call->who, call->at, until));
  api.answer(call, std::move(reply));
}

void api_end_login(const ApiContext& api, const Call& call) {
  HttpReply reply = login_reply(api, false);
  const auto who = session_of(api, call);
  if (!who) return call->responder.reply(std::move(reply));
  reply.headers.push_back(api.options.sessions->end(call->request));
  call->who = *who;
  call->detail = "logged out";
  api.answer(call, std::move(reply));
}

}  // namespace stint
