#include "daemon/daemon.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "backends/local_backend.h"
#include "backends/simulated_backend.h"
#include "host/file.h"

namespace stint {
namespace {

Result<std::unique_ptr<Backend>> make_backend(const DaemonOptions& options) {
  if (options.simulate) return std::unique_ptr<Backend>(std::make_unique<SimulatedBackend>());
  LocalBackend::Options local;
  local.state_folder = options.state_folder + "/work";
  TRY_ASSIGN(std::unique_ptr<LocalBackend> backend, LocalBackend::create(std::move(local)));
  return std::unique_ptr<Backend>(std::move(backend));
}

Result<DaemonConfig> read_config(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_all(path));
  return parse_daemon_config(text, path);
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(const DaemonOptions& options) {
  TRY_ASSIGN(DaemonConfig config, read_config(options.config_file));
  std::error_code error;
  std::filesystem::create_directories(options.state_folder, error);
  if (error) return make_error(ErrorCode::kUnavailable, "{}: cannot be made: {}", options.state_folder, error.message());
  std::filesystem::permissions(options.state_folder, std::filesystem::perms::owner_all, error);
  TRY_ASSIGN(LockFile lock, LockFile::take(options.state_folder + "/lock"));
  std::unique_ptr<Daemon> daemon(new Daemon(options, std::move(lock)));
  daemon->config_ = std::move(config);
  TRY_ASSIGN(daemon->backend_, make_backend(options));
  daemon->notes_ = daemon->backend_->notes();
  TRY_ASSIGN(EventLog log, EventLog::open(options.state_folder + "/events.db"));
  daemon->log_ = std::make_unique<EventLog>(std::move(log));
  EventClock clock(daemon->log_->last_at());
  TRY_ASSIGN(Engine engine, Engine::open(*daemon->log_, *daemon->backend_, daemon->config_.fleet, {}, clock.now()));
  daemon->recovery_ = engine.recovery();
  daemon->service_ = std::make_unique<Service>(std::move(engine), *daemon->backend_, clock);
  return daemon;
}

Daemon::~Daemon() { stop(); }

void Daemon::stop() {
  if (service_) service_->stop();
}

Status Daemon::reload() {
  TRY_ASSIGN(DaemonConfig next, read_config(options_.config_file));
  std::promise<Status> done;
  service_->change_fleet(next.fleet, {.actor = "configuration", .idempotency_key = ""}, [&](const Result<EngineView>& answer) {
    done.set_value(answer.ok() ? Status() : Status(answer.error()));
  });
  TRY(done.get_future().get());
  config_ = std::move(next);
  return {};
}

}  // namespace stint
