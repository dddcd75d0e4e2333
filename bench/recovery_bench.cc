// How long does a daemon take to come back? 100,000 jobs that were submitted, ran and ended are in its log: the time of
// Engine::open, from the newest snapshot on (0: with the records behind it), or from the whole log (1: everything decided again).
//   build/release/bench/recovery_bench
#include <benchmark/benchmark.h>

#include <filesystem>

#include "backends/simulated_backend.h"
#include "daemon/engine/engine.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

const Instant kBegin = Instant::from_seconds(1'800'000'000);

FleetConfig fleet() {
  std::string json = R"({"policy":"stint","nodes":[)";
  for (int n = 0; n < 16; ++n)
    json += fmt::format(R"({}{{"name":"n{}","gpu_model":"A100","gpus":8,"per_hour":"16"}})", n > 0 ? "," : "", n);
  auto parsed = parse_fleet_config(json + R"(],"queues":[{"name":"a"},{"name":"b"},{"name":"c"}]})", "bench");
  CHECK(parsed.ok(), "{}", parsed.error().message);
  return *parsed;
}

/// Jobs come as fast as they end, ten in a step, so that some wait and most of the machines are in use.
void fill(const std::string& path, int64_t jobs, const EngineOptions& options) {
  auto log = EventLog::open(path, {.sync = false});
  SimulatedBackend backend;
  Instant now = kBegin;
  auto engine = Engine::open(*log, backend, fleet(), options, now);
  CHECK(engine.ok(), "{}", engine.error().message);
  JobRequest request;
  request.command = {"./train", "--epochs", "30"};
  request.user = "ada";
  request.tags = {{"project", "vision"}, {"team", "research"}};
  for (int64_t j = 0; j < jobs; ++j) {
    request.name = fmt::format("train-{}", j);
    request.queue = std::string(1, static_cast<char>('a' + j % 3));
    request.gpus = 1 << j % 4;
    request.simulated_duration = Duration::seconds(20 + j * 7 % 41);
    CHECK(engine->stage_submit(request, {.actor = "ada", .idempotency_key = ""}).ok(), "job {}", j);
    if (j % 10 != 9) continue;
    now = now + Duration::seconds(13);
    engine->poll_backend(now);
    CHECK(engine->commit(now).ok(), "step at {}", format_utc(now));
  }
}

void recovery(benchmark::State& state) {
  const ScratchDir dir;
  const std::string path = dir / "log.db";
  const bool whole = state.range(1) == 1;
  EngineOptions options;
  if (whole) {
    options.records_between_snapshots = options.steps_between_marks = INT64_MAX;
    options.ended_kept = INT64_MAX / 4;
  }
  fill(path, state.range(0), options);
  for (auto _ : state) {
    auto log = EventLog::open(path);
    SimulatedBackend backend;
    auto engine = Engine::open(*log, backend, fleet(), options, kBegin);
    CHECK(engine.ok(), "{}", engine.error().message);
    CHECK((engine->recovery().snapshot_step == 0) == whole, "from the wrong place");
    state.counters["in_memory"] = static_cast<double>(engine->jobs_in_memory());
    state.counters["jobs"] = static_cast<double>(engine->overview().jobs);
    state.counters["records"] = static_cast<double>(engine->recovery().records);
  }
  state.counters["log_mib"] = static_cast<double>(std::filesystem::file_size(path)) / (1 << 20);
}
BENCHMARK(recovery)->ArgsProduct({{30'000, 100'000}, {0, 1}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint
