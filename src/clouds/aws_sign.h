// AWS Signature Version 4: what proves to AWS who sends a request and that nothing of it was changed.
//
// Pure: the same request, key and instant give the same signature. libcurl 7.88 signs too, and is right for 25 of AWS's 38 vectors.
// Source: AWS IAM User Guide, "Create a signed AWS API request".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "host/http_client.h"

namespace stint {

struct AwsCredentials {
  std::string access_key, secret_key;
  std::string session_token;       ///< of temporary ones; "" = none
  std::optional<Instant> expires;  ///< none = they stay
  std::string source;              ///< where they come from, for messages: `environment`, `profile gpu`, …
};

enum class AwsPath : uint8_t {
  kResolved,  ///< signed as `/a/../b` leads to, and escaped once more than it is sent: all services but S3
  kAsSent,    ///< S3
};

/// Whom the signature is for.
struct AwsScope {
  std::string region, service;  ///< `us-east-1`, `s3`
  AwsPath path = AwsPath::kResolved;
};

struct AwsRequest {
  std::string method = "GET";
  std::string host;                ///< as in the Host header: with the port when it is not the usual one
  std::string path = "/";          ///< as it is sent: escape_path()
  std::vector<HttpField> query;    ///< not escaped
  std::vector<HttpField> headers;  ///< all are signed; names in any case
  std::string body_sha256;         ///< 64 hexadecimal digits, or UNSIGNED-PAYLOAD
};

/// A path as it is sent: each byte but letters, digits and `-._~/` as %XX.
std::string escape_path(std::string_view path);
/// `a=1&b=x%20y`, in the order that signatures want; a field without a value as `name=`.
std::string canonical_query(const std::vector<HttpField>& query);

/// The request as AWS writes it down before it hashes it.
std::string canonical_aws_request(const AwsRequest& request, const AwsScope& scope);

/// @param request  with every header that is to be signed but Host.
/// @return the headers to send beside the request's: Authorization, X-Amz-Date, X-Amz-Security-Token, for S3 X-Amz-Content-Sha256.
std::vector<HttpField> sign_aws_request(const AwsRequest& request, const AwsScope& scope, const AwsCredentials& credentials,
                                        Instant at);

/// The query of an address by which anybody may do the request, and no other, for so long: seven days at most, and no longer than the
/// credentials are good for. Only its host is signed. @param request  without headers and hash of a body.
std::string presigned_aws_query(const AwsRequest& request, const AwsScope& scope, const AwsCredentials& credentials, Instant at,
                                Duration lasts);

}  // namespace stint
