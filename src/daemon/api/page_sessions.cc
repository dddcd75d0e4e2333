#include "daemon/api/page_sessions.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/identity/oidc_login.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr size_t kMostSessions = 10'000;
constexpr size_t kMostSessionsOfOne = 16;

}  // namespace

std::string page_cookie_name(std::string_view what, bool secure) {
  return fmt::format("{}stint-{}", secure ? "__Host-" : "", what);
}

std::string page_cookie(std::string_view what, std::string_view value, Duration life, std::string_view same_site, bool secure) {
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite={}{}", page_cookie_name(what, secure), value,
                     life.whole_seconds(), same_site, secure ? "; Secure" : "");
}

/// Those that are over go; one person's oldest go before others' do.
void PageSessions::make_room(const std::string& user, Instant now) {
  std::erase_if(sessions_, [now](const auto& entry) {
    if (entry.second.until > now) return false;
    *entry.second.over = true;
    return true;
  });
  const auto drop_oldest = [this](const auto& counts) {
    auto oldest = sessions_.end();
    for (auto it = sessions_.begin(); it != sessions_.end(); ++it)
      if (counts(*it) && (oldest == sessions_.end() || it->second.until < oldest->second.until)) oldest = it;
    *oldest->second.over = true;
    sessions_.erase(oldest);
  };
  const auto is_theirs = [&user](const auto& entry) { return entry.second.who.user == user; };
  while (static_cast<size_t>(std::ranges::count_if(sessions_, is_theirs)) >= kMostSessionsOfOne)
    drop_oldest(is_theirs);
  if (sessions_.size() >= kMostSessions) drop_oldest([](const auto&) { return true; });
}

std::pair<std::string, std::string> PageSessions::open(Principal who, Instant now, Instant until) {
  const std::string value = random_hex(32);
  const std::lock_guard guard(lock_);
  make_room(who.user, now);
  Session session{std::move(who), until, std::make_shared<std::atomic<bool>>(false)};
  session.who.over = session.over;
  sessions_[sha256_hex(value)] = std::move(session);
  return {"Set-Cookie", page_cookie("session", value, until - now, "Strict", secure_)};
}

std::optional<Principal> PageSessions::by_cookie(const HttpRequest& request, Instant now) const {
  const auto shown = cookie_of(request, page_cookie_name("session", secure_));
  if (!shown || request.header(kPageHeader) == nullptr) return std::nullopt;
  const std::lock_guard guard(lock_);
  const auto found = sessions_.find(sha256_hex(*shown));
  if (found == sessions_.end() || now >= found->second.until) return std::nullopt;
  return found->second.who;
}

std::pair<std::string, std::string> PageSessions::end(const HttpRequest& request) {
  const auto shown = cookie_of(request, page_cookie_name("session", secure_));
  if (shown && request.header(kPageHeader) != nullptr) {
    const std::lock_guard guard(lock_);
    const auto found = sessions_.find(sha256_hex(*shown));
    if (found != sessions_.end()) {
      *found->second.over = true;
      sessions_.erase(found);
    }
  }
  return {"Set-Cookie", page_cookie("session", "", Duration(), "Strict", secure_)};
}

}  // namespace stint
