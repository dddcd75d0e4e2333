// What a replay of the fleet's own work says of a Change: plain figures, for people and for decisions (advise/prove/prove.h makes them).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"

namespace stint {

enum class ProofVerdict : uint8_t {
  kArithmetic,  ///< could not be replayed: the figures of the finding are arithmetic, and the reason says why
  kSurvives,
  kRejected,  ///< replayed, and the reason says what went wrong
};
std::string_view name_of(ProofVerdict v);  // "arithmetic", "survives", "rejected"

enum class ProofMethod : uint8_t {
  kJobs,      ///< the fleet's jobs were run again
  kRequests,  ///< the hours of services were run again through a model of their queues
  kBill,      ///< the hours that machines were in use were billed again
};
std::string_view name_of(ProofMethod m);  // "jobs", "requests", "bill"

/// A figure and how it varies: the middle 80 % over weeks of the period drawn again and, where chance was drawn, over seeds.
struct ProofFigure {
  double mean = 0;
  double p10 = 0;
  double p90 = 0;
};

/// Of the jobs that were run again, without the change and with it.
struct ProofJobs {
  double waiting_mean_s = 0;
  double completion_mean_s = 0;  ///< submission to end
  double completion_p95_s = 0;
  double lost_gpu_hours = 0;  ///< work that had to be done again
  double unfinished = 0;      ///< jobs, a mean over seeds
};

struct Proof {
  ProofVerdict verdict = ProofVerdict::kArithmetic;
  ProofMethod method = ProofMethod::kJobs;
  std::string reason;  ///< of kArithmetic and kRejected
  Money saving_per_month, saving_p10, saving_p90;
  int64_t jobs = 0;            ///< run again; 0 = none were
  ProofFigure waiting_s;       ///< mean waiting, seconds more
  ProofFigure completion_pct;  ///< mean completion, percent more
  ProofFigure throughput_pct;  ///< work done of that done before; of services, requests served in time
  ProofFigure latency_pct;     ///< of services: p99 of the one that suffers most, of what it was before
  ProofFigure lost_gpu_hours;  ///< a month, more than before
  ProofJobs before, after;
  int64_t services = 0;            ///< services × GPUs whose hours were run again
  int weeks = 0;                   ///< blocks that were drawn from
  int seeds = 0;                   ///< of spot interruptions; 1 = nothing was left to chance
  std::vector<std::string> notes;  ///< what was assumed
};

/// Runs task(0) … task(count − 1), in any order, perhaps several at once, and returns when all are done.
using RunTasks = std::function<void(size_t count, const std::function<void(size_t)>& task)>;

struct ProofOptions {
  /// That of most clusters: what comes out comes of the change, not of a cleverer scheduler.
  std::string policy = "fifo:backfill=easy";
  int seeds = 5;  ///< of spot interruptions, ≥ 1
  uint64_t seed = 42;
  int draws = 400;                                  ///< of weeks and seeds, for the intervals
  double most_longer_pct = 25;                      ///< mean completion may grow by that much …
  Duration always_allowed = Duration::minutes(15);  ///< … or by this
  double least_work_pct = 98;                       ///< of the work done before that must still get done
  RunTasks run;                                     ///< empty = one after another
  std::function<void()> replayed;                   ///< called after each replay, from any thread; may be empty
};

/// A plan against the fleet as it is, by how far it was proven. The three sums are the plan's saving.
struct PlanProof {
  Proof together;  ///< all changes that jobs were replayed with, at once
  /// Of the plan's saving a month: on changes replayed with jobs, with requests, billed again, and arithmetic alone.
  Money by_jobs, by_requests, by_bill, by_sum;
};

}  // namespace stint
