#include "clouds/gcs_store.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/digests.h"
#include "clouds/gcs_answers.h"
#include "clouds/google_credentials.h"
#include "host/secret.h"

namespace stint {
namespace {

using GcsJson = nlohmann::json;

constexpr const char* kGoogleStorage = "https://storage.googleapis.com";
constexpr std::string_view kPartsMark = ".stint-parts-";
constexpr size_t kComposeMost = 32;  // objects.compose: "up to 32 source objects"
constexpr const char* kListFields = "nextPageToken,items(name,size,updated,generation,md5Hash,metadata)";

bool is_part(std::string_view key) { return key.find(kPartsMark) != std::string_view::npos; }

class GcsStore final : public ObjectStore {
 public:
  GcsStore(const ObjectUrl& url, const ObjectStoreOptions& options, std::string base, bool without_tokens)
      : url_(url),
        options_(options),
        base_(std::move(base)),
        tokens_(without_tokens ? nullptr : google_tokens({.environment = options.environment})),
        http_({.http = http_options(options), .tries = options.tries, .sleep = options.sleep}) {}

  [[nodiscard]] std::string name() const override { return url_.base(); }
  [[nodiscard]] CloudFailure last_failure() const override { return last_failure_; }
  [[nodiscard]] Parts parts() const override { return Parts::kInAnyOrder; }
  [[nodiscard]] std::string digest_of_part(std::string_view bytes) const override { return to_base64(md5_bytes(bytes)); }

  Status put(const std::string& key, std::string bytes, const PutOptions& options) override {
    TRY(upload(key, std::move(bytes), options));
    return {};
  }

  Result<std::string> get(const std::string& key, int64_t offset, int64_t length) override {
    GcsCall call{.path = object_path(key), .what = key, .query = {{"alt", "media"}}};
    if (offset > 0 || length >= 0)
      call.headers.emplace_back("Range",
                                fmt::format("bytes={}-{}", offset, length < 0 ? "" : std::to_string(offset + length - 1)));
    TRY_ASSIGN(HttpResponse response, send(call));
    return std::move(response.body);
  }

  Result<std::string> link(const std::string& key, Duration lasts) override {
    TRY_ASSIGN(const GoogleKeyFile signer, google_signing_key(options_.environment));
    const std::string path = "/" + url_.bucket + "/" + escape_path(key);
    TRY_ASSIGN(const std::string query,
               google_read_signature(signer, base_.substr(base_.find("//") + 2), path, http_.now(), lasts));
    return fmt::format("{}{}?{}", base_, path, query);
  }

  Result<ObjectInfo> head(const std::string& key) override {
    TRY_ASSIGN(const HttpResponse response, send({.path = object_path(key), .what = key}));
    TRY_ASSIGN(GcsObject object, parse_gcs_object(response.body));
    return std::move(object.info);
  }

  /// Parts of uploads are none of it: nothing of them is there yet.
  Result<std::vector<ObjectInfo>> list(const std::string& prefix) override {
    TRY_ASSIGN(const std::vector<GcsObject> all, list_all(prefix));
    std::vector<ObjectInfo> found;
    for (const GcsObject& object : all)
      if (!is_part(object.info.key)) found.push_back(object.info);
    return found;
  }

  Status remove(const std::string& key) override {
    const auto done = send({.method = "DELETE", .path = object_path(key), .what = key});
    if (!done.ok() && done.error().code != ErrorCode::kNotFound) return done.error();
    return {};
  }

  /// The same bytes under the same key are the same upload, whoever sends them.
  Result<std::string> begin_upload(const std::string& key, const PutOptions& options) override {
    return key + std::string(kPartsMark) + (options.sha256.empty() ? random_hex(16) : options.sha256.substr(0, 32)) + "/";
  }

  Result<std::vector<ObjectPart>> parts_of(const std::string& /*key*/, const std::string& upload) override {
    TRY_ASSIGN(const std::vector<GcsObject> all, list_all(upload));
    std::vector<ObjectPart> parts;
    for (const GcsObject& object : all)
      if (const auto number = parse_int(object.info.key.substr(upload.size())); number && *number > 0 && *number <= INT32_MAX)
        parts.push_back(
            {.number = static_cast<int>(*number), .size = object.info.size, .tag = object.info.key, .digest = object.md5});
    return parts;
  }

  Result<ObjectPart> put_part(const std::string& /*key*/, const std::string& upload, PartPlace place,
                              std::string bytes) override {
    ObjectPart part{.number = place.number,
                    .size = static_cast<int64_t>(bytes.size()),
                    .tag = fmt::format("{}{:06}", upload, place.number),
                    .digest = digest_of_part(bytes)};
    TRY(this->upload(part.tag, std::move(bytes), {}));
    return part;
  }

  Status complete_upload(const std::string& key, const std::string& upload, const std::vector<ObjectPart>& parts,
                         const PutOptions& options) override {
    std::vector<std::string> sources;
    for (const ObjectPart& part : parts)
      sources.push_back(part.tag);
    for (int round = 1; sources.size() > kComposeMost; ++round) {
      TRY_ASSIGN(sources, join(sources, fmt::format("{}join-{}-", upload, round)));
    }
    const Status done = compose(key, sources, options);
    // The answer to an earlier try may have been lost: then it is there, and so are the bytes that were to be.
    const bool may_be_ours = !done.ok() && !options.sha256.empty() &&
                             (done.error().code == ErrorCode::kConflict || done.error().code == ErrorCode::kNotFound);
    if (may_be_ours)
      if (const auto there = head(key); there.ok() && there->sha256 == options.sha256) {
        abort_upload(key, upload);
        return {};
      }
    // What another writer's object kept from appearing is of no use to anybody.
    if (done.ok() || done.error().code == ErrorCode::kConflict) abort_upload(key, upload);
    return done;
  }

  void abort_upload(const std::string& /*key*/, const std::string& upload) override {
    const auto all = list_all(upload);
    if (!all.ok()) return;
    for (const GcsObject& object : *all)
      (void)remove(object.info.key);
  }

  Result<std::vector<UnfinishedUpload>> unfinished_uploads(const std::string& prefix) override {
    TRY_ASSIGN(const std::vector<GcsObject> all, list_all(prefix));
    std::vector<UnfinishedUpload> uploads;
    for (const GcsObject& object : all) {
      const size_t mark = object.info.key.rfind(kPartsMark);
      const size_t slash = mark == std::string::npos ? mark : object.info.key.find('/', mark);
      if (slash == std::string::npos) continue;
      const std::string id = object.info.key.substr(0, slash + 1);
      if (uploads.empty() || uploads.back().id != id) uploads.push_back({.key = id.substr(0, mark), .id = id});
    }
    return uploads;
  }

 private:
  struct GcsCall {
    std::string method = "GET";
    std::string path;
    std::string what;  ///< the key, for messages
    std::vector<HttpField> query, headers;
    std::string body, content_type;
  };

  static HttpOptions http_options(const ObjectStoreOptions& options) {
    HttpOptions http = storage_http_options();
    http.send_bytes_per_second = options.send_bytes_per_second;
    return http;
  }

  [[nodiscard]] std::string objects_path() const { return "/storage/v1/b/" + escape_url(url_.bucket) + "/o"; }
  [[nodiscard]] std::string object_path(const std::string& key) const { return objects_path() + "/" + escape_url(key); }

  [[nodiscard]] std::vector<HttpField> conditions(const PutOptions& options) const {
    std::vector<HttpField> query;
    if (options.if_there == IfThere::kRefuse) query.emplace_back("ifGenerationMatch", "0");
    return query;
  }

  [[nodiscard]] static GcsJson notes_of(const PutOptions& options) {
    GcsJson json = {{"contentType", "application/octet-stream"}};
    if (!options.sha256.empty()) json["metadata"] = {{"stint-sha256", options.sha256}};
    return json;
  }

  /// One request with the object's description and its bytes (multipart/related); what arrives must have this MD5.
  Result<HttpResponse> upload(const std::string& key, std::string bytes, const PutOptions& options) {
    GcsJson description = notes_of(options);
    description["name"] = key;
    description["md5Hash"] = digest_of_part(bytes);
    const std::string edge = "stint-" + random_hex(16);
    GcsCall call{.method = "POST",
                 .path = "/upload" + objects_path(),
                 .what = key,
                 .query = conditions(options),
                 .body = fmt::format("--{}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{}\r\n--{}\r\n"
                                     "Content-Type: application/octet-stream\r\n\r\n",
                                     edge, text_of(description), edge),
                 .content_type = "multipart/related; boundary=" + edge};
    call.query.emplace_back("uploadType", "multipart");
    if (!options_.encryption_key.empty()) call.query.emplace_back("kmsKeyName", options_.encryption_key);
    call.body += bytes;
    bytes.clear();
    call.body += "\r\n--" + edge + "--\r\n";
    return send(call);
  }

  Status compose(const std::string& key, const std::vector<std::string>& sources, const PutOptions& options) {
    GcsJson body = {{"destination", notes_of(options)}, {"sourceObjects", GcsJson::array()}};
    for (const std::string& source : sources)
      body["sourceObjects"].push_back({{"name", source}});
    GcsCall call{.method = "POST",
                 .path = object_path(key) + "/compose",
                 .what = key,
                 .query = conditions(options),
                 .body = text_of(body),
                 .content_type = "application/json"};
    if (!options_.encryption_key.empty()) call.query.emplace_back("kmsKeyName", options_.encryption_key);
    TRY(send(call));
    return {};
  }

  Result<std::vector<std::string>> join(const std::vector<std::string>& sources, const std::string& prefix) {
    std::vector<std::string> joined;
    for (size_t at = 0; at < sources.size(); at += kComposeMost) {
      const auto first = sources.begin() + static_cast<ptrdiff_t>(at);
      const auto last = first + static_cast<ptrdiff_t>(std::min(kComposeMost, sources.size() - at));
      joined.push_back(fmt::format("{}{:06}", prefix, joined.size() + 1));
      TRY(compose(joined.back(), std::vector<std::string>(first, last), {}));
    }
    return joined;
  }

  Result<std::vector<GcsObject>> list_all(const std::string& prefix) {
    std::vector<GcsObject> all;
    for (std::string next;;) {
      GcsCall call{.path = objects_path(), .what = prefix, .query = {{"prefix", prefix}, {"fields", kListFields}}};
      if (!next.empty()) call.query.emplace_back("pageToken", next);
      TRY_ASSIGN(const HttpResponse response, send(call));
      TRY_ASSIGN(GcsListing page, parse_gcs_listing(response.body));
      std::move(page.objects.begin(), page.objects.end(), std::back_inserter(all));
      if (page.next.empty()) return all;
      next = std::move(page.next);
    }
  }

  static std::string text_of(const GcsJson& json) { return json.dump(-1, ' ', false, GcsJson::error_handler_t::replace); }

  Result<HttpResponse> send(const GcsCall& call) {
    std::string url = base_ + call.path;
    for (size_t i = 0; i < call.query.size(); ++i)
      url += (i == 0 ? "?" : "&") + escape_url(call.query[i].first) + "=" + escape_url(call.query[i].second);
    std::string source = "no credentials";
    const CloudRequest request{
        .what = name() + call.what,
        .prepare = [&](const CloudAttempt& attempt) -> Result<HttpCall> {
          HttpCall sent{
              .method = call.method, .url = url, .headers = call.headers, .body = call.body, .content_type = call.content_type};
          if (!tokens_) return sent;
          TRY_ASSIGN(const BearerToken token,
                     tokens_->get(attempt.renew ? TokenKeeper::Renew::kNow : TokenKeeper::Renew::kWhenOld));
          source = token.source;
          sent.headers.emplace_back("Authorization", "Bearer " + token.token);
          return sent;
        },
        .judge = [](const HttpResponse& r) -> std::optional<CloudFault> {
          if (r.status / 100 == 2) return std::nullopt;
          return parse_gcs_error(r.status, r.body);
        },
        .remedy =
            [&](CloudFailure failure) {
              last_failure_ = failure;
              return remedy(failure, source);
            }};
    return http_.send(request);
  }

  [[nodiscard]] static std::string remedy(CloudFailure failure, const std::string& source) {
    switch (failure) {
      case CloudFailure::kCredential: return fmt::format("the token comes from {}: check it, and the clock", source);
      case CloudFailure::kForbidden:
        return fmt::format("the token comes from {}: give it storage.objects.create, get, list and delete there", source);
      case CloudFailure::kNetwork: return "check the network, and STORAGE_EMULATOR_HOST where it is set";
      default: return "";
    }
  }

  ObjectUrl url_;
  ObjectStoreOptions options_;
  std::string base_;
  std::unique_ptr<TokenKeeper> tokens_;  ///< none: an emulator, which asks for none
  CloudHttp http_;
  std::atomic<CloudFailure> last_failure_ = CloudFailure::kServer;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_gcs_store(const ObjectUrl& url, const ObjectStoreOptions& options) {
  // As Google's own libraries: an emulator is asked without a token.
  std::string emulator = options.environment("STORAGE_EMULATOR_HOST");
  while (emulator.ends_with('/'))
    emulator.pop_back();
  if (!emulator.empty() && emulator.find("://") == std::string::npos) emulator = "http://" + emulator;
  if (!emulator.empty() && !emulator.starts_with("http://") && !emulator.starts_with("https://"))
    return invalid("STORAGE_EMULATOR_HOST '{}': give an address such as http://127.0.0.1:4443", excerpt(emulator));
  const bool is_emulator = !emulator.empty();
  return std::unique_ptr<ObjectStore>(
      std::make_unique<GcsStore>(url, options, is_emulator ? std::move(emulator) : std::string(kGoogleStorage), is_emulator));
}

}  // namespace stint
