#include "clouds/aws_sign.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "clouds/digests.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

/// Blanks in a row are one.
std::string one_blank(std::string_view text) {
  std::string out;
  for (const char c : trim(text)) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!is_blank || !out.ends_with(' ')) out += is_blank ? ' ' : c;
  }
  return out;
}

/// `/a//b/../c` → `/a/c`; a slash at the end stays.
std::string resolve_path(std::string_view path) {
  std::vector<std::string_view> kept;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      kept.push_back(part);
    else if (!kept.empty())
      kept.pop_back();
  }
  std::string out = "/";
  for (const std::string_view part : kept)
    out += fmt::format("{}{}", part, '/');
  if (!kept.empty() && !path.ends_with('/') && !path.ends_with("/.") && !path.ends_with("/..")) out.pop_back();
  return out;
}

std::string canonical_path(std::string_view path, const AwsScope& scope) {
  if (path.empty()) return "/";
  return scope.path == AwsPath::kAsSent ? std::string(path) : escape_path(resolve_path(path));
}

struct SignedHeaders {
  std::string lines, names;
};

SignedHeaders signed_headers_of(const AwsRequest& request) {
  std::map<std::string, std::string> all = {{"host", request.host}};
  for (const auto& [name, value] : request.headers) {
    const auto [it, is_new] = all.try_emplace(to_lower(name), one_blank(value));
    if (!is_new) it->second += "," + one_blank(value);
  }
  SignedHeaders found;
  for (const auto& [name, value] : all) {
    found.lines += fmt::format("{}:{}\n", name, value);
    found.names += fmt::format("{}{}", found.names.empty() ? "" : ";", name);
  }
  return found;
}

/// `20150830T123600Z`
std::string amz_date(Instant at) {
  const CivilTime c = to_civil(at);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", c.year, c.month, c.day, c.hour, c.minute, c.second);
}

/// `20150830/us-east-1/iam/aws4_request`
std::string scope_of(const std::string& time, const AwsScope& scope) {
  return fmt::format("{}/{}/{}/aws4_request", time.substr(0, 8), scope.region, scope.service);
}

/// @param time  as amz_date() has it.
std::string aws_signature(const AwsRequest& whole, const AwsScope& scope, const AwsCredentials& credentials,
                          const std::string& time) {
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope_of(time, scope), sha256_hex(canonical_aws_request(whole, scope)));
  std::string key = "AWS4" + credentials.secret_key;
  for (const std::string_view part : {std::string_view(time).substr(0, 8), std::string_view(scope.region),
                                      std::string_view(scope.service), std::string_view("aws4_request")})
    key = hmac_sha256(key, part);
  return hmac_sha256_hex(key, to_sign);
}

}  // namespace

std::string escape_path(std::string_view path) {
  std::string out;
  for (const std::string_view part : split(path, '/'))
    out += fmt::format("{}{}", escape_url(part), '/');
  out.pop_back();
  return out;
}

std::string canonical_query(const std::vector<HttpField>& query) {
  std::vector<std::pair<std::string, std::string>> escaped;
  for (const auto& [name, value] : query)
    escaped.emplace_back(escape_url(name), escape_url(value));
  std::sort(escaped.begin(), escaped.end());
  std::string out;
  for (const auto& [name, value] : escaped)
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", name, value);
  return out;
}

std::string canonical_aws_request(const AwsRequest& request, const AwsScope& scope) {
  const SignedHeaders headers = signed_headers_of(request);
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, canonical_path(request.path, scope),
                     canonical_query(request.query), headers.lines, headers.names, request.body_sha256);
}

std::vector<HttpField> sign_aws_request(const AwsRequest& request, const AwsScope& scope, const AwsCredentials& credentials,
                                        Instant at) {
  const std::string time = amz_date(at);
  std::vector<HttpField> added = {{"X-Amz-Date", time}};
  if (!credentials.session_token.empty()) added.emplace_back("X-Amz-Security-Token", credentials.session_token);
  if (scope.service == "s3") added.emplace_back("X-Amz-Content-Sha256", request.body_sha256);
  AwsRequest whole = request;
  whole.headers.insert(whole.headers.end(), added.begin(), added.end());
  const std::string scope_text = scope_of(time, scope);
  added.emplace_back("Authorization",
                     fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm, credentials.access_key,
                                 scope_text, signed_headers_of(whole).names, aws_signature(whole, scope, credentials, time)));
  return added;
}

std::string presigned_aws_query(const AwsRequest& request, const AwsScope& scope, const AwsCredentials& credentials, Instant at,
                                Duration lasts) {
  const std::string time = amz_date(at);
  AwsRequest whole = request;
  whole.body_sha256 = "UNSIGNED-PAYLOAD";
  whole.query.insert(whole.query.end(),
                     {{"X-Amz-Algorithm", std::string(kAlgorithm)},
                      {"X-Amz-Credential", fmt::format("{}/{}", credentials.access_key, scope_of(time, scope))},
                      {"X-Amz-Date", time},
                      {"X-Amz-Expires", fmt::format("{}", lasts.whole_seconds())},
                      {"X-Amz-SignedHeaders", "host"}});
  if (!credentials.session_token.empty()) whole.query.emplace_back("X-Amz-Security-Token", credentials.session_token);
  return fmt::format("{}&X-Amz-Signature={}", canonical_query(whole.query), aws_signature(whole, scope, credentials, time));
}

}  // namespace stint
