// Sessions of people in a browser: a cookie says who they are, in every tab, until they sign out, the session is over, or the daemon
// ends (sessions are kept in memory alone). The identity provider's logins and tokens shown to the page open them.
//
// The cookie is HttpOnly, SameSite=Strict and, where the page is reached by https, Secure; it counts only beside the header
// `Stint-Page`, which no other origin can send without being allowed to: other sites, also those of the same host, can do nothing
// with it (cross-site request forgery).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/identity/access.h"
#include "host/http_server.h"

namespace stint {

/// How long a session lasts that a token has opened; it ends with the token, too.
inline constexpr Duration kTokenSessionLasts = Duration::hours(12);

/// Sent by the page alone, with every request.
inline constexpr std::string_view kPageHeader = "stint-page";

/// A cookie's name and its line. `__Host-`: browsers take it only from this host, over TLS, for the whole of it (RFC 6265bis,
/// section 4.1.3). @param secure  browsers reach the daemon by https.
std::string page_cookie_name(std::string_view what, bool secure);
std::string page_cookie(std::string_view what, std::string_view value, Duration life, std::string_view same_site, bool secure);

class PageSessions {
 public:
  explicit PageSessions(bool secure) : secure_(secure) {}

  // Any thread; none of it blocks.
  /// @return the header that gives the browser its cookie.
  std::pair<std::string, std::string> open(Principal who, Instant now, Instant until);
  /// Whose session the request shows, with the header that the page alone can send. Whether they are still somebody, the governor says.
  [[nodiscard]] std::optional<Principal> by_cookie(const HttpRequest& request, Instant now) const;
  /// Ends the session that the request shows. @return the header that takes the cookie away.
  std::pair<std::string, std::string> end(const HttpRequest& request);

 private:
  struct Session {
    Principal who;
    Instant until;
    std::shared_ptr<std::atomic<bool>> over;
  };
  void make_room(const std::string& user, Instant now);

  const bool secure_;
  mutable std::mutex lock_;
  std::map<std::string, Session> sessions_;  ///< over the hash of the cookie's secret
};

}  // namespace stint
