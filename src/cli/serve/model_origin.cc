#include "cli/serve/model_origin.h"

#include <fmt/format.h>

#include "cli/serve/oci_origin.h"
#include "cli/serve/proven_download.h"
#include "clouds/object_transfer.h"
#include "codec/serving/model_sums.h"

namespace stint {
namespace {

constexpr size_t kMostSums = size_t{64} << 20;

class ObjectOrigin final : public ModelOrigin {
 public:
  ObjectOrigin(std::unique_ptr<ObjectStore> store, std::string folder) : store_(std::move(store)), folder_(std::move(folder)) {}
  Result<std::string> sums() override { return store_->get(folder_ + kModelSumsFile); }
  Status fetch(const std::string& path, const std::string& sha256, const std::string& to) override {
    TRY_ASSIGN(const ObjectInfo info, store_->head(folder_ + path));
    return fetch_file(*store_, folder_ + path, to, {.size = info.size, .sha256 = sha256});
  }

 private:
  const std::unique_ptr<ObjectStore> store_;
  const std::string folder_;  // "" or with a slash at its end
};

class HttpOrigin final : public ModelOrigin {
 public:
  /// @param base  with a slash at its end
  HttpOrigin(std::string base, const std::string& token)
      : base_(std::move(base)),
        client_({.credentials = {.bearer_token = token}, .max_body_bytes = kMostSums, .bytes = HttpBytes::kVerbatim}) {}
  Result<std::string> sums() override {
    TRY_ASSIGN(HttpResponse answer, client_.get(base_ + kModelSumsFile));
    if (answer.status != 200) return refused(kModelSumsFile, answer.status);
    return std::move(answer.body);
  }
  Status fetch(const std::string& path, const std::string& sha256, const std::string& to) override {
    TRY_ASSIGN(const HttpResponse answer,
               fetch_proven(client_, {.url = base_ + path}, {.sha256 = sha256, .named_by = kModelSumsFile, .to = to}));
    if (answer.status != 200) return refused(path, answer.status);
    return {};
  }

 private:
  [[nodiscard]] Error refused(std::string_view path, int status) const {
    return make_error(status == 404 ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}{}: status {}", base_, path, status);
  }
  const std::string base_;
  HttpClient client_;
};

constexpr std::string_view kHttp = "http://", kHttps = "https://", kOci = "oci://";

}  // namespace

bool is_this_machine(std::string_view host) {
  for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"})
    if (host.starts_with(name) && (host.size() == name.size() || host[name.size()] == ':')) return true;
  return false;
}

bool is_model_place(std::string_view text) {
  return is_object_url(text) || text.starts_with(kHttps) || text.starts_with(kHttp) || text.starts_with(kOci);
}

Result<std::unique_ptr<ModelOrigin>> open_model_origin(const std::string& place, const std::string& token) {
  if (place.starts_with(kOci)) {
    TRY_ASSIGN(OciPlace artifact, parse_oci_place(place));
    return open_oci_origin(std::move(artifact), token);
  }
  if (is_object_url(place)) {
    TRY_ASSIGN(const ObjectUrl url, parse_object_url(place));
    TRY_ASSIGN(std::unique_ptr<ObjectStore> store, open_object_store(url));
    return std::unique_ptr<ModelOrigin>(
        std::make_unique<ObjectOrigin>(std::move(store), url.key.empty() || url.key.ends_with('/') ? url.key : url.key + "/"));
  }
  if (place.starts_with(kHttp) && !is_this_machine(place.substr(kHttp.size(), place.find('/', kHttp.size()) - kHttp.size())))
    return invalid("{}: HTTP without TLS is for this machine alone: who is on the way could change models and their hashes",
                   place);
  return std::unique_ptr<ModelOrigin>(std::make_unique<HttpOrigin>(place.ends_with('/') ? place : place + "/", token));
}

}  // namespace stint
