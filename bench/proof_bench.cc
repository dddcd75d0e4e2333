// How long does proof take on a quarter of 1,000 GPUs? 166 machines of five pools for 90 days, as large fleets have them: a training cluster
// of 60 × 8 GPUs under Slurm (jobs of 1 to 64 GPUs and of minutes to days that take 70 % of it, more of them by day), 26 × 8 that serve,
// 40 × 4 on which experiments use one GPU, 16 × 8 that are there on Saturdays and work 8 of 24 hours, 24 notebooks. Telemetry of
// utilisation and memory, a bill line a day and machine. Time of one replay with one change (a machine less; a tenth of the cluster on
// spot: one drawing), and of a full joint plan on as many threads as the argument says.
//   build/release/bench/proof_bench
#include <benchmark/benchmark.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "advise/plan/joint_plan.h"
#include "advise/prove/prove.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr size_t kDays = 90;
constexpr size_t kHours = 24 * kDays;

Instant at_hour(Instant begin, size_t hour) { return begin + kHour * static_cast<int64_t>(hour); }
constexpr size_t kTrainers = 60;
constexpr double kLoad = 0.7;

struct Pool {
  std::string_view name, type, gpu_model;
  size_t nodes;
  int gpus;
  double per_hour;
  WorkloadKind kind;
};
constexpr Pool kPools[] = {
    {"train", "p4d.24xlarge", "A100-40GB", kTrainers, 8, 21.957642, WorkloadKind::kTraining},
    {"serve", "p4d.24xlarge", "A100-40GB", 26, 8, 21.957642, WorkloadKind::kRealtimeInference},
    {"lab", "p3.8xlarge", "V100-16GB", 40, 4, 12.24, WorkloadKind::kTraining},
    {"eval", "p4d.24xlarge", "A100-40GB", 16, 8, 21.957642, WorkloadKind::kEvaluation},
    {"hub", "p3.2xlarge", "V100-16GB", 24, 1, 3.06, WorkloadKind::kNotebook},
};

struct Quarter {
  History history;
  Usage usage;

  Quarter() {
    Prng prng(1);
    const Instant begin = from_civil({.year = 2026, .month = 7});
    history.period = usage.period = {begin, at_hour(begin, kHours)};
    for (const Pool& pool : kPools)
      for (size_t n = 0; n < pool.nodes; ++n)
        add_node(pool, n, prng);
    add_jobs(prng);
  }

  [[nodiscard]] bool is_there(const Pool& pool, size_t hour) const {
    return pool.kind != WorkloadKind::kEvaluation || weekday(at_hour(history.period.begin, hour)) == 5;
  }

  void add_node(const Pool& pool, size_t n, Prng& prng) {
    Node node;
    node.name = fmt::format("{}-{:02}", pool.name, n);
    node.resource_id = "i-" + node.name;
    node.provider = "aws";
    node.region = "us-east-1";
    node.instance_type = pool.type;
    node.market = Market::kOnDemand;
    node.gpu_model = pool.gpu_model;
    node.gpu_count = pool.gpus;
    node.kind = pool.kind;
    if (pool.name == "lab" || n % 2 == 0) node.checkpointable = true;
    history.nodes.push_back(node);
    const auto id = NodeId(static_cast<uint32_t>(history.nodes.size() - 1));
    bill(node, pool);
    const std::vector<uint8_t> works = hours_of_work(pool, n, prng);
    for (int g = 0; g < pool.gpus; ++g) {
      Device device;
      device.node = id;
      device.index = g;
      device.model = pool.gpu_model;
      device.memory = Bytes::gibi(int64_t{pool.gpu_model == "V100-16GB" ? 16 : 40});
      history.devices.push_back(device);
      // Experiments use one GPU of four.
      const bool used = pool.name != "lab" || g == 0;
      const double level = pool.kind == WorkloadKind::kRealtimeInference ? 10 + 15 * prng.uniform() : 40 + 50 * prng.uniform();
      DeviceUsage& use = usage.devices.emplace_back();
      use.metrics[Metric::kUtilization] = series(pool, works, Metric::kUtilization, used ? level : 0);
      use.metrics[Metric::kMemoryUsed] = series(pool, works, Metric::kMemoryUsed, used ? 1e8 * level : 0);
    }
  }

  void bill(const Node& node, const Pool& pool) {
    for (size_t day = 0; day < kDays; ++day) {
      if (!is_there(pool, 24 * day)) continue;
      BillLine line;
      line.provider = "aws";
      line.region = node.region;
      line.resource_id = node.resource_id;
      line.resource_name = node.name;
      line.instance_type = node.instance_type;
      line.spend = SpendKind::kCompute;
      line.market = Market::kOnDemand;
      line.charge_period = {at_hour(history.period.begin, 24 * day), at_hour(history.period.begin, 24 * day + 24)};
      line.billing_period = history.period;
      line.billed = line.effective = Money::estimate(24 * pool.per_hour, Currency());
      line.pricing_unit = "Hours";
      line.quantity = "24";
      history.bill.push_back(std::move(line));
    }
  }

  /// By hour: whether anything runs. Experiments and notebooks keep their own office hours, evaluations take eight hours.
  [[nodiscard]] std::vector<uint8_t> hours_of_work(const Pool& pool, size_t n, Prng& prng) const {
    std::vector<uint8_t> works(kHours, 1);
    const size_t first = 6 + n % 5;
    for (size_t h = 0; h < kHours; ++h) {
      const bool weekend = weekday(at_hour(history.period.begin, h)) >= 5;
      if (pool.kind == WorkloadKind::kNotebook) works[h] = !weekend && h % 24 >= first && h % 24 < first + 10;
      if (pool.name == "lab") works[h] = !weekend && h % 24 >= first && h % 24 < first + 8 + prng.below(6);
      if (pool.kind == WorkloadKind::kEvaluation) works[h] = h % 24 < 8;
    }
    return works;
  }

  HourlySeries series(const Pool& pool, const std::vector<uint8_t>& works, Metric metric, double level) const {
    HourlySeries s;
    s.hours.resize(kHours);
    std::vector<float> samples;
    for (size_t h = 0; h < kHours; ++h) {
      if (!is_there(pool, h)) continue;
      const double v = works[h] == 0 ? 0 : level * (0.7 + 0.3 * std::sin(static_cast<double>(h % 24) / 24 * 6.28));
      const bool idle = metric == Metric::kUtilization && v < kIdleBelowPercent;
      s.hours[h] = {static_cast<float>(v), static_cast<float>(v * 1.1), 3600, static_cast<uint16_t>(idle ? 1000 : 50)};
      samples.push_back(static_cast<float>(v));
    }
    s.sketch.add_all(metric, samples);
    s.count = samples.size();
    s.max = level * 1.1;
    return s;
  }

  /// Of the training cluster.
  void add_jobs(Prng& prng) {
    constexpr std::array<int64_t, 8> kGpus = {1, 1, 1, 2, 4, 8, 16, 64};
    const double capacity = static_cast<double>(8 * kTrainers * kHours) * kLoad;
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
      const auto nodes = static_cast<size_t>(std::max<int64_t>(1, gpus / 8));
      const size_t first = prng.below(kTrainers);
      for (size_t k = 0; k < nodes; ++k)
        run.allocations.push_back({history.nodes[(first + k) % kTrainers].name, {}, std::min<int64_t>(gpus, 8)});
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
  Change change = StopNodes{{"train-00"}};
  if (state.range(0) == 1) {
    SwitchMarket spot{.nodes = {}, .to = Market::kSpot};
    for (size_t n = 0; n < kTrainers; n += 10)
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
    state.counters["rejected"] = static_cast<double>(plan.report.rejected.size());
    state.counters["front"] = static_cast<double>(plan.front.size());
    state.counters["saved_pct"] =
        100 * plan.report.totals.saving_per_month.to_double() / plan.report.totals.bill_per_month.to_double();
  }
  state.counters["replays"] = static_cast<double>(replays);
}
BENCHMARK(full_plan)->ArgName("threads")->Arg(2)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
}  // namespace stint
