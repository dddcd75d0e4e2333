// A small daemon for tests: a fleet, an engine on its own log, a simulated backend, and time that tests move.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "backends/simulated_backend.h"
#include "daemon/service.h"
#include "host/clock.h"
#include "host/scratch_dir.h"

namespace stint {

inline const Instant kDaemonStart = Instant::from_seconds(1'800'000'000);

/// `nodes` machines "n0", … of 8 A100 at 16 USD an hour each; queues "acme" (with "acme/vision") and "zoo".
inline FleetConfig testing_fleet(int nodes = 2) {
  std::string json = R"({"policy":"stint","nodes":[)";
  for (int n = 0; n < nodes; ++n)
    json += fmt::format(R"({}{{"name":"n{}","gpu_model":"A100-80GB","gpus":8,"gpu_memory":"80GiB","cpu_milli":128000,)"
                        R"("memory":"1024GiB","per_hour":"16"}})",
                        n > 0 ? "," : "", n);
  json += R"(],"queues":[{"name":"acme","deserved_gpus":8},{"name":"acme/vision"},{"name":"zoo","deserved_gpus":8}]})";
  auto fleet = parse_fleet_config(json, "testing fleet");
  CHECK(fleet.ok(), "{}", fleet.error().message);
  return *fleet;
}

/// testing_fleet() (machines of 8 GPUs, 2 a GPU-hour) under these rules.
inline FleetConfig governed(const std::string& govern, int nodes = 2) {
  nlohmann::json json = nlohmann::json::parse(to_json(testing_fleet(nodes)));
  json["govern"] = nlohmann::json::parse(govern);
  auto fleet = parse_fleet_config(json.dump(), "governed fleet");
  CHECK(fleet.ok(), "{}", fleet.error().message);
  return *fleet;
}

inline JobRequest testing_job(int gpus, Duration run_time, std::string queue = "acme/vision") {
  JobRequest job;
  job.name = "train";
  job.queue = std::move(queue);
  job.user = "ada";
  job.command = {"./train", "--epochs", "3"};
  job.gpus = gpus;
  job.simulated_duration = run_time;
  return job;
}

/// A service on its own log, in the time of the wall clock. @param log  made in `path`; outlives it, as the backend does
inline std::unique_ptr<Service> testing_service(std::optional<EventLog>& log, const std::string& path, Backend& backend) {
  auto opened = EventLog::open(path);
  CHECK(opened.ok(), "{}", opened.error().message);
  log.emplace(std::move(*opened));
  auto engine = Engine::open(*log, backend, testing_fleet(), {}, now());
  CHECK(engine.ok(), "{}", engine.error().message);
  return std::make_unique<Service>(std::move(*engine), backend, EventClock(now()));
}

class TestingDaemon {
 public:
  explicit TestingDaemon(std::string path, const FleetConfig& fleet = testing_fleet(), EngineOptions options = {},
                         EventLogOptions log_options = {})
      : path_(std::move(path)), fleet_(fleet), options_(std::move(options)), log_options_(std::move(log_options)) {
    restart();
  }

  /// The same with another configuration.
  void restart(const FleetConfig& fleet) {
    fleet_ = fleet;
    restart();
  }
  /// As after a crash: the engine is gone, the backend and the file stay.
  void restart() {
    engine_.reset();
    log_.reset();
    auto log = EventLog::open(path_, log_options_);
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(log).value());
    auto engine = Engine::open(*log_, backend_, fleet_, options_, now_);
    CHECK(engine.ok(), "{}", engine.error().message);
    engine_.emplace(std::move(engine).value());
  }

  /// Commits what is staged, now.
  Status commit() { return engine_->commit(now_); }
  int64_t submit(const JobRequest& job, const std::string& key = "") {
    const auto id = engine_->stage_submit(job, {.actor = "ada", .idempotency_key = key});
    CHECK(id.ok(), "{}", id.error().message);
    const Status committed = commit();
    CHECK(committed.ok(), "{}", committed.error().message);
    return *id;
  }
  /// Lets time pass, with everything that happens meanwhile at its own instant.
  void pass(Duration d) {
    const Instant until = now_ + d;
    for (;;) {
      Instant next = engine_->next_wakeup();
      if (const auto report = backend_.next_event_at()) next = std::min(next, *report);
      if (next > until) break;
      now_ = std::max(now_, next);
      engine_->poll_backend(now_);
      if (!engine_->has_staged() && engine_->next_wakeup() > now_) continue;
      const Status committed = commit();
      CHECK(committed.ok(), "{}", committed.error().message);
    }
    now_ = until;
  }
  JobView job(int64_t id) { return *engine_->job(id); }
  Engine& engine() { return *engine_; }
  EventLog& log() { return *log_; }
  SimulatedBackend& backend() { return backend_; }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  std::string path_;
  FleetConfig fleet_;
  EngineOptions options_;
  EventLogOptions log_options_;
  Instant now_ = kDaemonStart;
  SimulatedBackend backend_;
  std::optional<EventLog> log_;
  std::optional<Engine> engine_;
};

}  // namespace stint
