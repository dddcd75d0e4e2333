#include "clouds/oauth.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/json_member.h"
#include "clouds/metadata_address.h"
#include "host/clock.h"

namespace stint {
namespace {

constexpr Duration kRenewTokenBefore = Duration::minutes(5);

std::optional<int64_t> seconds_of(const nlohmann::json& json) {
  const auto found = json.find("expires_in");
  if (found == json.end()) return std::nullopt;
  if (found->is_number_integer()) return found->get<int64_t>();
  return found->is_string() ? parse_int(found->get_ref<const std::string&>()) : std::nullopt;
}

}  // namespace

Result<BearerToken> parse_bearer_token(std::string_view text, const std::string& source) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("{}: the answer is no JSON object", source);
  BearerToken token{.token = text_member(json, "access_token"), .lives = {}, .source = source};
  if (token.token.empty()) {
    const std::string error = text_member(json, "error"), why = text_member(json, "error_description");
    return invalid("{}: the answer has no access_token{}{}{}", source, error.empty() ? "" : ": " + excerpt(error),
                   why.empty() ? "" : ": ", excerpt(why, 200));
  }
  if (token.token.find_first_of("\r\n") != std::string::npos)
    return invalid("{}: the access_token has more than one line", source);
  const auto seconds = seconds_of(json);
  constexpr int64_t kLongest = 7 * 86'400;
  if (!seconds || *seconds < 0) return invalid("{}: the answer has no expires_in", source);
  token.lives = Duration::seconds(std::min(*seconds, kLongest));
  return token;
}

Result<BearerToken> TokenKeeper::get(Renew renew) {
  const std::scoped_lock lock(mutex_);
  const Instant time = clock_();
  if (held_ && renew == Renew::kWhenOld && time < expires_ - kRenewTokenBefore) return *held_;
  auto got = get_();
  // While the old one holds, trouble at its source is no trouble yet.
  if (!got.ok()) return held_ && renew == Renew::kWhenOld && time < expires_ ? Result<BearerToken>(*held_) : got;
  held_ = std::move(got).value();
  expires_ = time + held_->lives;
  return *held_;
}

Result<BearerToken> ask_for_token(CloudHttp& http, const HttpCall& call, const std::string& what) {
  const CloudRequest request{.what = what,
                             .prepare = [&](const CloudAttempt&) -> Result<HttpCall> { return call; },
                             .judge = [](const HttpResponse& r) -> std::optional<CloudFault> {
                               if (r.status == 200) return std::nullopt;
                               const nlohmann::json json = nlohmann::json::parse(r.body, nullptr, false);
                               CloudFault fault{.failure = CloudFailure::kServer,
                                                .code = text_member(json, "error"),
                                                .message = text_member(json, "error_description")};
                               if (fault.code.empty()) fault.message = fmt::format("HTTP {}", r.status);
                               fault.failure = classify_failure(r.status, fault.code);
                               return fault;
                             }};
  TRY_ASSIGN(const HttpResponse response, http.send(request));
  return parse_bearer_token(response.body, what);
}

HttpCall form_call(const std::string& url, const std::vector<HttpField>& fields) {
  HttpCall call{.method = "POST", .url = url, .content_type = "application/x-www-form-urlencoded"};
  for (const auto& [name, value] : fields)
    call.body += (call.body.empty() ? "" : "&") + escape_url(name) + "=" + escape_url(value);
  return call;
}

HttpOptions token_http_options() {
  HttpOptions options;
  options.timeout = Duration::seconds(30);
  options.max_body_bytes = size_t{1} << 20;
  return options;
}

bool is_safe_for_secrets(std::string_view url) {
  if (url.starts_with("https://")) return true;
  return is_metadata_address(url.substr(0, url.find('/', std::string_view("http://").size())));
}

}  // namespace stint
