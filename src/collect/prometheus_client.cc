#include "collect/prometheus_client.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "codec/metrics/label_mapping.h"
#include "host/file.h"

namespace stint {
namespace {

using Json = nlohmann::json;

/// The server refuses more points per series in one answer.
constexpr int64_t kMaxPoints = 11'000;
/// Windows are sized for answers of about this many bytes.
constexpr double kWantedAnswerBytes = 16e6;
/// Before the first answer tells how large they are.
constexpr int64_t kFirstPoints = 60;

/// Every metric Stint knows has a name like these; the server then says which it has.
constexpr std::string_view kNamePattern =
    R"({__name__=~"(?i:dcgm_.*)|nvidia_smi_.*|stint_.*|instance:node_cpu_utilisation:rate5m"})";

/// What the answer says went wrong: Prometheus' own words where there are any.
std::string error_text(const HttpResponse& response) {
  const Json json = Json::parse(response.body, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_string()) return json["error"].get<std::string>();
  return excerpt(response.body, 200);
}

bool worth_another_try(int status) { return status == 408 || status == 429 || status == 502 || status == 503 || status == 504; }

Error refused(const std::string& url, const HttpResponse& response) {
  const std::string said = error_text(response);
  switch (response.status) {
    case 401:
    case 403:
      return make_error(ErrorCode::kUnavailable, "{}: the server refuses access (HTTP {}): give --token-file or --user ({})", url,
                        response.status, said);
    case 404:
      return make_error(ErrorCode::kUnavailable, "{}: no Prometheus API here (HTTP 404): check the address and its path prefix",
                        url);
    default:
      if (response.status >= 300 && response.status < 400)
        return make_error(ErrorCode::kUnavailable, "{}: the server sends elsewhere (HTTP {}): give the final address", url,
                          response.status);
      return make_error(ErrorCode::kUnavailable, "{}: HTTP {}: {}", url, response.status, said);
  }
}

std::string seconds_text(Instant t) { return fmt::format("{}", t.seconds()); }

class Reader {
 public:
  Reader(const PrometheusImport& import, Sink& sink, const ImportProgress& progress)
      : import_(import), sink_(sink), progress_(progress), client_(import.http), base_(import.url) {
    while (base_.ends_with('/'))
      base_.pop_back();
  }

  Status read_all(Interval window) {
    TRY_ASSIGN(const std::vector<std::string> names, metric_names(window));
    if (names.empty())
      return make_error(
          ErrorCode::kNotFound,
          "{}: the server has no GPU metric in this time: check that it scrapes DCGM exporter or nvidia_gpu_exporter, and "
          "the window {} to {}",
          base_, format_utc(window.begin), format_utc(window.end));
    for (size_t i = 0; i < names.size(); ++i) {
      TRY(read_metric(names[i], window, [&](Instant at) {
        if (progress_)
          progress_(static_cast<int64_t>(i) * window.length().whole_seconds() + (at - window.begin).whole_seconds(),
                    static_cast<int64_t>(names.size()) * window.length().whole_seconds());
      }));
    }
    return {};
  }

 private:
  /// Asks again, a few times and ever later, where a server is busy or out of reach.
  template <typename Request>
  Result<HttpResponse> with_retries(const Request& request) {
    Duration pause = import_.first_retry_after;
    for (int attempt = 1;; ++attempt) {
      Result<HttpResponse> response = request();
      const bool again = response.ok() ? worth_another_try(response->status) : response.error().code == ErrorCode::kUnavailable;
      if (!again || attempt == kPrometheusAttempts) return response;
      std::this_thread::sleep_for(std::chrono::nanoseconds(pause.count_ns()));
      pause = pause * 2;
    }
  }

  Result<std::vector<std::string>> metric_names(Interval window) {
    const std::string path = "/api/v1/label/__name__/values";
    const std::vector<HttpField> fields = {
        {"match[]", std::string(kNamePattern)}, {"start", seconds_text(window.begin)}, {"end", seconds_text(window.end)}};
    std::string query;
    for (const auto& [name, value] : fields)
      query += (query.empty() ? "?" : "&") + escape_url(name) + "=" + escape_url(value);
    // This endpoint takes GET only.
    TRY_ASSIGN(const HttpResponse response, with_retries([&] { return client_.get(base_ + path + query); }));
    if (response.status != 200) return refused(base_ + path, response);
    const Json json = Json::parse(response.body, nullptr, false);
    if (!json.is_object() || !json.contains("data") || !json["data"].is_array())
      return make_error(ErrorCode::kUnavailable, "{}: the answer is not Prometheus': check the address", base_ + path);
    std::vector<std::string> names;
    for (const Json& name : json["data"])
      if (name.is_string() && is_known(name.get<std::string>())) names.push_back(name.get<std::string>());
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] bool is_known(const std::string& name) const {
    const auto mapped = map_series(name, {}, import_.options);
    return !mapped.ok() || mapped->has_value();  // without labels a metric that is known cannot be placed
  }

  [[nodiscard]] std::vector<HttpField> query_fields(const std::string& name, Instant first, Instant last) const {
    return {{"query", fmt::format("{{__name__=\"{}\"}}", name)},
            {"start", seconds_text(first)},
            {"end", seconds_text(last)},
            {"step", fmt::format("{}", import_.step.whole_seconds())}};
  }

  template <typename OnWindow>
  Status read_metric(const std::string& name, Interval window, const OnWindow& on_window) {
    int64_t points = kFirstPoints;
    for (Instant at = window.begin; at < window.end;) {
      const int64_t left = ((window.end - at).count_ns() + import_.step.count_ns() - 1) / import_.step.count_ns();
      const int64_t asked = std::min(points, left);
      const Instant last = at + import_.step * (asked - 1);
      TRY_ASSIGN(const HttpResponse response,
                 with_retries([&] { return client_.post_form(base_ + "/api/v1/query_range", query_fields(name, at, last)); }));
      if (response.status != 200) {
        // Too much at a time for this server's limits: less, until a single point is too much.
        if (response.status == 422 && asked > 1) {
          points = asked / 2;
          continue;
        }
        return refused(base_ + "/api/v1/query_range", response);
      }
      ImportOptions options = import_.options;
      options.source = fmt::format("{} {} {}..{}", base_, name, format_utc(at), format_utc(last));
      const auto importer = make_prometheus_range_importer(options, sink_);
      TRY(importer->feed(response.body));
      TRY(importer->finish());
      const double bytes_per_point = std::max(1.0, static_cast<double>(response.body.size())) / static_cast<double>(asked);
      points =
          std::clamp(static_cast<int64_t>(kWantedAnswerBytes / bytes_per_point), int64_t{1}, std::min(kMaxPoints, asked * 16));
      at = last + import_.step;
      on_window(at);
    }
    return {};
  }

  const PrometheusImport& import_;
  Sink& sink_;
  const ImportProgress& progress_;
  HttpClient client_;
  std::string base_;
};

}  // namespace

Result<ImportOutcome> import_prometheus(HistoryFile& history, const PrometheusImport& import, Instant now,
                                        const ImportProgress& progress) {
  if (import.window.empty()) return invalid("the time to import is empty: --since must lie before --until");
  if (import.step < Duration::seconds(1) || import.step > kHour || import.step.count_ns() % 1'000'000'000 != 0)
    return invalid("a step of {} s: give whole seconds from 1s to 1h", import.step.to_seconds());
  const Interval window = {import.window.begin.hour_start(), import.window.end};
  PrometheusImport request = import;
  if (request.options.source.empty()) request.options.source = import.url;

  const std::string fingerprint =
      fingerprint_of_bytes(fmt::format("{} {} {} {}", import.url, window.begin.ns(), window.end.ns(), import.step.count_ns()));
  TRY_ASSIGN(const auto known, history.find_import("prometheus", fingerprint));
  if (known) return ImportOutcome{.record = *known, .already_there = true, .reach = {}, .first_rejections = {}};
  TRY_ASSIGN(const auto transaction, history.begin_import("prometheus", request.options.source, now));
  TRY(Reader(request, *transaction, progress).read_all(window));
  ImportOutcome outcome;
  TRY_ASSIGN(outcome.record, transaction->commit(fingerprint));
  outcome.reach = transaction->reach();
  outcome.first_rejections = transaction->first_rejections();
  return outcome;
}

}  // namespace stint
