#include "daemon/oidc.h"

#include <gmock/gmock.h>
#include <simdjson.h>

#include "daemon/json_fields.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Instant kNow = Instant::from_seconds(1'800'000'000);

OidcConfig config() {
  return {.issuer = "https://id.example.org",
          .audience = "stint",
          .user_claim = "email",
          .roles = {{"ml", {Role::kSubmitter, "agency"}}, {"ml", {Role::kViewer, "studio"}}, {"ops", {Role::kOperator, ""}}}};
}

std::string claims(const std::string& more = "", const std::string& iss = "https://id.example.org",
                   const std::string& exp = "1800000100") {
  return fmt::format(R"({{"iss":"{}","aud":["other","stint"],"exp":{},"email":"ann@example.org","groups":["ml","chess"]{}}})",
                     iss, exp, more);
}

std::string error_of(const std::string& text, Instant now = kNow) {
  const auto who = principal_of_claims(text, config(), now);
  return who.ok() ? "" : who.error().message;
}

TEST(Oidc, GroupsBecomeRoles) {
  const auto who = principal_of_claims(claims(), config(), kNow);
  ASSERT_TRUE(who.ok()) << who.error().message;
  EXPECT_EQ(who->user, "ann@example.org");
  EXPECT_THAT(who->grants, ElementsAre(Grant{Role::kSubmitter, "agency"}, Grant{Role::kViewer, "studio"}));
  EXPECT_TRUE(who->may(Permission::kSubmit, "agency"));
  EXPECT_FALSE(who->may(Permission::kSubmit, "studio"));
}

TEST(Oidc, WhatDoesNotHoldIsSaid) {
  EXPECT_EQ(error_of(claims()), "");
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of(claims("", "https://id.example.org/")), HasSubstr("another issuer"));
  EXPECT_THAT(error_of(claims(R"(,"aud":"other")")), HasSubstr("another audience"));
  EXPECT_EQ(error_of(claims(), Instant::from_seconds(1'800'000'159)), "");  // a minute's leeway
  EXPECT_THAT(error_of(claims(), Instant::from_seconds(1'800'000'160)), HasSubstr("expired"));
  EXPECT_THAT(error_of(claims("", "https://id.example.org", "\"soon\"")), HasSubstr("ends"));
  EXPECT_THAT(error_of(claims(R"(,"nbf":1800000061)")), HasSubstr("not good yet"));
  EXPECT_THAT(error_of(claims(R"(,"nbf":"x")")), HasSubstr("not good yet"));
  EXPECT_THAT(error_of(claims(R"(,"email":"a b")")), HasSubstr("no user's name"));
}

TEST(Oidc, ConfigurationSaysWhatIsWrong) {
  const auto error = [](const std::string& json) {
    JsonParser parser;
    const auto read = read_oidc(*parser.parse(json, "oidc"), "fleet.json: oidc");
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_EQ(error(R"({"issuer":"https://x","audience":"stint","roles":{"ml":"submitter@agency"}})"), "");
  EXPECT_THAT(error(R"({"issuer":"http://x","audience":"stint"})"), HasSubstr("https://"));
  EXPECT_THAT(error(R"({"issuer":"https://x"})"), HasSubstr("'audience'"));
  EXPECT_THAT(error(R"({"issuer":"https://x","audience":"a","roles":{"ml":"king"}})"), HasSubstr("ml"));
  EXPECT_THAT(error(R"({"issuer":"https://x","audience":"a","role":{}})"), HasSubstr("'role'"));
  const auto login = [&error](const std::string& more) {
    return error(R"({"issuer":"https://x","audience":"a","login":{"client_id":"c","public_url":"https://stint.example.org")" +
                 more + "}}");
  };
  EXPECT_EQ(login(R"(,"scopes":"openid groups","session":"12h","client_secret_file":"/s")"), "");
  EXPECT_THAT(login(R"(,"scopes":"email")"), HasSubstr("openid"));
  EXPECT_THAT(login(R"(,"session":"10s")"), HasSubstr("'session'"));
  for (const char* url :
       {"", "http://stint.example.org", "https://", "https://stint.example.org/", "https://x/y", "https://a@b", "https://a b"})
    EXPECT_THAT(
        error(fmt::format(R"({{"issuer":"https://x","audience":"a","login":{{"client_id":"c","public_url":"{}"}}}})", url)),
        HasSubstr("'public_url'"))
        << url;
}

}  // namespace
}  // namespace stint
