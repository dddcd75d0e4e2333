// One-time codes beside tokens: begun, confirmed and given up.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/identity/second_factor.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json codes_json(const std::string& user, bool enabled) { return {{"user", user}, {"enabled", enabled}}; }

}  // namespace

void api_enable_codes(const ApiContext& api, const Call& call) {
  const auto before = api.governor.second_factor(call->who.user);
  if (before && before->confirmed)
    return api.answer(call,
                      make_error(ErrorCode::kConflict,
                                 "one-time codes are asked for already: `stint user totp disable` first, for a new secret"));
  if (!api.governor.user(call->who.user))
    return api.answer(call, make_error(ErrorCode::kNotFound, "there is no user {}", excerpt(call->who.user)));
  const Enrolment made = enrol(call->who.user, call->at);
  call->detail = "one-time codes begun";
  api.change(call, made.factor, 201, {{"uri", made.uri}, {"secret", made.secret}, {"recovery_codes", made.recovery}});
}

void api_confirm_codes(const ApiContext& api, const Call& call) {
  constexpr std::array<std::string_view, 1> kFields = {"code"};
  const Result<nlohmann::json> body = body_object(call, kFields);
  if (!body.ok()) return api.answer(call, body.error());
  if (!body->contains("code") || !(*body)["code"].is_string())
    return api.answer(call, invalid("field 'code': give the app's six digits as a text"));
  api.show_code(call, (*body)["code"].get_ref<const std::string&>(), [api, call](const Status& good) {
    if (!good.ok()) return api.answer(call, good.error());
    api.answer(call, 200, codes_json(call->who.user, true));
  });
}

void api_disable_codes(const ApiContext& api, const Call& call) {
  const std::string& user = call->names[0];
  const bool allowed = user == call->who.user || call->who.may_everywhere(Permission::kManageClients);
  if (!allowed || !api.governor.second_factor(user))
    return api.answer(call,
                      make_error(ErrorCode::kNotFound, "there is no user {} with one-time codes whom you manage", excerpt(user)));
  call->detail = fmt::format("no more one-time codes for {}", user);
  SecondFactor none;
  none.user = user;
  api.change(call, none, 200, codes_json(user, false));
}

}  // namespace stint
