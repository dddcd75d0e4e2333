#include "clouds/azure_credentials.h"

#include <gtest/gtest.h>

#include <fstream>

#include "clouds/digests.h"
#include "clouds/testing_service.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

using Variables = std::map<std::string, std::string>;
Environment set_to(Variables values) {
  return [values = std::move(values)](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

TEST(AzureCredentials, SharedKeySignsTheRequestAsAzureWritesItDown) {
  const AzureSignedRequest request{
      .method = "PUT",
      .account = "acc",
      .path = "/c/a%20b",
      .query = {{"comp", "block"}, {"blockid", "MQ=="}},
      .headers = {{"x-ms-version", "2021-12-02"}, {"x-ms-date", "D"}, {"Content-MD5", "M"}, {"If-None-Match", "*"}},
      .content_length = 3};
  // "Authorize with Shared Key": method, eleven headers, x-ms headers in order, the resource with its parameters in order.
  const std::string written =
      "PUT\n\n\n3\nM\n\n\n\n\n*\n\n\nx-ms-date:D\nx-ms-version:2021-12-02\n/acc/c/a%20b\nblockid:MQ==\ncomp:block";
  EXPECT_EQ(azure_shared_key(request, "key"), "SharedKey acc:" + to_base64(hmac_sha256("key", written)));
}

/// The signature was computed apart, by Python's hmac, of the sixteen lines that "Create a service SAS" names.
TEST(AzureCredentials, AnAddressToReadABlobBy) {
  EXPECT_EQ(
      azure_read_signature("acct", "/box/a b", Instant::from_seconds(1'800'003'600), false, "account key"),
      "se=2027-01-15T09%3A00%3A00Z&sig=LBfa01zF9r%2FQRvJFP3wBkMlq6dbtHb5hnrq%2BZ9IUiR8%3D&sp=r&spr=https&sr=b&sv=2021-12-02");
  EXPECT_NE(azure_read_signature("acct", "/box/a b", Instant::from_seconds(1'800'003'600), true, "account key")
                .find("spr=https%2Chttp"),
            std::string::npos);
}

TEST(AzureCredentials, ConnectionStrings) {
  const auto access = azure_storage_access(
      "acc",
      set_to({{"AZURE_STORAGE_CONNECTION_STRING",
               "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5PQ==;EndpointSuffix=core.chinacloudapi.cn"}}));
  ASSERT_TRUE(access.ok()) << access.error().message;
  EXPECT_EQ(access->account_key, "key=");
  EXPECT_EQ(access->endpoint, "https://acc.blob.core.chinacloudapi.cn");
  for (const char* text : {"AccountName=other;AccountKey=a2V5", "nothing", "AccountName=acc", "AccountName=acc;AccountKey=***"})
    EXPECT_FALSE(azure_storage_access("acc", set_to({{"AZURE_STORAGE_CONNECTION_STRING", text}})).ok()) << text;
}

TEST(AzureCredentials, SecretsThatAreGoodForMoreThanOneRequestNeedHttps) {
  Variables variables = {{"AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=x"}, {"AZURE_STORAGE_BLOB_ENDPOINT", "http://example.com/acc"}};
  EXPECT_FALSE(azure_storage_access("acc", set_to(variables)).ok());
  variables["AZURE_STORAGE_BLOB_ENDPOINT"] = "https://example.com/acc/";
  const auto access = azure_storage_access("acc", set_to(variables));
  ASSERT_TRUE(access.ok()) << access.error().message;
  EXPECT_EQ(access->sas, "sv=1&sig=x");
  EXPECT_EQ(access->endpoint, "https://example.com/acc");
  EXPECT_FALSE(azure_storage_access("acc", set_to({{"AZURE_STORAGE_KEY", "a2V5"}, {"AZURE_STORAGE_ACCOUNT", "other"}})).ok());
}

TEST(AzureCredentials, TokensComeFromTheTenantOrTheMachine) {
  TestingService service([](const HttpRequest& r) -> HttpReply {
    if (r.target == "/t1/oauth2/v2.0/token") return {.body = R"({"access_token":"from-tenant","expires_in":3599})"};
    const std::string* metadata = r.header("metadata");
    if (metadata == nullptr || *metadata != "true") return {.status = 400};
    return {.body = R"({"access_token":"from-machine","expires_in":"3599"})"};
  });
  const auto token = [](Variables variables) {
    auto access = azure_storage_access("acc", set_to(std::move(variables)));
    CHECK(access.ok() && access->tokens, "{}", access.ok() ? "no tokens" : access.error().message);
    const auto got = access->tokens->get(TokenKeeper::Renew::kWhenOld);
    return got.ok() ? got->token : got.error().message;
  };
  Variables tenant = {{"AZURE_TENANT_ID", "t1"}, {"AZURE_CLIENT_ID", "c1"}, {"AZURE_AUTHORITY_HOST", service.url()}};
  tenant["AZURE_CLIENT_SECRET"] = "s/1";
  EXPECT_EQ(token(tenant), "from-tenant");
  EXPECT_EQ(service.requests().back().body,
            "client_id=c1&client_secret=s%2F1&grant_type=client_credentials&scope=https%3A%2F%2Fstorage.azure.com%2F.default");
  const ScratchDir dir;
  std::ofstream(dir / "token") << "workload\n";
  tenant.erase("AZURE_CLIENT_SECRET");
  tenant["AZURE_FEDERATED_TOKEN_FILE"] = dir / "token";
  EXPECT_EQ(token(tenant), "from-tenant");
  EXPECT_NE(service.requests().back().body.find("&client_assertion=workload&"), std::string::npos);
  EXPECT_EQ(token({{"STINT_METADATA_ADDRESS", service.url()}, {"AZURE_CLIENT_ID", "c2"}}), "from-machine");
  EXPECT_NE(service.requests().back().target.find("resource=https%3A%2F%2Fstorage.azure.com%2F&client_id=c2"), std::string::npos);
}

}  // namespace
}  // namespace stint
