// The replicas of one service: jobs are submitted and taken back as sched/scaling and replica_plan decide, and those that are ready are
// named to whoever sends requests.
//
// All that must survive the daemon is in the jobs' own tags; what a replica does is asked of itself at each look.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/metrics/service_figures.h"
#include "daemon/finding_book.h"
#include "daemon/replicas/replica_plan.h"
#include "daemon/replicas/service_config.h"
#include "daemon/service.h"
#include "sched/scaling.h"

namespace stint {

/// Of a replica's job: the name of its service.
inline constexpr std::string_view kServiceTag = "stint.service";

/// Jobs that are replicas and have not ended. @param service  of this one; empty = of any
std::vector<JobView> replica_jobs(const Engine& engine, std::string_view service);
Status stop_replica(Service& service, int64_t job);

/// What a replica says when it is asked.
struct ReplicaHealth {
  enum class Answer : uint8_t {
    kReady,
    kNotReady,
    kSilent,
    kStranger,  ///< whoever answers there has not shown that it is the replica
  };
  Answer answer = Answer::kSilent;
  std::vector<ServiceFigures> figures;  ///< of each of its models
};
/// @param place  ADDRESS:PORT. Bounded in time.
using AskReplica = std::function<ReplicaHealth(const std::string& place, Instant now)>;

struct ReplicaSetView {
  std::string name, queue;
  int32_t wanted = 0, least = 0, most = 0;
  std::optional<double> utilization;  ///< mean part of what the promises allow; none = no ready one tells
  std::optional<double> per_second;   ///< requests, of all that are asked; none = not reported
  std::optional<Money> per_hour;      ///< of what replicas hold, ready or not; none = they hold nothing
  std::string reason;                 ///< of the last decision
  std::string trouble;                ///< the last; stays until all that are wanted are ready
  std::vector<Replica> replicas;      ///< ascending by place
};

/// What 1,000 requests cost as things stand; none = not known, or nothing is asked.
std::optional<Money> cost_per_thousand(const ReplicaSetView& service);

/// What the replica at that place alone is told, at its start.
std::string replica_secret(std::string_view key, std::string_view service, std::string_view place);

/// For one thread but view().
class ReplicaSet {
 public:
  /// @param service  outlives it. @param key  of which each place's secret is made; empty: replicas are given none
  ReplicaSet(Service& service, ServiceConfig config, AskReplica ask, std::string key = "");
  /// @return the pause until it wants to look again.
  Duration look(Instant now);
  /// From the next look on: never more than these replicas, and none on machines that rest: they go as others become ready elsewhere.
  void heed(const StandingAsks& asks);
  void ask_by(AskReplica ask) { ask_ = std::move(ask); }
  /// No replica is named any more.
  void retire();
  [[nodiscard]] const ServiceConfig& config() const { return config_; }
  [[nodiscard]] ReplicaSetView view() const;

 private:
  /// What is remembered of a replica between two looks.
  struct Memory {
    std::string name;  ///< of its job
    std::string place;
    bool is_ready = false;
    int silences = 0;                      ///< in a row
    std::optional<Instant> unready_since;  ///< while it runs
    std::optional<Instant> draining_since;
    bool stopped = false;  ///< by us
  };
  std::vector<Replica> gather(Instant now, sched::ScalingSignals& signals);
  ReplicaPhase phase_of(const JobView& job, const std::string& place, Memory& memory, std::vector<ServiceFigures>& figures,
                        Instant now);
  void note_lost(Instant now);
  void scale(sched::ScalingSignals& signals, Instant now);
  void begin(const std::string& place, Instant now);
  void stop(int64_t job);
  void avoid(const std::string& place);
  void fail(std::string why, Instant now);
  void name_ready();
  void tell(std::string kind, std::string detail);

  Service& service_;
  const ServiceConfig config_;
  AskReplica ask_;
  const std::string key_;
  sched::ScalingRules rules_;            ///< as configured, within what changes ask for
  std::set<std::string> resting_;        ///< machines
  const std::string version_;            ///< of the configuration
  std::vector<std::string> places_;      ///< those where one failed last come last
  std::optional<sched::Scaler> scaler_;  ///< none before the first look
  std::map<int64_t, Memory> memories_;   ///< by job
  Instant last_look_;
  int failures_ = 0;    ///< since all were ready
  Instant not_before_;  ///< nothing is begun
  std::optional<std::vector<std::string>> named_;

  ReplicaSetView shown_;  ///< written by the thread that looks
  mutable std::mutex mutex_;
  ReplicaSetView view_;  ///< guarded
};

}  // namespace stint
