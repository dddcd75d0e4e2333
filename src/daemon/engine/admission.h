// May this job come in? Decided from what is asked, what the books say and what the policy allows: values in, a verdict out.
//
// A job counts with the most it can cost: its time limit (without one the policy's assumed duration, or the time it expects to
// take where that is longer) on the dearest machine it may run on. So a budget that refuses cannot be overrun by jobs that
// state a time limit, and no job slips past an approval by promising to be quick.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/api/job_request.h"
#include "daemon/engine/govern_policy.h"
#include "daemon/engine/spend_book.h"
#include "sim/workload.h"

namespace stint {

/// Machines that are alike to admission.
struct NodeKind {
  std::string gpu_model;
  int32_t gpus = 0;
  Bytes gpu_memory;
  int64_t cpu_milli = 0;
  Bytes memory;  ///< of the host
  std::string region;
  std::string owner;                           ///< the client it is dedicated to; empty = everybody's
  Rate rate;                                   ///< of the whole machine
  bool whole_gpus = true, shared_gpus = true;  ///< may jobs ask for whole GPUs of it, for parts of one?
  int32_t gpu_parts = 0;                       ///< of each GPU; 0 = thousandths
  std::vector<MigAsk> static_mig;              ///< devices that exist and stay; empty = cut as needed, or none
  int32_t max_tasks = INT32_MAX;
  int32_t machines = 1;
  bool operator==(const NodeKind&) const = default;
  /// Equal whatever the number of machines.
  [[nodiscard]] bool is_like(const NodeKind& other) const;
};
NodeKind kind_of(const Machine& node, const GovernPolicy& policy);

/// May jobs of the client run on such a machine?
bool may_use(const GovernPolicy& policy, std::string_view client, const NodeKind& kind);
/// Is there any machine in a fleet that the client might not use? Else nothing need be asked.
bool restricts(const GovernPolicy& policy, std::string_view client);

/// Could the job run if nothing else did? Machines that are drained or switched off count.
/// @return error that names what exists, as far as the client may use it
Status check_possible(const JobRequest& request, const GovernPolicy& policy, std::string_view client,
                      std::span<const NodeKind> kinds);

/// What a request (with all jobs of its array) can cost at most.
struct MostCost {
  Spend spend;
  Duration duration;       ///< of each job
  bool assumed = false;    ///< no time limit was stated
  int64_t gpu_milli = 0;   ///< at a time
  bool has_place = false;  ///< some machine that the client may use is of a kind the request names
};
/// Of one attempt: what is retried costs again.
MostCost most_cost(const JobRequest& request, const GovernPolicy& policy, std::string_view client,
                   std::span<const NodeKind> kinds);

/// How a budget that pays for the job stands.
struct BudgetStanding {
  const BudgetRule* rule = nullptr;
  Int128 spent = 0;     ///< nano-units
  Int128 promised = 0;  ///< likewise
};

/// What somebody's jobs ask for and use.
struct QuotaUse {
  int64_t gpu_milli = 0;
  Int128 micro_gpu_hours = 0;  ///< this month, promised ones included
  int64_t waiting = 0;
};

/// Jobs that do not run yet, where the configuration sets no max_waiting: each is memory, rows of the log and work at every decision.
inline constexpr int64_t kMostWaitingOfUser = 20'000;
inline constexpr int64_t kMostWaitingOfClient = 50'000;

struct AdmissionFacts {
  std::string client;
  Interval month;
  MostCost cost;
  std::vector<BudgetStanding> budgets;
  QuotaUse client_use, user_use;
};

struct Verdict {
  std::string needs_approval;  ///< why; empty = it comes in as it is
};

/// What kept a job out, for programs: decimals as texts.
struct AdmissionRefusal {
  std::string by;                    ///< a limit of ClientRules ("max_gpus", …) or "budget"; empty = it was none of these
  std::string of;                    ///< "client", "user" or "budget", and …
  std::string name;                  ///< … which
  std::optional<std::string> limit;  ///< none = not for the client's users to know
  std::optional<std::string> used;   ///< likewise; what is promised to jobs that wait or run is in it
  std::string asked;                 ///< what this job would add
  std::string unit;                  ///< "GPUs", "GPU-hours", "jobs", "records", "MiB" or a currency
};

/// Held to the limits above, by what waits already. @param rules  of the client, null = none: what they limit is left to admit().
Status check_backlog(const JobRequest& request, std::string_view client, int64_t of_user, int64_t of_client,
                     const ClientRules* rules, AdmissionRefusal* why);

/// @param why  the same as the error says, in parts; nullptr = not asked.
/// @return error naming the limit, how far it is used, and what to do.
Result<Verdict> admit(const JobRequest& request, const AdmissionFacts& facts, const GovernPolicy& policy,
                      AdmissionRefusal* why = nullptr);

}  // namespace stint
