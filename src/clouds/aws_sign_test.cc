// Against AWS's published signing suite (facts of awslabs/aws-c-auth, aws-signing-test-suite/v4), the examples of the S3 API reference, and
// requests that botocore 1.44.5 signed.
#include "clouds/aws_sign.h"

#include <gmock/gmock.h>

#include "host/secret.h"

namespace stint {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

const AwsCredentials kSuiteKey = {.access_key = "AKIDEXAMPLE", .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
const Instant kSuiteTime = parse_instant("2015-08-30T12:36:00Z").value();
const std::string kUnreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const std::string* header_of(const std::vector<HttpField>& headers, const std::string& name) {
  for (const auto& [n, value] : headers)
    if (n == name) return &value;
  return nullptr;
}

std::string signature_of(const AwsRequest& request, const AwsScope& scope, const AwsCredentials& key, Instant at) {
  const std::string authorization = *header_of(sign_aws_request(request, scope, key, at), "Authorization");
  return authorization.substr(authorization.find("Signature=") + 10);
}

struct SuiteVector {
  const char* name;
  AwsRequest request;
  const char* signature;
  AwsPath path = AwsPath::kResolved;
  const char* token = "";
};

std::string suite_signature(const SuiteVector& vector) {
  AwsRequest request = vector.request;
  request.host = "example.amazonaws.com";
  if (request.body_sha256.empty()) request.body_sha256 = sha256_hex("");
  AwsCredentials key = kSuiteKey;
  key.session_token = vector.token;
  return signature_of(request, {.region = "us-east-1", .service = "service", .path = vector.path}, key, kSuiteTime);
}

TEST(AwsSign, TheSigningSuiteOfAws) {
  constexpr const char* kVanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
  constexpr const char* kPost = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
  constexpr const char* kPostQuery = "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11";
  constexpr const char* kSpace = "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741";
  const std::string body = sha256_hex("Param1=value1");
  const std::vector<SuiteVector> suite = {
      {"get-header-key-duplicate",
       {.headers = {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}}},
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"get-header-value-multiline",
       {.headers = {{"My-Header1", "value1\n  value2\n     value3"}}},
       "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"},
      {"get-header-value-order",
       {.headers = {{"My-Header1", "value4"}, {"My-Header1", "value1"}, {"My-Header1", "value3"}, {"My-Header1", "value2"}}},
       "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
      {"get-header-value-trim",
       {.headers = {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}},
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"get-relative-normalized", {.path = "/example/.."}, kVanilla},
      {"get-relative-relative-normalized", {.path = "/example1/example2/../.."}, kVanilla},
      {"get-relative-relative-unnormalized",
       {.path = "/example1/example2/../.."},
       "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df5e613003b",
       AwsPath::kAsSent},
      {"get-relative-unnormalized",
       {.path = "/example/.."},
       "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282",
       AwsPath::kAsSent},
      {"get-slash-dot-slash-normalized", {.path = "/./"}, kVanilla},
      {"get-slash-dot-slash-unnormalized",
       {.path = "/./"},
       "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145",
       AwsPath::kAsSent},
      {"get-slash-normalized", {.path = "//"}, kVanilla},
      {"get-slash-pointless-dot-normalized",
       {.path = "/./example"},
       "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
      {"get-slash-pointless-dot-unnormalized",
       {.path = "/./example"},
       "beb03f223f7deae4146464f06e29eebbee9c8afbe15c290cf07aa8b119e14cff",
       AwsPath::kAsSent},
      {"get-slash-unnormalized",
       {.path = "//"},
       "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e",
       AwsPath::kAsSent},
      {"get-slashes-normalized", {.path = "//example//"}, "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
      {"get-slashes-unnormalized",
       {.path = "//example//"},
       "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5",
       AwsPath::kAsSent},
      {"get-space-normalized", {.path = "/example space/"}, kSpace},
      {"get-space-unnormalized", {.path = escape_path("/example space/")}, kSpace, AwsPath::kAsSent},
      {"get-unreserved", {.path = "/" + kUnreserved}, "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-utf8", {.path = "/\u1234"}, "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-vanilla", {}, kVanilla},
      {"get-vanilla-empty-query-key",
       {.query = {{"Param1", "value1"}}},
       "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
      {"get-vanilla-query", {}, kVanilla},
      {"get-vanilla-query-order-encoded",
       {.query = {{"Param-3", "Value3"}, {"Param", "Value2"}, {"\u1234", "Value1"}}},
       "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
      {"get-vanilla-query-order-key-case",
       {.query = {{"Param2", "value2"}, {"Param1", "value1"}}},
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-query-unreserved",
       {.query = {{kUnreserved, kUnreserved}}},
       "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
      {"get-vanilla-utf8-query",
       {.query = {{"\u1234", "bar"}}},
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"get-vanilla-with-session-token",
       {},
       "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
       AwsPath::kResolved,
       "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"},
      {"post-header-key-case", {.method = "POST"}, kPost},
      {"post-header-key-sort",
       {.method = "POST", .headers = {{"My-Header1", "value1"}}},
       "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
      {"post-header-value-case",
       {.method = "POST", .headers = {{"My-Header1", "VALUE1"}}},
       "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
      {"post-sts-header-after", {.method = "POST"}, kPost},
      {"post-sts-header-before",
       {.method = "POST"},
       "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
       AwsPath::kResolved,
       "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/"
       "qkPpKPi/"
       "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7Z"
       "D0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="},
      {"post-vanilla", {.method = "POST"}, kPost},
      {"post-vanilla-empty-query-value", {.method = "POST", .query = {{"Param1", "value1"}}}, kPostQuery},
      {"post-vanilla-query", {.method = "POST", .query = {{"Param1", "value1"}}}, kPostQuery},
      {"post-x-www-form-urlencoded",
       {.method = "POST",
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                    {"Content-Length", "13"},
                    {"X-Amz-Content-Sha256", body}},
        .body_sha256 = body},
       "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"},
      {"post-x-www-form-urlencoded-parameters",
       {.method = "POST",
        .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
                    {"Content-Length", "13"},
                    {"X-Amz-Content-Sha256", body}},
        .body_sha256 = body},
       "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422"},
  };
  EXPECT_EQ(suite.size(), 38U);
  for (const SuiteVector& vector : suite)
    EXPECT_EQ(suite_signature(vector), vector.signature) << vector.name;
}

TEST(AwsSign, PathsOfOtherServicesAreEscapedOnceMore) {
  EXPECT_THAT(canonical_aws_request({.path = "/test/@connections/JBDvjfGEIAMCERw%3D"}, {.service = "execute-api"}),
              HasSubstr("\n/test/%40connections/JBDvjfGEIAMCERw%253D\n"));
}

TEST(AwsSign, TheExamplesOfTheS3Reference) {
  const AwsCredentials key = {.access_key = "AKIAIOSFODNN7EXAMPLE", .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const AwsScope scope = {.region = "us-east-1", .service = "s3", .path = AwsPath::kAsSent};
  const Instant at = parse_instant("2013-05-24T00:00:00Z").value();
  const std::string host = "examplebucket.s3.amazonaws.com", empty = sha256_hex("");
  EXPECT_EQ(signature_of({.host = host, .path = "/test.txt", .headers = {{"Range", "bytes=0-9"}}, .body_sha256 = empty}, scope,
                         key, at),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(signature_of({.method = "PUT",
                          .host = host,
                          .path = "/test%24file.text",
                          .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                          .body_sha256 = sha256_hex("Welcome to Amazon S3.")},
                         scope, key, at),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(signature_of({.host = host, .query = {{"lifecycle", ""}}, .body_sha256 = empty}, scope, key, at),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature_of({.host = host, .query = {{"max-keys", "2"}, {"prefix", "J"}}, .body_sha256 = empty}, scope, key, at),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(AwsSign, OddKeysAsBotocoreSignsThem) {
  const AwsScope scope = {.region = "us-east-1", .service = "s3", .path = AwsPath::kAsSent};
  const std::string host = "bucket.s3.amazonaws.com", empty = sha256_hex("");
  EXPECT_EQ(escape_path("/a+b c/\u00e4!'()*=:@/../x"), "/a%2Bb%20c/%C3%A4%21%27%28%29%2A%3D%3A%40/../x");
  EXPECT_EQ(signature_of({.host = host, .path = "/a%2Bb%20c/%C3%A4%21%27%28%29%2A%3D%3A%40/..%2F//x", .body_sha256 = empty},
                         scope, kSuiteKey, kSuiteTime),
            "0ffce54b045771f8029cd0a7b66790935af42b581382cbc949da236f292b90b0");
  EXPECT_EQ(
      signature_of({.method = "POST", .host = host, .path = "/big%20file", .query = {{"uploads", ""}}, .body_sha256 = empty},
                   scope, kSuiteKey, kSuiteTime),
      "b3a288a5f4cccb614fc0bef24debaff5e181e0e1b7cd40202c7128fed11d1cba");
  EXPECT_EQ(signature_of({.method = "PUT",
                          .host = host,
                          .path = "/k",
                          .query = {{"uploadId", "a/b="}, {"partNumber", "1"}},
                          .headers = {{"If-None-Match", "*"}},
                          .body_sha256 = sha256_hex("hello")},
                         scope, kSuiteKey, kSuiteTime),
            "7b3862e04e35c65188433500c04b351eb8936b3ebf9c2796088ac04ef8b18cff");
}

TEST(AwsSign, TokensOfTemporaryKeysAreSentAndSigned) {
  AwsCredentials key = kSuiteKey;
  key.session_token = "TOKEN/+=";
  const auto headers = sign_aws_request({.host = "bucket.s3.amazonaws.com", .path = "/k", .body_sha256 = sha256_hex("")},
                                        {.region = "us-east-1", .service = "s3", .path = AwsPath::kAsSent}, key, kSuiteTime);
  EXPECT_EQ(*header_of(headers, "X-Amz-Security-Token"), "TOKEN/+=");
  EXPECT_EQ(*header_of(headers, "X-Amz-Date"), "20150830T123600Z");
  EXPECT_EQ(*header_of(headers, "X-Amz-Content-Sha256"), sha256_hex(""));
  EXPECT_THAT(*header_of(headers, "Authorization"),
              EndsWith("Signature=212e964d0d4f5e9c8a16489c056e2afe7a94dda6ce9c25dd75dcf38fa3409ae5"));
}

// Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters": its example.
TEST(AwsSign, AnAddressThatMayBeGivenAway) {
  const AwsCredentials key = {.access_key = "AKIAIOSFODNN7EXAMPLE", .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const Instant at = parse_instant("2013-05-24T00:00:00Z").value();
  const AwsScope s3 = {.region = "us-east-1", .service = "s3", .path = AwsPath::kAsSent};
  const AwsRequest request = {.host = "examplebucket.s3.amazonaws.com", .path = "/test.txt"};
  EXPECT_EQ(presigned_aws_query(request, s3, key, at, Duration::seconds(86400)),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
            "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
  AwsCredentials temporary = key;
  temporary.session_token = "to+ken";
  EXPECT_THAT(presigned_aws_query(request, s3, temporary, at, kHour), HasSubstr("&X-Amz-Security-Token=to%2Bken&"));
}

}  // namespace
}  // namespace stint
