// Where people with a browser log in through the identity provider: /login sends them there, /login/callback takes them back and
// opens a session (daemon/api/page_sessions.h). The desk's own thread asks the provider.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/api/page_sessions.h"
#include "daemon/identity/governor.h"
#include "daemon/identity/oidc_login.h"

namespace stint {

class SealKey;

class LoginDesk {
 public:
  /// @param config  with a login. @param provider, governor, sessions  outlive it. @param secrets_key  that opens the client's secret where it is
  /// encrypted; null: there is none
  /// @return error when the client's secret cannot be read.
  static Result<std::unique_ptr<LoginDesk>> open(OidcConfig config, const IdentityProvider& provider, Governor& governor,
                                                 PageSessions& sessions, const SealKey* secrets_key,
                                                 std::function<Instant()> clock);
  ~LoginDesk();
  LoginDesk(const LoginDesk&) = delete;
  LoginDesk& operator=(const LoginDesk&) = delete;

  // Any thread; none of it blocks.
  /// Answers /login and /login/callback. @return false: another path.
  bool take(const HttpRequest& request, const Responder& responder);
  /// Of the provider, for people.
  [[nodiscard]] const std::string& provider_name() const;

 private:
  struct Impl;
  explicit LoginDesk(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
