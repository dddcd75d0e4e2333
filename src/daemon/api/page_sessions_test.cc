#include "daemon/api/page_sessions.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace stint {
namespace {

using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr Instant kSessionTestNow = Instant::from_seconds(1'800'000'000);
constexpr Duration kHalfHour = Duration::minutes(30);

/// A browser that sends back the cookie it was given.
HttpRequest request_with(const std::string& set_cookie, bool of_page = true) {
  HttpRequest request;
  request.headers.emplace_back("cookie", "theme=dark; " + set_cookie.substr(0, set_cookie.find(';')));
  if (of_page) request.headers.emplace_back("stint-page", "1");
  return request;
}

Principal ada() { return {.user = "ada", .token = "t1"}; }

TEST(PageSessionsTest, TheCookieSaysWhoItIsUntilItsTimeBesideThePagesHeaderAlone) {
  PageSessions sessions(false);
  const auto [name, cookie] = sessions.open(ada(), kSessionTestNow, kSessionTestNow + kHalfHour);
  EXPECT_EQ(name, "Set-Cookie");
  EXPECT_THAT(cookie, MatchesRegex("stint-session=[0-9a-f]{64}; Path=/; Max-Age=1800; HttpOnly; SameSite=Strict"));
  const auto who = sessions.by_cookie(request_with(cookie), kSessionTestNow + kHalfHour - Duration::seconds(1));
  ASSERT_TRUE(who);
  EXPECT_EQ(who->user, "ada");
  EXPECT_EQ(who->token, "t1");
  EXPECT_FALSE(sessions.by_cookie(request_with(cookie, false), kSessionTestNow));
  EXPECT_FALSE(sessions.by_cookie(request_with(cookie), kSessionTestNow + kHalfHour));
  EXPECT_FALSE(sessions.by_cookie(request_with("stint-session=" + std::string(64, '0')), kSessionTestNow));
}

TEST(PageSessionsTest, ByHttpsTheCookieIsOfThisHostAloneAndNeverSentInPlain) {
  PageSessions sessions(true);
  const std::string cookie = sessions.open(ada(), kSessionTestNow, kSessionTestNow + kHalfHour).second;
  EXPECT_THAT(cookie, MatchesRegex("__Host-stint-session=.*; HttpOnly; SameSite=Strict; Secure"));
  EXPECT_TRUE(sessions.by_cookie(request_with(cookie), kSessionTestNow));
  EXPECT_FALSE(sessions.by_cookie(request_with(cookie.substr(7)), kSessionTestNow));  // without __Host-
}

TEST(PageSessionsTest, WhoSignsOutIsOutForAllThatHasTheCookieAndForStreamsThatAreOpen) {
  PageSessions sessions(false);
  const std::string cookie = sessions.open(ada(), kSessionTestNow, kSessionTestNow + kHalfHour).second;
  const auto who = sessions.by_cookie(request_with(cookie), kSessionTestNow);
  ASSERT_TRUE(who && who->over);
  sessions.end(request_with(cookie, false));  // another site cannot
  EXPECT_FALSE(*who->over);
  EXPECT_THAT(sessions.end(request_with(cookie)).second, StartsWith("stint-session=; Path=/; Max-Age=0;"));
  EXPECT_TRUE(*who->over);
  EXPECT_FALSE(sessions.by_cookie(request_with(cookie), kSessionTestNow));
}

TEST(PageSessionsTest, TheSeventeenthSessionOfAUserEndsThatUsersOldest) {
  PageSessions sessions(false);
  const std::string other =
      sessions.open({.user = "sam", .token = "t2"}, kSessionTestNow, kSessionTestNow + Duration::seconds(9)).second;
  std::vector<std::string> cookies;
  for (int i = 0; i < 17; ++i)
    cookies.push_back(sessions.open(ada(), kSessionTestNow, kSessionTestNow + kHalfHour + Duration::seconds(i)).second);
  EXPECT_FALSE(sessions.by_cookie(request_with(cookies[0]), kSessionTestNow));
  for (size_t i = 1; i < cookies.size(); ++i)
    EXPECT_TRUE(sessions.by_cookie(request_with(cookies[i]), kSessionTestNow)) << i;
  EXPECT_TRUE(sessions.by_cookie(request_with(other), kSessionTestNow));
}

}  // namespace
}  // namespace stint
