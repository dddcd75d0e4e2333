// How fast a History takes samples in, and how fast it gives the telemetry of a month back.
//
//   store_bench --benchmark_filter=Load     1,000 GPUs × 8 metrics × 30 days: 240,000 stored days
//   store_bench --benchmark_filter=Import   8,000 GPUs × 8 metrics × 1 day at 60 s: 92 million samples
//
// Both use a file in the temporary folder, made once; CPU time is what counts on a busy machine.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <array>

#include "base/prng.h"
#include "host/scratch_dir.h"
#include "store/history_file.h"

namespace stint {
namespace {

constexpr std::array kMetrics = {Metric::kUtilization, Metric::kMemoryUsed, Metric::kPower,  Metric::kTemperature,
                                 Metric::kSmActive,    Metric::kSmClock,    Metric::kPcieTx, Metric::kMemoryBandwidth};
const Instant kStart = *parse_instant("2026-10-01T00:00:00Z");

/// A reading as such metrics go: percentages and clocks in steps, the rest anywhere.
double value_of(Metric metric, Prng& prng) {
  switch (metric) {
    case Metric::kUtilization:
    case Metric::kMemoryBandwidth: return static_cast<double>(prng.below(101));
    case Metric::kMemoryUsed: return static_cast<double>(2000 + prng.below(40) * 1000) * 1048576;
    case Metric::kPower: return 60 + prng.uniform() * 340;
    case Metric::kTemperature: return static_cast<double>(30 + prng.below(50));
    case Metric::kSmClock: return static_cast<double>(210 + prng.below(80) * 15);
    case Metric::kPcieTx: return prng.uniform() * 1e10;
    default: return prng.uniform() * 100;
  }
}

SeriesKey key_of(int gpu, Metric metric) {
  SeriesKey key;
  key.device = {.node = fmt::format("node-{:04}", gpu / 8),
                .uuid = fmt::format("GPU-{:08x}", gpu),
                .index = gpu % 8,
                .model = "NVIDIA A100-SXM4-80GB",
                .mig_profile = {},
                .mig_instance = -1};
  key.metric = metric;
  return key;
}

void die_of(const Error& error) { CHECK(false, "{}", error.message); }

/// Fills the file series by series, as a query_range answer does. @return samples given.
int64_t fill(HistoryFile& file, int gpus, int days, std::string_view name) {
  auto import = file.begin_import("bench", name, kStart);
  if (!import) die_of(import.error());
  Prng prng(1);
  std::vector<Sample> samples(1440);
  int64_t given = 0;
  for (const Metric metric : kMetrics) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const SeriesId id = (*import)->series(key_of(gpu, metric));
      for (int day = 0; day < days; ++day) {
        for (int m = 0; m < 1440; ++m)
          samples[static_cast<size_t>(m)] = {kStart + kHour * (24 * day) + Duration::minutes(m), value_of(metric, prng)};
        (*import)->samples(id, samples);
        given += 1440;
      }
    }
  }
  const auto record = (*import)->commit(name);
  if (!record) die_of(record.error());
  CHECK(record->accepted == static_cast<uint64_t>(given), "{} of {} samples", record->accepted, given);
  return given;
}

HistoryFile create(const std::string& path) {
  auto file = HistoryFile::open(path, OpenMode::kCreate);
  if (!file) die_of(file.error());
  return std::move(file).value();
}

void LoadUsage(benchmark::State& state) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  fill(file, 1000, 30, "month");
  const auto info = file.info();
  const auto history = file.load();
  if (!history) die_of(history.error());
  for ([[maybe_unused]] const auto _ : state) {
    auto usage = file.load_usage(*history);
    if (!usage) die_of(usage.error());
    benchmark::DoNotOptimize(usage->devices.data());
  }
  state.counters["stored_days"] = static_cast<double>(info->rollup_days);
  state.counters["file_MB"] = static_cast<double>(info->file_bytes) / 1e6;
}
BENCHMARK(LoadUsage)->Unit(benchmark::kMillisecond)->Repetitions(3);

/// Without a parser before it; the generator's own time is measured beside it.
void ImportDay(benchmark::State& state) {
  int64_t samples = 0;
  for ([[maybe_unused]] const auto _ : state) {
    const ScratchDir dir;
    HistoryFile file = create(dir / "fleet.db");
    samples += fill(file, 8000, 1, "day");
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  state.SetItemsProcessed(samples);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1e3;
}
BENCHMARK(ImportDay)->Unit(benchmark::kSecond)->Iterations(1);

void GenerateDay(benchmark::State& state) {
  Prng prng(1);
  for ([[maybe_unused]] const auto _ : state) {
    double sum = 0;
    for (const Metric metric : kMetrics)
      for (int i = 0; i < 8000 * 1440; ++i)
        sum += value_of(metric, prng);
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(GenerateDay)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace stint
