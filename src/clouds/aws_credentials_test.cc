#include "clouds/aws_credentials.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "clouds/testing_service.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kContainerAnswer =
    R"({"AccessKeyId":"AC","SecretAccessKey":"SC","Token":"TC","Expiration":"2026-10-27T09:00:00Z","RoleArn":"r"})";
constexpr std::string_view kStsAnswer =
    "<AssumeRoleResponse "
    "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials><AccessKeyId>AS</AccessKeyId>"
    "<SecretAccessKey>SS</SecretAccessKey><SessionToken>TS</SessionToken><Expiration>2026-10-27T10:00:00.000Z</Expiration></"
    "Credentials>"
    "</AssumeRoleResult></AssumeRoleResponse>";

std::string web_identity_answer() {
  return "<R><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AW</AccessKeyId><SecretAccessKey>SW</SecretAccessKey>"
         "<SessionToken>TW</SessionToken><Expiration>2026-10-27T10:00:00Z</Expiration></Credentials></"
         "AssumeRoleWithWebIdentityResult></R>";
}

class AwsChainTest : public ::testing::Test {
 protected:
  AwsChainTest() {
    variables_["HOME"] = home_ / "";
    variables_["AWS_EC2_METADATA_DISABLED"] = "true";
  }
  AwsCredentialChain chain() {
    return AwsCredentialChain({.environment =
                                   [this](const std::string& name) {
                                     const auto found = variables_.find(name);
                                     return found == variables_.end() ? std::string() : found->second;
                                   },
                               .clock = [this] { return time_; }});
  }
  void put_aws_file(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(home_ / ".aws");
    put_file(home_ / ".aws/" + name, text);
  }
  std::string source() {
    const auto found = chain().get();
    return found.ok() ? found->access_key + " of " + found->source : found.error().message;
  }

  ScratchDir home_;
  std::map<std::string, std::string> variables_;
  Instant time_ = parse_instant("2026-10-27T08:00:00Z").value();
};

TEST_F(AwsChainTest, NothingAnywhereNamesThePlaces) {
  const auto found = chain().get();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message, HasSubstr("AWS_ACCESS_KEY_ID"));
}

TEST_F(AwsChainTest, TheOrderIsThatOfAwsOwnTools) {
  TestingService service([](const HttpRequest& request) {
    return HttpReply{.body = request.method == "POST" ? web_identity_answer() : std::string(kContainerAnswer)};
  });
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = service.url() + "/keys";
  variables_["AWS_ENDPOINT_URL_STS"] = service.url();
  EXPECT_EQ(source(), "AC of the container's credentials");
  put_aws_file("config", "[default]\naws_access_key_id = AF\naws_secret_access_key = SF\n");
  EXPECT_EQ(source(), "AF of profile 'default' of the configuration file");
  put_aws_file("config",
               "[default]\naws_access_key_id = AF\naws_secret_access_key = SF\n"
               "credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"AP\",\"SecretAccessKey\":\"SP\"}'\n");
  EXPECT_EQ(source(), "AP of credential_process of profile 'default'");
  put_aws_file("credentials", "[default]\naws_access_key_id = AK\naws_secret_access_key = SK\n");
  EXPECT_EQ(source(), "AK of profile 'default' of the credentials file");
  put_file(home_ / "token", "jwt\n");  // readable for others, as Kubernetes leaves it
  variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = home_ / "token";
  EXPECT_THAT(source(), HasSubstr("AWS_ROLE_ARN"));
  variables_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/web";
  EXPECT_EQ(source(), "AW of the web identity");
  variables_["AWS_ACCESS_KEY_ID"] = "AE";
  EXPECT_THAT(source(), HasSubstr("AWS_SECRET_ACCESS_KEY is not"));
  variables_["AWS_SECRET_ACCESS_KEY"] = "SE";
  EXPECT_EQ(source(), "AE of the environment");
}

TEST_F(AwsChainTest, ARoleIsAssumedWithAnotherProfilesKeys) {
  TestingService sts([](const HttpRequest&) { return HttpReply{.content_type = "text/xml", .body = std::string(kStsAnswer)}; });
  variables_["AWS_ENDPOINT_URL_STS"] = sts.url();
  variables_["AWS_PROFILE"] = "gpu";
  put_aws_file(
      "config",
      "[profile gpu]\nrole_arn = arn:aws:iam::1:role/gpu\nsource_profile = base\nregion = eu-west-1\nexternal_id = x y\n");
  EXPECT_THAT(source(), HasSubstr("profile 'base'"));
  put_aws_file("credentials", "[base]\naws_access_key_id = AB\naws_secret_access_key = SB\n");
  const auto found = chain().get();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->session_token, "TS");
  ASSERT_EQ(sts.requests().size(), 1U);
  EXPECT_THAT(sts.requests()[0].body, HasSubstr("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fgpu"));
  EXPECT_THAT(sts.requests()[0].body, HasSubstr("ExternalId=x%20y"));
  EXPECT_THAT(*sts.requests()[0].header("authorization"), HasSubstr("Credential=AB/20261027/eu-west-1/sts/aws4_request"));
}

TEST_F(AwsChainTest, AProfileThatDoesNotExistIsNamed) {
  variables_["AWS_PROFILE"] = "gone";
  EXPECT_THAT(source(), HasSubstr("'gone'"));
}

TEST_F(AwsChainTest, KeysAreRenewedBeforeTheyExpireAndKeptWhileTheirSourceFails) {
  bool broken = false;
  TestingService service(
      [&](const HttpRequest&) { return broken ? HttpReply{.status = 404} : HttpReply{.body = std::string(kContainerAnswer)}; });
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = service.url();
  variables_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "Bearer t";
  AwsCredentialChain held = chain();
  EXPECT_TRUE(held.get().ok());
  EXPECT_EQ(*service.requests()[0].header("authorization"), "Bearer t");
  time_ = parse_instant("2026-10-27T08:44:00Z").value();
  EXPECT_TRUE(held.get().ok());
  EXPECT_EQ(service.requests().size(), 1U);
  time_ = parse_instant("2026-10-27T08:46:00Z").value();
  EXPECT_TRUE(held.get().ok());
  EXPECT_EQ(service.requests().size(), 2U);
  broken = true;
  EXPECT_TRUE(held.get().ok());  // 14 minutes are left
  time_ = parse_instant("2026-10-27T08:59:30Z").value();
  EXPECT_FALSE(held.get().ok());
}

TEST_F(AwsChainTest, AnInstancesRoleByVersionTwoOfItsMetadata) {
  TestingService service([](const HttpRequest& request) {
    if (request.method == "PUT" && request.target == "/latest/api/token") return HttpReply{.body = "session"};
    const std::string* token = request.header("x-aws-ec2-metadata-token");
    if (token == nullptr || *token != "session") return HttpReply{.status = 401};
    constexpr std::string_view kFolder = "/latest/meta-data/iam/security-credentials/";
    if (request.target == kFolder) return HttpReply{.body = "gpu-role"};
    return HttpReply{.status = request.target == std::string(kFolder) + "gpu-role" ? 200 : 404,
                     .body = std::string(kContainerAnswer)};
  });
  variables_["AWS_EC2_METADATA_DISABLED"] = "";
  variables_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = service.url() + "/";
  // A proxy that does not exist: metadata must not go through it.
  ::setenv("http_proxy", "http://127.0.0.1:9", 1);
  EXPECT_EQ(source(), "AC of the instance's role 'gpu-role'");
  ::unsetenv("http_proxy");
}

TEST_F(AwsChainTest, SecretsAreInNoMessage) {
  const auto found = parse_aws_credentials_json(R"({"AccessKeyId":"A","SecretKey":"thesecret"})", "here");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, Not(HasSubstr("thesecret")));
  EXPECT_THAT(parse_aws_credentials_json(R"({"Code":"AccessDenied","Message":"no"})", "here").error().message,
              HasSubstr("AccessDenied: no"));
}

TEST(AwsErrors, UnderAnyRoot) {
  const CloudFault s3 = parse_aws_error(503, "<Error><Code>SlowDown</Code><Message>Reduce</Message></Error>");
  EXPECT_EQ(s3.failure, CloudFailure::kThrottled);
  EXPECT_EQ(s3.message, "Reduce");
  const CloudFault sts =
      parse_aws_error(403, "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidClientTokenId</Code></Error></ErrorResponse>");
  EXPECT_EQ(sts.failure, CloudFailure::kCredential);
  const CloudFault html = parse_aws_error(500, "<html><p>oops");
  EXPECT_EQ(html.failure, CloudFailure::kServer);
  EXPECT_EQ(html.message, "HTTP 500");
}

TEST(AwsErrors, AddressesThatMayHandOutKeys) {
  EXPECT_TRUE(is_container_address("http://169.254.170.23/v1/credentials"));
  EXPECT_TRUE(is_container_address("http://[fd00:ec2::23]/v1"));
  EXPECT_TRUE(is_container_address("http://localhost:8080/x"));
  EXPECT_TRUE(is_container_address("https://example.com/x"));
  EXPECT_FALSE(is_container_address("http://example.com/x"));
  EXPECT_FALSE(is_container_address("http://127.0.0.1.example.com/x"));
  EXPECT_FALSE(is_container_address("http://127.0.0.1@example.com/x"));
  EXPECT_FALSE(is_container_address("ftp://127.0.0.1/"));
}

}  // namespace
}  // namespace stint
