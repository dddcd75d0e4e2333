#include "documents/triton_stats.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using StatsJson = nlohmann::json;

constexpr int64_t kLargestTritonBatch = 65'536;
constexpr double kLongestBatchNs = 3.6e12;  // an hour

/// A number, or a text that is one: what speaks gRPC's JSON writes 64 bits as text.
std::optional<int64_t> whole_of(const StatsJson& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) return std::nullopt;
  const StatsJson& value = object[name];
  if (value.is_number_unsigned() && value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)) return value.get<int64_t>();
  if (!value.is_string()) return std::nullopt;
  return parse_int(value.get_ref<const std::string&>());
}

/// Of one batch of that size, in nanoseconds; none: none ran. @return error: it is not said.
Result<std::optional<double>> mean_of_batch(const StatsJson& entry, const std::string& source) {
  double sum = 0;
  for (const char* part : {"compute_input", "compute_infer", "compute_output"}) {
    if (!entry.contains(part)) return invalid("{}: batch_stats without '{}'", source, part);
    const auto count = whole_of(entry[part], "count"), ns = whole_of(entry[part], "ns");
    if (!count || !ns || *count < 0 || *ns < 0) return invalid("{}: batch_stats: '{}' without count and ns", source, part);
    if (*count == 0) return std::optional<double>();
    sum += static_cast<double>(*ns) / static_cast<double>(*count);
  }
  if (sum < 1 || sum > kLongestBatchNs) return invalid("{}: batch_stats: a batch took {:.0f} ns", source, sum);
  return std::optional(sum);
}

}  // namespace

Result<batching::LatencyProfile> read_triton_stats(std::string_view json, const std::string& source) {
  const StatsJson root = StatsJson::parse(json, nullptr, false);
  if (!root.is_object() || !root.contains("model_stats") || !root["model_stats"].is_array())
    return invalid("{}: not what Triton answers to GET /v2/models/NAME/stats", source);
  const StatsJson& models = root["model_stats"];
  if (models.size() != 1 || !models[0].is_object())
    return invalid("{}: statistics of {} models or versions: ask for one, GET /v2/models/NAME/versions/N/stats", source,
                   models.size());
  if (!models[0].contains("batch_stats") || !models[0]["batch_stats"].is_array())
    return invalid("{}: no batch_stats: send the model requests first", source);
  std::map<int64_t, double> by_size;  // ns
  for (const StatsJson& entry : models[0]["batch_stats"]) {
    const auto size = whole_of(entry, "batch_size");
    if (!size || *size < 1 || *size > kLargestTritonBatch)
      return invalid("{}: batch_stats: batch_size must be 1 to {}", source, kLargestTritonBatch);
    TRY_ASSIGN(const std::optional<double> mean, mean_of_batch(entry, source));
    if (mean && !by_size.emplace(*size, *mean).second) return invalid("{}: batch_stats has batches of {} twice", source, *size);
  }
  if (!by_size.contains(1))
    return invalid("{}: no batch of 1 was run: send single requests too (perf_analyzer -b 1 --concurrency-range 1)", source);
  std::vector<batching::MeasuredBatch> measured;
  for (const auto& [size, ns] : by_size)
    measured.push_back({.batch = size, .times = {Duration::nanoseconds(static_cast<int64_t>(ns))}});
  return batching::LatencyProfile::create(std::move(measured));
}

}  // namespace stint
