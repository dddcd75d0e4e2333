// What `replica_pool.h` predicts of p99 against requests simulated one by one: 200 random services a seed (testing_pool.h).
//
// Counters: median, 90th percentile and largest of the error's size, lowest and highest error, in percent. By kind of service, and by how
// long bursts last against the time that a request takes: below the time in which a queue settles a mix of levels says too much.
#include <benchmark/benchmark.h>

#include "batching/testing_pool.h"

namespace stint::batching {
namespace {

void report_errors(benchmark::State& state, std::vector<double> errors) {
  std::ranges::sort(errors);
  state.counters["services"] = static_cast<double>(errors.size());
  state.counters["lowest"] = 100 * errors.front();
  state.counters["highest"] = 100 * errors.back();
  for (double& error : errors)
    error = std::abs(error);
  std::ranges::sort(errors);
  state.counters["median"] = 100 * errors[errors.size() / 2];
  state.counters["p90"] = 100 * errors[errors.size() * 9 / 10];
  state.counters["worst"] = 100 * errors.back();
}

/// @param kind  empty = all. @param burst_ms  0 = as drawn; else those with bursts alone.
std::vector<double> errors_of(const std::string& kind, uint64_t seed, double burst_ms) {
  Prng prng(seed);
  std::vector<double> errors;
  for (uint64_t i = 0; i < 200; ++i) {
    TestService s = random_service(prng);
    if (!kind.empty() && s.kind != kind) continue;
    if (burst_ms > 0 && s.burst_share <= 0) continue;
    if (burst_ms > 0) s.burst_ms = burst_ms;
    errors.push_back(compare_p99(s, 1000 + i).error());
  }
  return errors;
}

void p99_by_kind(benchmark::State& state, const std::string& kind) {
  for (auto _ : state)
    report_errors(state, errors_of(kind, static_cast<uint64_t>(state.range(0)), 0));
}
BENCHMARK_CAPTURE(p99_by_kind, all, "")->DenseRange(20, 24)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(p99_by_kind, equal, "equal times")->Arg(20)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(p99_by_kind, exponential, "exponential times")->Arg(20)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(p99_by_kind, equal_bursts, "equal times, bursts")->Arg(20)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(p99_by_kind, exponential_bursts, "exponential times, bursts")->Arg(20)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(p99_by_kind, batches, "batches")->Arg(20)->Iterations(1)->Unit(benchmark::kSecond);

void p99_by_length_of_bursts(benchmark::State& state) {
  for (auto _ : state)
    report_errors(state, errors_of("", 20, static_cast<double>(state.range(0))));
}
BENCHMARK(p99_by_length_of_bursts)->RangeMultiplier(10)->Range(1, 100)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stint::batching
