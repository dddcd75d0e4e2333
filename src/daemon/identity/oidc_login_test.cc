#include "daemon/identity/oidc_login.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

const Instant kNow = Instant::from_seconds(1'800'000'000);

OidcConfig config() {
  OidcConfig config{.issuer = "https://id.example.org", .audience = "stint", .user_claim = "email"};
  config.roles = {{"ml", {Role::kSubmitter, "agency"}}};
  config.login = OidcLogin{.name = "Example ID", .client_id = "stint page", .public_url = "https://stint.example.org"};
  return config;
}

HttpTarget target(const std::string& text) { return *parse_http_target(text); }

TEST(OidcLogin, TheChallengeIsThatOfTheStandardsExample) {
  // RFC 7636, appendix B.
  EXPECT_EQ(code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

TEST(OidcLogin, ATicketFollowsFromItsCookieAndTheProcess) {
  const LoginTickets tickets, others;
  const LoginTicket made = tickets.make(kNow);
  const auto again = tickets.of_cookie(made.cookie, kNow + Duration::minutes(9));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->state, made.state);
  EXPECT_EQ(again->nonce, made.nonce);
  EXPECT_EQ(again->verifier, made.verifier);
  EXPECT_NE(made.state, made.nonce);
  EXPECT_NE(made.state, tickets.make(kNow).state);
  EXPECT_GE(made.verifier.size(), 43U);  // RFC 7636, section 4.1
  EXPECT_LE(made.verifier.size(), 128U);
  EXPECT_NE(others.of_cookie(made.cookie, kNow)->state, made.state);
  EXPECT_FALSE(tickets.of_cookie(made.cookie, kNow + kLoginLasts));
  // One that says it lasts longer is none.
  EXPECT_FALSE(tickets.of_cookie("1900000000.0123", kNow));
  for (const char* text : {"", ".", "x.y", "1800000100", "-5.x"})
    EXPECT_TRUE(!tickets.of_cookie(text, kNow) || tickets.of_cookie(text, kNow)->state != made.state) << text;
}

TEST(OidcLogin, ThePersonIsSentThereWithAllItNeedsAndNothingSecret) {
  const LoginTicket ticket = LoginTickets().make(kNow);
  const std::string url = authorization_url(config(), {.authorization = "https://id.example.org/auth?tenant=7"}, ticket);
  const HttpTarget sent = target(url.substr(std::string("https://id.example.org").size()));
  const auto is = [&sent](const char* name) { return sent.parameter(name) == nullptr ? "none" : *sent.parameter(name); };
  EXPECT_EQ(is("tenant"), "7");
  EXPECT_EQ(is("response_type"), "code");
  EXPECT_EQ(is("client_id"), "stint page");
  EXPECT_EQ(is("redirect_uri"), "https://stint.example.org/login/callback");
  EXPECT_EQ(is("state"), ticket.state);
  EXPECT_EQ(is("nonce"), ticket.nonce);
  EXPECT_EQ(is("code_challenge_method"), "S256");
  EXPECT_EQ(is("code_challenge"), code_challenge(ticket.verifier));
  EXPECT_EQ(url.find(ticket.verifier), std::string::npos);
  EXPECT_EQ(url.find(ticket.cookie), std::string::npos);
}

TEST(OidcLogin, OnlyTheAnswerToThisLoginIsTaken) {
  const LoginTicket ticket = LoginTickets().make(kNow);
  const auto answer = [&ticket](const std::string& query) {
    const auto code = code_of_callback(target("/login/callback?" + query), config(), ticket);
    return code.ok() ? "code " + *code : code.error().message;
  };
  EXPECT_EQ(answer("code=abc&state=" + ticket.state), "code abc");
  EXPECT_EQ(answer("code=abc&iss=https://id.example.org&state=" + ticket.state), "code abc");
  EXPECT_THAT(answer("code=abc"), HasSubstr("another login"));
  EXPECT_THAT(answer("code=abc&state="), HasSubstr("another login"));
  EXPECT_THAT(answer("code=abc&state=" + LoginTickets().make(kNow).state), HasSubstr("another login"));
  EXPECT_THAT(answer("error=access_denied&state=x"), HasSubstr("another login"));  // what strangers say is not repeated
  EXPECT_THAT(answer("code=abc&iss=https://evil.example&state=" + ticket.state), HasSubstr("another identity provider"));
  EXPECT_THAT(answer("error=access_denied&error_description=no&state=" + ticket.state), HasSubstr("access_denied (no)"));
  EXPECT_THAT(answer("code=&state=" + ticket.state), HasSubstr("nothing"));
}

class OidcClaims : public ::testing::Test {
 protected:
  std::string error_of(const std::string& more, const std::string& userinfo = "", const std::string& aud = R"("stint page")") {
    const std::string claims =
        fmt::format(R"({{"iss":"https://id.example.org","aud":{},"sub":"7","exp":1800000300{}}})", aud, more);
    const auto who = principal_of_login(claims, userinfo, config(), ticket_, kNow);
    if (!who.ok()) return who.error().message;
    EXPECT_EQ(who->user, "ann@x");
    EXPECT_EQ(who->expires, kNow + Duration::hours(8));
    EXPECT_TRUE(who->may(Permission::kSubmit, "agency"));
    return "";
  }
  LoginTicket ticket_ = LoginTickets().make(kNow);
  std::string nonce_ = R"(,"nonce":")" + ticket_.nonce + "\"";
  std::string ann_ = R"(,"email":"ann@x","groups":["ml"])";
};

TEST_F(OidcClaims, MustBeMeantForThisLoginAndThisDaemon) {
  EXPECT_EQ(error_of(nonce_ + ann_), "");
  EXPECT_THAT(error_of(ann_), HasSubstr("nonce"));
  EXPECT_THAT(error_of(R"(,"nonce":"x")" + ann_), HasSubstr("nonce"));
  EXPECT_THAT(error_of(nonce_ + ann_, "", R"("stint")"), HasSubstr("audience"));  // that of bearer tokens is not that of logins
  EXPECT_EQ(error_of(nonce_ + ann_ + R"(,"azp":"stint page")", "", R"(["other","stint page"])"), "");
  EXPECT_THAT(error_of(nonce_ + ann_, "", R"(["other","stint page"])"), HasSubstr("azp"));
  EXPECT_THAT(error_of(nonce_ + ann_ + R"(,"azp":"other")"), HasSubstr("azp"));
  EXPECT_THAT(error_of(nonce_ + R"(,"email":"ann@x","groups":["chess"])"), HasSubstr("none of your groups"));
}

TEST_F(OidcClaims, AreFilledUpFromUserinfoOfTheSamePersonAlone) {
  const std::string userinfo = R"({"sub":"7","email":"ann@x","groups":["ml"]})";
  EXPECT_EQ(error_of(nonce_, userinfo), "");
  EXPECT_THAT(error_of(nonce_, R"({"sub":"8","email":"ann@x","groups":["ml"]})"), HasSubstr("another person"));
  EXPECT_THAT(error_of(nonce_, "no JSON"), HasSubstr("another person"));
  // What the signed token says stays.
  EXPECT_THAT(error_of(nonce_ + R"(,"email":"ann@x","groups":[])", userinfo), HasSubstr("none of your groups"));
  EXPECT_TRUE(wants_userinfo(R"({"email":"a"})", config()));
  EXPECT_FALSE(wants_userinfo(R"({"email":"a","groups":[]})", config()));
}

TEST(OidcLogin, TheCookieAskedForIsFoundAmongOthers) {
  HttpRequest request;
  request.headers = {{"cookie", "a=1; stint-login=x=y;stint-session=2"}, {"cookie", "b=3"}};
  EXPECT_EQ(cookie_of(request, "a"), "1");
  EXPECT_EQ(cookie_of(request, "stint-login"), "x=y");
  EXPECT_EQ(cookie_of(request, "stint-session"), "2");
  EXPECT_EQ(cookie_of(request, "b"), "3");
  EXPECT_FALSE(cookie_of(request, "session"));
}

TEST(OidcLogin, ADiscoveryDocumentSaysWhereToGo) {
  const auto read = [](const std::string& more) {
    return read_discovery(R"({"issuer":"https://id.example.org","jwks_uri":"https://id.example.org/k")" + more + "}", config());
  };
  const std::string both = R"(,"authorization_endpoint":"https://id.example.org/a","token_endpoint":"https://id.example.org/t")";
  ASSERT_TRUE(read(both).ok());
  EXPECT_FALSE(read(both)->secret_in_form);
  EXPECT_TRUE(read(both + R"(,"token_endpoint_auth_methods_supported":["client_secret_post"])")->secret_in_form);
  EXPECT_EQ(read(both + R"(,"userinfo_endpoint":"ftp://x")")->userinfo, "");
  EXPECT_FALSE(read("").ok());
  EXPECT_FALSE(read(R"(,"authorization_endpoint":"javascript:alert","token_endpoint":"https://id.example.org/t")").ok());
  EXPECT_FALSE(
      read(R"(,"authorization_endpoint":"https://id.example.org/a\r\nX: y","token_endpoint":"https://id.example.org/t")").ok());
  EXPECT_FALSE(read_discovery(R"({"issuer":"https://other"})", config()).ok());
}

}  // namespace
}  // namespace stint
