// Keeps live telemetry alive: runs the sources on separate threads, follows the jobs, writes the history.
//
// Two sets of threads: one for this machine and the daemon itself, which never waits for a network, and one for addresses that
// are scraped, so that one that hangs delays neither.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "daemon/live/live_config.h"
#include "daemon/live/live_telemetry.h"
#include "daemon/power/off_machines.h"
#include "daemon/service.h"

namespace stint {

class MachineTasks;
class SealKey;

struct LiveCollectorOptions {
  LiveConfig config;
  bool simulated = false;               ///< no GPU is there: make up what they do
  std::shared_ptr<MachineTasks> tasks;  ///< of this machine; none with `simulated`
  std::string history_path;
  std::set<std::string> nodes;  ///< as configured, ascending
  std::function<Instant()> clock;
  const OffMachines* off = nullptr;                      ///< outlives the collector; none: all are on
  std::shared_ptr<const SealKey> secrets_key = nullptr;  ///< of encrypted tokens; null: there is none
};

class LiveCollector {
 public:
  /// @param service, telemetry  outlive it; the service is stopped after.
  LiveCollector(Service& service, LiveTelemetry& telemetry, LiveCollectorOptions options);
  /// Writes what waits for the history.
  ~LiveCollector();
  LiveCollector(const LiveCollector&) = delete;
  LiveCollector& operator=(const LiveCollector&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
