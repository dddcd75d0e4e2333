// How long does audit() take on 1,000 GPUs × 30 days × 8 metrics? Time of one call, History and Usage in memory; once
// with the GPUs in machines of eight, once alone (more machines, more services to pack).
//   build/release/bench/audit_bench
#include <benchmark/benchmark.h>

#include <cmath>

#include "advise/audit.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr size_t kHours = 720;
constexpr std::array kMetrics = {Metric::kUtilization,  Metric::kMemoryUsed, Metric::kMemoryBandwidth, Metric::kSmActive,
                                 Metric::kTensorActive, Metric::kPower,      Metric::kTemperature,     Metric::kPcieRx};

HourlySeries series(Metric metric, Prng& prng) {
  HourlySeries s;
  s.hours.resize(kHours);
  const double level = is_percentage(metric) ? 60 * prng.uniform() : 1e9 * static_cast<double>(1 + prng.below(20));
  std::vector<float> samples;
  for (size_t h = 0; h < kHours; ++h) {
    const double v = level * (0.6 + 0.4 * std::sin(static_cast<double>(h % 24) / 24 * 6.28));
    s.hours[h] = {static_cast<float>(v), static_cast<float>(v * 1.2), 3600, static_cast<uint16_t>(v < 5 ? 600 : 100)};
    for (int i = 0; i < 12; ++i)
      samples.push_back(static_cast<float>(v * (0.8 + 0.4 * prng.uniform())));
  }
  s.sketch.add_all(metric, samples);
  s.count = samples.size();
  s.max = level * 1.2;
  return s;
}

void audit_1000_gpus(benchmark::State& state) {
  Prng prng(1);
  History history;
  Usage usage;
  history.period = usage.period = month_of(from_civil({.year = 2026, .month = 6}));
  const int gpus = static_cast<int>(state.range(0));
  const size_t nodes = 1000 / static_cast<size_t>(gpus);
  for (size_t n = 0; n < nodes; ++n) {
    Node node;
    node.name = fmt::format("node-{:04}", n);
    node.provider = gpus == 8 ? "aws" : "gcp";
    node.region = gpus == 8 ? "us-east-1" : "us-central1";
    node.instance_type = gpus == 8 ? "p4d.24xlarge" : "a2-highgpu-1g";
    node.market = Market::kOnDemand;
    node.gpu_model = "A100-40GB";
    node.gpu_count = gpus;
    node.kind = static_cast<WorkloadKind>(1 + n % 6);
    node.tenant.client = fmt::format("client-{}", n % 12);
    history.nodes.push_back(node);
    for (int g = 0; g < gpus; ++g) {
      Device device;
      device.node = NodeId(static_cast<uint32_t>(n));
      device.index = g;
      device.model = "A100-40GB";
      device.memory = Bytes::gibi(int64_t{40});
      history.devices.push_back(device);
      DeviceUsage& use = usage.devices.emplace_back();
      for (const Metric m : kMetrics)
        use.metrics[m] = series(m, prng);
    }
  }
  for (auto _ : state) {
    const auto report = audit({history, usage, Catalog::built_in(), history.period.end, {}});
    benchmark::DoNotOptimize(report.ok());
    state.counters["findings"] = static_cast<double>(report->findings.size());
  }
}
BENCHMARK(audit_1000_gpus)
    ->ArgName("gpus_per_node")
    ->Arg(8)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(5)
    ->ReportAggregatesOnly(true);

}  // namespace
}  // namespace stint
