#include "daemon/live/live_metrics.h"

#include <algorithm>
#include <map>
#include <set>

#include "codec/metrics/metrics_text.h"
#include "codec/metrics/prometheus_metric.h"
#include "ledger/run_cost.h"

namespace stint {
namespace {

std::string gpu_labels(const DeviceKey& device) {
  const std::string index = device.index >= 0 ? std::to_string(device.index) : "";
  const std::string id = id_of(device);
  std::vector<std::pair<std::string_view, std::string_view>> labels = {{"Hostname", device.node}};
  if (!index.empty()) labels.emplace_back("gpu", index);
  labels.emplace_back("UUID", device.uuid.empty() ? id : device.uuid);
  labels.emplace_back("model_name", device.model);
  const std::string instance = std::to_string(device.mig_instance);
  if (device.mig_instance >= 0) {
    labels.emplace_back("GPU_I_ID", instance);
    labels.emplace_back("GPU_I_PROFILE", device.mig_profile);
  }
  return labels_text(labels);
}

std::string gpu_readings(const std::vector<LiveGpu>& gpus, Instant now) {
  std::string out;
  for (size_t m = 0; m < kMetricCount; ++m) {
    const auto metric = static_cast<Metric>(m);
    MetricText text(out, gauge_name(metric), "gauge", fmt::format("Newest reading, {}.", info_of(metric).unit));
    for (const LiveGpu& gpu : gpus)
      if (const auto& value = gpu.latest[m]) text.add(gpu_labels(gpu.device), value->value);
  }
  MetricText age(out, "stint_gpu_sample_age_seconds", "gauge", "Since the newest sample of any kind.");
  for (const LiveGpu& gpu : gpus)
    if (gpu.seen) age.add(gpu_labels(gpu.device), (now - *gpu.seen).to_seconds());
  MetricText simulated(out, "stint_gpu_simulated", "gauge", "1 when its readings are made up: there is no such GPU.");
  for (const LiveGpu& gpu : gpus)
    if (gpu.seen) simulated.add(gpu_labels(gpu.device), gpu.simulated ? 1 : 0);
  MetricText held(out, "stint_gpu_held_ratio", "gauge", "Part of it that jobs hold.");
  MetricText foreign(out, "stint_gpu_foreign_processes", "gauge",
                     "Processes that compute on it and belong to no job that holds it.");
  MetricText workload(out, "stint_gpu_workload", "gauge", "1 while it does that kind of work.");
  for (const LiveGpu& gpu : gpus) {
    double share = 0;
    for (const LiveHolder& holder : gpu.holders)
      share += holder.gpu_milli / 1000.0;
    held.add(gpu_labels(gpu.device), share);
  }
  for (const LiveGpu& gpu : gpus)
    if (gpu.processes_seen) foreign.add(gpu_labels(gpu.device), uninvited_processes(gpu));
  MetricText held_back(out, "stint_gpu_held_back", "gauge", "1 while no job begins on it: it is not clean of what another left.");
  for (const LiveGpu& gpu : gpus)
    if (!gpu.held_back.empty()) held_back.add(gpu_labels(gpu.device), 1);
  for (const LiveGpu& gpu : gpus) {
    std::set<std::string_view> kinds;
    for (const LiveHolder& holder : gpu.holders)
      kinds.insert(name_of(holder.kind));
    const std::string uuid = gpu.device.uuid.empty() ? id_of(gpu.device) : gpu.device.uuid;
    for (const std::string_view kind : kinds)
      workload.add(labels_text({{"UUID", uuid}, {"kind", kind}}), 1);
  }
  return out;
}

std::string node_metrics(const LiveMetricsInput& input) {
  std::string out;
  MetricText cost(out, "stint_cost_per_hour", "gauge",
                  "What a machine costs per hour, used or not; 0 while it is off and not paid for.");
  for (const NodeView& node : input.nodes) {
    const Money rate = rate_now(node).per_hour();
    cost.add(labels_text({{"node", node.name}, {"currency", rate.currency().code()}}), rate.to_decimal());
  }
  MetricText idle(out, "stint_idle_cost_per_hour", "gauge", "Of it what no job holds.");
  for (const NodeView& node : input.nodes) {
    const Rate rate = rate_now(node);
    const int64_t all = int64_t{node.gpus} * 1000;
    int64_t held = 0;
    for (const int64_t milli : node.gpu_milli_held)
      held += std::min<int64_t>(milli, 1000);
    if (all == 0) continue;
    idle.add(labels_text({{"node", node.name}, {"currency", rate.per_hour().currency().code()}}),
             cost_of_run(rate, all - held, all, kHour).to_decimal());
  }
  MetricText spot(out, "stint_node_spot", "gauge", "1 when it can be taken away.");
  for (const NodeView& node : input.nodes)
    spot.add(labels_text({{"node", node.name}}), node.market == Market::kSpot ? 1 : 0);
  MetricText lost(out, "stint_node_spot_interruptions_total", "counter", "How often a spot machine was gone, since the start.");
  for (const LiveNode& node : input.live.nodes)
    if (node.market == Market::kSpot) lost.add(labels_text({{"node", node.name}}), node.interruptions);
  MetricText cpu(out, "stint_host_cpu", "gauge", "Use of a machine's CPUs, %.");
  for (const LiveNode& node : input.live.nodes)
    if (const auto& value = node.latest[static_cast<size_t>(Metric::kHostCpu)]; value && input.now - value->at <= kLongestShown)
      cpu.add(labels_text({{"node", node.name}}), value->value);
  return out;
}

std::string source_metrics(const LiveSnapshot& live) {
  std::string out;
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, const auto& value) {
    MetricText text(out, name, type, help);
    for (const LiveSource& source : live.sources)
      if (const auto shown = value(source))
        text.add(labels_text({{"kind", name_of(source.kind)}, {"source", source.name}}), *shown);
  };
  using Some = std::optional<double>;
  each("stint_source_up", "gauge", "1 when the last look at it succeeded.",
       [](const LiveSource& s) { return Some(s.ok() ? 1 : 0); });
  each("stint_source_last_success_timestamp_seconds", "gauge", "When it last did.",
       [](const LiveSource& s) { return s.succeeded ? Some(static_cast<double>(s.succeeded->seconds())) : std::nullopt; });
  each("stint_source_samples_total", "counter", "Samples taken from it.",
       [](const LiveSource& s) { return Some(static_cast<double>(s.samples)); });
  each("stint_source_refused_total", "counter", "Samples not taken.",
       [](const LiveSource& s) { return Some(static_cast<double>(s.refused)); });
  if (!live.history) return out;
  MetricText(out, "stint_history_waiting_samples", "gauge", "Not written to the history yet.").add("", live.history->waiting);
  MetricText(out, "stint_history_dropped_samples_total", "counter", "Never written, because too many had to wait.")
      .add("", live.history->dropped);
  return out;
}

std::string job_metrics(const LiveMetricsInput& input) {
  std::string out;
  std::map<std::string, Money> by_client;
  for (const JobView& job : input.running) {
    const Money burn = job.burn.per_hour();
    const auto [it, fresh] = by_client.try_emplace(job.client, burn);
    if (!fresh) it->second += burn;
  }
  MetricText cost(out, "stint_client_cost_per_hour", "gauge", "What a client's running jobs cost per hour.");
  for (const auto& [client, money] : by_client)
    cost.add(labels_text({{"client", client}, {"currency", money.currency().code()}}), money.to_decimal());
  // A queue's view counts those below it: what is its own is the rest.
  std::map<std::string_view, std::pair<int64_t, int64_t>> own;
  for (const QueueView& queue : input.queues)
    own[queue.path] = {queue.waiting, queue.running};
  for (const QueueView& queue : input.queues)
    if (const auto parent = own.find(queue.parent); parent != own.end()) {
      parent->second.first -= queue.waiting;
      parent->second.second -= queue.running;
    }
  MetricText jobs(out, "stint_jobs", "gauge", "Jobs of the queue itself, those of queues below it not counted.");
  for (const auto& [queue, counts] : own) {
    jobs.add(labels_text({{"queue", queue}, {"state", "waiting"}}), counts.first);
    jobs.add(labels_text({{"queue", queue}, {"state", "running"}}), counts.second);
  }
  MetricText waits(out, "stint_job_wait_seconds", "histogram",
                   "From submission to the first start, of jobs started since the start.");
  for (const QueueView& queue : input.queues) {
    const auto found = input.live.waits.find(queue.path);
    if (found == input.live.waits.end()) continue;
    int64_t up_to = 0;
    for (size_t i = 0; i < LiveWaits::kUpToSeconds.size(); ++i) {
      up_to += found->second.counts[i];
      waits.add(labels_text({{"queue", queue.path}, {"le", std::to_string(LiveWaits::kUpToSeconds[i])}}), up_to, "_bucket");
    }
    waits.add(labels_text({{"queue", queue.path}, {"le", "+Inf"}}), found->second.jobs, "_bucket");
    waits.add(labels_text({{"queue", queue.path}}), found->second.sum.to_seconds(), "_sum");
    waits.add(labels_text({{"queue", queue.path}}), found->second.jobs, "_count");
  }
  return out;
}

}  // namespace

GpuSight sight_of(const Principal& who, const LiveGpu& gpu) {
  if (who.may_everywhere(Permission::kSeeJobs)) return GpuSight::kAll;
  const bool own = !gpu.holders.empty() && std::ranges::all_of(gpu.holders, [&who](const LiveHolder& holder) {
    return who.may(Permission::kSeeJobs, holder.client);
  });
  return own ? GpuSight::kOwn : GpuSight::kPlace;
}

Instant seen_since(const LiveGpu& gpu) {
  Instant since;
  for (const LiveHolder& holder : gpu.holders)
    since = std::max(since, holder.since);
  return since;
}

LiveGpu shown_to(const Principal& who, LiveGpu gpu, Instant now) {
  const GpuSight sight = sight_of(who, gpu);
  const Instant from = sight == GpuSight::kOwn ? std::max(seen_since(gpu), now - kLongestShown) : now - kLongestShown;
  for (std::optional<LiveValue>& value : gpu.latest)
    if (sight == GpuSight::kPlace || (value && value->at < from)) value.reset();
  if (sight == GpuSight::kAll) return gpu;
  gpu.held_back.clear();  // it names processes
  std::erase_if(gpu.holders, [&who](const LiveHolder& h) { return !who.may(Permission::kSeeJobs, h.client); });
  std::erase_if(gpu.processes, [&gpu](const LiveProcess& process) {
    return std::ranges::find(gpu.holders, process.job, &LiveHolder::job) == gpu.holders.end();
  });
  if (sight == GpuSight::kOwn) return gpu;
  gpu.seen.reset();
  gpu.processes.clear();
  gpu.processes_seen.reset();
  return gpu;
}

std::string live_metrics(const LiveMetricsInput& input, const Principal& who) {
  std::vector<LiveGpu> gpus;
  for (const LiveGpu& gpu : input.live.gpus)
    if (sight_of(who, gpu) != GpuSight::kPlace) gpus.push_back(shown_to(who, gpu, input.now));
  std::string text = gpu_readings(gpus, input.now);
  if (who.may_everywhere(Permission::kSeeJobs)) text += node_metrics(input) + source_metrics(input.live);
  return text + job_metrics(input);
}

}  // namespace stint
