// Who one is to Azure, and to its Blob storage: an account's key, a shared access signature, or a token of Microsoft Entra ID.
//
// In the order of Azure's own tools: AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN; then, as DefaultAzureCredential:
// client credentials (AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET), workload identity (AZURE_FEDERATED_TOKEN_FILE), the machine's
// managed identity. Sources: "Authorize requests to Azure Storage"; "Authorize with Shared Key", version 2015-02-21 and later.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clouds/oauth.h"
#include "host/http_client.h"

namespace stint {

/// Azure Resource Manager: machines, networks, quotas.
inline constexpr std::string_view kAzureManagement = "https://management.azure.com/";
/// Tokens of Microsoft Entra ID for that resource: client credentials, workload identity, the machine's managed identity. For any
/// number of threads.
std::unique_ptr<TokenKeeper> azure_tokens(std::string_view resource, const Environment& environment);

/// `AccountName=a;AccountKey=k;BlobEndpoint=…`: fields by their names. @return kInvalidInput, never repeating a secret.
Result<std::map<std::string, std::string>> parse_azure_connection_string(std::string_view text);

struct AzureSignedRequest {
  std::string method;
  std::string account;             ///< whose key it is
  std::string path;                ///< as sent, of the whole address: `/container/key`
  std::vector<HttpField> query;    ///< not escaped
  std::vector<HttpField> headers;  ///< all that are sent beside Authorization, `x-ms-date` and `x-ms-version` among them
  size_t content_length = 0;
};
/// The value of `Authorization`. @param key  bytes.
std::string azure_shared_key(const AzureSignedRequest& request, std::string_view key);

/// What lets whoever has it read one blob until then: a shared access signature of the service, by the account's key.
/// Source: "Create a service SAS", version 2020-12-06 and later.
/// @param path  `/container/key`, not escaped. @param without_tls  plain HTTP, too. @param key  bytes.
/// @return a query, without `?`.
std::string azure_read_signature(const std::string& account, const std::string& path, Instant until, bool without_tls,
                                 std::string_view key);

struct AzureStorageAccess {
  std::string account_key;              ///< bytes; "" = not by key
  std::string sas;                      ///< a query, without `?`; "" = not by signature
  std::unique_ptr<TokenKeeper> tokens;  ///< none = not by token
  std::string endpoint;                 ///< `https://account.blob.core.windows.net`
  std::string source;
};

/// @return kInvalidInput when what is set cannot be; where nothing is set the machine's identity is asked when a token is needed.
Result<AzureStorageAccess> azure_storage_access(const std::string& account, const Environment& environment);

}  // namespace stint
