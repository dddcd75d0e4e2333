#include "collect/gpu_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace stint {
namespace {

struct Field {
  Metric metric;
  std::optional<double> (*get)(const GpuReading&);
};

std::optional<double> bytes_of(std::optional<Bytes> b) {
  return b ? std::optional(static_cast<double>(b->count())) : std::nullopt;
}

constexpr std::array kFields = {
    Field{Metric::kUtilization, [](const GpuReading& r) { return r.utilization_pct; }},
    Field{Metric::kMemoryBandwidth, [](const GpuReading& r) { return r.memory_bandwidth_pct; }},
    Field{Metric::kMemoryUsed, [](const GpuReading& r) { return bytes_of(r.memory_used); }},
    Field{Metric::kMemoryTotal, [](const GpuReading& r) { return bytes_of(r.memory_total); }},
    Field{Metric::kPower, [](const GpuReading& r) { return r.power_w; }},
    Field{Metric::kPowerLimit, [](const GpuReading& r) { return r.power_limit_w; }},
    Field{Metric::kTemperature, [](const GpuReading& r) { return r.temperature_c; }},
    Field{Metric::kSmClock, [](const GpuReading& r) { return r.sm_clock_mhz; }},
    Field{Metric::kMemoryClock, [](const GpuReading& r) { return r.memory_clock_mhz; }},
};

double nearest_rank(const std::vector<double>& ascending, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(ascending.size())));
  return ascending[std::max<size_t>(rank, 1) - 1];
}

}  // namespace

std::optional<Distribution> distribution_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return Distribution{.mean = sum / static_cast<double>(values.size()),
                      .p50 = nearest_rank(values, 0.5),
                      .p95 = nearest_rank(values, 0.95),
                      .max = values.back()};
}

void GpuProfile::add(Instant at, std::vector<GpuReading> readings) {
  CHECK(readings.size() == gpus_.size(), "{} readings of {} GPUs", readings.size(), gpus_.size());
  looks_.push_back({at, std::move(readings)});
}

std::vector<GpuSummary> GpuProfile::summaries() const {
  std::vector<GpuSummary> summaries;
  for (size_t g = 0; g < gpus_.size(); ++g) {
    const auto values_of = [&](std::optional<double> (*get)(const GpuReading&)) {
      std::vector<double> values;
      for (const Look& look : looks_)
        if (const auto value = get(look.readings[g])) values.push_back(*value);
      return values;
    };
    GpuSummary& summary = summaries.emplace_back();
    summary.gpu = gpus_[g];
    const std::vector<double> utilization = values_of(kFields[0].get);
    summary.samples = utilization.size();
    summary.utilization_pct = distribution_of(utilization);
    summary.memory_used_bytes = distribution_of(values_of(kFields[2].get));
    summary.power_w = distribution_of(values_of(kFields[4].get));
    for (const Look& look : looks_)
      if (look.readings[g].memory_total) summary.memory_total = look.readings[g].memory_total;
  }
  return summaries;
}

void GpuProfile::write(const std::string& node, Sink& sink) const {
  for (size_t g = 0; g < gpus_.size(); ++g) {
    for (const Field& field : kFields) {
      std::vector<Sample> samples;
      for (const Look& look : looks_)
        if (const auto value = field.get(look.readings[g])) samples.push_back({look.at, *value});
      if (samples.empty()) continue;
      SeriesKey key;
      key.device = {.node = node,
                    .uuid = gpus_[g].uuid,
                    .index = gpus_[g].index,
                    .model = gpus_[g].name,
                    .mig_profile = {},
                    .mig_instance = -1};
      key.metric = field.metric;
      sink.samples(sink.series(key), samples);
    }
  }
}

}  // namespace stint
