#include "clouds/google_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "clouds/digests.h"
#include "clouds/testing_service.h"
#include "host/jwt.h"
#include "host/scratch_dir.h"
#include "host/secret.h"

namespace stint {
namespace {

/// An RSA key of the test's own.
class TestKey {
 public:
  TestKey() : key_(EVP_RSA_gen(2048), EVP_PKEY_free) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    pem_.assign(text, static_cast<size_t>(size));
  }
  [[nodiscard]] const std::string& pem() const { return pem_; }
  [[nodiscard]] bool signed_this(const std::string& message, const std::string& signature) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get());
    return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                            reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1;
  }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
  std::string pem_;
};

const TestKey& test_key() {
  static const TestKey key;
  return key;
}

std::string key_file(const std::string& token_uri) {
  return nlohmann::json{{"type", "service_account"},
                        {"client_email", "robot@project.iam.gserviceaccount.com"},
                        {"private_key_id", "k1"},
                        {"private_key", test_key().pem()},
                        {"token_uri", token_uri}}
      .dump();
}

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

/// As Cloud Storage checks it: the request, its hash in what is signed, the signature in hexadecimal digits.
TEST(GoogleCredentials, AnAddressToReadAnObjectBy) {
  const auto key = parse_google_key_file(key_file("https://oauth2.googleapis.com/token"), "k.json");
  ASSERT_TRUE(key.ok()) << key.error().message;
  const auto query =
      google_read_signature(*key, "storage.googleapis.com", "/bucket/a%20b", Instant::from_seconds(1'800'000'000), kHour);
  ASSERT_TRUE(query.ok()) << query.error().message;
  const std::string asked =
      "X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=robot%40project.iam.gserviceaccount.com%2F20270115%2Fauto%2Fstorage%"
      "2Fgoog4_request"
      "&X-Goog-Date=20270115T080000Z&X-Goog-Expires=3600&X-Goog-SignedHeaders=host";
  const std::string mark = "&X-Goog-Signature=";
  ASSERT_TRUE(query->starts_with(asked + mark)) << *query;
  const std::string digits = query->substr(asked.size() + mark.size());
  std::string signature;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    signature += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  const std::string request = "GET\n/bucket/a%20b\n" + asked + "\nhost:storage.googleapis.com\n\nhost\nUNSIGNED-PAYLOAD";
  EXPECT_TRUE(test_key().signed_this(
      "GOOG4-RSA-SHA256\n20270115T080000Z\n20270115/auto/storage/goog4_request\n" + sha256_hex(request), signature));
}

TEST(GoogleCredentials, OnlyAServiceAccountsKeySignsAddresses) {
  EXPECT_THAT(google_signing_key(variables({})).error().message, testing::HasSubstr("none is named"));
}

TEST(GoogleCredentials, AServiceAccountSignsWhatItIs) {
  const auto key = parse_google_key_file(key_file("https://oauth2.googleapis.com/token"), "k.json");
  ASSERT_TRUE(key.ok()) << key.error().message;
  const auto assertion = google_assertion(*key, "scope", Instant::from_seconds(1'800'000'000));
  ASSERT_TRUE(assertion.ok()) << assertion.error().message;
  const auto jwt = parse_jwt(*assertion);
  ASSERT_TRUE(jwt.ok());
  EXPECT_EQ(jwt->algorithm, "RS256");
  EXPECT_EQ(jwt->kid, "k1");
  EXPECT_TRUE(test_key().signed_this(jwt->message, jwt->signature));
  const nlohmann::json claims = nlohmann::json::parse(jwt->claims);
  const nlohmann::json expected = {{"iss", "robot@project.iam.gserviceaccount.com"},
                                   {"scope", "scope"},
                                   {"aud", "https://oauth2.googleapis.com/token"},
                                   {"iat", 1'800'000'000},
                                   {"exp", 1'800'003'600}};
  EXPECT_EQ(claims, expected);
}

TEST(GoogleCredentials, FilesThatCannotBeAreNamedWithoutTheirSecrets) {
  for (
      const char* text :
      {"", "[]", R"({"type":"service_account","client_email":"a"})", R"({"type":"authorized_user","client_secret":"secret"})",
       R"({"type":"external_account","client_secret":"secret"})",
       R"({"type":"authorized_user","client_id":"i","client_secret":"secret","refresh_token":"secret","token_uri":"http://evil.example"})"}) {
    const auto key = parse_google_key_file(text, "k.json");
    ASSERT_FALSE(key.ok()) << text;
    EXPECT_TRUE(key.error().message.starts_with("k.json: "));
    EXPECT_EQ(key.error().message.find("secret\""), std::string::npos);
  }
  EXPECT_FALSE(sign_rs256("no key", "m").ok());
}

TEST(GoogleCredentials, AFileIsExchangedForATokenAndTheMachineForAnother) {
  TestingService service([](const HttpRequest& r) -> HttpReply {
    if (r.target == "/token") return {.body = R"({"access_token":"from-file","expires_in":3599})"};
    const std::string* flavor = r.header("metadata-flavor");
    if (flavor == nullptr || *flavor != "Google") return {.status = 403};
    return {.body = R"({"access_token":"from-machine","expires_in":3599})"};
  });
  const ScratchDir dir;
  std::ofstream(dir / "key.json") << key_file(service.url() + "/token");
  auto tokens = google_tokens({.environment = variables({{"GOOGLE_APPLICATION_CREDENTIALS", dir / "key.json"}})});
  const auto token = tokens->get(TokenKeeper::Renew::kWhenOld);
  ASSERT_TRUE(token.ok()) << token.error().message;
  EXPECT_EQ(token->token, "from-file");
  EXPECT_TRUE(
      service.requests().back().body.starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="));
  tokens = google_tokens({.environment = variables({{"HOME", dir / "nobody"}, {"STINT_METADATA_ADDRESS", service.url()}})});
  EXPECT_EQ(tokens->get(TokenKeeper::Renew::kWhenOld)->token, "from-machine");
}

TEST(GoogleCredentials, ARefusedFileSaysWhy) {
  TestingService service([](const HttpRequest&) -> HttpReply {
    return {.status = 400, .body = R"({"error":"invalid_grant","error_description":"Invalid JWT Signature."})"};
  });
  const ScratchDir dir;
  std::ofstream(dir / "key.json") << key_file(service.url() + "/token");
  const auto tokens = google_tokens({.environment = variables({{"GOOGLE_APPLICATION_CREDENTIALS", dir / "key.json"}})});
  const auto token = tokens->get(TokenKeeper::Renew::kWhenOld);
  ASSERT_FALSE(token.ok());
  EXPECT_NE(token.error().message.find("the credentials are not accepted (invalid_grant: Invalid JWT Signature.)"),
            std::string::npos)
      << token.error().message;
}

}  // namespace
}  // namespace stint
