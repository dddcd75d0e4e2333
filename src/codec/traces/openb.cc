#include "codec/traces/openb.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/csv_table.h"

namespace stint {
namespace {

constexpr int64_t kMostGpusOfNode = 16;
constexpr int64_t kMaxCpuMilli = 100'000'000;
constexpr int64_t kMaxMemoryMib = int64_t{1} << 30;
constexpr int64_t kMilliPerGpu = 1000;

std::vector<std::string> models_of(std::string_view spec) {
  std::vector<std::string> models;
  for (const std::string_view model : split(spec, '|'))
    if (!trim(model).empty()) models.emplace_back(trim(model));
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

Result<PodTraceNode> openb_node(const CsvTable& row) {
  PodTraceNode node;
  node.name = row.text("sn");
  if (node.name.empty()) return row.wrong("a node without a name");
  TRY_ASSIGN(node.cpu_milli, row.whole("cpu_milli", kMaxCpuMilli));
  TRY_ASSIGN(const int64_t memory_mib, row.whole("memory_mib", kMaxMemoryMib));
  TRY_ASSIGN(const int64_t gpus, row.whole("gpu", kMostGpusOfNode));
  node.memory = Bytes::mebi(memory_mib);
  node.gpus = static_cast<int32_t>(gpus);
  node.gpu_model = row.text("model");
  if (node.gpus > 0 && node.gpu_model.empty()) return row.wrong("{} GPUs of no model", node.gpus);
  return node;
}

Result<PodTracePod> pod_of(const CsvTable& row) {
  PodTracePod pod;
  pod.name = row.text("name");
  TRY_ASSIGN(pod.cpu_milli, row.whole("cpu_milli", kMaxCpuMilli));
  TRY_ASSIGN(const int64_t memory_mib, row.whole("memory_mib", kMaxMemoryMib));
  TRY_ASSIGN(const int64_t gpus, row.whole("num_gpu", kMostGpusOfNode));
  TRY_ASSIGN(const int64_t milli, row.whole("gpu_milli", kMilliPerGpu));
  if ((gpus == 0) != (milli == 0) || (gpus > 1 && milli != kMilliPerGpu))
    return row.wrong("{} GPUs of {} milli; expected 0 of 0, 1 of 1 to 1000, or more of 1000", gpus, milli);
  pod.memory = Bytes::mebi(memory_mib);
  pod.gpus = static_cast<int32_t>(gpus);
  pod.gpu_milli = static_cast<int32_t>(milli);
  pod.gpu_models = models_of(row.text("gpu_spec"));
  return pod;
}

Result<PodArrivals> arrivals_of(std::string_view text, size_t line, size_t pods, const std::string& source) {
  PodArrivals arrivals;
  bool have_seed = false;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::optional<int64_t> value = parse_int(word);
    if (!value || *value < 0) return invalid("{}:{}: `{}` is no number of a pod", source, line, excerpt(word));
    if (!have_seed) {
      arrivals.seed = static_cast<uint64_t>(*value);
      have_seed = true;
      continue;
    }
    if (static_cast<size_t>(*value) >= pods)
      return invalid("{}:{}: pod {} of {}, counted from 0; do the arrivals belong to these pods?", source, line, *value, pods);
    arrivals.pods.push_back(static_cast<uint32_t>(*value));
  }
  return arrivals;
}

}  // namespace

Result<std::vector<PodTraceNode>> read_openb_nodes(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 5> kColumns = {"sn", "cpu_milli", "memory_mib", "gpu", "model"};
  std::vector<PodTraceNode> nodes;
  CsvTable table(bytes, source);
  TRY(table.read_header(kColumns));
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) return nodes;
    TRY_ASSIGN(PodTraceNode node, openb_node(table));
    nodes.push_back(std::move(node));
  }
}

Result<std::vector<PodTracePod>> read_openb_pods(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 5> kColumns = {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
  std::vector<PodTracePod> pods;
  CsvTable table(bytes, source);
  TRY(table.read_header(kColumns));
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) return pods;
    TRY_ASSIGN(PodTracePod pod, pod_of(table));
    pods.push_back(std::move(pod));
  }
}

Result<std::vector<PodArrivals>> read_openb_arrivals(std::string_view bytes, size_t pods, const std::string& source) {
  std::vector<PodArrivals> orders;
  size_t line = 0;
  for (const std::string_view text : split(bytes, '\n')) {
    ++line;
    if (trim(text).empty()) continue;
    TRY_ASSIGN(PodArrivals arrivals, arrivals_of(trim(text), line, pods, source));
    orders.push_back(std::move(arrivals));
  }
  if (orders.empty()) return invalid("{}: no arrivals; expected lines of a seed and numbers of pods", source);
  return orders;
}

}  // namespace stint
