// The sources of live telemetry: this machine's GPUs and CPUs, addresses that are scraped, and simulation.
//
// Each looks once when it is asked to, puts what it sees into telemetry and history, and says when it wants to look again.
// A failure is the source's state, not an error of the daemon's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backends/local/machine_tasks.h"
#include "codec/sink.h"
#include "collect/gpu_sampler.h"
#include "daemon/live/live_config.h"
#include "daemon/live/live_history.h"
#include "daemon/live/live_telemetry.h"
#include "host/http_client.h"

namespace stint {

class SealKey;

/// Where samples go, and what machines are called here.
struct LiveTarget {
  LiveTelemetry& telemetry;
  LiveHistory* history = nullptr;  ///< none = nothing is kept
  std::set<std::string> nodes;     ///< as configured
};

/// A source's samples on their way: the same series again and again, each looked up once. The Sink of importers, too.
class LiveSink final : public Sink {
 public:
  /// @param node  of everything that comes, whatever labels say; empty = as they say.
  LiveSink(const LiveTarget& target, size_t source, std::string node = "")
      : target_(target), source_(source), node_(std::move(node)) {}

  SeriesId series(const SeriesKey& key) override;
  void samples(SeriesId id, std::span<const Sample> samples) override;
  void stale(SeriesId, Instant) override {}
  void reject(uint64_t line, std::string_view reason) override;
  // An exposition has none of these.
  void node(const Node&) override {}
  void run(const Run&) override {}
  void bill_line(const BillLine&) override {}
  void price(const PriceRow&) override {}
  void tenant_rule(const TenantRule&) override {}

 private:
  struct Known {
    std::string node;
    std::optional<size_t> gpu;  ///< none = the machine itself
    Metric metric = Metric::kUtilization;
    size_t history = 0;
    bool refused = false;
  };
  [[nodiscard]] std::string name_here(const std::string& node) const;

  const LiveTarget& target_;
  size_t source_;
  std::string node_;
  std::map<SeriesKey, SeriesId> ids_;
  std::vector<Known> known_;
};

class LiveInput {
 public:
  virtual ~LiveInput() = default;
  /// @return the pause until it wants to look again.
  virtual Duration look(Instant now) = 0;
};

/// GPUs of this machine, through NVML or nvidia-smi, with the processes on them and whose they are.
class LocalGpuInput final : public LiveInput {
 public:
  /// Called with an empty text when all GPUs answer for the first time, or do again, and with what one says when it no longer answers.
  using TellHealth = std::function<void(const std::string& failure)>;
  /// @param tasks  say whose a process is. @param tell_health  may be none
  LocalGpuInput(const LiveTarget& target, const LiveConfig& config, std::string node, std::shared_ptr<MachineTasks> tasks,
                TellHealth tell_health = {});
  Duration look(Instant now) override;

 private:
  struct Process {
    int64_t start_ticks = 0;
    Instant looked_at;
    std::string command, account;
    std::optional<LaunchKey> owner;
  };
  /// A part of a GPU that is partitioned by MIG.
  struct Part {
    SeriesId memory_used, memory_total;
    std::optional<size_t> place;
  };
  void put(size_t position, const GpuLook& look, Instant now);
  void put_parts(const std::vector<GpuLook>& looks, Instant now);
  const Part& part_of(const MigDevice& device);
  LiveProcess named(const GpuProcess& process, Instant now);

  void tell_health(const std::string& failure);

  const LiveTarget& target_;
  const LiveConfig& config_;
  TellHealth tell_health_;
  std::optional<std::string> told_health_;  ///< none = they have never answered
  std::string node_;
  size_t source_;
  LiveSink sink_;
  std::unique_ptr<GpuSampler> sampler_;
  std::vector<std::vector<SeriesId>> series_;                   ///< by GPU, by field of a reading
  std::vector<std::optional<size_t>> places_;                   ///< of the GPUs in telemetry
  std::map<std::tuple<size_t, int, std::string>, Part> parts_;  ///< by GPU, instance, profile
  std::shared_ptr<MachineTasks> tasks_;
  std::map<int64_t, Process> processes_;
};

/// What this machine's CPUs do, all together.
class HostCpuInput final : public LiveInput {
 public:
  HostCpuInput(const LiveTarget& target, std::string node);
  Duration look(Instant now) override;

 private:
  const LiveTarget& target_;
  size_t source_;
  LiveSink sink_;
  SeriesId series_;
  int64_t busy_ = 0, total_ = 0;  ///< clock ticks, at the look before
};

/// One address: a text exposition, or a Prometheus server that is asked for the newest of every metric Stint knows.
class ScrapeInput final : public LiveInput {
 public:
  /// @param secrets_key  of a token in an encrypted file; null: there is none
  ScrapeInput(const LiveTarget& target, LiveSourceKind kind, ScrapeTarget address,
              std::shared_ptr<const SealKey> secrets_key = nullptr);
  Duration look(Instant now) override;

 private:
  Status scrape(Instant now);
  LiveSourceKind kind_;
  ScrapeTarget address_;
  std::shared_ptr<const SealKey> secrets_key_;
  const LiveTarget& target_;
  size_t source_;
  LiveSink sink_;
  std::optional<HttpClient> client_;
  int failures_ = 0;  ///< in a row
};

/// GPUs that are not there: a job uses what it holds, most of the time.
class SimulatedInput final : public LiveInput {
 public:
  explicit SimulatedInput(const LiveTarget& target);
  Duration look(Instant now) override;

 private:
  const LiveTarget& target_;
  size_t source_;
  LiveSink sink_;
};

}  // namespace stint
