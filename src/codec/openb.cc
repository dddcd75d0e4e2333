#include "codec/openb.h"

#include <fmt/ranges.h>
#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/csv.h"

namespace stint {
namespace {

constexpr int64_t kMaxGpus = 16;
constexpr int64_t kMaxCpuMilli = 100'000'000;
constexpr int64_t kMaxMemoryMib = int64_t{1} << 30;
constexpr int64_t kMilliPerGpu = 1000;

/// Calls row(record, header) for every record after the header.
template <typename Row>
Status for_each_row(std::string_view bytes, const std::string& source, std::span<const std::string_view> columns, Row&& row) {
  CsvReader reader({.source = source});
  CsvHeader header;
  const auto take = [&](const CsvRecord& record) -> Status {
    if (header.size() == 0) {
      Result<CsvHeader> made = CsvHeader::create(record, columns);
      if (!made.ok()) return invalid("{}: {}", source, made.error().message);
      header = std::move(made).value();
      return {};
    }
    if (record.malformed || record.fields.size() != header.size())
      return invalid("{}:{}: {} fields, expected {}", source, record.line, record.fields.size(), header.size());
    return row(record, header);
  };
  while (true) {
    TRY_ASSIGN(const bool ready, reader.next(bytes));
    if (!ready) break;
    TRY(take(reader.record()));
  }
  TRY_ASSIGN(const bool last, reader.finish());
  if (last) TRY(take(reader.record()));
  if (header.size() == 0) return invalid("{}: empty; expected a header with the columns {}", source, fmt::join(columns, ","));
  return {};
}

/// A whole number in [0, most] of a named column.
struct Row {
  const CsvRecord& record;
  const CsvHeader& header;
  const std::string& source;

  [[nodiscard]] std::string_view text(std::string_view column) const { return trim(record.at(header.find(column))); }
  [[nodiscard]] Result<int64_t> number(std::string_view column, int64_t most) const {
    const std::optional<int64_t> value = parse_int(text(column));
    if (value && *value >= 0 && *value <= most) return *value;
    return invalid("{}:{}: {} is `{}`, expected a whole number from 0 to {}", source, record.line, column, excerpt(text(column)),
                   most);
  }
};

std::vector<std::string> models_of(std::string_view spec) {
  std::vector<std::string> models;
  for (const std::string_view model : split(spec, '|'))
    if (!trim(model).empty()) models.emplace_back(trim(model));
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

Result<PodTraceNode> node_of(const Row& row) {
  PodTraceNode node;
  node.name = row.text("sn");
  if (node.name.empty()) return invalid("{}:{}: a node without a name", row.source, row.record.line);
  TRY_ASSIGN(node.cpu_milli, row.number("cpu_milli", kMaxCpuMilli));
  TRY_ASSIGN(const int64_t memory_mib, row.number("memory_mib", kMaxMemoryMib));
  TRY_ASSIGN(const int64_t gpus, row.number("gpu", kMaxGpus));
  node.memory = Bytes::mebi(memory_mib);
  node.gpus = static_cast<int32_t>(gpus);
  node.gpu_model = row.text("model");
  if (node.gpus > 0 && node.gpu_model.empty())
    return invalid("{}:{}: {} GPUs of no model", row.source, row.record.line, node.gpus);
  return node;
}

Result<PodTracePod> pod_of(const Row& row) {
  PodTracePod pod;
  pod.name = row.text("name");
  TRY_ASSIGN(pod.cpu_milli, row.number("cpu_milli", kMaxCpuMilli));
  TRY_ASSIGN(const int64_t memory_mib, row.number("memory_mib", kMaxMemoryMib));
  TRY_ASSIGN(const int64_t gpus, row.number("num_gpu", kMaxGpus));
  TRY_ASSIGN(const int64_t milli, row.number("gpu_milli", kMilliPerGpu));
  if ((gpus == 0) != (milli == 0) || (gpus > 1 && milli != kMilliPerGpu))
    return invalid("{}:{}: {} GPUs of {} milli; expected 0 of 0, 1 of 1 to 1000, or more of 1000", row.source, row.record.line,
                   gpus, milli);
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
  TRY(for_each_row(bytes, source, kColumns, [&](const CsvRecord& record, const CsvHeader& header) -> Status {
    TRY_ASSIGN(PodTraceNode node, node_of({record, header, source}));
    nodes.push_back(std::move(node));
    return {};
  }));
  return nodes;
}

Result<std::vector<PodTracePod>> read_openb_pods(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 5> kColumns = {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
  std::vector<PodTracePod> pods;
  TRY(for_each_row(bytes, source, kColumns, [&](const CsvRecord& record, const CsvHeader& header) -> Status {
    TRY_ASSIGN(PodTracePod pod, pod_of({record, header, source}));
    pods.push_back(std::move(pod));
    return {};
  }));
  return pods;
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
