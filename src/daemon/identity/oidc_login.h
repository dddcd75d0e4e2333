// The steps of a login through an identity provider, as values: authorization code flow with PKCE, state and nonce.
//
// What a login that has begun must remember is not kept here: the browser holds a cookie, and state, nonce and PKCE verifier follow
// from it and a key of this process. So the memory cannot be filled with logins that are never ended, a callback without the cookie of
// the browser that began is refused, and the verifier is never seen outside.
// Sources: RFC 6749 section 4.1, RFC 7636 (PKCE), RFC 9207 (iss), RFC 9700 (best practice), OpenID Connect Core 1.0 sections 3.1 and 5.3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/identity/oidc.h"
#include "host/http_server.h"

namespace stint {

/// How long a person may take at the provider.
inline constexpr Duration kLoginLasts = Duration::minutes(10);

struct LoginTicket {
  std::string cookie;    ///< "1800000600.RANDOM": when it ends, and which
  std::string state;     ///< of RFC 6749
  std::string nonce;     ///< that the ID token must repeat
  std::string verifier;  ///< of PKCE
};

class LoginTickets {
 public:
  LoginTickets();  ///< with its own key
  [[nodiscard]] LoginTicket make(Instant now) const;
  /// @return none when it is none, or is over.
  [[nodiscard]] std::optional<LoginTicket> of_cookie(std::string_view cookie, Instant now) const;

 private:
  [[nodiscard]] LoginTicket derive(std::string cookie) const;
  std::string key_;
};

/// PKCE's S256: what is shown of the verifier beforehand.
std::string code_challenge(std::string_view verifier);

/// Where the browser is sent to.
std::string authorization_url(const OidcConfig& config, const OidcEndpoints& endpoints, const LoginTicket& ticket);

/// Of what the provider sent back with the browser: is it the answer to this login, and a code?
/// @return the code; error saying what is wrong.
Result<std::string> code_of_callback(const HttpTarget& callback, const OidcConfig& config, const LoginTicket& ticket);

/// The claims of an ID token whose signature holds, as a user here: meant for this daemon and this login.
/// @param userinfo  claims of the userinfo endpoint, for what the token itself does not say; empty = not asked.
Result<Principal> principal_of_login(std::string_view claims, std::string_view userinfo, const OidcConfig& config,
                                     const LoginTicket& ticket, Instant now);
/// Does the ID token leave out who the user is, or their groups, so that the userinfo endpoint is to be asked?
bool wants_userinfo(std::string_view claims, const OidcConfig& config);

/// A cookie the browser sent; none when there is none of that name. Source: RFC 6265, section 4.2.
std::optional<std::string_view> cookie_of(const HttpRequest& request, std::string_view name);

}  // namespace stint
