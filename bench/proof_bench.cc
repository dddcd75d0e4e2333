// How long does proof take on a quarter of 1,000 GPUs? 125 machines of eight GPUs for 90 days, jobs of 1 to 64 GPUs and of minutes to
// days that take 70 % of the fleet, more of them by day; telemetry of utilisation and memory. Time of one replay with one change (a
// machine less, and a tenth of the fleet on spot: one drawing), and of a full joint plan on as many threads as the argument says.
//   build/release/bench/proof_bench
#include <benchmark/benchmark.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "advise/joint_plan.h"
#include "advise/prove.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr size_t kNodes = 125;
constexpr size_t kDays = 90;
constexpr size_t kHours = 24 * kDays;
constexpr double kLoad = 0.7;

struct Quarter {
  History history;
  Usage usage;

  Quarter() {
    Prng prng(1);
    history.period =
        usage.period = {from_civil({.year = 2026, .month = 7}), from_civil({.year = 2026, .month = 7}) + kHour * kHours};
    for (size_t n = 0; n < kNodes; ++n)
      add_node(n, prng);
    add_jobs(prng);
  }

  void add_node(size_t n, Prng& prng) {
    Node node;
    node.name = fmt::format("node-{:03}", n);
    node.provider = "aws";
    node.region = "us-east-1";
    node.instance_type = "p4d.24xlarge";
    node.market = Market::kOnDemand;
    node.gpu_model = "A100-40GB";
    node.gpu_count = 8;
    // Most are a training cluster; some serve, and nobody recorded what.
    node.kind = n % 10 == 9 ? WorkloadKind::kRealtimeInference : WorkloadKind::kTraining;
    node.checkpointable = n % 2 == 0 ? std::optional(true) : std::nullopt;
    history.nodes.push_back(node);
    for (int g = 0; g < 8; ++g) {
      Device device;
      device.node = NodeId(static_cast<uint32_t>(n));
      device.index = g;
      device.model = "A100-40GB";
      device.memory = Bytes::gibi(int64_t{40});
      history.devices.push_back(device);
      DeviceUsage& use = usage.devices.emplace_back();
      const double level = n % 10 == 9 ? 25 * prng.uniform() : 40 + 50 * prng.uniform();
      for (const Metric metric : {Metric::kUtilization, Metric::kMemoryUsed})
        use.metrics[metric] = series(metric, metric == Metric::kUtilization ? level : level * 3e8);
    }
  }

  static HourlySeries series(Metric metric, double level) {
    HourlySeries s;
    s.hours.resize(kHours);
    std::vector<float> samples;
    for (size_t h = 0; h < kHours; ++h) {
      const double v = level * (0.7 + 0.3 * std::sin(static_cast<double>(h % 24) / 24 * 6.28));
      s.hours[h] = {static_cast<float>(v), static_cast<float>(v * 1.1), 3600, 100};
      samples.push_back(static_cast<float>(v));
    }
    s.sketch.add_all(metric, samples);
    s.count = samples.size();
    s.max = level * 1.1;
    return s;
  }

  void add_jobs(Prng& prng) {
    constexpr std::array<int64_t, 8> kGpus = {1, 1, 1, 2, 4, 8, 16, 64};
    const double capacity = static_cast<double>(8 * kNodes * kHours) * 0.9 * kLoad;
    double asked = 0;
    for (int64_t id = 1; asked < capacity; ++id) {
      Run run;
      run.id = fmt::format("{}", id);
      run.name = "train";
      run.kind = WorkloadKind::kTraining;
      const int64_t gpus = kGpus[prng.below(kGpus.size())];
      const double hours = std::min(72.0, std::exp(0.6 + 1.2 * prng.normal()));
      double at = static_cast<double>(kHours) * prng.uniform();
      if (std::fmod(at, 24) < 8 && prng.uniform() < 0.6) at = std::min(at + 10, static_cast<double>(kHours) - 1);
      run.submitted = run.started = history.period.begin + Duration::from_seconds(3600 * at);
      run.ended = std::min(*run.started + Duration::from_seconds(3600 * hours), history.period.end);
      if (*run.ended <= *run.started) continue;
      run.checkpointable = prng.below(3) > 0 ? std::optional(true) : std::nullopt;
      const int64_t nodes = std::max<int64_t>(1, gpus / 8);
      const size_t first = prng.below(kNodes);
      for (size_t k = 0; run.allocations.size() < static_cast<size_t>(nodes); ++k)
        if ((first + k) % kNodes % 10 != 9)
          run.allocations.push_back({history.nodes[(first + k) % kNodes].name, {}, std::min<int64_t>(gpus, 8)});
      asked += hours * static_cast<double>(gpus);
      history.runs.push_back(std::move(run));
    }
  }
};

const Quarter& quarter() {
  static const Quarter q;
  return q;
}

const Auditor& auditor() {
  static const Auditor a =
      Auditor::create({quarter().history, quarter().usage, Catalog::built_in(), quarter().history.period.end, {}, ProofOptions()})
          .value();
  return a;
}

RunTasks on_threads(size_t threads) {
  return [threads](size_t count, const std::function<void(size_t)>& task) {
    std::atomic<size_t> next = 0;
    std::vector<std::jthread> pool;
    for (size_t t = 0; t < std::min(threads, count); ++t)
      pool.emplace_back([&] {
        for (size_t i = next++; i < count; i = next++)
          task(i);
      });
  };
}

void replay_with_one_change(benchmark::State& state) {
  const Prover prover = Prover::create(quarter().history, auditor().facts(), Catalog::built_in(), {.seeds = 1}).value();
  Change change = StopNodes{{"node-000"}};
  if (state.range(0) == 1) {
    SwitchMarket spot{.nodes = {}, .to = Market::kSpot};
    for (size_t n = 0; n < kNodes; n += 10)
      spot.nodes.push_back(quarter().history.nodes[n].name);
    change = spot;
  }
  for (auto _ : state) {
    const Proof proof = prover.together({change}, 1);
    CHECK(proof.verdict == ProofVerdict::kSurvives, "{}", proof.reason);
    state.counters["jobs"] = static_cast<double>(proof.jobs);
  }
}
BENCHMARK(replay_with_one_change)->ArgName("spot")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();

void full_plan(benchmark::State& state) {
  ProofOptions proof;
  std::atomic<int64_t> replays = 0;
  proof.run = on_threads(static_cast<size_t>(state.range(0)));
  proof.replayed = [&] { ++replays; };
  for (auto _ : state) {
    const Auditor a =
        Auditor::create({quarter().history, quarter().usage, Catalog::built_in(), quarter().history.period.end, {}, proof})
            .value();
    const JointPlan plan = joint_plan(a, {}).value();
    state.counters["findings"] = static_cast<double>(plan.report.findings.size());
  }
  state.counters["replays"] = static_cast<double>(replays);
}
BENCHMARK(full_plan)->ArgName("threads")->Arg(2)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
}  // namespace stint
