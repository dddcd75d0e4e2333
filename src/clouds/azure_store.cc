#include "clouds/azure_store.h"

#include <atomic>

#include "base/text.h"
#include "clouds/aws_sign.h"
#include "clouds/azure_answers.h"
#include "clouds/azure_credentials.h"
#include "clouds/digests.h"
#include "clouds/s3_answers.h"

namespace stint {
namespace {

constexpr const char* kAzureVersion = "2021-12-02";
constexpr const char* kAzureShaNote = "x-ms-meta-stint_sha256";

class AzureStore final : public ObjectStore {
 public:
  AzureStore(const ObjectUrl& url, const ObjectStoreOptions& options, AzureStorageAccess access)
      : url_(url),
        options_(options),
        access_(std::move(access)),
        http_({.http = http_options(options), .tries = options.tries, .sleep = options.sleep}) {
    const size_t host = access_.endpoint.find("//") + 2;
    const size_t path = access_.endpoint.find('/', host);
    origin_ = access_.endpoint.substr(0, path);
    container_path_ = (path == std::string::npos ? "" : access_.endpoint.substr(path)) + "/" + url_.bucket;
  }

  [[nodiscard]] std::string name() const override { return url_.base(); }
  [[nodiscard]] CloudFailure last_failure() const override { return last_failure_; }
  [[nodiscard]] Parts parts() const override { return Parts::kInAnyOrder; }
  [[nodiscard]] std::string digest_of_part(std::string_view bytes) const override { return to_hex(md5_bytes(bytes)); }

  Status put(const std::string& key, std::string bytes, const PutOptions& options) override {
    AzureCall call{.method = "PUT", .key = key, .headers = notes_of(options)};
    call.headers.emplace_back("x-ms-blob-type", "BlockBlob");
    call.headers.emplace_back("Content-MD5", to_base64(md5_bytes(bytes)));
    call.body = std::move(bytes);
    TRY(send(std::move(call)));
    return {};
  }

  Result<std::string> get(const std::string& key, int64_t offset, int64_t length) override {
    AzureCall call{.key = key};
    if (offset > 0 || length >= 0)
      call.headers.emplace_back("x-ms-range",
                                fmt::format("bytes={}-{}", offset, length < 0 ? "" : std::to_string(offset + length - 1)));
    TRY_ASSIGN(HttpResponse response, send(std::move(call)));
    return std::move(response.body);
  }

  Result<std::string> link(const std::string& key, Duration lasts) override {
    if (access_.account_key.empty())
      return make_error(
          ErrorCode::kUnavailable,
          "{}: addresses that others may read by are signed with the account's key, and the credentials come from {}: set "
          "AZURE_STORAGE_KEY",
          name(), access_.source);
    const std::string path = container_path_ + "/" + escape_path(key);
    return fmt::format("{}{}?{}", origin_, path,
                       azure_read_signature(url_.account, "/" + url_.bucket + "/" + key, http_.now() + lasts,
                                            origin_.starts_with("http://"), access_.account_key));
  }

  Result<ObjectInfo> head(const std::string& key) override {
    TRY_ASSIGN(const HttpResponse response, send({.method = "HEAD", .key = key}));
    ObjectInfo info{.key = key};
    if (const std::string* size = response.header("content-length")) info.size = parse_int(*size).value_or(0);
    if (const std::string* time = response.header("last-modified")) info.modified = parse_http_date(*time).value_or(Instant());
    if (const std::string* sha = response.header(kAzureShaNote)) info.sha256 = *sha;
    if (const std::string* tag = response.header("etag")) info.tag = without_quotes(*tag);
    return info;
  }

  Result<std::vector<ObjectInfo>> list(const std::string& prefix) override {
    std::vector<ObjectInfo> all;
    for (std::string next;;) {
      AzureCall call{.query = {{"restype", "container"}, {"comp", "list"}, {"prefix", prefix}}};
      if (!next.empty()) call.query.emplace_back("marker", next);
      TRY_ASSIGN(const HttpResponse response, send(std::move(call)));
      TRY_ASSIGN(AzureListing page, parse_azure_listing(response.body));
      std::move(page.objects.begin(), page.objects.end(), std::back_inserter(all));
      if (page.next.empty()) return all;
      next = std::move(page.next);
    }
  }

  Status remove(const std::string& key) override {
    const auto done = send({.method = "DELETE", .key = key});
    if (!done.ok() && done.error().code != ErrorCode::kNotFound) return done.error();
    return {};
  }

  Result<std::string> begin_upload(const std::string& key, const PutOptions& /*options*/) override { return key; }

  Result<std::vector<ObjectPart>> parts_of(const std::string& key, const std::string& /*upload*/) override {
    const auto listed = send({.key = key, .query = {{"comp", "blocklist"}, {"blocklisttype", "uncommitted"}}});
    if (!listed.ok() && listed.error().code == ErrorCode::kNotFound) return std::vector<ObjectPart>();
    if (!listed.ok()) return listed.error();
    return parse_azure_blocks(listed->body);
  }

  Result<ObjectPart> put_part(const std::string& key, const std::string& /*upload*/, PartPlace place,
                              std::string bytes) override {
    ObjectPart part{.number = place.number, .size = static_cast<int64_t>(bytes.size()), .digest = digest_of_part(bytes)};
    part.tag = azure_block_id(place.number, part.digest);
    AzureCall call{
        .method = "PUT", .key = key, .query = {{"comp", "block"}, {"blockid", part.tag}}, .headers = scope(), .body = {}};
    call.headers.emplace_back("Content-MD5", to_base64(md5_bytes(bytes)));
    call.body = std::move(bytes);
    TRY(send(std::move(call)));
    return part;
  }

  Status complete_upload(const std::string& key, const std::string& /*upload*/, const std::vector<ObjectPart>& parts,
                         const PutOptions& options) override {
    const auto done = send({.method = "PUT",
                            .key = key,
                            .query = {{"comp", "blocklist"}},
                            .headers = notes_of(options),
                            .body = azure_block_list(parts),
                            .content_type = "application/xml"});
    if (done.ok()) return {};
    // The answer to an earlier try may have been lost: then the blocks are gone because they are committed.
    const bool may_be_ours = done.error().code == ErrorCode::kInvalidInput || done.error().code == ErrorCode::kConflict;
    if (may_be_ours && !options.sha256.empty())
      if (const auto there = head(key); there.ok() && there->sha256 == options.sha256) return {};
    return done.error();
  }

  /// Blocks cannot be taken away; they go by themselves after a week, or when the blob is written.
  void abort_upload(const std::string& /*key*/, const std::string& /*upload*/) override {}
  Result<std::vector<UnfinishedUpload>> unfinished_uploads(const std::string& /*prefix*/) override {
    return std::vector<UnfinishedUpload>();
  }

 private:
  struct AzureCall {
    std::string method = "GET";
    std::string key;  ///< "" = the container
    std::vector<HttpField> query, headers;
    std::string body, content_type;
  };

  static HttpOptions http_options(const ObjectStoreOptions& options) {
    HttpOptions http = storage_http_options();
    http.send_bytes_per_second = options.send_bytes_per_second;
    return http;
  }

  [[nodiscard]] std::vector<HttpField> scope() const {
    if (options_.encryption_key.empty()) return {};
    return {{"x-ms-encryption-scope", options_.encryption_key}};
  }

  [[nodiscard]] std::vector<HttpField> notes_of(const PutOptions& options) const {
    std::vector<HttpField> headers = scope();
    if (!options.sha256.empty()) headers.emplace_back(kAzureShaNote, options.sha256);
    if (options.if_there == IfThere::kRefuse) headers.emplace_back("If-None-Match", "*");
    return headers;
  }

  Result<HttpResponse> send(AzureCall call) {
    std::string source = access_.source;
    const CloudRequest request{.what = name() + call.key,
                               .prepare = [&](const CloudAttempt& attempt) { return prepare(call, attempt, source); },
                               .judge = [](const HttpResponse& r) -> std::optional<CloudFault> {
                                 if (r.status / 100 == 2) return std::nullopt;
                                 const std::string* code = r.header("x-ms-error-code");
                                 return parse_azure_error(r.status, code == nullptr ? "" : *code, r.body);
                               },
                               .remedy =
                                   [&](CloudFailure failure) {
                                     last_failure_ = failure;
                                     return remedy(failure, source);
                                   }};
    return http_.send(request);
  }

  Result<HttpCall> prepare(const AzureCall& call, const CloudAttempt& attempt, std::string& source) {
    const std::string path = container_path_ + (call.key.empty() ? "" : "/") + escape_path(call.key);
    std::string query = canonical_query(call.query);
    if (!access_.sas.empty()) query += (query.empty() ? "" : "&") + access_.sas;
    HttpCall sent{.method = call.method,
                  .url = origin_ + path + (query.empty() ? "" : "?") + query,
                  .headers = call.headers,
                  .body = call.body,
                  .content_type = call.content_type};
    sent.headers.emplace_back("x-ms-date", format_http_date(attempt.now));
    sent.headers.emplace_back("x-ms-version", kAzureVersion);
    if (!access_.account_key.empty()) {
      AzureSignedRequest signed_request{.method = call.method,
                                        .account = url_.account,
                                        .path = path,
                                        .query = call.query,
                                        .headers = sent.headers,
                                        .content_length = call.body.size()};
      if (!call.content_type.empty()) signed_request.headers.emplace_back("Content-Type", call.content_type);
      sent.headers.emplace_back("Authorization", azure_shared_key(signed_request, access_.account_key));
    } else if (access_.tokens) {
      TRY_ASSIGN(const BearerToken token,
                 access_.tokens->get(attempt.renew ? TokenKeeper::Renew::kNow : TokenKeeper::Renew::kWhenOld));
      source = token.source;
      sent.headers.emplace_back("Authorization", "Bearer " + token.token);
    }
    return sent;
  }

  [[nodiscard]] static std::string remedy(CloudFailure failure, const std::string& source) {
    switch (failure) {
      case CloudFailure::kCredential: return fmt::format("the credentials come from {}: check them, and the clock", source);
      case CloudFailure::kForbidden:
        return fmt::format("the credentials come from {}: give them the role Storage Blob Data Contributor there", source);
      case CloudFailure::kNetwork:
        return "check the network, the account's name, and AZURE_STORAGE_BLOB_ENDPOINT where it is set";
      default: return "";
    }
  }

  ObjectUrl url_;
  ObjectStoreOptions options_;
  AzureStorageAccess access_;
  std::string origin_;          ///< `https://account.blob.core.windows.net`
  std::string container_path_;  ///< `/container`, behind what the endpoint has
  CloudHttp http_;
  std::atomic<CloudFailure> last_failure_ = CloudFailure::kServer;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_azure_store(const ObjectUrl& url, const ObjectStoreOptions& options) {
  TRY_ASSIGN(AzureStorageAccess access, azure_storage_access(url.account, options.environment));
  return std::unique_ptr<ObjectStore>(std::make_unique<AzureStore>(url, options, std::move(access)));
}

}  // namespace stint
