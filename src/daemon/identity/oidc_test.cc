#include "daemon/identity/oidc.h"

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

/// Whoever types an address into a provider's form is not yet its owner.
TEST(Oidc, AnAddressMustBeVerifiedWhereTheProviderTells) {
  EXPECT_THAT(error_of(claims(R"(,"email_verified":false)")), HasSubstr("email_verified"));
  EXPECT_THAT(error_of(claims(R"(,"email_verified":"false")")), HasSubstr("email_verified"));
  EXPECT_EQ(error_of(claims(R"(,"email_verified":true)")), "");
  EXPECT_EQ(error_of(claims(R"(,"email_verified":"true")")), "");
}

/// Its users may choose their names there: `admin` of the provider is not the `admin` of here.
TEST(Oidc, NamesOfTheProviderAreNotThoseOfUsersHere) {
  OidcConfig apart = config();
  apart.user_prefix = "oidc:";
  const auto who = principal_of_claims(claims(R"(,"email":"admin")"), apart, kNow);
  ASSERT_TRUE(who.ok()) << who.error().message;
  EXPECT_EQ(who->user, "oidc:admin");
  EXPECT_THAT(error_of(claims(R"(,"email":"oidc:admin")")), HasSubstr("no user's name"))
      << "nor does a claim bring a prefix along";
}

TEST(Oidc, TokensOfOtherKindsShowNobody) {
  const auto check = [](const char* type, const std::string& text, TokenUse use) {
    const Status status = check_token_type(type, text, use);
    return status.ok() ? std::string() : status.error().message;
  };
  for (const TokenUse use : {TokenUse::kRequest, TokenUse::kLogin}) {
    EXPECT_EQ(check("", claims(), use), "");
    EXPECT_EQ(check("jwt", claims(), use), "");
    EXPECT_EQ(check("jwt", claims(R"(,"typ":"ID")"), use), "");
    for (const char* type : {"logout+jwt", "secevent+jwt", "dpop+jwt", "jose"})
      EXPECT_THAT(check(type, claims(), use), HasSubstr(type));
    for (const char* kind : {"Refresh", "Offline", "Logout", "Serialized-ID", ""})
      EXPECT_THAT(check("jwt", claims(fmt::format(R"(,"typ":"{}")", kind)), use), HasSubstr("'typ'"));
    EXPECT_THAT(check("jwt", claims(R"(,"events":{"http://schemas.openid.net/event/backchannel-logout":{}})"), use),
                HasSubstr("events"));
  }
  EXPECT_EQ(check("at+jwt", claims(R"(,"typ":"Bearer")"), TokenUse::kRequest), "");
  EXPECT_THAT(check("at+jwt", claims(), TokenUse::kLogin), HasSubstr("access token"));
  EXPECT_THAT(check("jwt", claims(R"(,"typ":"Bearer")"), TokenUse::kLogin), HasSubstr("ID token of a login"));
}

TEST(Oidc, ASecondFactorIsWhatTheTokenTellsOfOne) {
  OidcConfig asks = config();
  asks.second_factor = {.acr = {"gold"}, .amr = {"mfa", "hwk"}, .max_age = std::nullopt};
  const auto until = [&](const std::string& more) { return principal_of_claims(claims(more), asks, kNow)->second_factor_until; };
  EXPECT_EQ(until(""), std::nullopt);
  EXPECT_EQ(until(R"(,"amr":["pwd"],"acr":"bronze")"), std::nullopt);
  const Instant token_ends = Instant::from_seconds(1'800'000'160);
  EXPECT_EQ(until(R"(,"amr":["pwd","hwk"])"), token_ends);
  EXPECT_EQ(until(R"(,"acr":"gold")"), token_ends);
  EXPECT_EQ(until(R"(,"acr":"mfa")"), std::nullopt) << "a value of the other claim";
  asks.second_factor->max_age = Duration::minutes(10);
  EXPECT_EQ(until(R"(,"amr":["mfa"])"), std::nullopt) << "nobody knows when";
  EXPECT_EQ(until(R"(,"amr":["mfa"],"auth_time":1799999700)"), Instant::from_seconds(1'800'000'300));
  EXPECT_EQ(principal_of_claims(claims(R"(,"amr":["mfa"])"), config(), kNow)->second_factor_until, std::nullopt);
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
  const auto with = [&error](const std::string& more) { return error(R"({"issuer":"https://x","audience":"a",)" + more + "}"); };
  EXPECT_EQ(with(R"("user_prefix":"id.example:")"), "");
  EXPECT_EQ(with(R"("user_prefix":"")"), "");
  for (const char* prefix : {"oidc", ":", "a b:", "a:b:", "aaaaaaaaaaaaaaaaaaaaa:"})
    EXPECT_THAT(with(fmt::format(R"("user_prefix":"{}")", prefix)), HasSubstr("'user_prefix'")) << prefix;
  EXPECT_EQ(with(R"("second_factor":{"amr":["mfa"],"max_age":"30m"})"), "");
  EXPECT_THAT(with(R"("second_factor":{})"), HasSubstr("'amr'"));
  EXPECT_THAT(with(R"("second_factor":{"acr":["a b"]})"), HasSubstr("'acr'"));
  EXPECT_THAT(with(R"("second_factor":{"acr":["a"],"max_age":"5s"})"), HasSubstr("'max_age'"));
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
