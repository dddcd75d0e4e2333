// What looking at eight GPUs every second costs, with the stand-in for NVML: a look by itself, and the whole collector.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "backends/simulated_backend.h"
#include "daemon/live/live_collector.h"
#include "daemon/live/live_inputs.h"
#include "host/clock.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

constexpr int kGpus = 8;

/// Eight GPUs, on each of which this very process computes.
void stand_in(const ScratchDir& dir) {
  std::ofstream pids(dir / "pids");
  for (int i = 0; i < kGpus; ++i)
    pids << getpid() << "\n";
  pids.close();
  setenv("FAKE_NVML_GPUS", std::to_string(kGpus).c_str(), 1);
  setenv("FAKE_NVML_PIDS", (dir / "pids").c_str(), 1);
}

double cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

LiveConfig config_here() {
  LiveConfig config;
  config.nvml_library = STINT_FAKE_NVML;
  return config;
}

/// One look at all GPUs, their processes and whose they are, into telemetry and history.
void look_at_eight_gpus(benchmark::State& state) {
  const ScratchDir dir;
  stand_in(dir);
  LiveTelemetry live;
  LiveHistory history({.path = dir / "history.db", .source = "bench"});
  const LiveTarget target{live, &history, {"n0"}};
  const LiveConfig config = config_here();
  LocalGpuInput input(target, config, "n0", dir / "work");
  Instant at = now();
  for (auto _ : state) {
    input.look(at);
    at = at + Duration::seconds(1);
  }
}
BENCHMARK(look_at_eight_gpus)->Unit(benchmark::kMicrosecond);

/// The daemon's engine and collector for some seconds: share of one core, the history's writes every five seconds in it.
void collector(benchmark::State& state) {
  const ScratchDir dir;
  stand_in(dir);
  auto fleet = parse_fleet_config(R"({"nodes":[{"name":"n0","gpus":8,"per_hour":"16"}],"queues":[{"name":"main"}]})", "bench");
  EventLog log = EventLog::open(dir / "events.db").value();
  SimulatedBackend backend;
  Service service(Engine::open(log, backend, *fleet, {}, now()).value(), backend, EventClock(now()));
  LiveTelemetry live;
  LiveCollectorOptions options;
  options.config = config_here();
  options.config.history_every = Duration::seconds(5);
  options.tasks_folder = dir / "work";
  options.history_path = dir / "history.db";
  options.nodes = {"n0"};
  options.clock = [] { return now(); };
  const LiveCollector running(service, live, std::move(options));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (auto _ : state) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(20));
    state.counters["core_pct"] = 100 * (cpu_seconds() - before) / 20;
  }
}
BENCHMARK(collector)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stint
