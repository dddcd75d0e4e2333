#include "kubernetes/kube_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/importer.h"
#include "codec/kubernetes/kubernetes_stream.h"
#include "host/clock.h"

namespace stint {
namespace {

constexpr int kMostListRestarts = 5;
constexpr Duration kSilentFor =
    Duration::seconds(90);  ///< a watch: longer than it lasts, so that only a dead connection ends by it

/// A Status object, else the beginning of what was answered.
CloudFault fault_of(const HttpResponse& response) {
  CloudFault fault;
  const auto status = nlohmann::json::parse(response.body, nullptr, false);
  if (status.is_object() && status.value("kind", nlohmann::json()) == "Status") {
    const auto text = [&](const char* name) {
      const auto it = status.find(name);
      return it != status.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    fault.code = text("reason");
    fault.message = text("message");
    const auto causes = nlohmann::json::json_pointer("/details/causes");
    if (status.contains(causes) && status[causes].is_array())
      for (const auto& cause : status[causes])
        if (cause.is_object() && cause.value("message", nlohmann::json()).is_string())
          fault.message += fmt::format(" ({})", cause["message"].get<std::string>());
  } else {
    fault.message = excerpt(response.body, 200);
  }
  fault.failure = classify_failure(response.status, fault.code);
  return fault;
}

/// A disruption budget refuses by the status of a server that has too much to do, and says so among the causes.
/// Source: Kubernetes, "API-initiated Eviction".
bool answers_a_change(const HttpResponse& response) {
  switch (response.status) {
    case 404:
    case 409:
    case 410:
    case 422: return true;
    case 429: return response.body.find("\"DisruptionBudget\"") != std::string::npos;
    default: return false;
  }
}

std::string remedy_of(CloudFailure failure) {
  switch (failure) {
    case CloudFailure::kCredential: return "log in anew, or check the token of the kubeconfig";
    case CloudFailure::kForbidden: return "give this account a role that allows it (docs/kubernetes.md)";
    case CloudFailure::kNetwork: return "check the server's address and its certificate";
    default: return {};
  }
}

std::string accept_of(KubeView view) {
  return view == KubeView::kWhole ? "application/json"
                                  : "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
}
std::string accept_of_watch(KubeView view) {
  return view == KubeView::kWhole ? "application/json"
                                  : "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
}

HttpOptions watch_options(HttpOptions http) {
  http.timeout = kSilentFor;
  return http;
}

}  // namespace

KubeClient::KubeClient(std::shared_ptr<KubeIdentity> identity, KubeClientOptions options)
    : identity_(std::move(identity)),
      options_(std::move(options)),
      http_({.http = identity_->http(), .tries = options_.tries, .sleep = options_.sleep, .clock = {}, .draw = {}}) {}

Result<HttpResponse> KubeClient::send(HttpCall call, const std::string& what,
                                      std::function<bool(const HttpResponse&)> is_answer) {
  return http_.send({.what = what,
                     .prepare = [&](const CloudAttempt& attempt) -> Result<HttpCall> {
                       HttpCall signed_call = call;
                       TRY_ASSIGN(const std::string authorization, identity_->authorization(attempt.now, attempt.renew));
                       if (!authorization.empty()) signed_call.headers.emplace_back("Authorization", authorization);
                       return signed_call;
                     },
                     .judge = [&](const HttpResponse& response) -> std::optional<CloudFault> {
                       if (response.status >= 200 && response.status < 300) return std::nullopt;
                       if (is_answer && is_answer(response)) return std::nullopt;
                       return fault_of(response);
                     },
                     .remedy = remedy_of,
                     .move = {}});
}

Result<std::string> KubeClient::get(const std::string& path) {
  TRY_ASSIGN(HttpResponse response, send({.url = identity_->server() + path, .headers = {{"Accept", "application/json"}}}, path));
  return std::move(response.body);
}

Result<std::string> KubeClient::text(const std::string& path) {
  TRY_ASSIGN(HttpResponse response,
             send({.url = identity_->server() + path, .headers = {{"Accept", "*/*"}}}, path, [](const HttpResponse& answer) {
               return answer.status == 400 || answer.status == 404 || answer.status >= 500;
             }));
  if (response.status >= 200 && response.status < 300) return std::move(response.body);
  const CloudFault fault = fault_of(response);
  return make_error(response.status == 404   ? ErrorCode::kNotFound
                    : response.status == 400 ? ErrorCode::kInvalidInput
                                             : ErrorCode::kUnavailable,
                    "{}: {}", path.substr(0, path.find('?')), fault.message);
}

Result<KubeAnswer> KubeClient::change(const KubeChange& change) {
  TRY_ASSIGN(HttpResponse response, send({.method = change.method,
                                          .url = identity_->server() + change.path,
                                          .headers = {{"Accept", "application/json"}},
                                          .body = change.body,
                                          .content_type = change.body.empty() ? "" : change.content_type},
                                         change.path, answers_a_change));
  KubeAnswer answer{.status = response.status, .body = std::move(response.body), .message = {}};
  response.body = answer.body;
  if (!answer.ok()) answer.message = fault_of(response).message;
  return answer;
}

Result<std::string> KubeClient::list(const KubeList& what, const std::function<void()>& restart, const TakeObject& take) {
  for (int restarts = 0; restarts < kMostListRestarts; ++restarts) {
    restart();
    KubernetesStream stream(what.path, [&](std::string_view json, const std::string&) { take(json, what.kind); });
    bool expired = false;
    do {
      const std::string from = stream.next_page().empty() ? "" : "&continue=" + escape_url(stream.next_page());
      const std::string url = fmt::format("{}{}?limit={}{}{}", identity_->server(), what.path, options_.page, what.query, from);
      TRY_ASSIGN(const HttpResponse page, send({.url = url, .headers = {{"Accept", accept_of(what.view)}}}, what.path,
                                               [](const HttpResponse& response) { return response.status == 410; }));
      expired = page.status == 410;
      if (expired) break;
      TRY(stream.feed(page.body));
      TRY(stream.finish());
    } while (!stream.next_page().empty());
    if (!expired) return stream.version();
  }
  return make_error(ErrorCode::kUnavailable,
                    "{}: the server forgot the list {} times before it was read: it is too busy, try again later", what.path,
                    kMostListRestarts);
}

Result<KubeWatchEnd> KubeClient::watch(const KubeList& what, const std::string& version, const TakeLine& take) {
  TRY_ASSIGN(const std::string authorization, identity_->authorization(now(), false));
  HttpCall call{
      .url = fmt::format("{}{}?watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{}", identity_->server(),
                         what.path, escape_url(version), options_.watch_for.whole_seconds(), what.query),
      .headers = {{"Accept", accept_of_watch(what.view)}}};
  if (!authorization.empty()) call.headers.emplace_back("Authorization", authorization);
  std::string buffer;
  bool enough = false;
  HttpClient connection(watch_options(identity_->http()));
  const auto answer = connection.follow(call, [&](std::string_view piece) {
    buffer.append(piece);
    size_t begin = 0;
    for (size_t end = 0; !enough && (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1)
      enough = !take(std::string_view(buffer).substr(begin, end - begin));
    buffer.erase(0, begin);
    return !enough && buffer.size() <= kMaxRecordBytes;
  });
  if (enough) return KubeWatchEnd::kStopped;
  if (!answer.ok()) return KubeWatchEnd::kCut;
  if (answer->status == 200) return KubeWatchEnd::kServerEnded;
  if (answer->status == 410) return KubeWatchEnd::kExpired;
  const CloudFault fault = fault_of(*answer);
  if (worth_repeating(fault.failure)) return KubeWatchEnd::kCut;
  if (fault.failure == CloudFailure::kCredential) {  // once with new ones; should they be refused too, the next list says so
    TRY_ASSIGN(const std::string renewed, identity_->authorization(now(), true));
    (void)renewed;
    return KubeWatchEnd::kCut;
  }
  return make_error(error_code_of(fault.failure), "{}: {}: {}{}{}", what.path, name_of(fault.failure), fault.message,
                    remedy_of(fault.failure).empty() ? "" : ": ", remedy_of(fault.failure));
}

}  // namespace stint
