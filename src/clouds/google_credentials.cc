#include "clouds/google_credentials.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/aws_sign.h"
#include "clouds/digests.h"
#include "clouds/json_member.h"
#include "clouds/metadata_address.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/jwt.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr const char* kGoogleTokens = "https://oauth2.googleapis.com/token";
constexpr int64_t kAssertionSeconds = 3'600;

class GooglePlaces {
 public:
  explicit GooglePlaces(GoogleCredentialOptions options)
      : options_(std::move(options)),
        metadata_({.http = metadata_http_options(), .tries = 3, .clock = options_.clock}),
        tokens_({.http = token_http_options(), .tries = 5, .clock = options_.clock}) {}

  Result<BearerToken> get() {
    const std::string named = options_.environment("GOOGLE_APPLICATION_CREDENTIALS");
    if (!named.empty()) return from_file(named, "GOOGLE_APPLICATION_CREDENTIALS " + named);
    const std::string config = options_.environment("CLOUDSDK_CONFIG");
    const std::string file =
        (config.empty() ? options_.environment("HOME") + "/.config/gcloud" : config) + "/application_default_credentials.json";
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) return from_file(file, file);
    return from_machine();
  }

 private:
  Result<BearerToken> from_file(const std::string& path, const std::string& what) {
    TRY_ASSIGN(const std::string text, read_all(path));
    TRY_ASSIGN(const GoogleKeyFile key, parse_google_key_file(text, path));
    if (key.kind == GoogleKeyFile::Kind::kUser)
      return ask_for_token(tokens_,
                           form_call(key.token_uri, {{"grant_type", "refresh_token"},
                                                     {"client_id", key.client_id},
                                                     {"client_secret", key.client_secret},
                                                     {"refresh_token", key.refresh_token}}),
                           what);
    TRY_ASSIGN(const std::string assertion, google_assertion(key, options_.scope, options_.clock()));
    return ask_for_token(
        tokens_,
        form_call(key.token_uri, {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", assertion}}),
        what);
  }

  Result<BearerToken> from_machine() {
    // Elsewhere nothing answers there; a machine without a firmware's word may still be told where to ask.
    const bool told =
        !options_.environment("STINT_METADATA_ADDRESS").empty() || !options_.environment("GCE_METADATA_HOST").empty();
    if (!told && detect_cloud() != CloudProvider::kGoogle)
      return make_error(
          ErrorCode::kNotFound,
          "no Google credentials: looked at GOOGLE_APPLICATION_CREDENTIALS and gcloud's own, and this is no machine of "
          "Google Cloud: set the variable to a service account's key file, or run gcloud auth application-default login");
    TRY_ASSIGN(const std::string address, metadata_address(CloudProvider::kGoogle, options_.environment));
    const HttpCall call{
        .url = address + "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + escape_url(options_.scope),
        .headers = {{"Metadata-Flavor", "Google"}}};
    return ask_for_token(metadata_, call, "the machine's service account");
  }

  GoogleCredentialOptions options_;
  CloudHttp metadata_, tokens_;
};

}  // namespace

Result<GoogleKeyFile> parse_google_key_file(std::string_view text, const std::string& where) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("{}: is no JSON object", where);
  const std::string type = text_member(json, "type");
  GoogleKeyFile key{.email = text_member(json, "client_email"),
                    .private_key = text_member(json, "private_key"),
                    .key_id = text_member(json, "private_key_id"),
                    .client_id = text_member(json, "client_id"),
                    .client_secret = text_member(json, "client_secret"),
                    .refresh_token = text_member(json, "refresh_token"),
                    .token_uri = text_member(json, "token_uri")};
  if (key.token_uri.empty()) key.token_uri = kGoogleTokens;
  if (!is_safe_for_secrets(key.token_uri)) return invalid("{}: its token_uri '{}' is not https", where, excerpt(key.token_uri));
  if (type == "authorized_user") {
    key.kind = GoogleKeyFile::Kind::kUser;
    if (key.client_id.empty() || key.client_secret.empty() || key.refresh_token.empty())
      return invalid("{}: has no client_id, client_secret and refresh_token", where);
  } else if (type == "service_account") {
    if (key.email.empty() || key.private_key.empty()) return invalid("{}: has no client_email and private_key", where);
  } else {
    return invalid("{}: credentials of type '{}' are not known here: service_account or authorized_user", where, excerpt(type));
  }
  return key;
}

Result<std::string> google_assertion(const GoogleKeyFile& key, const std::string& scope, Instant now) {
  nlohmann::json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (!key.key_id.empty()) header["kid"] = key.key_id;
  // The audience is always Google's, wherever the token is asked for.
  const nlohmann::json claims = {{"iss", key.email},
                                 {"scope", scope},
                                 {"aud", kGoogleTokens},
                                 {"iat", now.seconds()},
                                 {"exp", now.seconds() + kAssertionSeconds}};
  const auto part = [](const nlohmann::json& json) {
    return to_base64url(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  const std::string message = part(header) + "." + part(claims);
  TRY_ASSIGN(const std::string signature, sign_rs256(key.private_key, message));
  return message + "." + to_base64url(signature);
}

Result<GoogleKeyFile> google_signing_key(const Environment& environment) {
  const std::string path = environment("GOOGLE_APPLICATION_CREDENTIALS");
  const auto cannot = [](std::string_view what) {
    return make_error(
        ErrorCode::kUnavailable,
        "addresses that others may read by are signed with a service account's key, and {}: let GOOGLE_APPLICATION_CREDENTIALS "
        "name such a file",
        what);
  };
  if (path.empty()) return cannot("none is named");
  TRY_ASSIGN(const std::string text, read_all(path));
  TRY_ASSIGN(GoogleKeyFile key, parse_google_key_file(text, path));
  if (key.kind != GoogleKeyFile::Kind::kServiceAccount) return cannot(path + " is a user's");
  return key;
}

Result<std::string> google_read_signature(const GoogleKeyFile& key, const std::string& host, const std::string& path, Instant at,
                                          Duration lasts) {
  constexpr std::string_view kAlgorithm = "GOOG4-RSA-SHA256";
  std::string time = format_utc(Instant::from_seconds(at.seconds()));
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  const std::string scope = time.substr(0, 8) + "/auto/storage/goog4_request";
  const std::string query = canonical_query({{"X-Goog-Algorithm", std::string(kAlgorithm)},
                                             {"X-Goog-Credential", key.email + "/" + scope},
                                             {"X-Goog-Date", time},
                                             {"X-Goog-Expires", fmt::format("{}", lasts.whole_seconds())},
                                             {"X-Goog-SignedHeaders", "host"}});
  const std::string request = fmt::format("GET\n{}\n{}\nhost:{}\n\nhost\nUNSIGNED-PAYLOAD", path, query, host);
  TRY_ASSIGN(const std::string signature,
             sign_rs256(key.private_key, fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope, sha256_hex(request))));
  return fmt::format("{}&X-Goog-Signature={}", query, to_hex(signature));
}

std::unique_ptr<TokenKeeper> google_tokens(const GoogleCredentialOptions& given) {
  GoogleCredentialOptions options = given;
  if (!options.clock) options.clock = now;
  const auto places = std::make_shared<GooglePlaces>(options);
  return std::make_unique<TokenKeeper>([places] { return places->get(); }, options.clock);
}

}  // namespace stint
