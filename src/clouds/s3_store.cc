#include "clouds/s3_store.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/text.h"
#include "clouds/aws_credentials.h"
#include "clouds/digests.h"
#include "clouds/s3_answers.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr const char* kShaNote = "x-amz-meta-stint-sha256";
constexpr const char* kXml = "application/xml";

HttpOptions s3_http_options(const ObjectStoreOptions& options) {
  HttpOptions http = storage_http_options();
  http.send_bytes_per_second = options.send_bytes_per_second;
  http.ca_file = options.environment("AWS_CA_BUNDLE");
  return http;
}

struct S3Endpoint {
  std::string base;  ///< `http://127.0.0.1:9000`; "" = Amazon's, of the region
  bool bucket_in_path = false;
};

class S3Store final : public ObjectStore {
 public:
  S3Store(const ObjectUrl& url, const ObjectStoreOptions& options, std::string region, S3Endpoint endpoint)
      : url_(url),
        options_(options),
        endpoint_(std::move(endpoint)),
        region_(std::move(region)),
        chain_({.environment = options.environment}),
        http_({.http = s3_http_options(options), .tries = options.tries, .sleep = options.sleep}) {}

  [[nodiscard]] std::string name() const override { return url_.base(); }
  [[nodiscard]] CloudFailure last_failure() const override { return last_failure_; }
  [[nodiscard]] Parts parts() const override { return Parts::kInAnyOrder; }
  [[nodiscard]] std::string digest_of_part(std::string_view bytes) const override { return to_hex(md5_bytes(bytes)); }

  Status put(const std::string& key, std::string bytes, const PutOptions& options) override {
    std::vector<HttpField> headers = notes_of(options);
    if (options.if_there == IfThere::kRefuse) headers.emplace_back("If-None-Match", "*");
    TRY(send({.method = "PUT", .key = key, .headers = std::move(headers), .body = std::move(bytes)}));
    return {};
  }

  Result<std::string> get(const std::string& key, int64_t offset, int64_t length) override {
    std::vector<HttpField> headers;
    if (offset > 0 || length >= 0)
      headers.emplace_back("Range", fmt::format("bytes={}-{}", offset, length < 0 ? "" : std::to_string(offset + length - 1)));
    TRY_ASSIGN(HttpResponse response, send({.key = key, .headers = std::move(headers)}));
    return std::move(response.body);
  }

  Result<std::string> link(const std::string& key, Duration lasts) override {
    TRY_ASSIGN(const AwsCredentials credentials, chain_.get());
    const std::string region = this->region();
    const auto [base, path] = place_of(key, region);
    return fmt::format(
        "{}{}?{}", base, path,
        presigned_aws_query({.host = base.substr(base.find("//") + 2), .path = path},
                            {.region = region, .service = "s3", .path = AwsPath::kAsSent}, credentials, http_.now(), lasts));
  }

  Result<ObjectInfo> head(const std::string& key) override {
    TRY_ASSIGN(const HttpResponse response, send({.method = "HEAD", .key = key}));
    ObjectInfo info{.key = key};
    if (const std::string* size = response.header("content-length")) info.size = parse_int(*size).value_or(0);
    if (const std::string* time = response.header("last-modified")) info.modified = parse_http_date(*time).value_or(Instant());
    if (const std::string* sha = response.header(kShaNote)) info.sha256 = *sha;
    if (const std::string* tag = response.header("etag")) info.tag = without_quotes(*tag);
    return info;
  }

  Result<std::vector<ObjectInfo>> list(const std::string& prefix) override {
    std::vector<ObjectInfo> all;
    for (std::string next;;) {
      std::vector<HttpField> query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}};
      if (!next.empty()) query.emplace_back("continuation-token", next);
      TRY_ASSIGN(const HttpResponse response, send({.query = std::move(query)}));
      TRY_ASSIGN(S3Listing page, parse_s3_listing(response.body));
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

  Result<std::string> begin_upload(const std::string& key, const PutOptions& options) override {
    // One that was cut off goes on. Not every store shows them, and of encrypted parts S3 tells no digest: then all are sent again.
    if (!options_.encryption_key.empty()) return begin_anew(key, options);
    if (const auto uploads = unfinished_uploads(key); uploads.ok())
      for (auto it = uploads->rbegin(); it != uploads->rend(); ++it)
        if (it->key == key && !it->id.empty()) return it->id;
    return begin_anew(key, options);
  }

  Result<std::string> begin_anew(const std::string& key, const PutOptions& options) {
    TRY_ASSIGN(const HttpResponse response,
               send({.method = "POST", .key = key, .query = {{"uploads", ""}}, .headers = notes_of(options)}));
    return parse_s3_upload_id(response.body);
  }

  Result<std::vector<ObjectPart>> parts_of(const std::string& key, const std::string& upload) override {
    std::vector<ObjectPart> all;
    for (int next = 0;;) {
      std::vector<HttpField> query = {{"uploadId", upload}};
      if (next > 0) query.emplace_back("part-number-marker", std::to_string(next));
      TRY_ASSIGN(const HttpResponse response, send({.key = key, .query = std::move(query)}));
      TRY_ASSIGN(S3Parts page, parse_s3_parts(response.body));
      std::move(page.parts.begin(), page.parts.end(), std::back_inserter(all));
      if (page.next <= next) return all;
      next = page.next;
    }
  }

  Result<ObjectPart> put_part(const std::string& key, const std::string& upload, PartPlace place, std::string bytes) override {
    ObjectPart part{.number = place.number, .size = static_cast<int64_t>(bytes.size()), .digest = digest_of_part(bytes)};
    TRY_ASSIGN(const HttpResponse response, send({.method = "PUT",
                                                  .key = key,
                                                  .query = {{"partNumber", std::to_string(place.number)}, {"uploadId", upload}},
                                                  .body = std::move(bytes)}));
    const std::string* tag = response.header("etag");
    if (tag == nullptr) return make_error(ErrorCode::kUnavailable, "{}{}: a part was taken without an ETag", name(), key);
    part.tag = *tag;
    return part;
  }

  Status complete_upload(const std::string& key, const std::string& upload, const std::vector<ObjectPart>& parts,
                         const PutOptions& options) override {
    std::vector<HttpField> headers;
    if (options.if_there == IfThere::kRefuse) headers.emplace_back("If-None-Match", "*");
    const auto done = send({.method = "POST",
                            .key = key,
                            .query = {{"uploadId", upload}},
                            .headers = std::move(headers),
                            .body = s3_completion(parts),
                            .content_type = kXml});
    if (done.ok()) return {};
    // The answer to an earlier try may have been lost: then the upload is gone because it is complete.
    if (done.error().code == ErrorCode::kNotFound && !options.sha256.empty())
      if (const auto there = head(key); there.ok() && there->sha256 == options.sha256) return {};
    return done.error();
  }

  void abort_upload(const std::string& key, const std::string& upload) override {
    (void)send({.method = "DELETE", .key = key, .query = {{"uploadId", upload}}});
  }

  Result<std::vector<UnfinishedUpload>> unfinished_uploads(const std::string& prefix) override {
    TRY_ASSIGN(const HttpResponse listed, send({.query = {{"uploads", ""}, {"prefix", prefix}, {"encoding-type", "url"}}}));
    return parse_s3_uploads(listed.body);
  }

 private:
  struct S3Call {
    std::string method = "GET";
    std::string key;  ///< "" = the bucket
    std::vector<HttpField> query, headers;
    std::string body;
    std::string content_type;
  };

  [[nodiscard]] std::vector<HttpField> notes_of(const PutOptions& options) const {
    std::vector<HttpField> headers;
    if (!options.sha256.empty()) headers.emplace_back(kShaNote, options.sha256);
    if (!options_.encryption_key.empty()) {
      headers.emplace_back("x-amz-server-side-encryption", "aws:kms");
      headers.emplace_back("x-amz-server-side-encryption-aws-kms-key-id", options_.encryption_key);
    }
    return headers;
  }

  [[nodiscard]] std::string region() const {
    const std::scoped_lock lock(mutex_);
    return region_;
  }

  Result<HttpResponse> send(S3Call call) {
    const std::string body_sha256 = sha256_hex(call.body);
    const std::string sent_body = std::move(call.body);
    std::string source;
    const CloudRequest request{
        .what = name() + call.key,
        .prepare = [&](const CloudAttempt& attempt) -> Result<HttpCall> {
          TRY_ASSIGN(const AwsCredentials key,
                     chain_.get(attempt.renew ? AwsCredentialChain::Renew::kNow : AwsCredentialChain::Renew::kWhenOld));
          source = key.source;
          return signed_call(call, sent_body, body_sha256, key, attempt.now);
        },
        .judge = [&](const HttpResponse& r) { return judge(call, r); },
        .remedy =
            [&](CloudFailure failure) {
              last_failure_ = failure;
              return remedy(failure, source);
            },
        .move = [&](const HttpResponse& r) { return move_to_region(r); }};
    return http_.send(request);
  }

  struct Place {
    std::string base, path;  ///< `https://bucket.s3.eu-west-1.amazonaws.com`; as it is sent
  };
  [[nodiscard]] Place place_of(const std::string& key, const std::string& region) const {
    std::string base = endpoint_.base;
    // Amazon's names, but for buckets with a dot, which no certificate covers.
    const bool in_path = endpoint_.bucket_in_path || url_.bucket.find('.') != std::string::npos;
    if (base.empty())
      base = fmt::format("https://{}s3.{}.{}", in_path ? "" : url_.bucket + ".", region,
                         region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com");
    return {.base = std::move(base), .path = "/" + (in_path ? url_.bucket + (key.empty() ? "" : "/") : "") + escape_path(key)};
  }

  [[nodiscard]] HttpCall signed_call(const S3Call& call, const std::string& body, const std::string& body_sha256,
                                     const AwsCredentials& key, Instant at) const {
    const std::string region = this->region();
    const auto [base, path] = place_of(call.key, region);
    const std::string query = canonical_query(call.query);
    HttpCall sent{.method = call.method,
                  .url = base + path + (query.empty() ? "" : "?") + query,
                  .headers = call.headers,
                  .body = body,
                  .content_type = call.content_type};
    const auto added = sign_aws_request({.method = call.method,
                                         .host = base.substr(base.find("//") + 2),
                                         .path = path,
                                         .query = call.query,
                                         .headers = call.headers,
                                         .body_sha256 = body_sha256},
                                        {.region = region, .service = "s3", .path = AwsPath::kAsSent}, key, at);
    sent.headers.insert(sent.headers.end(), added.begin(), added.end());
    sent.headers.emplace_back("Accept", "*/*");
    return sent;
  }

  /// A completion may fail behind the status 200; the answer to HEAD has no body to tell its code.
  [[nodiscard]] static std::optional<CloudFault> judge(const S3Call& call, const HttpResponse& r) {
    if (r.status / 100 == 2) {
      if (call.method != "POST" || r.body.find("<Error>") == std::string::npos) return std::nullopt;
      CloudFault fault = parse_aws_error(500, r.body);
      if (fault.code == "NoSuchUpload") fault.failure = CloudFailure::kNotFound;
      return fault;
    }
    return parse_aws_error(r.status, r.body);
  }

  [[nodiscard]] std::string remedy(CloudFailure failure, const std::string& source) const {
    switch (failure) {
      case CloudFailure::kCredential: return fmt::format("the keys come from {}: check them, and the clock", source);
      case CloudFailure::kForbidden:
        return fmt::format(
            "the keys come from {}: allow them s3:GetObject, s3:PutObject, s3:ListBucket and s3:AbortMultipartUpload there",
            source);
      case CloudFailure::kNetwork: return "check the network, and AWS_ENDPOINT_URL_S3 where it is set";
      case CloudFailure::kPlace: return "set AWS_REGION to the bucket's region";
      default: return "";
    }
  }

  /// To the region that the answer names.
  bool move_to_region(const HttpResponse& r) {
    const std::string* named = r.header("x-amz-bucket-region");
    std::string to = named == nullptr ? "" : *named;
    if (to.empty()) to = s3_region_of_error(r.body);
    const bool fits =
        !to.empty() && to.size() < 32 &&
        std::all_of(to.begin(), to.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
    const std::scoped_lock lock(mutex_);
    if (!fits || to == region_) return false;
    region_ = to;
    return true;
  }

  ObjectUrl url_;
  ObjectStoreOptions options_;
  S3Endpoint endpoint_;
  mutable std::mutex mutex_;
  std::string region_;
  AwsCredentialChain chain_;
  CloudHttp http_;
  std::atomic<CloudFailure> last_failure_ = CloudFailure::kServer;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_s3_store(const ObjectUrl& url, const ObjectStoreOptions& options) {
  AwsCredentialChain chain({.environment = options.environment});
  TRY_ASSIGN(std::string region, chain.region());
  S3Endpoint endpoint;
  for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"})
    if (endpoint.base.empty()) endpoint.base = options.environment(name);
  if (endpoint.base.empty()) {
    TRY_ASSIGN(endpoint.base, chain.setting("endpoint_url"));
  }
  while (endpoint.base.ends_with('/'))
    endpoint.base.pop_back();
  if (!endpoint.base.empty()) {
    if (!endpoint.base.starts_with("http://") && !endpoint.base.starts_with("https://"))
      return invalid("AWS_ENDPOINT_URL_S3 '{}': give an address such as https://s3.example.com", excerpt(endpoint.base));
    endpoint.bucket_in_path = true;
  }
  return std::unique_ptr<ObjectStore>(
      std::make_unique<S3Store>(url, options, region.empty() ? "us-east-1" : std::move(region), std::move(endpoint)));
}

}  // namespace stint
