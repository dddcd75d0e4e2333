#include "collect/gpu_profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collect/gpu_sampler.h"

namespace stint {
namespace {

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
    const std::vector<double> utilization = values_of([](const GpuReading& r) { return r.utilization_pct; });
    summary.samples = utilization.size();
    summary.utilization_pct = distribution_of(utilization);
    summary.memory_used_bytes = distribution_of(values_of([](const GpuReading& r) {
      return r.memory_used ? std::optional(static_cast<double>(r.memory_used->count())) : std::nullopt;
    }));
    summary.power_w = distribution_of(values_of([](const GpuReading& r) { return r.power_w; }));
    for (const Look& look : looks_)
      if (look.readings[g].memory_total) summary.memory_total = look.readings[g].memory_total;
  }
  return summaries;
}

void GpuProfile::write(const std::string& node, Sink& sink) const {
  for (size_t g = 0; g < gpus_.size(); ++g) {
    for (const ReadingField& field : reading_fields()) {
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
