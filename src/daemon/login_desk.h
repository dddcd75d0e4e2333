// Where people with a browser log in: /login sends them to the identity provider, /login/callback takes them back, and a cookie is
// who they are until they log out, the session is over, or the daemon ends (sessions are kept in memory alone).
//
// The provider is asked by a thread of its own. The session's cookie is HttpOnly, SameSite=Strict and, where the page is reached by
// https, Secure; it counts only beside the header `Stint-Page`, which no other origin can send without being allowed to: other sites,
// also those of the same host, can do nothing with it (cross-site request forgery).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/governor.h"
#include "daemon/oidc_login.h"

namespace stint {

class LoginDesk {
 public:
  /// @param config  with a login. @param provider, governor  outlive it.
  /// @return error when the client's secret cannot be read.
  static Result<std::unique_ptr<LoginDesk>> open(OidcConfig config, const IdentityProvider& provider, Governor& governor,
                                                 std::function<Instant()> clock);
  ~LoginDesk();
  LoginDesk(const LoginDesk&) = delete;
  LoginDesk& operator=(const LoginDesk&) = delete;

  // Any thread; none of it blocks.
  /// Answers /login and /login/callback. @return false: another path.
  bool take(const HttpRequest& request, const Responder& responder);
  /// Whose session the request shows, with the header that the page alone can send.
  [[nodiscard]] std::optional<Principal> by_cookie(const HttpRequest& request, Instant now) const;
  /// Ends the session that the request shows. @return the header that takes the cookie away.
  std::pair<std::string, std::string> end(const HttpRequest& request);
  /// Of the provider, for people.
  [[nodiscard]] const std::string& provider_name() const;

 private:
  struct Impl;
  explicit LoginDesk(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
