// Users of an identity provider: whoever shows a token that it has signed is who it says, with the roles their groups have here.
//
// Keys are fetched by its own thread: at the start, every ten minutes, and when a token names one that is not known. A token
// is checked without asking anybody. Source: OpenID Connect Core 1.0, section 3.1.3.7; Discovery 1.0.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/api/simdjson_fwd.h"
#include "daemon/identity/access.h"

namespace stint {

/// An answer of the provider is waited for that long.
inline constexpr Duration kProviderPatience = Duration::seconds(10);

/// How people log in to the page through the provider: this daemon is its client.
struct OidcLogin {
  std::string name;                ///< of the provider, on the page's button
  std::string client_id;           ///< as registered there
  std::string client_secret_file;  ///< empty = a public client: PKCE alone proves who asks
  std::string public_url;          ///< "https://stint.example.org": this daemon as browsers see it; no slash at its end
  std::string scopes = "openid profile email";
  Duration session = Duration::hours(8);
  /// Where the provider sends people back to: to be registered there.
  [[nodiscard]] std::string redirect_url() const { return public_url + "/login/callback"; }
};

/// What the provider's tokens say when somebody has shown a second factor there. Source: OpenID Connect Core 1.0, section 2 (acr, amr,
/// auth_time); RFC 8176 (values of amr).
struct OidcSecondFactor {
  std::vector<std::string> acr;     ///< one of these …
  std::vector<std::string> amr;     ///< … or of these
  std::optional<Duration> max_age;  ///< since they showed it (auth_time); none = as long as the token or session is good
};

/// Before the names of the provider's users, so that its `admin` is not the `admin` of here. No name of a user here has a colon.
inline constexpr std::string_view kOidcPrefix = "oidc:";

struct OidcConfig {
  std::string issuer;              ///< "https://id.example.org/realm": as tokens name it
  std::string audience;            ///< that tokens must be meant for
  std::string jwks_url;            ///< of its keys; empty = as its discovery document says
  std::string user_claim = "sub";  ///< names the user: one that users cannot choose themselves
  std::string user_prefix;         ///< before that name here: ends with ':'; read_oidc() takes kOidcPrefix where none is named
  std::string groups_claim = "groups";
  std::vector<std::pair<std::string, Grant>> roles;  ///< group → role; a group may stand several times
  std::string ca_file;                               ///< PEM, for the provider's certificate; empty = the system's
  std::optional<OidcSecondFactor> second_factor;     ///< none: the provider is not asked for one
  std::optional<OidcLogin> login;                    ///< none: people show tokens to the page
};
/// The object "oidc" of a daemon's configuration: {"issuer", "audience", "jwks_url", "user_claim", "groups_claim", "roles": {group:
/// "submitter@agency"}, "ca_file", "user_prefix", "second_factor": {"acr", "amr", "max_age"}, "login": {"name", "client_id", "client_secret_file", "public_url", "scopes", "session"}}.
Result<OidcConfig> read_oidc(simdjson::dom::element json, const std::string& where);

/// What a token is for.
enum class TokenUse : uint8_t { kRequest, kLogin };
/// By the type that its header and its claims name. An access token is none for a login; one that ends sessions, tells events or renews
/// others is none at all. Source: RFC 8725, section 3.11; RFC 9068; OpenID Connect Back-Channel Logout 1.0, section 2.4.
Status check_token_type(std::string_view header_type, std::string_view claims, TokenUse use);

/// Who a token speaks of, its signature aside. @return error saying what of it does not hold: issuer, audience, time, user.
Result<Principal> principal_of_claims(std::string_view claims, const OidcConfig& config, Instant now);

/// What the provider's discovery document says of a login.
struct OidcEndpoints {
  std::string authorization;
  std::string token;
  std::string userinfo;  ///< empty = it has none
  std::string jwks;
  bool secret_in_form = false;  ///< it takes the client's secret in the form alone, not as basic authentication
};
/// @return error saying what of it is missing, or of another issuer.
Result<OidcEndpoints> read_discovery(std::string_view document, const OidcConfig& config);

class IdentityProvider {
 public:
  explicit IdentityProvider(OidcConfig config);
  ~IdentityProvider();
  IdentityProvider(const IdentityProvider&) = delete;
  IdentityProvider& operator=(const IdentityProvider&) = delete;

  /// From any thread; does not wait. @return kUnavailable while the key it names is being fetched, kInvalidInput for a token that is
  /// not good.
  [[nodiscard]] Result<Principal> by_token(std::string_view token, Instant now) const;
  /// The claims of an ID token whose signature holds; nothing else of it is looked at. Waits while the key it names is being fetched.
  [[nodiscard]] Result<std::string> verified_claims(std::string_view token) const;
  /// @return kUnavailable until its discovery document has been fetched.
  [[nodiscard]] Result<OidcEndpoints> endpoints() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
