// Feeds the rules: what the engine knows of machines, queues and jobs, and what the GPUs' minutes are, as subjects, facts,
// events and samples of the evaluator. It remembers whose matter a subject is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/engine/engine.h"
#include "daemon/finding_book.h"
#include "daemon/live/live_telemetry.h"
#include "telemetry/alert_evaluator.h"

namespace stint {

/// A job that runs and said how often it saves its work.
struct SavingJob {
  std::string id;  ///< public
  std::string queue;
  Instant started;
};

/// A job's process that ran out of memory.
struct MemoryShortage {
  std::string node;
  WorkloadKind kind = WorkloadKind::kUnknown;
  Instant at;
};

/// What is looked at of the engine, between two of its steps.
struct AlertWorld {
  bool read_only = false;
  std::vector<NodeView> nodes;
  std::vector<QueueView> queues;
  std::vector<SavingJob> saving;
  std::vector<EventView> events;  ///< behind those seen before, oldest first
  std::vector<MemoryShortage> shortages;
};

/// What Prometheus needs to evaluate the same rules and only the feed has. Counters begin with the feed, at 0.
struct AlertCounters {
  std::map<std::string, int64_t> failed_jobs;                             ///< by queue
  std::map<std::pair<std::string, WorkloadKind>, int64_t> out_of_memory;  ///< by node and kind of work
  std::map<std::string, std::pair<std::string, Instant>>
      last_checkpoint;                      ///< of jobs that save: queue, and when (or their start)
  std::vector<UnusualSpend> unusual_spend;  ///< by the last audit
  std::optional<double> price_age_days;     ///< of the oldest price that it rests on
};

/// Of this period's; none without a budget.
std::optional<double> budget_used_percent(const QueueView& queue);

class AlertFeed {
 public:
  /// @param live  what the GPUs do; nullptr = not measured. Outlives the feed.
  AlertFeed(std::vector<AlertRule> rules, const LiveTelemetry* live);

  /// On the engine's thread. @param after  number of the last event seen before.
  [[nodiscard]] AlertWorld look(const Engine& engine, int64_t after);
  void take(const AlertWorld& world);
  /// The minutes of GPUs and services that are over and have not been fed yet.
  void take_minutes(Instant now);
  /// Takes the place of the audit taken before. @param audit  nullptr = there is none.
  void take_audit(const AuditContents* audit, Instant now);

  [[nodiscard]] AlertEvaluator& evaluator() { return evaluator_; }
  /// Whose matter it is now: the client of a queue or job, or the one that holds the GPU alone; empty = the operators'.
  [[nodiscard]] std::string client_of(const AlertSubject& who) const;
  /// Of a queue or job; empty = it has none.
  [[nodiscard]] std::string queue_of(const AlertSubject& who) const;
  [[nodiscard]] const AlertCounters& counters() const { return counters_; }

 private:
  void take_event(const EventView& event);
  void take_jobs(const std::vector<SavingJob>& saving);
  void forget_machines_but(const std::vector<NodeView>& nodes);
  SubjectId gpu_subject(const LiveGpu& gpu);

  AlertEvaluator evaluator_;
  const LiveTelemetry* live_;
  Duration looks_back_;                             // the longest window of a rule about GPUs
  std::optional<Instant> fed_;                      // minutes that begin before it are
  std::map<int64_t, bool> saves_;                   // jobs that run: did they say how often they save?
  std::map<std::string, bool> spot_;                // nodes
  std::map<std::string, std::string> gpu_clients_;  // by the name of the GPU
  AlertCounters counters_;
};

}  // namespace stint
