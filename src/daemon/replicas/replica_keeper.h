// Services kept at as many replicas as they need: each is looked at again and again, all on one thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/finding_book.h"
#include "daemon/live/live_telemetry.h"
#include "daemon/replicas/replica_set.h"
#include "host/recurring.h"

namespace stint {

class SealKey;

class ReplicaKeeper {
 public:
  struct Options {
    std::function<Instant()> clock;
    std::string key_file;  ///< of which replicas' secrets are made; made where it is missing. Empty: they are given none
    AskReplica ask;        ///< none: over HTTP, and what they tell goes into telemetry
    std::shared_ptr<const SealKey> secrets_key = nullptr;  ///< of encrypted tokens; null: there is none
    /// What changes that were carried out ask of services, now; from the keeper's thread. Empty: nothing.
    std::function<std::shared_ptr<const StandingAsks>()> asks = {};
  };
  /// @param service, telemetry  outlive it.
  ReplicaKeeper(Service& service, LiveTelemetry& telemetry, Options options);
  ReplicaKeeper(const ReplicaKeeper&) = delete;
  ReplicaKeeper& operator=(const ReplicaKeeper&) = delete;
  /// What runs goes on.
  ~ReplicaKeeper();

  /// Replicas of services that are not among them any more are told to stop. One thread at a time.
  void configure(std::vector<ServiceConfig> services);
  /// As they are configured. From any thread.
  [[nodiscard]] std::vector<ReplicaSetView> views() const;

 private:
  AskReplica ask_of(const ServiceConfig& config);
  /// @return empty: there is none, and why is said
  std::string key();
  void end_others(const std::vector<std::shared_ptr<ReplicaSet>>& sets);

  Service& service_;
  LiveTelemetry& telemetry_;
  const Options options_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ReplicaSet>> sets_;  ///< guarded; changed by configure() alone
  std::unique_ptr<Recurring> thread_;
};

}  // namespace stint
