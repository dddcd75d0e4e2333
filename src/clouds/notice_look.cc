#include "clouds/notice_look.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "host/clock.h"

namespace stint {
namespace {

constexpr std::string_view kAzureEvents = "/metadata/scheduledevents?api-version=2020-07-01";
constexpr int kGoogleWaitSeconds = 10;

Error no_sense(const std::string& url, const HttpResponse& response) {
  return make_error(ErrorCode::kUnavailable, "{}: HTTP {}", url.substr(0, url.find('?')), response.status);
}

/// By the provider's clock, where its answer tells it.
SeenNotice seen(CloudNotice notice, const HttpResponse& response) {
  const std::string* date = response.header("date");
  const auto theirs = date == nullptr ? std::nullopt : parse_http_date(*date);
  const Duration left = time_left(notice, theirs.value_or(now()));
  return {std::move(notice), left};
}

/// IMDSv2: a token first, renewed when it is refused.
class AwsLook final : public NoticeLook {
 public:
  explicit AwsLook(std::string address) : address_(std::move(address)), http_(metadata_http_options()) {}
  [[nodiscard]] Duration pause() const override { return Duration::seconds(5); }

  Result<SeenNotice> look() override {
    TRY_ASSIGN(auto found, ask("/latest/meta-data/spot/instance-action", parse_aws_instance_action));
    if (found) return *found;
    TRY_ASSIGN(found, ask("/latest/meta-data/events/recommendations/rebalance", parse_aws_rebalance));
    return found.value_or(SeenNotice{});
  }

 private:
  /// none = 404: there is no such notice.
  Result<std::optional<SeenNotice>> ask(const std::string& path, Result<CloudNotice> (*parse)(std::string_view)) {
    for (bool renewed = false;;) {
      if (token_.empty()) TRY(get_token());
      const HttpCall call{.url = address_ + path, .headers = {{"X-aws-ec2-metadata-token", token_}}};
      TRY_ASSIGN(const HttpResponse response, http_.send(call));
      if (response.status == 404) return std::optional<SeenNotice>();
      if (response.status == 401 && !std::exchange(renewed, true)) {
        token_.clear();
        continue;
      }
      if (response.status != 200) return no_sense(call.url, response);
      TRY_ASSIGN(CloudNotice notice, parse(response.body));
      return std::optional(seen(std::move(notice), response));
    }
  }

  Status get_token() {
    const HttpCall call{.method = "PUT",
                        .url = address_ + "/latest/api/token",
                        .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}},
                        .content_type = ""};
    TRY_ASSIGN(const HttpResponse response, http_.send(call));
    const std::string token(trim(response.body));
    if (response.status != 200 || token.empty() || token.find_first_of("\r\n") != std::string::npos)
      return no_sense(call.url, response);
    token_ = token;
    return {};
  }

  std::string address_;
  HttpClient http_;
  std::string token_;
};

HttpOptions waiting_options(Duration timeout) {
  HttpOptions options = metadata_http_options();
  options.timeout = timeout;
  return options;
}

/// The first look tells what is; the next wait until it changes.
class GoogleLook final : public NoticeLook {
 public:
  explicit GoogleLook(std::string address)
      : address_(std::move(address)), http_(waiting_options(Duration::seconds(kGoogleWaitSeconds + 5))) {}
  [[nodiscard]] Duration pause() const override { return Duration::seconds(1); }

  Result<SeenNotice> look() override {
    std::string query;
    if (!etag_.empty())
      query = fmt::format("?wait_for_change=true&timeout_sec={}&last_etag={}", kGoogleWaitSeconds, escape_url(etag_));
    etag_.clear();  // after a failure what is now is asked for
    TRY_ASSIGN(const HttpResponse preempted, ask("preempted" + query));
    TRY_ASSIGN(CloudNotice notice, parse_google_preempted(preempted.body));
    if (const std::string* etag = preempted.header("etag")) etag_ = *etag;
    if (notice.kind != CloudNoticeKind::kNone) return seen(std::move(notice), preempted);
    TRY_ASSIGN(const HttpResponse maintenance, ask("maintenance-event"));
    TRY_ASSIGN(notice, parse_google_maintenance(maintenance.body));
    return seen(std::move(notice), maintenance);
  }

 private:
  Result<HttpResponse> ask(const std::string& what) {
    const HttpCall call{.url = address_ + "/computeMetadata/v1/instance/" + what, .headers = {{"Metadata-Flavor", "Google"}}};
    TRY_ASSIGN(HttpResponse response, http_.send(call));
    // Whatever else answers there is not Google's.
    const std::string* flavor = response.header("metadata-flavor");
    if (response.status != 200 || flavor == nullptr || *flavor != "Google") return no_sense(call.url, response);
    return response;
  }

  std::string address_;
  HttpClient http_;
  std::string etag_;
};

/// The first request turns Scheduled Events on, and may take two minutes: it is asked again meanwhile.
class AzureLook final : public NoticeLook {
 public:
  explicit AzureLook(std::string address) : address_(std::move(address)), http_(waiting_options(Duration::seconds(15))) {}
  [[nodiscard]] Duration pause() const override { return Duration::seconds(1); }

  Result<SeenNotice> look() override {
    if (machine_.empty()) {
      TRY_ASSIGN(const HttpResponse name, ask("/metadata/instance/compute/name?api-version=2021-02-01&format=text"));
      machine_ = trim(name.body);
      if (machine_.empty()) return no_sense(address_ + "/metadata/instance/compute/name", name);
    }
    TRY_ASSIGN(const HttpResponse response, ask(std::string(kAzureEvents)));
    TRY_ASSIGN(CloudNotice notice, parse_azure_events(response.body, machine_));
    return seen(std::move(notice), response);
  }

 private:
  Result<HttpResponse> ask(const std::string& path) {
    const HttpCall call{.url = address_ + path, .headers = {{"Metadata", "true"}}};
    TRY_ASSIGN(HttpResponse response, http_.send(call));
    if (response.status != 200) return no_sense(call.url, response);
    return response;
  }

  std::string address_;
  HttpClient http_;
  std::string machine_;
};

}  // namespace

Result<std::unique_ptr<NoticeLook>> open_notice_look(CloudProvider provider, const Environment& environment) {
  TRY_ASSIGN(std::string address, metadata_address(provider, environment));
  switch (provider) {
    case CloudProvider::kAws: return std::unique_ptr<NoticeLook>(std::make_unique<AwsLook>(std::move(address)));
    case CloudProvider::kGoogle: return std::unique_ptr<NoticeLook>(std::make_unique<GoogleLook>(std::move(address)));
    case CloudProvider::kAzure: return std::unique_ptr<NoticeLook>(std::make_unique<AzureLook>(std::move(address)));
  }
  return invalid("no such cloud");
}

Status acknowledge_azure_notice(const std::string& id, const Environment& environment) {
  TRY_ASSIGN(const std::string address, metadata_address(CloudProvider::kAzure, environment));
  HttpClient http(metadata_http_options());
  const nlohmann::json body = {{"StartRequests", {{{"EventId", id}}}}};
  const HttpCall call{.method = "POST",
                      .url = address + std::string(kAzureEvents),
                      .headers = {{"Metadata", "true"}},
                      .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  TRY_ASSIGN(const HttpResponse response, http.send(call));
  return response.status == 200 ? Status() : Status(no_sense(call.url, response));
}

}  // namespace stint
