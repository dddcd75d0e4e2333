#include "clouds/object_url.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kLongestKey = 1'024;  // S3's and Google's; Azure's is the same in characters

bool is_bucket_name(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'; };
  return name.size() >= 3 && name.size() <= 222 && std::all_of(name.begin(), name.end(), fits) && name.front() != '.' &&
         name.find("..") == std::string_view::npos;
}

bool is_account_name(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return name.size() >= 3 && name.size() <= 24 && std::all_of(name.begin(), name.end(), fits);
}

Status check_key(std::string_view key, std::string_view whole) {
  if (key.size() > kLongestKey) return invalid("'{}': its key has more than {} bytes", excerpt(whole), kLongestKey);
  for (const char c : key)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return invalid("'{}': its key has a control character", excerpt(whole));
  for (const std::string_view part : split(key, '/'))
    if (part == "." || part == "..") return invalid("'{}': '{}' in a key leads nowhere: leave it out", excerpt(whole), part);
  return {};
}

}  // namespace

std::string ObjectUrl::base() const {
  switch (provider) {
    case CloudProvider::kAws: return fmt::format("s3://{}/", bucket);
    case CloudProvider::kGoogle: return fmt::format("gs://{}/", bucket);
    case CloudProvider::kAzure: return fmt::format("az://{}/{}/", account, bucket);
  }
  return "";
}

bool is_object_url(std::string_view text) {
  return text.starts_with("s3://") || text.starts_with("gs://") || text.starts_with("az://");
}

Result<ObjectUrl> parse_object_url(std::string_view text) {
  if (!is_object_url(text))
    return invalid("'{}': give an object store's address: s3://bucket/key, gs://bucket/key or az://account/container/key",
                   excerpt(text));
  ObjectUrl url;
  url.provider = text[0] == 's' ? CloudProvider::kAws : text[0] == 'g' ? CloudProvider::kGoogle : CloudProvider::kAzure;
  std::string_view rest = text.substr(5);
  const auto take = [&rest] {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    return std::string(part);
  };
  if (url.provider == CloudProvider::kAzure) {
    url.account = take();
    if (!is_account_name(url.account))
      return invalid("'{}': '{}' is no storage account (3 to 24 small letters and digits): az://account/container/key",
                     excerpt(text), excerpt(url.account));
  }
  url.bucket = take();
  if (!is_bucket_name(url.bucket))
    return invalid("'{}': '{}' is no name of a {}", excerpt(text), excerpt(url.bucket),
                   url.provider == CloudProvider::kAzure ? "container" : "bucket");
  TRY(check_key(rest, text));
  url.key = rest;
  return url;
}

}  // namespace stint
