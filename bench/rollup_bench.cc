// What a sample costs on its way into a rollup, and a stored day on its way back into a Usage.
// Question behind LoadSeries: an audit reads 1,000 GPUs × 30 days × 8 metrics = 240,000 stored days; items/s says
// how many days a second one core loads. Baseline: decode_rollup_day and add_hour, which build every sketch.
// Run: build/release/bench/rollup_bench --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include "base/prng.h"
#include "telemetry/rollup_builder.h"
#include "telemetry/usage.h"

namespace {

using namespace stint;

constexpr int64_t kFirstDay = 20'000;
constexpr int64_t kDays = 30;

/// 30 days of one series at 60 s: level by hour, noise on top.
std::vector<Sample> samples_of(Metric metric) {
  Prng prng(7);
  std::vector<Sample> samples;
  double level = 50;
  for (int64_t minute = 0; minute < kDays * 1440; ++minute) {
    if (minute % 60 == 0) level = prng.uniform() * 90;
    const double percent = std::clamp(std::round(level + prng.normal() * 6), 0.0, 100.0);
    const double value = is_percentage(metric) ? percent : percent * 4 + prng.uniform();
    samples.push_back({Instant::from_hour_index(kFirstDay * 24) + Duration::minutes(minute), value});
  }
  return samples;
}

std::vector<std::string> stored(Metric metric) {
  std::vector<RollupDay> days(kDays);
  RollupBuilder builder([&](SeriesId, int64_t hour, const Rollup& r) {
    RollupDay& day = days[static_cast<size_t>(hour / 24 - kFirstDay)];
    day.day_index = hour / 24;
    day.hours[static_cast<size_t>(hour % 24)] = r;
  });
  builder.declare(SeriesId(0), metric);
  builder.add(SeriesId(0), samples_of(metric));
  builder.flush();
  std::vector<std::string> out;
  for (const RollupDay& day : days)
    out.push_back(encode(day));
  return out;
}

Metric metric_of(const benchmark::State& state) { return static_cast<Metric>(state.range(0)); }

void BuildRollups(benchmark::State& state) {
  const std::vector<Sample> samples = samples_of(metric_of(state));
  for (auto _ : state) {
    double sum = 0;
    RollupBuilder builder([&](SeriesId, int64_t, const Rollup& r) { sum += r.sum; });
    builder.declare(SeriesId(0), metric_of(state));
    builder.add(SeriesId(0), samples);
    builder.flush();
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(static_cast<int64_t>(samples.size()) * static_cast<int64_t>(state.iterations()));
}

void EncodeDay(benchmark::State& state) {
  const auto day = decode_rollup_day(kFirstDay, stored(metric_of(state)).front());
  for (auto _ : state)
    benchmark::DoNotOptimize(encode(*day));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void DecodeDay(benchmark::State& state) {
  const std::string bytes = stored(metric_of(state)).front();
  for (auto _ : state)
    benchmark::DoNotOptimize(decode_rollup_day(kFirstDay, bytes));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
  state.counters["bytes/hour"] = static_cast<double>(bytes.size()) / 24;
}

void ReadSummaries(benchmark::State& state) {
  const std::string bytes = stored(metric_of(state)).front();
  for (auto _ : state)
    benchmark::DoNotOptimize(RollupDayReader::open(kFirstDay, bytes));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

const Interval kPeriod{Instant::from_hour_index(kFirstDay * 24), Instant::from_hour_index((kFirstDay + kDays) * 24)};

void LoadSeries(benchmark::State& state) {
  const std::vector<std::string> days = stored(metric_of(state));
  for (auto _ : state) {
    HourlySeriesBuilder builder(metric_of(state), kPeriod);
    for (int64_t d = 0; d < kDays; ++d)
      CHECK(builder.add_day(kFirstDay + d, days[static_cast<size_t>(d)]).ok(), "sound");
    benchmark::DoNotOptimize(builder.take());
  }
  state.SetItemsProcessed(kDays * static_cast<int64_t>(state.iterations()));
}

void LoadSeriesByDecoding(benchmark::State& state) {
  const std::vector<std::string> days = stored(metric_of(state));
  for (auto _ : state) {
    HourlySeries series;
    for (int64_t d = 0; d < kDays; ++d) {
      const auto day = decode_rollup_day(kFirstDay + d, days[static_cast<size_t>(d)]);
      for (size_t h = 0; h < 24; ++h)
        if (day->hours[h]) add_hour(series, metric_of(state), static_cast<size_t>(d) * 24 + h, kDays * 24, *day->hours[h]);
    }
    benchmark::DoNotOptimize(series);
  }
  state.SetItemsProcessed(kDays * static_cast<int64_t>(state.iterations()));
}

void both_grids(benchmark::internal::Benchmark* b) {
  b->ArgName("metric")->Arg(static_cast<int64_t>(Metric::kUtilization))->Arg(static_cast<int64_t>(Metric::kPower));
}

BENCHMARK(BuildRollups)->Apply(both_grids);
BENCHMARK(EncodeDay)->Apply(both_grids);
BENCHMARK(DecodeDay)->Apply(both_grids);
BENCHMARK(ReadSummaries)->Apply(both_grids);
BENCHMARK(LoadSeries)->Apply(both_grids);
BENCHMARK(LoadSeriesByDecoding)->Apply(both_grids);

}  // namespace
