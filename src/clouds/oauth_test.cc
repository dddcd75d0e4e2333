#include "clouds/oauth.h"

#include <gtest/gtest.h>

#include <deque>

namespace stint {
namespace {

TEST(BearerToken, IsReadAsEachCloudWritesIt) {
  const auto google = parse_bearer_token(R"({"access_token":"ya29","expires_in":3599,"token_type":"Bearer"})", "x");
  ASSERT_TRUE(google.ok()) << google.error().message;
  EXPECT_EQ(google->token, "ya29");
  EXPECT_EQ(google->lives, Duration::seconds(3599));
  EXPECT_EQ(parse_bearer_token(R"({"access_token":"eyJ","expires_in":"86399"})", "x")->lives, Duration::seconds(86'399))
      << "Azure's machines";
}

TEST(BearerToken, WhatIsNoneIsNamedWithoutRepeatingSecrets) {
  for (const char* text : {"", "[]", "{}", R"({"access_token":"secret"})", R"({"access_token":"secret","expires_in":-1})",
                           R"({"access_token":"sec\nret","expires_in":1})", R"({"access_token":"secret","expires_in":"soon"})"}) {
    const auto token = parse_bearer_token(text, "the place");
    ASSERT_FALSE(token.ok()) << text;
    EXPECT_EQ(token.error().message.find("secret"), std::string::npos);
    EXPECT_TRUE(token.error().message.starts_with("the place: "));
  }
  EXPECT_NE(parse_bearer_token(R"({"error":"invalid_client","error_description":"who?"})", "x")
                .error()
                .message.find("invalid_client: who?"),
            std::string::npos);
}

TEST(TokenKeeper, RenewsBeforeItExpiresAndOutlivesTrouble) {
  Instant time = Instant::from_seconds(1'800'000'000);
  std::deque<Result<BearerToken>> answers;
  int asked = 0;
  TokenKeeper keeper(
      [&]() -> Result<BearerToken> {
        ++asked;
        Result<BearerToken> next = answers.front();
        answers.pop_front();
        return next;
      },
      [&] { return time; });
  const auto token = [](const char* name) { return BearerToken{.token = name, .lives = Duration::hours(1), .source = ""}; };
  const auto get = [&](TokenKeeper::Renew renew = TokenKeeper::Renew::kWhenOld) { return keeper.get(renew); };
  answers = {token("a")};
  EXPECT_EQ(get()->token, "a");
  time = time + Duration::minutes(54);
  EXPECT_EQ(get()->token, "a");
  EXPECT_EQ(asked, 1);
  time = time + Duration::minutes(2);
  answers = {make_error(ErrorCode::kUnavailable, "no"), token("b"), make_error(ErrorCode::kUnavailable, "no")};
  EXPECT_EQ(get()->token, "a") << "it holds for four minutes more";
  EXPECT_EQ(get()->token, "b");
  EXPECT_FALSE(get(TokenKeeper::Renew::kNow).ok()) << "one that was refused helps no further";
}

TEST(SecretsGo, OverHttpsOrToThisMachine) {
  EXPECT_TRUE(is_safe_for_secrets("https://login.example/x"));
  EXPECT_TRUE(is_safe_for_secrets("http://127.0.0.1:80/token"));
  EXPECT_FALSE(is_safe_for_secrets("http://login.example/x"));
  EXPECT_FALSE(is_safe_for_secrets("http://127.0.0.1.evil.example/"));
}

}  // namespace
}  // namespace stint
