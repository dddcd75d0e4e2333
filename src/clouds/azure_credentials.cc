#include "clouds/azure_credentials.h"

#include <algorithm>

#include "base/text.h"
#include "clouds/aws_sign.h"
#include "clouds/digests.h"
#include "clouds/metadata_address.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr std::string_view kStorageScope = "https://storage.azure.com/";

std::string field_of(const std::vector<HttpField>& fields, std::string_view name) {
  for (const auto& [field, value] : fields)
    if (equals_ignoring_case(field, name)) return value;
  return "";
}

/// Names in lower case and in order, values without blanks around them.
std::string canonical_ms_headers(const std::vector<HttpField>& headers) {
  std::map<std::string, std::string> sorted;
  for (const auto& [name, value] : headers)
    if (const std::string lower = to_lower(name); lower.starts_with("x-ms-")) sorted[lower] = trim(value);
  std::string text;
  for (const auto& [name, value] : sorted)
    text += name + ":" + value + "\n";
  return text;
}

std::string canonical_resource(const AzureSignedRequest& request) {
  std::string text = "/" + request.account + request.path;
  std::map<std::string, std::vector<std::string>> sorted;
  for (const auto& [name, value] : request.query)
    sorted[to_lower(name)].push_back(value);
  for (auto& [name, values] : sorted) {
    std::sort(values.begin(), values.end());
    text += "\n" + name + ":";
    for (size_t i = 0; i < values.size(); ++i)
      text += (i == 0 ? "" : ",") + values[i];
  }
  return text;
}

/// Asks for tokens of Microsoft Entra ID.
class EntraPlaces {
 public:
  /// @param resource  with a slash at its end. @param looked_at  first, for messages; "" = nothing.
  EntraPlaces(std::string resource, Environment environment, std::string looked_at = "")
      : resource_(std::move(resource)),
        looked_at_(std::move(looked_at)),
        environment_(std::move(environment)),
        metadata_({.http = metadata_http_options(), .tries = 3}),
        tokens_({.http = token_http_options(), .tries = 5}) {}

  Result<BearerToken> get() {
    const std::string tenant = environment_("AZURE_TENANT_ID"), client = environment_("AZURE_CLIENT_ID");
    const std::string secret = environment_("AZURE_CLIENT_SECRET"), file = environment_("AZURE_FEDERATED_TOKEN_FILE");
    if (!tenant.empty() && !client.empty() && !secret.empty())
      return from_tenant(tenant, {{"client_id", client}, {"client_secret", secret}}, "AZURE_CLIENT_SECRET");
    if (!tenant.empty() && !client.empty() && !file.empty()) {
      TRY_ASSIGN(const std::string token, read_all(file));
      return from_tenant(tenant,
                         {{"client_id", client},
                          {"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
                          {"client_assertion", std::string(trim(token))}},
                         "AZURE_FEDERATED_TOKEN_FILE " + file);
    }
    return from_machine(client);
  }

 private:
  Result<BearerToken> from_tenant(const std::string& tenant, std::vector<HttpField> fields, const std::string& what) {
    std::string authority = environment_("AZURE_AUTHORITY_HOST");
    if (authority.empty()) authority = "https://login.microsoftonline.com";
    while (authority.ends_with('/'))
      authority.pop_back();
    if (!is_safe_for_secrets(authority)) return invalid("AZURE_AUTHORITY_HOST '{}': give an https address", excerpt(authority));
    fields.emplace_back("grant_type", "client_credentials");
    fields.emplace_back("scope", resource_ + ".default");
    return ask_for_token(tokens_, form_call(authority + "/" + escape_url(tenant) + "/oauth2/v2.0/token", fields), what);
  }

  Result<BearerToken> from_machine(const std::string& client) {
    if (environment_("STINT_METADATA_ADDRESS").empty() && detect_cloud() != CloudProvider::kAzure)
      return make_error(
          ErrorCode::kNotFound,
          "no Azure credentials: looked at {}AZURE_CLIENT_SECRET and AZURE_FEDERATED_TOKEN_FILE (each with AZURE_TENANT_ID and "
          "AZURE_CLIENT_ID), and this is no machine of Azure: set one of them",
          looked_at_);
    TRY_ASSIGN(const std::string address, metadata_address(CloudProvider::kAzure, environment_));
    std::string url = address + "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=" + escape_url(resource_);
    if (!client.empty()) url += "&client_id=" + escape_url(client);
    return ask_for_token(metadata_, {.url = url, .headers = {{"Metadata", "true"}}}, "the machine's managed identity");
  }

  std::string resource_, looked_at_;
  Environment environment_;
  CloudHttp metadata_, tokens_;
};

/// From a connection string, where it is of that account.
Status take_connection_string(const std::string& account, const std::string& text, AzureStorageAccess& access) {
  TRY_ASSIGN(const auto fields, parse_azure_connection_string(text));
  const auto field = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  if (const std::string of = field("AccountName"); !of.empty() && of != account)
    return invalid("AZURE_STORAGE_CONNECTION_STRING is of the account '{}', the address names '{}'", excerpt(of),
                   excerpt(account));
  access.source = "AZURE_STORAGE_CONNECTION_STRING";
  access.endpoint = field("BlobEndpoint");
  access.sas = field("SharedAccessSignature");
  if (const std::string key = field("AccountKey"); !key.empty()) {
    const auto bytes = from_base64(key);
    if (!bytes) return invalid("AZURE_STORAGE_CONNECTION_STRING: its AccountKey is no base64");
    access.account_key = *bytes;
  }
  if (access.endpoint.empty() && !field("EndpointSuffix").empty())
    access.endpoint = fmt::format("https://{}.blob.{}", account, field("EndpointSuffix"));
  if (access.account_key.empty() && access.sas.empty())
    return invalid("AZURE_STORAGE_CONNECTION_STRING has neither AccountKey nor SharedAccessSignature");
  return {};
}

}  // namespace

std::string azure_read_signature(const std::string& account, const std::string& path, Instant until, bool without_tls,
                                 std::string_view key) {
  constexpr std::string_view kVersion = "2021-12-02", kBlob = "b", kRead = "r";
  const std::string end = format_utc(Instant::from_seconds(until.seconds()));
  const std::string protocol = without_tls ? "https,http" : "https";
  // Empty lines: start, identifier, addresses; behind the kind snapshot, encryption scope and five headers of the answer.
  const std::string text =
      fmt::format("{}\n\n{}\n/blob/{}{}\n\n\n{}\n{}\n{}\n\n\n\n\n\n\n", kRead, end, account, path, protocol, kVersion, kBlob);
  return canonical_query({{"sv", std::string(kVersion)},
                          {"se", end},
                          {"sr", std::string(kBlob)},
                          {"sp", std::string(kRead)},
                          {"spr", protocol},
                          {"sig", to_base64(hmac_sha256(key, text))}});
}

std::unique_ptr<TokenKeeper> azure_tokens(std::string_view resource, const Environment& environment) {
  const auto places = std::make_shared<EntraPlaces>(std::string(resource), environment);
  return std::make_unique<TokenKeeper>([places] { return places->get(); }, now);
}

Result<std::map<std::string, std::string>> parse_azure_connection_string(std::string_view text) {
  std::map<std::string, std::string> fields;
  for (const std::string_view part : split(trim(text), ';')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid("AZURE_STORAGE_CONNECTION_STRING: is to have fields such as AccountName=…;AccountKey=…");
    fields[std::string(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return fields;
}

std::string azure_shared_key(const AzureSignedRequest& request, std::string_view key) {
  // Content-Length is empty for 0; the date is in x-ms-date.
  std::string text = request.method + "\n";
  text += field_of(request.headers, "Content-Encoding") + "\n" + field_of(request.headers, "Content-Language") + "\n";
  text += (request.content_length == 0 ? "" : std::to_string(request.content_length)) + "\n";
  for (const char* name :
       {"Content-MD5", "Content-Type", "Date", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"})
    text += field_of(request.headers, name) + "\n";
  text += canonical_ms_headers(request.headers) + canonical_resource(request);
  return "SharedKey " + request.account + ":" + to_base64(hmac_sha256(key, text));
}

Result<AzureStorageAccess> azure_storage_access(const std::string& account, const Environment& environment) {
  AzureStorageAccess access;
  if (const std::string text = environment("AZURE_STORAGE_CONNECTION_STRING"); !text.empty()) {
    TRY(take_connection_string(account, text, access));
  } else if (const std::string key = environment("AZURE_STORAGE_KEY"); !key.empty()) {
    const std::string of = environment("AZURE_STORAGE_ACCOUNT");
    if (!of.empty() && of != account)
      return invalid("AZURE_STORAGE_ACCOUNT is '{}', the address names '{}': the key is not that account's", excerpt(of),
                     excerpt(account));
    const auto bytes = from_base64(key);
    if (!bytes || bytes->empty()) return invalid("AZURE_STORAGE_KEY is no base64");
    access.account_key = *bytes;
    access.source = "AZURE_STORAGE_KEY";
  } else if (access.sas = environment("AZURE_STORAGE_SAS_TOKEN"); !access.sas.empty()) {
    access.source = "AZURE_STORAGE_SAS_TOKEN";
  } else {
    const auto places = std::make_shared<EntraPlaces>(
        std::string(kStorageScope), environment, "AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, ");
    access.tokens = std::make_unique<TokenKeeper>([places] { return places->get(); }, now);
  }
  if (access.sas.starts_with('?')) access.sas.erase(0, 1);
  if (const std::string named = environment("AZURE_STORAGE_BLOB_ENDPOINT"); !named.empty()) access.endpoint = named;
  while (access.endpoint.ends_with('/'))
    access.endpoint.pop_back();
  if (access.endpoint.empty()) access.endpoint = fmt::format("https://{}.blob.core.windows.net", account);
  if (!access.endpoint.starts_with("https://") && !access.endpoint.starts_with("http://"))
    return invalid("AZURE_STORAGE_BLOB_ENDPOINT '{}': give an address such as https://{}.blob.core.windows.net",
                   excerpt(access.endpoint), account);
  // A signature is good for one request, a token and a shared access signature for all.
  if (access.account_key.empty() && !is_safe_for_secrets(access.endpoint))
    return invalid("'{}': a token or shared access signature is sent over https alone", excerpt(access.endpoint));
  return access;
}

}  // namespace stint
