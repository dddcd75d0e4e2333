#include "daemon/identity/oidc.h"

#include <simdjson.h>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "daemon/json_fields.h"
#include "daemon/json_values.h"
#include "host/http_client.h"
#include "host/jwt.h"

namespace stint {
namespace {

using TokenJson = nlohmann::json;

constexpr Duration kLeeway = Duration::seconds(60);  // between two clocks
constexpr std::chrono::minutes kRefresh(10);
constexpr std::chrono::seconds kNotMoreOften(10);  // whoever makes up key ids does not make us ask more often
constexpr std::chrono::seconds kWaitForKey(20);
constexpr size_t kMostKeyBytes = size_t{1} << 20;
constexpr double kLatest_s = 7.2e9;  // the year 2198

/// A claim that is a text or a list of texts.
std::vector<std::string> texts_of(const TokenJson& claims, const std::string& name) {
  const auto found = claims.find(name);
  std::vector<std::string> texts;
  if (found == claims.end()) return texts;
  if (found->is_string()) texts.push_back(found->get<std::string>());
  if (found->is_array())
    for (const TokenJson& one : *found)
      if (one.is_string()) texts.push_back(one.get<std::string>());
  return texts;
}

std::optional<Instant> time_of(const TokenJson& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  const auto seconds = found->get<double>();
  if (!(seconds >= 0 && seconds <= kLatest_s)) return std::nullopt;
  return Instant::from_seconds(static_cast<int64_t>(seconds));
}

Result<std::string> fetch(HttpClient& client, const std::string& url) {
  TRY_ASSIGN(const HttpResponse response, client.get(url));
  if (response.status != 200) return make_error(ErrorCode::kUnavailable, "{}: answered {}", url, response.status);
  return response.body;
}

bool is_url(std::string_view text) {
  return (text.starts_with("https://") || text.starts_with("http://127.0.0.1")) &&
         std::ranges::none_of(text, [](char c) { return c <= ' ' || c == '"' || c == '\\' || c == 0x7f; });
}

std::string_view without_scheme(std::string_view url) {
  const size_t slashes = url.find("//");
  return slashes == std::string_view::npos ? std::string_view() : url.substr(slashes + 2);
}

struct Published {
  KeySet keys;
  OidcEndpoints endpoints;
};

Result<Published> fetch_published(const OidcConfig& config) {
  HttpOptions options;
  options.timeout = kProviderPatience;
  options.max_body_bytes = kMostKeyBytes;
  options.ca_file = config.ca_file;
  HttpClient client(options);
  Published published;
  if (config.jwks_url.empty() || config.login) {
    TRY_ASSIGN(const std::string text, fetch(client, config.issuer + "/.well-known/openid-configuration"));
    TRY_ASSIGN(published.endpoints, read_discovery(text, config));
  }
  TRY_ASSIGN(const std::string keys, fetch(client, config.jwks_url.empty() ? published.endpoints.jwks : config.jwks_url));
  TRY_ASSIGN(published.keys, KeySet::parse(keys));
  return published;
}

Result<OidcLogin> read_login(simdjson::dom::element element, const std::string& where) {
  JsonFields fields(element, where);
  OidcLogin login;
  login.name = fields.text("name", "your identity provider");
  login.client_id = fields.text("client_id");
  login.client_secret_file = fields.text("client_secret_file");
  login.public_url = fields.text("public_url");
  login.scopes = fields.text("scopes", login.scopes);
  login.session = fields.duration("session", login.session);
  if (login.client_id.empty()) fields.wrong("client_id", "the name under which this daemon is registered at the provider");
  const std::string_view host = without_scheme(login.public_url);
  if (!is_url(login.public_url) || host.empty() || host.find_first_of("/?#@") != std::string_view::npos)
    fields.wrong("public_url", "this daemon's address as browsers see it, such as \"https://stint.example.org\", without a path");
  const std::vector<std::string_view> scopes = split(login.scopes, ' ');
  if (std::ranges::find(scopes, "openid") == scopes.end()) fields.wrong("scopes", "words of which one is \"openid\"");
  if (login.session < Duration::minutes(5) || login.session > Duration::hours(24 * 7)) fields.wrong("session", "from 5m to 168h");
  if (login.name.empty() || login.name.size() > 60) fields.wrong("name", "1 to 60 bytes");
  TRY(fields.finish());
  return login;
}

/// Words of one of a list of claims' values.
std::vector<std::string> values_of(JsonFields& fields, const char* name) {
  std::vector<std::string> values = fields.texts(name);
  for (const std::string& value : values)
    if (value.empty() || value.find(' ') != std::string::npos) fields.wrong(name, "values without blanks");
  return values;
}

Result<OidcSecondFactor> read_provider_factor(simdjson::dom::element element, const std::string& where) {
  JsonFields fields(element, where);
  OidcSecondFactor factor{.acr = values_of(fields, "acr"), .amr = values_of(fields, "amr"), .max_age = std::nullopt};
  if (factor.acr.empty() && factor.amr.empty())
    fields.wrong("amr", "values of the claims acr or amr that tell of a second factor, such as [\"mfa\"]");
  if (fields.has("max_age")) factor.max_age = fields.duration("max_age", Duration());
  if (factor.max_age && *factor.max_age < Duration::minutes(1)) fields.wrong("max_age", "at least 1m");
  TRY(fields.finish());
  return factor;
}

/// Does the token say so, and until when does that count? @param expires  of the token, for what has no age of its own
std::optional<Instant> second_factor_of(const TokenJson& claims, const OidcSecondFactor& wanted, Instant expires) {
  const auto shown = [&](const char* claim, const std::vector<std::string>& good) {
    return std::ranges::any_of(texts_of(claims, claim),
                               [&](const std::string& value) { return std::ranges::find(good, value) != good.end(); });
  };
  if (!shown("acr", wanted.acr) && !shown("amr", wanted.amr)) return std::nullopt;
  if (!wanted.max_age) return expires;
  const std::optional<Instant> at = time_of(claims, "auth_time");
  return at ? std::optional(*at + *wanted.max_age) : std::nullopt;
}

}  // namespace

Result<OidcConfig> read_oidc(simdjson::dom::element element, const std::string& where) {
  JsonFields fields(element, where);
  OidcConfig config;
  config.issuer = fields.text("issuer");
  config.audience = fields.text("audience");
  config.jwks_url = fields.text("jwks_url");
  config.user_claim = fields.text("user_claim", config.user_claim);
  config.user_prefix = fields.text("user_prefix", std::string(kOidcPrefix));
  config.groups_claim = fields.text("groups_claim", config.groups_claim);
  config.ca_file = fields.text("ca_file");
  if (!is_url(config.issuer)) fields.wrong("issuer", "the provider's address, beginning with https://");
  if (!config.jwks_url.empty() && !is_url(config.jwks_url)) fields.wrong("jwks_url", "an address beginning with https://");
  if (config.audience.empty()) fields.wrong("audience", "what its tokens for this daemon are meant for, such as \"stint\"");
  for (const auto& [group, role] : fields.pairs("roles")) {
    const Result<Grant> grant = parse_grant(role);
    if (!grant.ok()) return invalid("{}: field 'roles': {}: {}", where, excerpt(group), grant.error().message);
    config.roles.emplace_back(group, *grant);
  }
  if (!config.user_prefix.empty() && !(config.user_prefix.size() <= 20 && config.user_prefix.ends_with(':') &&
                                       is_user_name(config.user_prefix.substr(0, config.user_prefix.size() - 1))))
    fields.wrong(
        "user_prefix",
        "up to 19 letters, digits and . _ - @, then a colon; or \"\" where the provider's names are those of users here");
  if (fields.has("second_factor")) {
    TRY_ASSIGN(config.second_factor, read_provider_factor(fields.raw("second_factor"), where + ": second_factor"));
  }
  if (fields.has("login")) {
    TRY_ASSIGN(config.login, read_login(fields.raw("login"), where + ": login"));
  }
  TRY(fields.finish());
  return config;
}

Result<OidcEndpoints> read_discovery(std::string_view text, const OidcConfig& config) {
  const TokenJson document = TokenJson::parse(text, nullptr, false);
  if (!document.is_object() || text_member(document, "issuer") != config.issuer)
    return invalid("{}: its discovery document is not that of this issuer", config.issuer);
  OidcEndpoints endpoints{.authorization = text_member(document, "authorization_endpoint"),
                          .token = text_member(document, "token_endpoint"),
                          .userinfo = text_member(document, "userinfo_endpoint"),
                          .jwks = text_member(document, "jwks_uri")};
  if (!is_url(endpoints.userinfo)) endpoints.userinfo.clear();
  if (config.jwks_url.empty() && !is_url(endpoints.jwks))
    return invalid("{}: its discovery document names no keys (jwks_uri)", config.issuer);
  if (config.login && (!is_url(endpoints.authorization) || !is_url(endpoints.token)))
    return invalid("{}: its discovery document names no authorization_endpoint or token_endpoint that begins with https://",
                   config.issuer);
  const std::vector<std::string> ways = texts_of(document, "token_endpoint_auth_methods_supported");
  const auto takes = [&ways](const char* way) { return std::ranges::find(ways, way) != ways.end(); };
  endpoints.secret_in_form = takes("client_secret_post") && !takes("client_secret_basic");
  return endpoints;
}

Status check_token_type(std::string_view header_type, std::string_view text, TokenUse use) {
  const bool is_access = header_type == "at+jwt";
  if (!header_type.empty() && header_type != "jwt" && !is_access)
    return invalid("token: its type is '{}': neither an access token nor an ID token", excerpt(header_type));
  if (is_access && use == TokenUse::kLogin) return invalid("token: an access token, not the ID token of a login");
  const TokenJson claims = TokenJson::parse(text, nullptr, false);
  if (!claims.is_object()) return invalid("token: its claims are no JSON object");
  if (claims.contains("events")) return invalid("token: tells of events, such as the end of a session, and not of who asks");
  if (!claims.contains("typ")) return {};
  // Keycloak names a token's kind so.
  const std::string kind = to_lower(text_member(claims, "typ"));
  const bool fits = kind == "id" || kind == "jwt" || (use == TokenUse::kRequest && (kind == "bearer" || kind == "at+jwt"));
  return fits ? Status()
              : invalid("token: its claim 'typ' is '{}': {}", excerpt(kind),
                        use == TokenUse::kLogin ? "not the ID token of a login" : "neither an access token nor an ID token");
}

Result<Principal> principal_of_claims(std::string_view text, const OidcConfig& config, Instant now) {
  const TokenJson claims = TokenJson::parse(text, nullptr, false);
  if (!claims.is_object()) return invalid("token: its claims are no JSON object");
  if (text_member(claims, "iss") != config.issuer) return invalid("token: of another issuer");
  const std::vector<std::string> audiences = texts_of(claims, "aud");
  if (std::ranges::find(audiences, config.audience) == audiences.end()) return invalid("token: meant for another audience");
  const std::optional<Instant> expires = time_of(claims, "exp");
  if (!expires) return invalid("token: without a time at which it ends");
  if (now >= *expires + kLeeway) return invalid("token: has expired");
  if (claims.contains("nbf")) {
    const std::optional<Instant> from = time_of(claims, "nbf");
    if (!from || now + kLeeway < *from) return invalid("token: not good yet");
  }
  // Whoever types an address into a provider's form is not yet its owner.
  if (config.user_claim == "email" && claims.contains("email_verified")) {
    const TokenJson& verified = claims["email_verified"];
    if (verified != true && verified != "true") return invalid("token: its e-mail address is not verified (email_verified)");
  }
  Principal who;
  who.user = text_member(claims, config.user_claim);
  if (!is_user_name(who.user))
    return invalid("token: its claim '{}' is no user's name: 1 to 64 letters, digits and . _ - @", config.user_claim);
  who.user.insert(0, config.user_prefix);
  for (const std::string& group : texts_of(claims, config.groups_claim))
    for (const auto& [name, grant] : config.roles)
      if (name == group && std::ranges::find(who.grants, grant) == who.grants.end()) who.grants.push_back(grant);
  who.scopes = Scopes::all();
  who.expires = *expires + kLeeway;
  if (config.second_factor) who.second_factor_until = second_factor_of(claims, *config.second_factor, *who.expires);
  return who;
}

struct IdentityProvider::Impl {
  explicit Impl(OidcConfig the_config) : config(std::move(the_config)) {}
  void run();
  /// The token taken apart when its signature holds. @return kUnavailable when the key it names is not here (yet).
  Result<Jwt> verified(std::string_view token) const;

  const OidcConfig config;
  mutable std::mutex lock;  // guards what follows
  mutable std::condition_variable wake;
  mutable std::condition_variable news;  // something was fetched
  KeySet keys;
  OidcEndpoints endpoints;
  int64_t fetches = 0;
  std::string trouble = "they have not been fetched yet";
  mutable bool wanted = false;
  bool stopping = false;
  std::thread thread;
};

void IdentityProvider::Impl::run() {
  for (;;) {
    Result<Published> fetched = fetch_published(config);
    std::unique_lock guard(lock);
    if (fetched.ok()) {
      keys = fetched->keys;
      endpoints = fetched->endpoints;
    } else {
      trouble = fetched.error().message;  // the old ones stay good
    }
    wanted = false;
    ++fetches;
    news.notify_all();
    if (wake.wait_for(guard, kNotMoreOften, [this] { return stopping; })) return;
    const auto rest = keys.size() > 0 ? std::chrono::seconds(kRefresh) : kNotMoreOften;
    wake.wait_for(guard, rest, [this] { return stopping || wanted; });
    if (stopping) return;
  }
}

IdentityProvider::IdentityProvider(OidcConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

IdentityProvider::~IdentityProvider() {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->news.notify_all();
  impl_->thread.join();
}

Result<Jwt> IdentityProvider::Impl::verified(std::string_view token) const {
  TRY_ASSIGN(Jwt jwt, parse_jwt(token));
  KeySet known;
  {
    const std::lock_guard guard(lock);
    known = keys;
    if (!known.has(jwt.kid, jwt.algorithm)) {
      wanted = true;
      wake.notify_all();
      if (known.size() == 0) return make_error(ErrorCode::kUnavailable, "the identity provider's keys are not here: {}", trouble);
      return make_error(ErrorCode::kNotFound,
                        "token: signed with a key that its provider does not publish; if that is new, try again in some seconds");
    }
  }
  if (!known.verifies(jwt.kid, jwt.algorithm, jwt.message, jwt.signature)) return invalid("token: its signature does not hold");
  return jwt;
}

Result<Principal> IdentityProvider::by_token(std::string_view token, Instant now) const {
  TRY_ASSIGN(const Jwt jwt, impl_->verified(token));
  TRY(check_token_type(jwt.type, jwt.claims, TokenUse::kRequest));
  return principal_of_claims(jwt.claims, impl_->config, now);
}

Result<std::string> IdentityProvider::verified_claims(std::string_view token) const {
  int64_t seen = 0;
  {
    const std::lock_guard guard(impl_->lock);
    seen = impl_->fetches;
  }
  Result<Jwt> jwt = impl_->verified(token);
  if (!jwt.ok() && (jwt.error().code == ErrorCode::kNotFound || jwt.error().code == ErrorCode::kUnavailable)) {
    std::unique_lock guard(impl_->lock);
    impl_->news.wait_for(guard, kWaitForKey, [&] { return impl_->stopping || impl_->fetches > seen; });
    guard.unlock();
    jwt = impl_->verified(token);
  }
  if (!jwt.ok()) return jwt.error();
  TRY(check_token_type(jwt->type, jwt->claims, TokenUse::kLogin));
  return std::move(jwt->claims);
}

Result<OidcEndpoints> IdentityProvider::endpoints() const {
  const std::lock_guard guard(impl_->lock);
  if (impl_->endpoints.authorization.empty())
    return make_error(ErrorCode::kUnavailable, "what the identity provider publishes is not here: {}", impl_->trouble);
  return impl_->endpoints;
}

}  // namespace stint
