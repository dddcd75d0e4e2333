// Victims by quota: which admitted workloads give way so that one more fits its quotas. No nodes here; whether there is
// room on machines is the cluster's question.
//
// Candidates use a cell that is short and satisfy the incoming queue's policy; those of other queues count only while their
// queue, and the cohorts above it up to the common one, borrow. They are taken in order until the workload fits, then given
// back in reverse where they turn out not to be needed.
// Source: Kueue's preemption rules, classical and fair sharing (Kubernetes SIG Scheduling).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cycles/cohort.h"

namespace stint::sched {

enum class GivesWay : uint8_t { kNone, kLowerPriority, kLowerOrNewerEqual, kAny };

/// Of the queue the incoming workload is submitted to.
struct QuotaPreemption {
  GivesWay within_queue = GivesWay::kNone;     ///< kAny is not meant here
  GivesWay within_cohort = GivesWay::kNone;    ///< workloads of other queues, which borrow
  bool while_borrowing = false;                ///< may others' workloads be taken although the queue then borrows itself?
  std::optional<int32_t> borrow_max_priority;  ///< …then only those of at most this priority, and lower than the incoming one's
};

struct QuotaWorkload {
  QuotaNodeId queue;
  int32_t priority = 0;  ///< higher first
  Instant created;
  Instant reserved;  ///< when it got its quota; of equals the latest gives way first
  std::string uid;   ///< the last tie-break
  bool already_evicted = false;
  std::vector<CellAmount> amounts;
};

enum class VictimReason : uint8_t { kSameQueue, kReclaim, kReclaimWhileBorrowing, kFairSharing };
std::string_view name_of(VictimReason r);  // "InClusterQueue", "InCohortReclamation", …

struct QuotaVictim {
  size_t workload = 0;  ///< into the admitted ones
  VictimReason reason = VictimReason::kSameQueue;
};

/// When may a queue take from another's? Compared between the two branches below their lowest common cohort.
enum class FairRule : uint8_t {
  kAtMostFinalShare,   ///< its share with the new workload ≤ the other's without the victim
  kBelowInitialShare,  ///< its share with the new workload < the other's with the victim
};

struct QuotaRequest {
  QuotaWorkload workload;
  std::vector<CellId> short_cells;  ///< those of its cells that are short
  QuotaPreemption policy;
};

/// @param tree  with the usage of all `admitted` booked; unchanged on return.
/// @return in the order they were chosen; empty when no set of candidates makes room.
std::vector<QuotaVictim> choose_quota_victims(QuotaTree& tree, std::span<const QuotaWorkload> admitted,
                                              const QuotaRequest& incoming);
/// The same under fair sharing. @param rules  in order: the second is tried on what the first refused. Not empty.
std::vector<QuotaVictim> choose_fair_victims(QuotaTree& tree, std::span<const QuotaWorkload> admitted,
                                             const QuotaRequest& incoming, std::span<const FairRule> rules);

}  // namespace stint::sched
