// Who goes first: the rank of a job under each order. Ranks are instants and durations, so they do not change while a job
// waits and nothing has to be sorted again; smaller goes first.
//
//   fifo, fifo-skip   when it was submitted
//   sjf-oracle        how long it will run                     (true durations known)
//   srtf              how long it still has to run             (true durations known)
//   fair              when it was submitted, inside its queue
//   stint             when it was submitted, plus kStretch times the service it has had, that rounded up to the end of its
//                     level; levels double. New jobs overtake those that have had much; a job that has waited kStretch
//                     times as long as it has run is overtaken by no younger job, so none starves.
//                     Where durations are learnt (Policy::durations): when it was submitted, plus up to 45 days, the more the
//                     more it will use until it, or a job like it, ends (RunForecast::cost_of_an_end). So the short go first;
//                     a job that has waited 45 days is overtaken by none that comes then.
//
// Priority is compared first under the first four. Under fair and stint waiting makes up for priority: `Policy::ageing` of
// waiting is worth one priority class (kPriorityClass points); ageing 0 = priority is compared first there too.
// Under fair and stint a deadline counts as waiting, too: a job that must start within h hours of its submission to meet it, h
// below 24, ranks as if it had been submitted 24 − h hours earlier (24 where it is too late). Of two such jobs the one with less
// time to spare goes first.
// Before all that: under fair and stint the queue furthest below its share goes first, and under the others, where room is
// taken back for queues that deserve it (Policy::reclaim), a job whose queue could claim its room goes ahead of one it could be
// claimed from.
// Source for levels: Nuyens and Wierman 2008 (foreground-background scheduling); Gu et al. 2019 (Tiresias), discretised
// two-dimensional least attained service.
#pragma once

#include <optional>

#include "sched/job.h"
#include "sched/policy.h"
#include "sched/queues/pending.h"

namespace stint::sched {

inline constexpr int64_t kPriorityClass = 25;
inline constexpr int kLevels = 16;
inline constexpr Duration kDeadlineNear = Duration::hours(24);

/// What a job's rank comes from.
struct RankFacts {
  int32_t priority = 0;
  Duration expected;                       ///< as in JobSpec
  Instant submitted;                       ///< first time
  Duration served;                         ///< running time of all its starts
  Instant latest_start = kNever;           ///< to end by its deadline, as far as is known how long it runs
  std::optional<Duration> cost_of_an_end;  ///< RunForecast::cost_of_an_end(); none = nothing is thought of how long it runs
};

Rank rank_of(const Policy& policy, const RankFacts& job);

/// Level of a job that has been served this long: 0 … kLevels − 1.
int level_of(Duration served);
/// Service at which the level ends; kUnlimited for the last.
Duration end_of_level(int level);

/// Do running jobs give way to waiting ones of lower rank?
constexpr bool is_preemptive(Order order) { return order == Order::kSrtf || order == Order::kStint; }
/// Does the first job that does not fit block the rest?
constexpr bool blocks_at_head(Order order) { return order == Order::kFifo || order == Order::kSjfOracle; }
constexpr QueueRule queue_rule(Order order) {
  return order == Order::kFair || order == Order::kStint ? QueueRule::kByShare : QueueRule::kOneLine;
}
/// How jobs of different queues stand in line. Those that could claim room go first: else the others would start on it, to be
/// stopped at once.
QueueRule line_rule(const Policy& policy);

}  // namespace stint::sched
