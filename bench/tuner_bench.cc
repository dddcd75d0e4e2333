// Does the tuner's answer hold, how far below it is the neighbour it refuses, and how long does it take?
//
// 20 random latency curves, promises and loads (Poisson); each answer and each refused neighbour is simulated 20 times with seeds
// the tuner never saw, 20,000 requests each. Printed as counters: % of runs in which the promise is kept at the answer, and broken at
// the neighbour; the mean gap between the two in % of the answer's replicas.
#include <benchmark/benchmark.h>

#include "batching/tuner.h"

namespace stint::batching {
namespace {

struct Case {
  DeviceProfile device;
  TuneOptions options;
};

Case random_case(Prng& prng) {
  const auto base = static_cast<int64_t>(1'000'000 + prng.below(20'000'000));
  const auto each = static_cast<int64_t>(50'000 + prng.below(3'000'000));
  std::vector<MeasuredBatch> measured;
  for (int64_t batch = 1, most = int64_t{1} << prng.below(6); batch <= most; batch *= 2) {
    MeasuredBatch point{batch, {}};
    for (int64_t k = 90; k <= 110; ++k)
      point.times.push_back(Duration::nanoseconds((base + each * batch) / 100 * k));
    measured.push_back(point);
  }
  Case made{{"device", Rate(), 1, LatencyProfile::create(std::move(measured)).value()}, {}};
  made.options.promise.limit = Duration::nanoseconds((base + each) * static_cast<int64_t>(15 + prng.below(60)) / 10);
  made.options.per_second = 100 + static_cast<double>(prng.below(2000));
  made.options.most_replicas = 1000;
  return made;
}

void answers_hold(benchmark::State& state) {
  constexpr int64_t kCases = 20;
  constexpr int64_t kRuns = 20;
  int64_t kept = 0, broken = 0, with_neighbour = 0;
  double gap = 0;
  for (auto _ : state) {
    Prng prng(1);
    for (int64_t i = 0; i < kCases; ++i) {
      const Case c = random_case(prng);
      const Tuning tuning = std::move(tune({c.device}, c.options)).value();
      CHECK(tuning.best.has_value(), "case {}: {}", i, tuning.devices[0].reason);
      state.PauseTiming();
      const auto keeps = [&](const TunedSetup& s) {
        int64_t count = 0;
        for (uint64_t seed = 1'000'000; seed < 1'000'000 + kRuns; ++seed)
          count += simulate_serving(c.device.latency, s.setup, {c.options.per_second, s.replicas}, c.options.promise,
                                    {c.options.requests, seed, c.options.arrivals})
                       .kept;
        return count;
      };
      const DeviceTuning& d = tuning.devices[0];
      kept += keeps(*d.answer);
      if (d.neighbour) {
        ++with_neighbour;
        broken += kRuns - keeps(*d.neighbour);
        gap += 100.0 * static_cast<double>(d.answer->replicas - d.neighbour->replicas) / static_cast<double>(d.answer->replicas);
      }
      state.ResumeTiming();
    }
  }
  state.counters["kept %"] = 100.0 * static_cast<double>(kept) / (kCases * kRuns);
  state.counters["broken %"] = 100.0 * static_cast<double>(broken) / static_cast<double>(with_neighbour * kRuns);
  state.counters["gap %"] = gap / static_cast<double>(with_neighbour);
  state.counters["neighbours"] = static_cast<double>(with_neighbour);
}
BENCHMARK(answers_hold)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stint::batching
