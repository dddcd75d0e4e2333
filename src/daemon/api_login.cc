// How one logs in here, and out again, for the page: the login itself is daemon/login_desk.h.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api_routes.h"
#include "daemon/login_desk.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

HttpReply login_reply(const ApiContext& api, bool signed_in) {
  const LoginDesk* desk = api.options.login;
  const Json body = {{"provider", desk == nullptr ? Json() : Json(desk->provider_name())}, {"signed_in", signed_in}};
  return {.status = 200, .content_type = "application/json", .headers = {}, .body = body.dump()};
}

}  // namespace

void api_show_login(const ApiContext& api, const Call& call) {
  const LoginDesk* desk = api.options.login;
  const auto who = desk == nullptr ? std::nullopt : desk->by_cookie(call->request, call->at);
  call->responder.reply(login_reply(api, who && api.governor.still(*who, call->at)));
}

void api_end_login(const ApiContext& api, const Call& call) {
  HttpReply reply = login_reply(api, false);
  LoginDesk* desk = api.options.login;
  const auto who = desk == nullptr ? std::nullopt : desk->by_cookie(call->request, call->at);
  if (!who) return call->responder.reply(std::move(reply));
  reply.headers.push_back(desk->end(call->request));
  call->who = *who;
  call->detail = "logged out";
  api.answer(call, std::move(reply));
}

}  // namespace stint
