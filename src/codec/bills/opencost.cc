// OpenCost's allocation API saved to a file: {"code":200,"data":[{"NAME":{…}},…]}, one map per step.
// Source: OpenCost documentation, "API", /allocation.
//
// An allocation becomes a Run: who held how many GPUs of which node from when to when. Read are name, properties
// {cluster, node, namespace, controller, pod, container, labels}, start, end (else window), minutes, gpuHours (else
// gpuCount), cpuCores and ramBytes; its money is not read, for money comes from bills. GPUs held = gpuHours / hours.
// A whole number is that many GPUs. A fraction of one GPU is one GPU with that share; 1.5 GPUs are two with three
// quarters each. `__idle__` and its like are not anyone's and are passed over.
#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "codec/importer.h"
#include "codec/json_mistake.h"

namespace stint {
namespace {

namespace dom = simdjson::dom;

std::string text_of(const dom::object& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

/// None for absent and null: OpenCost writes null for NaN and infinity.
std::optional<double> double_of(const dom::object& object, std::string_view key) {
  double value = 0;
  if (object[key].get(value) != simdjson::SUCCESS || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool has_no_tenant(std::string_view name) {
  for (const std::string_view special : {"__idle__", "__unallocated__", "__unmounted__", "__shared__", "__external__"})
    if (name == special || name.ends_with(std::string("/") + std::string(special)) ||
        name.starts_with(std::string(special) + "/"))
      return true;
  return false;
}

/// Whole GPUs and the share of each that is held, in thousandths.
struct HeldGpus {
  int64_t count = 0;
  std::optional<GpuShare> share;
};

HeldGpus held_gpus(double gpus) {
  const int64_t milli = std::llround(gpus * static_cast<double>(GpuShare::kMilliPerGpu));
  HeldGpus held{.count = (milli + GpuShare::kMilliPerGpu - 1) / GpuShare::kMilliPerGpu, .share = std::nullopt};
  if (milli % GpuShare::kMilliPerGpu != 0) held.share = GpuShare::of(milli, held.count * GpuShare::kMilliPerGpu);
  return held;
}

class OpencostImporter final : public Importer {
 public:
  OpencostImporter(const ImportOptions& options, Sink& sink) : options_(options), sink_(sink) {}

  Status feed(std::string_view bytes) override {
    if (document_.size() + bytes.size() > kMaxRecordBytes)
      return invalid(
          "{}: larger than {} MiB: ask for less at once, with a smaller window, a larger step or aggregate=namespace,pod",
          options_.source, kMaxRecordBytes >> 20);
    document_ += bytes;
    return {};
  }

  Status finish() override {
    dom::parser parser;
    dom::element root;
    if (const auto error = parser.parse(document_.data(), document_.size()).get(root); error != simdjson::SUCCESS)
      return invalid("{}: not JSON ({}): the allocation API's answer is expected as it came", options_.source,
                     json_mistake_or(document_, simdjson::error_message(error)));
    int64_t code = 200;
    if (root["code"].get(code) == simdjson::SUCCESS && code != 200) {
      std::string_view message;
      if (root["message"].get(message) != simdjson::SUCCESS) message = "no message";
      return invalid("{}: OpenCost answered with an error, code {}: {}", options_.source, code, excerpt(message, 200));
    }
    dom::array steps;
    if (root["data"].get(steps) != simdjson::SUCCESS && root.get(steps) != simdjson::SUCCESS)
      return invalid("{}: no `data` array: save the answer of /allocation?window=…", options_.source);
    for (const dom::element step : steps) {
      dom::object allocations;
      if (step.is_null()) continue;  // a step without data
      if (step.get(allocations) != simdjson::SUCCESS) {
        sink_.reject(0, "an entry of `data` is no map of allocations");
        continue;
      }
      for (const auto& [name, value] : allocations)
        take(name, value);
    }
    return {};
  }

 private:
  void take(std::string_view name, const dom::element& value) {
    if (has_no_tenant(name)) return;
    dom::object allocation;
    if (value.get(allocation) != simdjson::SUCCESS)
      return sink_.reject(0, fmt::format("allocation '{}': no object", excerpt(name)));
    const auto run = read(name, allocation);
    if (run.ok())
      give(run.value());
    else
      sink_.reject(0, fmt::format("allocation '{}': {}", excerpt(name), run.error().message));
  }

  void give(const Run& run) {
    sink_.run(run);
    if (!owner_.kind.empty() || !owner_.labels.empty()) sink_.run_owner(owner_);
  }

  Result<Instant> instant(const dom::object& allocation, std::string_view key) const {
    std::string text = text_of(allocation, key);
    dom::object window;
    if (text.empty() && allocation["window"].get(window) == simdjson::SUCCESS) text = text_of(window, key);
    if (text.empty()) return invalid("{}: no time", key);
    auto parsed = parse_instant(text, options_.zoneless);
    if (!parsed.ok()) return invalid("{}: '{}' is no time", key, excerpt(text));
    return parsed;
  }

  /// Also what owner_ is.
  Result<Run> read(std::string_view name, const dom::object& allocation) {
    Run run;
    owner_ = {};
    run.name = name;
    TRY_ASSIGN(run.started, instant(allocation, "start"));
    TRY_ASSIGN(run.ended, instant(allocation, "end"));
    if (*run.ended <= *run.started)
      return invalid("end: {} is not after start {}", format_utc(*run.ended), format_utc(*run.started));
    run.id = fmt::format("{}@{}", name, format_utc(*run.started));  // every step repeats the name

    std::string node;
    dom::object properties;
    if (allocation["properties"].get(properties) == simdjson::SUCCESS) {
      run.holder.ns = text_of(properties, "namespace");
      run.holder.pod = text_of(properties, "pod");
      run.holder.container = text_of(properties, "container");
      node = text_of(properties, "node");
      run.kind = guess_kind(properties, run);
      owner_ = {.run_id = run.id, .restart = 0, .kind = text_of(properties, "controllerKind"), .labels = labels_of(properties)};
      std::ranges::sort(owner_.labels);
      run.tenant = tenant_from_tags(owner_.labels);
    }

    const auto minutes = double_of(allocation, "minutes");
    const double hours = minutes && *minutes > 0 ? *minutes / 60 : (*run.ended - *run.started).to_hours();
    const auto gpu_hours = double_of(allocation, "gpuHours");
    const double gpus = gpu_hours ? *gpu_hours / hours : double_of(allocation, "gpuCount").value_or(0);
    const double cpus = double_of(allocation, "cpuCores").value_or(0);
    const double memory = double_of(allocation, "ramBytes").value_or(0);
    if (gpus < 0 || gpus > 1e6) return invalid("gpuHours: {} GPUs over {} h cannot be", gpus, hours);
    if (cpus < 0 || cpus > 1e7 || memory < 0 || memory > 1e18)
      return invalid("cpuCores {} or ramBytes {} cannot be", cpus, memory);
    const HeldGpus held = held_gpus(gpus);
    run.gpus_requested = held.count;
    run.share = held.share;
    run.cpus = static_cast<int64_t>(std::ceil(cpus));
    run.memory = Bytes::of(std::llround(memory));
    if (!node.empty()) run.allocations.push_back({.node = node, .gpu_indexes = {}, .gpu_count = held.count});
    return run;
  }

  static WorkloadKind guess_kind(const dom::object& properties, const Run& run) {
    for (const std::string& text : {run.holder.pod, text_of(properties, "controller"), run.holder.container, run.holder.ns})
      if (const WorkloadKind kind = guess_workload_kind(text); kind != WorkloadKind::kUnknown) return kind;
    return WorkloadKind::kUnknown;
  }

  static std::vector<Tag> labels_of(const dom::object& properties) {
    std::vector<Tag> tags;
    dom::object labels;
    if (properties["labels"].get(labels) != simdjson::SUCCESS) return tags;
    for (const auto& [key, value] : labels)
      if (std::string_view text; value.get(text) == simdjson::SUCCESS) tags.emplace_back(key, text);
    return tags;
  }

  ImportOptions options_;
  Sink& sink_;
  std::string document_;
  RunOwner owner_;
};

}  // namespace

std::unique_ptr<Importer> make_opencost_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<OpencostImporter>(options, sink);
}

}  // namespace stint
