#include "daemon/identity/oidc_login.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/http_client.h"
#include "host/jwt.h"
#include "host/secret.h"

namespace stint {
namespace {

using TokenJson = nlohmann::json;

constexpr size_t kLongestCode = 4'096;

bool is_same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_text(const TokenJson& object, const std::string& name, std::string_view value) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() && found->get_ref<const std::string&>() == value;
}

}  // namespace

LoginTickets::LoginTickets() : key_(random_hex(32)) {}

LoginTicket LoginTickets::make(Instant now) const {
  return derive(fmt::format("{}.{}", (now + kLoginLasts).seconds(), random_hex(16)));
}

std::optional<LoginTicket> LoginTickets::of_cookie(std::string_view cookie, Instant now) const {
  const auto ends = parse_int(cookie.substr(0, cookie.find('.')));
  if (!ends || cookie.size() > 100) return std::nullopt;
  const int64_t left_s = *ends - now.seconds();
  // The cookie may be made up: then no login knows the state that follows from it.
  if (left_s <= 0 || left_s > kLoginLasts.whole_seconds()) return std::nullopt;
  return derive(std::string(cookie));
}

LoginTicket LoginTickets::derive(std::string cookie) const {
  LoginTicket ticket;
  ticket.state = hmac_sha256_hex(key_, "state " + cookie);
  ticket.nonce = hmac_sha256_hex(key_, "nonce " + cookie);
  ticket.verifier = hmac_sha256_hex(key_, "verifier " + cookie);
  ticket.cookie = std::move(cookie);
  return ticket;
}

std::string code_challenge(std::string_view verifier) { return to_base64url(bytes_of_hex(sha256_hex(verifier))); }

std::string authorization_url(const OidcConfig& config, const OidcEndpoints& endpoints, const LoginTicket& ticket) {
  const OidcLogin& login = *config.login;
  // The provider then asks for it, where it knows these values.
  std::string factor;
  if (config.second_factor && !config.second_factor->acr.empty())
    factor = "&acr_values=" + escape_url(fmt::format("{}", fmt::join(config.second_factor->acr, " ")));
  if (config.second_factor && config.second_factor->max_age)
    factor += fmt::format("&max_age={}", config.second_factor->max_age->whole_seconds());
  const bool has_query = endpoints.authorization.find('?') != std::string::npos;
  return fmt::format(
      "{}{}response_type=code&client_id={}&redirect_uri={}&scope={}&state={}&nonce={}&code_challenge={}&code_challenge_method="
      "S256{}",
      endpoints.authorization, has_query ? "&" : "?", escape_url(login.client_id), escape_url(login.redirect_url()),
      escape_url(login.scopes), ticket.state, ticket.nonce, code_challenge(ticket.verifier), factor);
}

Result<std::string> code_of_callback(const HttpTarget& callback, const OidcConfig& config, const LoginTicket& ticket) {
  const std::string* state = callback.parameter("state");
  if (state == nullptr || !is_same_secret(*state, ticket.state))
    return invalid("this answer of the identity provider belongs to another login than the one this browser began last");
  const std::string* issuer = callback.parameter("iss");
  if (issuer != nullptr && *issuer != config.issuer) return invalid("this answer is of another identity provider");
  if (const std::string* error = callback.parameter("error")) {
    const std::string* description = callback.parameter("error_description");
    return invalid("the identity provider says: {}{}", excerpt(*error),
                   description == nullptr ? "" : fmt::format(" ({})", excerpt(*description, 200)));
  }
  const std::string* code = callback.parameter("code");
  if (code == nullptr || code->empty() || code->size() > kLongestCode)
    return invalid("the identity provider sent nothing by which it knows this login (code)");
  return *code;
}

bool wants_userinfo(std::string_view text, const OidcConfig& config) {
  const TokenJson claims = TokenJson::parse(text, nullptr, false);
  return claims.is_object() && (!claims.contains(config.user_claim) || !claims.contains(config.groups_claim));
}

Result<Principal> principal_of_login(std::string_view text, std::string_view userinfo, const OidcConfig& config,
                                     const LoginTicket& ticket, Instant now) {
  TokenJson claims = TokenJson::parse(text, nullptr, false);
  if (!claims.is_object()) return invalid("ID token: its claims are no JSON object");
  if (!is_text(claims, "nonce", ticket.nonce)) return invalid("ID token: made for another login (nonce)");
  const std::string& client = config.login->client_id;
  const auto audience = claims.find("aud");
  const bool several = audience != claims.end() && audience->is_array() && audience->size() > 1;
  if ((several || claims.contains("azp")) && !is_text(claims, "azp", client))
    return invalid("ID token: made for another application (azp)");
  if (!userinfo.empty()) {
    const TokenJson more = TokenJson::parse(userinfo, nullptr, false);
    if (!more.is_object() || !more.contains("sub") || !claims.contains("sub") || more["sub"] != claims["sub"])
      return invalid("what the identity provider's userinfo endpoint says is about another person (sub)");
    for (const std::string& name : {config.user_claim, config.groups_claim})
      if (!claims.contains(name) && more.contains(name)) claims[name] = more[name];
  }
  OidcConfig for_login = config;
  for_login.audience = client;
  TRY_ASSIGN(Principal who, principal_of_claims(claims.dump(), for_login, now));
  if (who.grants.empty())
    return invalid("you are {}, but none of your groups has a role here: ask whoever runs this daemon", who.user);
  // The session outlives the token; how long its second factor counts is the configuration's max_age, else the session.
  if (who.second_factor_until && !config.second_factor->max_age) who.second_factor_until = now + config.login->session;
  who.expires = now + config.login->session;
  return who;
}

std::optional<std::string_view> cookie_of(const HttpRequest& request, std::string_view name) {
  for (const auto& [header, value] : request.headers) {
    if (header != "cookie") continue;
    for (std::string_view pair : split(value, ';')) {
      pair = trim(pair);
      const size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
    }
  }
  return std::nullopt;
}

}  // namespace stint
