// What the GPUs do, over the API.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/json_values.h"
#include "daemon/live/live_metrics.h"
#include "daemon/live/live_telemetry.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json holder_json(const LiveHolder& holder) {
  return {{"job", public_id(holder.client, holder.number, holder.array_index)},
          {"attempt", holder.attempt},
          {"task", holder.task},
          {"gpu_milli", holder.gpu_milli},
          {"mig_profile", holder.mig_profile},
          {"name", holder.name},
          {"queue", holder.queue},
          {"client", holder.client},
          {"user", holder.user},
          {"kind", name_of(holder.kind)},
          {"since", format_utc(holder.since)}};
}

/// What a job that holds some GPU is called.
std::string job_name(const LiveSnapshot& live, int64_t job) {
  for (const LiveGpu& gpu : live.gpus)
    for (const LiveHolder& holder : gpu.holders)
      if (holder.job == job) return public_id(holder.client, holder.number, holder.array_index);
  return "unknown";  // it ends just now
}

Json process_json(const LiveProcess& process, const LiveSnapshot& live) {
  return {{"pid", process.pid},
          {"command", process.command},
          {"memory_used_bytes", process.memory_used ? Json(process.memory_used->count()) : Json()},
          {"job", process.job > 0 ? Json(job_name(live, process.job)) : Json()},
          {"task", process.job > 0 ? Json(process.task) : Json()},
          {"account", process.account.empty() ? Json() : Json(process.account)}};
}

Json gpu_json(const LiveGpu& gpu, const LiveSnapshot& live) {
  Json values = Json::object();
  for (size_t m = 0; m < kMetricCount; ++m)
    if (gpu.latest[m]) values[std::string(info_of(static_cast<Metric>(m)).name)] = gpu.latest[m]->value;
  Json json = {{"id", id_of(gpu.device)},
               {"node", gpu.device.node},
               {"index", gpu.device.index >= 0 ? Json(gpu.device.index) : Json()},
               {"uuid", gpu.device.uuid},
               {"model", gpu.device.model},
               {"mig_profile", gpu.device.mig_profile},
               {"memory_bytes", gpu.memory.count()},
               {"source", gpu.source},
               {"simulated", gpu.simulated},
               {"seen", time_or_null(gpu.seen)},
               {"values", std::move(values)},
               {"held_back", gpu.held_back.empty() ? Json() : Json(gpu.held_back)},
               {"holders", Json::array()},
               {"processes", gpu.processes_seen ? Json::array() : Json()}};
  for (const LiveHolder& holder : gpu.holders)
    json["holders"].push_back(holder_json(holder));
  for (const LiveProcess& process : gpu.processes)
    json["processes"].push_back(process_json(process, live));
  return json;
}

Json source_json(const LiveSource& source) {
  return {{"kind", name_of(source.kind)},
          {"name", source.name},
          {"ok", source.ok()},
          {"succeeded", time_or_null(source.succeeded)},
          {"failed", time_or_null(source.failed)},
          {"error", source.error},
          {"samples", source.samples},
          {"refused", source.refused},
          {"refusal", source.refusal}};
}

/// What has not been reported for a minute is not of now.
Json services_json(const LiveSnapshot& live, Instant now) {
  auto list = Json::array();
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  for (const LiveService& service : live.services)
    if (service.seen + LiveTelemetry::kStale >= now)
      list.push_back({{"service", service.figures.service},
                      {"servers", service.servers},
                      {"seen", format_utc(service.seen)},
                      {"requests_per_second", number(service.figures.per_second)},
                      {"p99_ms", number(service.figures.p99_ms)},
                      {"promise_headroom", number(service.figures.headroom)}});
  return list;
}

Json history_json(const LiveHistoryState& history) {
  return {{"path", history.path},
          {"written", time_or_null(history.written)},
          {"error", history.failed && (!history.written || *history.written < *history.failed) ? history.error : ""},
          {"waiting", history.waiting},
          {"dropped", history.dropped}};
}

LiveSnapshot snapshot_of(const ApiContext& api) {
  return api.options.telemetry == nullptr ? LiveSnapshot() : api.options.telemetry->snapshot();
}

}  // namespace

void api_gpus(const ApiContext& api, const Call& call) {
  const LiveSnapshot live = snapshot_of(api);
  const bool all = call->who.may_everywhere(Permission::kSeeJobs);
  Json json = {{"now", format_utc(call->at)}, {"gpus", Json::array()}, {"sources", Json::array()},
               {"services", Json::array()},   {"history", Json()},     {"last_event", all ? Json(live.last_event) : Json()}};
  for (const LiveGpu& gpu : live.gpus)
    json["gpus"].push_back(gpu_json(shown_to(call->who, gpu, call->at), live));
  if (all) {
    for (const LiveSource& source : live.sources)
      json["sources"].push_back(source_json(source));
    json["services"] = services_json(live, call->at);
    if (live.history) json["history"] = history_json(*live.history);
  }
  api.answer(call, 200, json);
}

/// Of a GPU that others hold there are none.
void api_gpu_minutes(const ApiContext& api, const Call& call) {
  const LiveSnapshot live = snapshot_of(api);
  const auto gpu = std::ranges::find(live.gpus, call->names[0], [](const LiveGpu& g) { return id_of(g.device); });
  if (gpu == live.gpus.end())
    return api.answer(call, make_error(ErrorCode::kNotFound, "no GPU '{}': /v1/gpus lists them", excerpt(call->names[0])));
  const std::string* name = call->request.parts.parameter("metric");
  const std::optional<Metric> metric = name == nullptr ? std::nullopt : metric_from_name(*name);
  if (name != nullptr && !metric) return api.answer(call, invalid("metric: there is none called '{}'", excerpt(*name)));
  Instant from = call->at - kHour;
  if (const std::string* text = call->request.parts.parameter("from")) {
    const Result<Instant> parsed = parse_instant(*text);
    if (!parsed.ok()) return api.answer(call, invalid("from: {}", parsed.error().message));
    from = *parsed;
  }
  const GpuSight sight = sight_of(call->who, *gpu);
  if (sight == GpuSight::kOwn) from = std::max(from, seen_since(*gpu));
  Json minutes = Json::array();
  if (sight != GpuSight::kPlace)
    for (const LiveMinute& minute :
         api.options.telemetry->minutes_of(static_cast<size_t>(gpu - live.gpus.begin()), from, call->at))
      if (!metric || minute.metric == *metric)
        minutes.push_back({{"metric", info_of(minute.metric).name},
                           {"begin", format_utc(minute.begin)},
                           {"mean", minute.mean},
                           {"max", minute.max},
                           {"samples", minute.samples}});
  api.answer(call, 200, {{"gpu", call->names[0]}, {"minutes", std::move(minutes)}});
}

}  // namespace stint
