// Audit of a cluster that a batch system shares out: who asked for what and used how much of it, why jobs waited, and which jobs
// keep others from running: idle holds, limits far above the need, GPUs larger than the work, partitions that do not fit it.
//
// The clients' bill is the ledger's; here a hold costs its part of its machines' price for as long as it lasted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/find/queue_waits.h"
#include "base/money.h"
#include "catalog/catalog.h"
#include "model/history.h"
#include "telemetry/usage.h"

namespace stint {

struct FleetFacts;

/// An account, or one user of it.
struct ClusterUse {
  std::string account;
  std::string user;  ///< "" = the whole account
  int64_t runs = 0;
  double gpu_hours = 0;  ///< asked for and held
  double watched_gpu_hours = 0;
  double used_gpu_hours = 0;  ///< of the watched ones, × utilisation
  double idle_gpu_hours = 0;  ///< of the watched ones
  Duration mean_wait;
  std::optional<Money> cost;  ///< of what was held, in the period; none: no price is known
};

struct IdleHold {
  std::string run, account, user;
  int64_t gpus = 0, gpus_idle = 0;  ///< watched; without any activity
  double gpu_hours = 0, idle_gpu_hours = 0;
  std::optional<Money> idle_cost;
};

/// Jobs of one name whose limit is far above what any of them took.
struct LongLimit {
  std::string account, user, name;
  int64_t runs = 0;
  Duration limit, longest, enough;  ///< the smallest limit; the longest run; what to ask for
  double gpu_hours_unneeded = 0;    ///< of limits, beyond what the runs took
};

/// Jobs of one account that a smaller part of a GPU would have carried.
struct SmallWork {
  std::string account, user, name, gpu_model;
  int64_t runs = 0;
  double gpu_hours = 0;
  Bytes memory_peak;
  double busiest_pct = 0;
  std::string fits;  ///< "MIG 1g.10gb", "a third of a GPU (shard)"
};

struct Misplaced {
  enum class Why : uint8_t {
    kNoGpuAsked,  ///< holds CPUs of GPU machines; `better` has none
    kCheaperGpu,  ///< memory and work fit the GPUs of `better`
    kRoomAtOnce,  ///< waited while `better` had the same GPUs free
  };
  std::string account, user, partition, better;
  Why why = Why::kNoGpuAsked;
  int64_t runs = 0;
  double gpu_hours = 0;
  Duration waited;              ///< kRoomAtOnce
  std::optional<Money> saving;  ///< kCheaperGpu, in the period
};
std::string_view name_of(Misplaced::Why why);  // "no-gpu-asked", "cheaper-gpu", "room-at-once"

struct WaitCause {
  WaitKind kind = WaitKind::kRank;
  std::string reason;  ///< the batch system's word, of kNotEligible and kLimit
  int64_t runs = 0;
  Duration waited;
  Duration longest;
  double gpu_hours_waited = 0;  ///< × what the runs asked for
};
std::string_view name_of(WaitKind kind);  // "not-eligible", "limit", "no-gpus", "fragmented", "rank"

/// All lists begin with what weighs most.
struct ClusterAudit {
  std::vector<ClusterUse> accounts, users;
  std::vector<IdleHold> idle;
  std::vector<LongLimit> limits;
  std::vector<SmallWork> small;
  std::vector<Misplaced> misplaced;
  std::vector<WaitCause> waits;
};

/// @return none where no batch system told of its queue.
std::optional<ClusterAudit> audit_cluster(const History& history, const QueueHistory& queue, const Usage& usage,
                                          const FleetFacts& facts, const Catalog& catalog);

}  // namespace stint
