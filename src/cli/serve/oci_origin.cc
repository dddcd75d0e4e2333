#include "cli/serve/oci_origin.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "cli/serve/proven_download.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr size_t kMostManifest = size_t{8} << 20;
constexpr int kMostRedirects = 5;
constexpr const char* kManifests = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";

bool is_redirect(int status) { return status == 301 || status == 302 || status == 303 || status == 307 || status == 308; }

class OciOrigin final : public ModelOrigin {
 public:
  OciOrigin(OciPlace place, std::string token)
      : place_(std::move(place)),
        base_(fmt::format("{}://{}/v2/{}", is_this_machine(place_.host) ? "http" : "https", place_.host, place_.repository)),
        name_(fmt::format("oci://{}/{}", place_.host, place_.repository)),
        secret_(std::move(token)),
        client_({.stall_timeout = Duration::seconds(60), .max_body_bytes = kMostManifest, .bytes = HttpBytes::kVerbatim}) {
    if (!secret_.empty() && secret_.find(':') == std::string::npos) bearer_ = secret_;
  }

  Result<std::string> sums() override {
    const std::string url = base_ + "/manifests/" + place_.reference;
    const auto ask = [&] { return client_.send({.url = url, .headers = headers({{"Accept", kManifests}}), .body = ""}); };
    TRY_ASSIGN(HttpResponse answer, ask());
    if (answer.status == 401) {
      TRY(authenticate(answer));
      TRY_ASSIGN(answer, ask());
    }
    if (answer.status != 200) return refused(place_.reference, answer.status);
    constexpr std::string_view kSha256 = "sha256:";
    if (place_.reference.starts_with(kSha256) && sha256_hex(answer.body) != place_.reference.substr(kSha256.size()))
      return invalid("{}@{}: the registry answered with another manifest", name_, place_.reference);
    TRY_ASSIGN(const ModelSums files, read_oci_manifest(answer.body, name_ + ":" + place_.reference));
    return write_model_sums(files);
  }

  Status fetch(const std::string& path, const std::string& sha256, const std::string& to) override {
    const ProvenFile file{.sha256 = sha256, .named_by = "the manifest", .to = to};
    const HttpCall blob{.url = base_ + "/blobs/sha256:" + sha256};
    const auto ask = [&] {
      HttpCall call = blob;
      call.headers = headers({});
      return fetch_proven(client_, call, file);
    };
    TRY_ASSIGN(HttpResponse answer, ask());
    if (answer.status == 401) {
      TRY(authenticate(answer));
      TRY_ASSIGN(answer, ask());
    }
    for (int redirects = 0; is_redirect(answer.status) && redirects < kMostRedirects; ++redirects) {
      TRY_ASSIGN(const std::string next, target_of(answer, path));
      TRY_ASSIGN(answer, fetch_proven(client_, {.url = next}, file));  // where it leads the registry's secrets are not sent
    }
    if (answer.status != 200) return refused(path, answer.status);
    return {};
  }

 private:
  [[nodiscard]] std::vector<HttpField> headers(std::vector<HttpField> more) const {
    if (!bearer_.empty()) more.emplace_back("Authorization", "Bearer " + bearer_);
    return more;
  }

  /// A token for this repository, from where the registry says.
  Status authenticate(const HttpResponse& answer) {
    const std::string* header = answer.header("www-authenticate");
    if (header == nullptr) return refused(place_.reference, answer.status);
    TRY_ASSIGN(const OciChallenge challenge, read_oci_challenge(*header, name_));
    TRY(check_address(challenge.realm, "its tokens"));
    std::string url = challenge.realm + (challenge.realm.find('?') == std::string::npos ? "?" : "&") + "scope=" +
                      escape_url(challenge.scope.empty() ? "repository:" + place_.repository + ":pull" : challenge.scope);
    if (!challenge.service.empty()) url += "&service=" + escape_url(challenge.service);
    HttpOptions options{.max_body_bytes = kMostManifest};
    if (const size_t colon = secret_.find(':'); colon != std::string::npos)
      options.credentials = {.bearer_token = "", .user = secret_.substr(0, colon), .password = secret_.substr(colon + 1)};
    TRY_ASSIGN(const HttpResponse token, HttpClient(options).get(url));
    if (token.status != 200)
      return make_error(ErrorCode::kUnavailable,
                        "{}: no token from {}: status {}: give USER:PASSWORD of the registry in the file of --models-token-file",
                        name_, challenge.realm, token.status);
    TRY_ASSIGN(bearer_, read_oci_token(token.body, challenge.realm));
    return {};
  }

  [[nodiscard]] Result<std::string> target_of(const HttpResponse& answer, const std::string& path) const {
    const std::string* location = answer.header("location");
    if (location == nullptr) return refused(path, answer.status);
    const std::string url = location->starts_with('/') ? base_.substr(0, base_.find("/v2/")) + *location : *location;
    TRY(check_address(url, path));
    return url;
  }

  /// Without TLS only on this machine, and only for a registry that is on it.
  [[nodiscard]] Status check_address(const std::string& url, const std::string& what) const {
    constexpr std::string_view kUnencrypted = "http://";
    const bool is_local =
        url.starts_with(kUnencrypted) && is_this_machine(place_.host) &&
        is_this_machine(url.substr(kUnencrypted.size(), url.find_first_of("/?", kUnencrypted.size()) - kUnencrypted.size()));
    if (is_local || url.starts_with("https://")) return {};
    return invalid("{}: the registry sends to {} for {}, which is not behind TLS", name_, excerpt(url), what);
  }

  [[nodiscard]] Error refused(std::string_view what, int status) const {
    const char* remedy =
        status == 401 || status == 403 ? ": give a token, or USER:PASSWORD, in the file of --models-token-file" : "";
    return make_error(status == 404 ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}: {}: status {}{}", name_, what, status,
                      remedy);
  }

  const OciPlace place_;
  const std::string base_, name_, secret_;
  std::string bearer_;
  HttpClient client_;
};

}  // namespace

std::unique_ptr<ModelOrigin> open_oci_origin(OciPlace place, std::string token) {
  return std::make_unique<OciOrigin>(std::move(place), std::move(token));
}

}  // namespace stint
