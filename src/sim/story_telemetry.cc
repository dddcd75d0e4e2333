// Formats: `nvidia-smi --help-query-gpu`; dcgm-exporter's text exposition; Prometheus HTTP API, "Range queries".
#include "sim/story_telemetry.h"

#include <algorithm>

#include "sim/story_text.h"

namespace stint {
namespace {

bool is_profiling(std::string_view metric) { return metric.starts_with("DCGM_FI_PROF_"); }

/// Seconds into the step at which this machine is looked at: loggers are started by hand.
int64_t phase_seconds(size_t node) { return static_cast<int64_t>(node * 37 % 60); }

std::string value_of(const Story& story, const StoryNode& node, const StoryGpu& gpu, const StoryReading& reading,
                     std::string_view metric) {
  if (metric == "DCGM_FI_DEV_GPU_UTIL") return std::to_string(reading.utilization);
  if (metric == "DCGM_FI_DEV_FB_USED") return std::to_string(reading.memory_mib);
  const StoryMetrics m = metrics_of(story, node, gpu, reading);
  if (metric == "DCGM_FI_DEV_FB_FREE") return std::to_string(m.memory_free_mib);
  if (metric == "DCGM_FI_DEV_POWER_USAGE") return fmt::format("{:.3f}", m.power_w);
  if (metric == "DCGM_FI_DEV_GPU_TEMP") return std::to_string(m.temperature_c);
  if (metric == "DCGM_FI_PROF_SM_ACTIVE") return fmt::format("{:.4f}", m.sm_active);
  if (metric == "DCGM_FI_PROF_DRAM_ACTIVE") return fmt::format("{:.4f}", m.dram_active);
  return fmt::format("{:.4f}", m.tensor_active);
}

/// Who telemetry says holds the GPU: a pod, or a job under Slurm.
struct HolderLabels {
  std::string ns, pod, container, job;
  bool operator==(const HolderLabels&) const = default;
};

HolderLabels labels_of(const Story& story, const StoryGpu& gpu, int32_t hold_index) {
  if (hold_index < 0) return {};
  const StoryHold& hold = gpu.holds[static_cast<size_t>(hold_index)];
  const Holder& holder = story.works[hold.work].holder;
  return {holder.ns, holder.pod, holder.container, hold.run < 0 ? "" : story.runs[static_cast<size_t>(hold.run)].id};
}

/// The label sets under which a GPU appears in Prometheus: one series each, however often a holder comes back.
struct GpuSeries {
  std::vector<HolderLabels> labels;
  std::vector<size_t> of_hold;  ///< by hold; the last entry is for steps in which it was not held
  [[nodiscard]] size_t of(const StoryReading& reading) const {
    return reading.hold < 0 ? of_hold.back() : of_hold[static_cast<size_t>(reading.hold)];
  }
};

GpuSeries series_of(const Story& story, const StoryGpu& gpu) {
  GpuSeries series;
  for (size_t h = 0; h <= gpu.holds.size(); ++h) {
    HolderLabels labels = labels_of(story, gpu, h < gpu.holds.size() ? static_cast<int32_t>(h) : -1);
    const auto known = std::ranges::find(series.labels, labels);
    series.of_hold.push_back(static_cast<size_t>(known - series.labels.begin()));
    if (known == series.labels.end()) series.labels.push_back(std::move(labels));
  }
  return series;
}

void add_labels(StoryText& text, const StoryNode& node, size_t g, std::string_view metric, const HolderLabels& labels) {
  text.add(R"({{"metric":{{"__name__":"{}","Hostname":"{}","UUID":"{}","device":"nvidia{}",)"
           R"("gpu":"{}","modelName":"{}","job":"dcgm-exporter")",
           metric, node.node.name, node.gpus[g].uuid, g, g, node.gpu_name);
  // Scraped inside a cluster, `pod` is the exporter's own and the workload's labels move to exported_*.
  if (!labels.pod.empty())
    text.add(R"(,"namespace":"monitoring","pod":"dcgm-exporter-{}")"
             R"(,"exported_namespace":"{}","exported_pod":"{}","exported_container":"{}")",
             node.node.name, labels.ns, labels.pod, labels.container);
  if (!labels.job.empty()) text.add(R"(,"hpc_job":"{}")", labels.job);
  text.add(R"(}},"values":[)");
}

}  // namespace

void write_nvidia_smi(const Story& story, const StoryTrace& trace, size_t n, const TextOut& out) {
  const StoryNode& node = story.nodes[n];
  StoryText text(out);
  text.add(
      "timestamp, index, uuid, name, utilization.gpu [%], utilization.memory [%], memory.total [MiB], memory.used [MiB], "
      "power.draw [W], power.limit [W], temperature.gpu\n");
  for (int64_t step = 0; step < story.steps(); ++step) {
    const CivilTime c = to_civil(story.at(step) + Duration::seconds(phase_seconds(n)));
    for (size_t g = 0; g < node.gpus.size(); ++g) {
      const StoryReading& reading = trace.of(n, g)[static_cast<size_t>(step)];
      if (!reading.present) continue;
      const StoryMetrics m = metrics_of(story, node, node.gpus[g], reading);
      text.add("{}/{:02}/{:02} {:02}:{:02}:{:02}.{:03}, {}, {}, {}, {} %, {} %, {} MiB, {} MiB, {:.2f} W, {:.2f} W, {}\n", c.year,
               c.month, c.day, c.hour, c.minute, c.second, 100 + 3 * g, g, node.gpus[g].uuid, node.gpu_name, reading.utilization,
               static_cast<int>(100 * m.dram_active), node.memory_mib, reading.memory_mib, m.power_w, node.tdp_w,
               m.temperature_c);
    }
  }
}

void write_dcgm_text(const Story& story, const StoryTrace& trace, size_t n, const TextOut& out) {
  const StoryNode& node = story.nodes[n];
  StoryText text(out);
  for (int64_t step = 0; step < story.steps(); ++step) {
    const int64_t at_ms = (story.at(step) + Duration::seconds(phase_seconds(n))).ns() / 1'000'000;
    for (const std::string_view metric : kStoryDcgmMetrics) {
      if (is_profiling(metric) && !node.profiled) continue;
      if (step == 0) text.add("# HELP {} of the GPU\n# TYPE {} gauge\n", metric, metric);
      for (size_t g = 0; g < node.gpus.size(); ++g) {
        const StoryReading& reading = trace.of(n, g)[static_cast<size_t>(step)];
        if (!reading.present) continue;
        const StoryGpu& gpu = node.gpus[g];
        const HolderLabels labels = labels_of(story, gpu, reading.hold);
        text.add(R"({}{{gpu="{}",UUID="{}",device="nvidia{}",modelName="{}",Hostname="{}",)"
                 R"(container="{}",namespace="{}",pod="{}"}} {} {})"
                 "\n",
                 metric, g, gpu.uuid, g, node.gpu_name, node.node.name, labels.container, labels.ns, labels.pod,
                 value_of(story, node, gpu, reading, metric), at_ms);
      }
    }
  }
}

void write_prometheus(const Story& story, const StoryTrace& trace, std::string_view metric, const TextOut& out) {
  StoryText text(out);
  text.add(R"({{"status":"success","data":{{"resultType":"matrix","result":[)");
  bool first = true;
  for (size_t n = 0; n < story.nodes.size(); ++n) {
    const StoryNode& node = story.nodes[n];
    if (node.telemetry != StoryTelemetry::kPrometheus || (is_profiling(metric) && !node.profiled)) continue;
    for (size_t g = 0; g < node.gpus.size(); ++g) {
      const std::span<const StoryReading> readings = trace.of(n, g);
      const GpuSeries series = series_of(story, node.gpus[g]);
      for (size_t i = 0; i < series.labels.size(); ++i) {
        const auto in_series = [&](const StoryReading& reading) { return reading.present && series.of(reading) == i; };
        if (std::ranges::none_of(readings, in_series)) continue;  // Prometheus knows no series without values
        if (!first) text.add(",");
        first = false;
        add_labels(text, node, g, metric, series.labels[i]);
        bool first_value = true;
        for (size_t step = 0; step < readings.size(); ++step) {
          if (!in_series(readings[step])) continue;
          text.add(R"({}[{},"{}"])", first_value ? "" : ",", story.at(static_cast<int64_t>(step)).seconds(),
                   value_of(story, node, node.gpus[g], readings[step], metric));
          first_value = false;
        }
        text.add("]}}");
      }
    }
  }
  text.add("]}}}}\n");
}

}  // namespace stint
