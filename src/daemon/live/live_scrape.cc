// Addresses that are asked for metrics, and simulation.
#include <algorithm>
#include <cmath>

#include "base/prng.h"
#include "base/text.h"
#include "codec/importer.h"
#include "codec/metrics/service_figures.h"
#include "daemon/live/live_inputs.h"
#include "host/file.h"
#include "host/sealed.h"

namespace stint {
namespace {

constexpr size_t kMostMetricsBytes = size_t{64} << 20;
/// One that does not answer is asked less and less often.
constexpr Duration kLongestScrapePause = Duration::minutes(5);

/// The newest of what exporters tell. Nothing of Stint's own: a server that scrapes this daemon would tell it what it said.
constexpr std::string_view kQuery = R"({__name__=~"(?i:dcgm_.*)|nvidia_smi_.*|instance:node_cpu_utilisation:rate5m"})";

std::string without_slash(std::string url) {
  while (url.ends_with('/'))
    url.pop_back();
  return url;
}

/// "http://gpu-0:9400/metrics" → "gpu-0": what an exporter without a label for its machine is about.
std::string host_of(std::string_view url) {
  url.remove_prefix(std::min(url.find("://") + 3, url.size()));
  url = url.substr(0, url.find('/'));
  const size_t bracket = url.find(']');
  return std::string(bracket == std::string_view::npos ? url.substr(0, url.find(':')) : url.substr(0, bracket + 1));
}

}  // namespace

ScrapeInput::ScrapeInput(const LiveTarget& target, LiveSourceKind kind, ScrapeTarget address,
                         std::shared_ptr<const SealKey> secrets_key)
    : kind_(kind),
      address_(std::move(address)),
      secrets_key_(std::move(secrets_key)),
      target_(target),
      source_(target.telemetry.add_source(kind, address_.url)),
      sink_(target, source_, address_.node) {}

Duration ScrapeInput::look(Instant now) {
  const Status done = scrape(now);
  if (done.ok()) {
    failures_ = 0;
    target_.telemetry.source_succeeded(source_, now);
    return address_.every;
  }
  target_.telemetry.source_failed(source_, now, done.error().message);
  failures_ = std::min(failures_ + 1, 10);
  return std::min(kLongestScrapePause, address_.every * (int64_t{1} << (failures_ - 1)));
}

Status ScrapeInput::scrape(Instant now) {
  if (!client_) {
    HttpOptions options;
    options.connect_timeout = options.timeout = address_.timeout;
    options.max_body_bytes = kMostMetricsBytes;
    options.ca_file = address_.ca_file;
    TRY_ASSIGN(options.credentials.bearer_token, read_secret_file(address_.token_file, secrets_key_.get()));
    client_.emplace(std::move(options));
  }
  ImportOptions options;
  options.source = address_.url;
  options.node = address_.node.empty() ? host_of(address_.url) : address_.node;
  options.at = now;
  const bool server = kind_ == LiveSourceKind::kPrometheus;
  TRY_ASSIGN(const HttpResponse response,
             server ? client_->post_form(without_slash(address_.url) + "/api/v1/query", {{"query", std::string(kQuery)}})
                    : client_->get(address_.url));
  if (response.status != 200)
    return make_error(ErrorCode::kUnavailable, "{}: HTTP {}: {}", address_.url, response.status, excerpt(response.body, 120));
  const std::unique_ptr<Importer> importer =
      server ? make_prometheus_range_importer(options, sink_) : make_prometheus_text_importer(options, sink_);
  if (!server)
    for (const ServiceFigures& figures : read_service_figures(response.body))
      target_.telemetry.put_service(source_, now, figures);
  TRY(importer->feed(response.body));
  return importer->finish();
}

SimulatedInput::SimulatedInput(const LiveTarget& target)
    : target_(target),
      source_(target.telemetry.add_source(LiveSourceKind::kSimulated, "simulated GPUs")),
      sink_(target, source_) {}

Duration SimulatedInput::look(Instant now) {
  constexpr Duration kEvery = Duration::seconds(5);
  for (const LiveGpu& gpu : target_.telemetry.snapshot().gpus) {
    if (!target_.nodes.contains(gpu.device.node)) continue;
    double utilization = 0, memory = 0;
    for (const LiveHolder& holder : gpu.holders) {
      // Each job has its own level, 60 to 95 % of what it holds, and stays within 3 points of it.
      Prng level(static_cast<uint64_t>(holder.job));
      Prng wobble(static_cast<uint64_t>(holder.job) * 1'000'003 + static_cast<uint64_t>(now.seconds()) / 10);
      const double share = holder.gpu_milli / 1000.0;
      utilization += share * (60 + 35 * level.uniform() + 6 * wobble.uniform() - 3);
      memory += share * (0.4 + 0.5 * level.uniform());
    }
    const auto put = [&](Metric metric, double value) {
      const Sample sample{now, value};
      sink_.samples(sink_.series({.device = gpu.device, .holder = {}, .metric = metric}), {&sample, 1});
    };
    put(Metric::kUtilization, std::round(std::min(utilization, 100.0)));
    put(Metric::kTemperature, std::round(30 + 0.4 * std::min(utilization, 100.0)));
    if (gpu.memory.count() > 0) {
      const auto total = static_cast<double>(gpu.memory.count());
      put(Metric::kMemoryUsed, std::round(total * std::min(memory, 1.0)));
      put(Metric::kMemoryTotal, total);
    }
  }
  target_.telemetry.source_succeeded(source_, now);
  return kEvery;
}

}  // namespace stint
