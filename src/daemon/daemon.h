// The daemon put together: state folder, log, backend, engine and its door. What listens on the network is put on top.
//
// A state folder holds `lock` (one daemon at a time), `events.db` (the event log) and `work` (of the local backend).
#pragma once

#include <memory>
#include <string>

#include "backends/backend.h"
#include "daemon/fleet_config.h"
#include "daemon/service.h"
#include "host/lock_file.h"
#include "store/event_log.h"

namespace stint {

struct DaemonOptions {
  std::string config_file;   ///< JSON, docs/formats.md
  std::string state_folder;  ///< made where it is missing
  bool simulate = false;     ///< nothing runs: tasks end after the times given for them
};

class Daemon {
 public:
  /// Takes the folder, recovers, reconciles with what runs, and begins to take commands.
  static Result<std::unique_ptr<Daemon>> start(const DaemonOptions& options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  [[nodiscard]] Service& service() { return *service_; }
  [[nodiscard]] const DaemonConfig& config() const { return config_; }
  [[nodiscard]] const std::string& state_folder() const { return options_.state_folder; }
  /// Of the start.
  [[nodiscard]] const Recovery& recovery() const { return recovery_; }
  /// What a person must know about the backend.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// Reads the configuration again and takes over its machines, prices and queues. @return what could not be taken over: all
  /// is then as it was.
  Status reload();
  /// No more commands, everything taken is durable; what runs goes on.
  void stop();

 private:
  Daemon(DaemonOptions options, LockFile lock) : options_(std::move(options)), lock_(std::move(lock)) {}

  DaemonOptions options_;
  LockFile lock_;
  DaemonConfig config_;
  Recovery recovery_;
  std::vector<std::string> notes_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<Service> service_;
};

}  // namespace stint
